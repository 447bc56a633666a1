// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// contain gives the pod of the first kube-controller-manager, which holds both leases,
// a container.
func contain(s *apitest.Server, id string, state corev1.ContainerState) {
	s.Do(func() {
		s.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kube-controller-manager", ContainerID: id, State: state}}
	})
}

var (
	runs  = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waits = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	over  = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
)

// The lease lasts 15 seconds longer than its holder, whose pod stays the same one
// where it is restarted in place.
func TestAHolderIsDeadOnceItsContainerWasReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		id    string
		state corev1.ContainerState
		want  observed.Life
	}{
		"the same container":                  {"containerd://1", runs, observed.Live},
		"another one in the same pod":         {"containerd://2", runs, observed.Dead},
		"one that waits to be started again":  {"containerd://1", waits, observed.Dead},
		"one that has ended":                  {"containerd://1", over, observed.Dead},
		"one that no kubelet has told so far": {"", corev1.ContainerState{}, observed.Live},
	} {
		t.Run(name, func(t *testing.T) {
			onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
				contain(s, "containerd://1", runs)
				ob := observer(t, s, time.Minute)
				o := assert.Value(ob.Observe(t.Context()))(t)
				time.Sleep(time.Second)
				assert.NilError(t, ob.Again(t.Context(), o))
				l, _ := o.Lease("kube-controller-manager")
				assert.Must(t, l.Life() == observed.Live, l)
				s.Do(func() { clear(s.Renews) })
				contain(s, c.id, c.state)
				time.Sleep(time.Second)
				assert.NilError(t, ob.Again(t.Context(), o))
				for _, lease := range []string{"kube-controller-manager", "cloud-provider-extraction-migration"} {
					l, _ := o.Lease(lease)
					assert.Truef(t, l.Life() == c.want, "%s: %s, %+v", lease, l.Life(), l)
				}
				l, _ = o.Lease("cloud-controller-manager")
				assert.True(t, l.Life() == observed.Live, l)
			})
		})
	}
}
