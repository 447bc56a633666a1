// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestACutIsNoticedAndMended(t *testing.T) {
	s := started(t)
	client, err := kubernetes.NewForConfig(through(s, s.Token(), "local"))
	if err != nil {
		t.Fatal(err)
	}
	look := func() error {
		_, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	s.Cut()
	if look() == nil {
		t.Error("the cut was not noticed")
	}
	s.Mend()
	if err := look(); err != nil {
		t.Error(err)
	}
	if err := s.Local.RestartAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := look(); err != nil {
		t.Error("behind a restart:", err)
	}
}

func TestWithoutATokenNothingIsShown(t *testing.T) {
	s := started(t)
	token := s.Token()
	s.Revoke(token)
	client, err := kubernetes.NewForConfig(through(s, token, "local"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
}
