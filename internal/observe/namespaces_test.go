// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// move brings the cloud-controller-manager to another namespace, as the chart's value
// of that name does.
func move(s *apitest.Server, namespace string) {
	for i := range s.Pods {
		if strings.HasPrefix(s.Pods[i].Name, "aws-") {
			s.Pods[i].Namespace = namespace
		}
	}
	s.DaemonSets[0].Namespace = namespace
}

// elsewhere is a pod that usual labels select.
func inNamespace(namespace, name, image string, args ...string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"k8s-app": "cloud-controller-manager"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: image, Args: args}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestManagersAreFoundInAllNamespaces(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		move(s, "aws-ccm")
		s.Pods = append(s.Pods,
			inNamespace("openstack", "occm", "registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.26.4"),
			inNamespace("hcloud", "hccm", "419306528174.dkr.ecr.eu-west-1.amazonaws.com/hcloud-cloud-controller-manager:v1.17.0"),
			inNamespace("tenant-a", "kube-controller-manager-0", "registry.k8s.io/kube-controller-manager:v1.26.15", "--cloud-provider=aws"),
			inNamespace("tenant-a", "ccm-0", "registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6", "--kubeconfig=/etc/tenant/kubeconfig"))
		o := observation(t, s)
		names := lists.Map(o.Managers, func(m observed.Manager) string { return m.Path() })
		assert.Truef(t, len(o.Managers) == 6 && names[0] == "aws-ccm/pods/aws-cloud-controller-manager-0" && len(o.DaemonSets) == 1 && o.DaemonSets[0].Namespace == "aws-ccm" && !o.KubeSystemOnly, "%v, %+v, %t", names, o.DaemonSets, o.KubeSystemOnly)
		v := check.Evaluate(o, check.Choice{Check: stages.After(stages.InstallCCM, transform.Target{})})
		assert.True(t, !slices.ContainsFunc(v.Findings, func(f transform.Finding) bool { return f.Rule == "daemonset-empty" }), v.Findings)
		for _, r := range s.Requests {
			assert.Truef(t, !strings.HasSuffix(r.URL.Path, "/pods") || r.URL.Query().Get("labelSelector") != "", "all pods are asked for: %s", r.URL)
		}
	})
}

// A manager without the flag next to one that is in-tree is a second owner, wherever
// its pods are.
func TestTwoOwnersInTwoNamespacesAreTwo(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		move(s, "aws-ccm")
		for i := range s.Pods {
			c := &s.Pods[i].Spec.Containers[0]
			c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.Contains(a, "leader-migration") })
		}
		v := check.Evaluate(observation(t, s), check.Choice{})
		assert.True(t, slices.ContainsFunc(v.Findings, func(f transform.Finding) bool { return f.Rule == "cloud-controllers-twice" && f.Stops() }), v)
	})
}

func TestTheAuthorizerIsAskedForTheAccountOfTheNamespace(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		move(s, "aws-ccm")
		const user = "system:serviceaccount:aws-ccm:cloud-controller-manager"
		s.Denied[user] = true
		v := check.Evaluate(observation(t, s), check.Choice{})
		assert.True(t, slices.ContainsFunc(v.Findings, func(f transform.Finding) bool {
			return f.Rule == "lease-rbac-missing" && strings.Contains(f.Message, user)
		}), v.Findings)
		for _, r := range s.Reviews {
			assert.True(t, r.User != user || slices.Contains(r.Groups, "system:serviceaccounts:aws-ccm"), r)
		}
	})
}

// deniedTo denies requests as the authorizer does.
func deniedTo(r *http.Request, denied bool) apitest.Fault {
	if !denied {
		return apitest.Fault{}
	}
	return apitest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"` +
		r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] + ` is forbidden: User \"viewer\" cannot do this"}`}
}

