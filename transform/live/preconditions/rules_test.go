// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package preconditions

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
)

func TestAClusterIsChangedOrRefusedWithTheReason(t *testing.T) {
	plain := []byte(`{"metadata":{"name":"a"},"spec":{"paused":true}}`) // paused means nothing on Rancher's own kind
	marked := []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	fleet := []byte(`{"metadata":{"annotations":{"objectset.rio.cattle.io/id":"default-a"}}}`)
	engine := func(etcd string) []byte {
		return []byte(`{"spec":{"rancherKubernetesEngineConfig":{"services":{"etcd":{` + etcd + `}}}}}`)
	}
	backedUp, bare, null := engine(`"backupConfig":{}`), []byte(`{"spec":{"rancherKubernetesEngineConfig":{}}}`), engine(`"backupConfig":null`)
	for _, c := range []struct {
		name   string
		seen   Objects
		accept string
		want   string // "" for no refusal
	}{
		{"a plain one", Objects{Object: plain, Progress: &rollout.Progress{Done: true}}, "", ""},
		{"one that is deleted", Objects{Object: []byte(`{"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"}}`)}, "", Deleting},
		{"a paused control plane", Objects{Object: plain, ControlPlane: marked}, "", Paused},
		{"a paused Cluster of Cluster API", Objects{Object: plain, Infrastructure: []byte(`{"spec":{"paused":true}}`)}, "", Paused},
		{"a pause is not to be accepted", Objects{Object: plain, ControlPlane: marked}, Paused, Paused},
		{"an annotation that Rancher does not obey", Objects{Object: marked}, "", PauseNotObeyed},
		{"another one", Objects{Object: plain, Infrastructure: marked}, "", PauseNotObeyed},
		{"an annotation that Rancher does not obey, accepted", Objects{Object: marked, Infrastructure: marked}, PauseNotObeyed, ""},
		{"spec.paused means nothing on an RKEControlPlane", Objects{Object: plain, ControlPlane: plain}, "", ""},
		{"a snapshot of RKE1", Objects{Object: backedUp, Snapshot: true}, "", ""},
		{"a snapshot of RKE1 without a configuration for it", Objects{Object: bare, Snapshot: true}, "", NoSnapshot},
		{"one that is null", Objects{Object: null, Snapshot: true}, "", NoSnapshot},
		{"no way round", Objects{Object: bare, Snapshot: true}, NoSnapshot, NoSnapshot},
		{"no snapshot of RKE1", Objects{Object: bare}, "", ""},
		{"a snapshot of RKE2", Objects{Object: plain, Snapshot: true}, "", ""},
		{"one that is in progress", Objects{Object: plain, Progress: &rollout.Progress{Waiting: "machine m: x"}}, "", "machine m: x"},
		{"one that is in progress, accepted", Objects{Object: plain, Progress: &rollout.Progress{Waiting: "machine m: x"}}, NotSettled, ""},
		{"one that failed", Objects{Object: plain, Progress: &rollout.Progress{Failed: "machine m gave up"}}, "", "machine m gave up"},
		{"one of Fleet", Objects{Object: fleet}, "", "Fleet created its object"},
		{"one of Fleet, accepted", Objects{Object: fleet}, ManagedElsewhere, ""},
		{"one that is no object", Objects{Object: []byte("[]")}, "", "its origin is unknown:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.seen.Title = "fleet-default/a"
			findings := Evaluate(c.seen, []string{c.accept})
			err := Check(c.seen.Title, findings)
			var refused *Refused
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "fleet-default/a: ")):
				t.Errorf("%v does not say %q", err, c.want)
			}
			for _, f := range findings {
				if f.Rule == "" || f.Message == "" || f.Fix == "" || !strings.HasPrefix(f.Path, "fleet-default/a") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestValuesOfAReleaseAreRefusedWithoutAFileAndReportedWithOne(t *testing.T) {
	release := func(file string, keys ...string) Objects {
		return Objects{Title: "c-x7k2p", Object: []byte(`{}`), Release: &Release{Namespace: "kube-system", Name: "ccm", Replaced: keys, File: file}}
	}
	for _, c := range []struct {
		name, accept string
		seen         Objects
		rule         string
		refused      bool
	}{
		{"no release", "", Objects{Object: []byte(`{}`)}, "", false},
		{"nothing is replaced", "", release(""), "", false},
		{"without a file", "", release("", "image.repository"), ValuesReplaced, true},
		{"accepted", ValuesReplaced, release("", "image.repository"), ValuesReplaced, false},
		{"with a file", "", release("values.yaml", "image.repository"), ValuesNotInFile, false},
	} {
		for _, evaluate := range []func(Objects, []string) []transform.Finding{Evaluate, EvaluateRelease} {
			findings := evaluate(c.seen, []string{c.accept})
			err := Check(c.seen.Title, findings)
			refused := (*Refused)(nil)
			if is := errors.As(err, &refused) && refused.OnlyValues(); is != c.refused || err != nil && !is {
				t.Errorf("%s: %v", c.name, err)
			}
			if c.rule == "" != (len(findings) == 0) || len(findings) > 0 && (findings[0].Rule != c.rule || !strings.Contains(findings[0].Message, ": image.repository") || !strings.Contains(findings[0].Fix, "helm get values ccm --namespace kube-system")) {
				t.Errorf("%s: %+v", c.name, findings)
			}
		}
	}
	deleted := release("", "image.repository")
	deleted.Object = []byte(`{"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"}}`)
	refused := (*Refused)(nil)
	if err := Check("c", Evaluate(deleted, nil)); !errors.As(err, &refused) || refused.OnlyValues() {
		t.Errorf("%v", err)
	}
}