func TestWhoMayListKubeSystemAloneSeesKubeSystem(t *testing.T) {
	narrow := func(r *http.Request, names ...string) bool {
		return !strings.Contains(r.URL.Path, "/namespaces/kube-system/") && slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(r.URL.Path, "/"+n) })
	}
	for _, denied := range [][]string{{"pods"}, {"daemonsets"}, {"deployments"}, {"pods", "daemonsets", "deployments"}} {
		onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
			s.Fault = func(r *http.Request) apitest.Fault { return deniedTo(r, narrow(r, denied...)) }
			ob := observer(t, s, time.Minute)
			o, err := ob.Observe(t.Context())
			assert.Mustf(t, err == nil, "%v: %v", denied, err)
			assert.Truef(t, o.KubeSystemOnly && len(o.Managers) == 6 && len(o.DaemonSets) == 1, "%v: %t, %+v", denied, o.KubeSystemOnly, o.Managers)
			v := check.Evaluate(o, check.Choice{})
			unseen := func(n check.NotChecked) bool {
				return n.Rule == "cloud-controllers-twice" && !n.Needed && strings.Contains(n.Why, "outside kube-system")
			}
			assert.Truef(t, v.OK() && slices.ContainsFunc(v.NotChecked, unseen), "%v: %+v", denied, v)
			s.Do(func() { s.Fault = nil })
			o, err = ob.Observe(t.Context())
			assert.Truef(t, err == nil && !o.KubeSystemOnly, "the right was given: %v", err)
		})
	}
}

// A workload shows where pods are that may not be listed.
func TestPodsOfANamespaceThatMayNotBeListedAreNotChecked(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		move(s, "aws-ccm")
		s.Fault = func(r *http.Request) apitest.Fault {
			return deniedTo(r, strings.HasSuffix(r.URL.Path, "/pods") && !strings.Contains(r.URL.Path, "/kube-system/"))
		}
		o := observation(t, s)
		assert.True(t, o.KubeSystemOnly && len(o.DaemonSets) == 1 && len(o.Managers) == 3, o)
	})
}

func TestAConfigurationInAnotherNamespaceIsReadOrReportedAsDenied(t *testing.T) {
	for _, denied := range []bool{false, true} {
		onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
			move(s, "aws-ccm")
			s.ConfigMaps["aws-ccm/lm"] = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lm"}, Data: map[string]string{"lm.conf": "leaderName: other\n"}}
			s.ConfigMaps["lm"] = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lm"}, Data: map[string]string{"lm.conf": "leaderName: wrong\n"}}
			for i := range s.Pods {
				if s.Pods[i].Namespace != "aws-ccm" {
					continue
				}
				spec := &s.Pods[i].Spec
				spec.Containers = []corev1.Container{spec.Containers[0]}
				spec.Containers[0].Args = append(slices.Clone(spec.Containers[0].Args), "--leader-migration-config=/etc/lm/lm.conf")
				spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "conf", MountPath: "/etc/lm"}}
				spec.Volumes = []corev1.Volume{{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "lm"}}}}}
			}
			s.Fault = func(r *http.Request) apitest.Fault {
				return deniedTo(r, denied && strings.Contains(r.URL.Path, "aws-ccm/configmaps"))
			}
			o := observation(t, s)
			for _, m := range o.Managers {
				assert.Truef(t, m.Component != observed.CloudManager || m.ConfigDenied == denied && (denied || m.Config != nil && *m.Config == "leaderName: other\n"), "%t: %+v", denied, m)
			}
			unknown := check.Evaluate(o, check.Choice{}).Now.Unknown
			assert.Truef(t, denied == strings.Contains(unknown, "get configmaps in aws-ccm is not allowed"), "%t: %q", denied, unknown)
		})
	}
}

// A manager that is refused in kube-system too is an error, as is any other fault.
func TestWithoutRightsInKubeSystemNothingIsChecked(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = func(r *http.Request) apitest.Fault { return deniedTo(r, strings.HasSuffix(r.URL.Path, "/daemonsets")) }
		_, err := observer(t, s, time.Minute).Observe(t.Context())
		denied, is := err.(*kube.Denied)
		assert.True(t, is && slices.Equal(denied.Missing, []string{"list daemonsets.apps in kube-system"}), err)
	})
}

// The nodes are ten pages; all else is one request each, of them eight about permissions. Both forms of a dump
// have the findings of the live cluster.
func TestAnObservationTakesFewRequestsOnALargeCluster(t *testing.T) {
	onCluster(t, 5000, func(t *testing.T, s *apitest.Server) {
		s.Nodes[7].Spec.ProviderID, s.Nodes[4321].Spec.ProviderID, s.DaemonSets[0].Status.NumberReady = "", "aws:///eu-west-1a/i-1", 2
		o, file := observation(t, s), filepath.Join(t.TempDir(), "dump.yaml")
		assert.Truef(t, s.Count("") == 31 && s.Count("/nodes") == 10, "%d requests, %d for nodes", s.Count(""), s.Count("/nodes"))
		assert.Truef(t, len(o.Nodes) == 5000 && len(o.Managers) == 6 && len(o.DaemonSets) == 1 && len(o.Leases) == 3 && len(o.Reviews) == 8 && o.Version == "v1.26.15+rke2r1", "%d nodes, %d managers, %d daemon sets, %d leases, %d reviews, %s", len(o.Nodes), len(o.Managers), len(o.DaemonSets), len(o.Leases), len(o.Reviews), o.Version)
		assert.Equal(t, check.Reached(o), "install-ccm", "it shows")
		for _, n := range []int{0, 499, 500, 4999} {
			assert.Equal(t, o.Nodes[n].Name, apitest.NodeName(n), n)
		}
		findings := func(o *observed.Observation) []transform.Finding {
			return check.Evaluate(o, check.Choice{Check: stages.After(stages.SetProviderIDs, transform.Target{})}).Findings
		}
		want := findings(o)
		assert.Equal(t, len(want), 7)
		assert.NilError(t, observe.WriteDump(file, o))
		assert.DeepEqual(t, findings(assert.Value(observe.ReadDump(file))(t)), want)
		var printed bytes.Buffer
		for kind, items := range map[string]any{"v1 Node": s.Nodes, "v1 Pod": s.Pods, "apps/v1 DaemonSet": s.DaemonSets, "coordination.k8s.io/v1 Lease": s.Leases} {
			version, kind, _ := strings.Cut(kind, " ")
			assert.NilError(t, json.NewEncoder(&printed).Encode(map[string]any{"apiVersion": version, "kind": kind + "List", "items": items}))
		}
		assert.DeepEqual(t, findings(assert.Value(observe.ReadDumpFrom("kubectl", &printed))(t)), want)
	})
}

func TestADumpOfAllNamespacesHasTheManagersOfAll(t *testing.T) {
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: ccm-1, namespace: %}\nspec: {containers: [{image: 'registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6'}]}\n"
	in := func(namespaces ...string) *observed.Observation {
		text := "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
		for _, n := range namespaces {
			text += strings.ReplaceAll(pod, "%", n)
		}
		return assert.Value(dumped(t, text))(t)
	}
	o := in("kube-system", "aws-ccm")
	assert.True(t, len(o.Managers) == 2 && !o.KubeSystemOnly && o.Managers[1].Namespace == "aws-ccm", o)
	o = in("kube-system")
	assert.True(t, len(o.Managers) == 1 && o.KubeSystemOnly, o)
	o = in("aws-ccm")
	assert.True(t, !o.Saw(observed.Pods), "pods of another namespace say nothing about those of kube-system")
}

func TestADumpOfAnEarlierVersionIsOfKubeSystem(t *testing.T) {
	o, err := dumped(t, "apiVersion: rke-lm/v1\nkind: Observation\nmanagers:\n- {component: cloud-controller-manager, pod: ccm-1, node: a, hosts: [a], image: i, args: [], account: cloud-controller-manager, running: true, restarts: 0}\n")
	assert.Truef(t, err == nil && o.Managers[0].Path() == "kube-system/pods/ccm-1", "%+v, %v", o, err)
}
