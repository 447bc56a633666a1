// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/observe"
	"github.com/rke-lm/rke-lm/internal/observe/apitest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

func observer(t testing.TB, s *apitest.Server, retryTime time.Duration) *observe.Observer {
	t.Helper()
	c := assert.Value(kube.Connect(kube.Connection{Dial: memnet.Dial, Kubeconfig: s.Kubeconfig(t), RetryFor: retryTime}))(t)
	return &observe.Observer{Client: c}
}

func observation(t testing.TB, s *apitest.Server) *observed.Observation {
	t.Helper()
	return assert.Value(observer(t, s, time.Minute).Observe(t.Context()))(t)
}

func TestWhatIsKeptOfObjects(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		n := &s.Nodes[2]
		n.Spec.ProviderID, n.Spec.Unschedulable = "", true
		n.Annotations = map[string]string{"rke-lm.io/cordoned": "leader-migration-orchard", "field.example.org/token": "not to be kept"}
		n.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/aws-ebs/aws://eu-west-1a/vol-1", "kubernetes.io/csi/ebs.csi.aws.com^vol-2"}
		n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/aws-ebs/aws://eu-west-1a/vol-1"}}
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"419306528174.dkr.ecr.eu-west-1.amazonaws.com/shop/cart:v3", "public.ecr.aws/docker/library/nginx:1.25"}}, {Names: []string{"419306528174.dkr.ecr.us-iso-east-1.c2s.ic.gov/shop/cart:v3"}}, {Names: []string{"419306528174.dkr.ecr-fips.us-gov-west-1.amazonaws.com/shop/cart:v3"}}}
		s.Services = []corev1.Service{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "inner"}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "outer"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: "a.elb.amazonaws.com"}}}}},
		}
		s.Volumes = []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}}}, {ObjectMeta: metav1.ObjectMeta{Name: "new"}}}
		s.Classes = []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "gp2"}, Provisioner: "kubernetes.io/aws-ebs"}, {ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: "ebs.csi.aws.com"}}
		s.CSINodes = []storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com"}}}}}
		o := observation(t, s)
		want := observed.Node{
			Name: n.Name, UID: string(n.UID), Unschedulable: true, Cordoned: "leader-migration-orchard", InTreeVolumes: 1,
			Labels: n.Labels, Taints: []string{"node-role.kubernetes.io/control-plane"}, Registries: []string{"419306528174.dkr.ecr-fips.us-gov-west-1.amazonaws.com", "419306528174.dkr.ecr.eu-west-1.amazonaws.com", "419306528174.dkr.ecr.us-iso-east-1.c2s.ic.gov"},
			Ready: &observed.Condition{Status: "True", Reason: "KubeletReady"},
		}
		assert.DeepEqual(t, o.Nodes[2], want)
		assert.DeepEqual(t, o.Services, []observed.Service{{Namespace: "shop", Name: "outer", Hosts: []string{"a.elb.amazonaws.com"}}})
		assert.DeepEqual(t, o.Volumes, []observed.Volume{{Kind: "PersistentVolume", Name: "old"}})
		assert.DeepEqual(t, o.StorageClasses, []string{"gp2"})
		assert.DeepEqual(t, o.Drivers, []observed.NodeDrivers{{Node: "one", Drivers: []string{"ebs.csi.aws.com"}}})
	})
}

// The label and the address of an RKE2 Node are its name, whatever the host is called.
func TestTheNameOfAHostIsWhatAKubeletShowsOfIt(t *testing.T) {
	const label = "kubernetes.io/hostname"
	for _, c := range []struct {
		name, version, label string
		args                 *string
		host                 string
	}{
		{name: "the label of RKE", version: "v1.26.15", label: "quay-2", host: "quay-2"},
		{name: "the label of RKE2", version: "v1.26.15+rke2r1", label: apitest.NodeName(0)},
		{name: "the label of RKE2 next to its arguments", version: "v1.26.15", label: "quay-2", args: new(`["server","--cloud-provider-name","aws"]`)},
		{name: "a node-name", version: "v1.31.4+rke2r1", label: apitest.NodeName(0), args: new(`["agent","--node-name","QUAY-2","--token","********"]`), host: "quay-2"},
		{name: "a node-name in one word", version: "v1.31.4+rke2r1", args: new(`["agent","--node-name=a","--node-name=quay-2"]`), host: "quay-2"},
		{name: "no value", version: "v1.31.4+rke2r1", args: new(`["agent","--node-name"]`)},
		{name: "no list", version: "v1.31.4+rke2r1", args: new(`agent`)},
	} {
		onCluster(t, 1, func(t *testing.T, s *apitest.Server) {
			n := &s.Nodes[0]
			n.Status.NodeInfo.KubeletVersion = c.version
			if c.label != "" {
				n.Labels[label] = c.label
			}
			if c.args != nil {
				n.Annotations = map[string]string{"rke2.io/node-args": *c.args}
			}
			assert.DeepEqual(t, observation(t, s).HostNames(transform.HostNames{n.Name: ""}), transform.HostNames{n.Name: c.host}, c.name)
		})
	}
}

// The authorizer is asked as the API server asks it: with the groups of the user,
// and without a name for what is not there yet.
func TestTheConditionOfANodeIsKeptWithoutWhatItsMessageQuotes(t *testing.T) {
	onCluster(t, 4, func(t *testing.T, s *apitest.Server) {
		since := metav1.NewTime(time.Date(2025, 3, 11, 9, 58, 7, 0, time.UTC))
		ready := func(status corev1.ConditionStatus, reason string) []corev1.NodeCondition {
			return []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: status, Reason: reason, Message: "token=hunter2", LastTransitionTime: since},
			}
		}
		s.Nodes[0].Status.Conditions = ready(corev1.ConditionFalse, "KubeletNotReady")
		s.Nodes[1].Status.Conditions = ready(corev1.ConditionUnknown, "password=hunter2 is wrong")
		s.Nodes[2].Status.Conditions = ready(corev1.ConditionTrue, "AKIAIOSFODNN7EXAMPLE")[:1]
		s.Nodes[3].Status.Conditions = ready(corev1.ConditionTrue, "AKIAIOSFODNN7EXAMPLE")
		file := filepath.Join(t.TempDir(), "dump.yaml")
		assert.NilError(t, observe.WriteDump(file, observation(t, s)))
		text, err := os.ReadFile(file)
		assert.Truef(t, err == nil && !strings.Contains(string(text), "hunter2") && !strings.Contains(string(text), "AKIAIOSFODNN7EXAMPLE"), "%v\n%s", err, text)
		o := assert.Value(observe.ReadDump(file))(t)
		want := []*observed.Condition{{Status: "False", Reason: "KubeletNotReady", Since: since.Time}, {Status: "Unknown", Since: since.Time}, nil, {Status: "True", Reason: o.Nodes[3].Ready.Reason, Since: since.Time}}
		assert.DeepEqual(t, lists.Map(o.Nodes, func(n observed.Node) *observed.Condition { return n.Ready }), want)
	})
}

func TestRightsAreRequestedAsTheManagersUseThem(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		observation(t, s)
		for _, r := range s.Reviews {
			about := r.ResourceAttributes
			named := about.Name == "cloud-provider-extraction-migration" || about.Name == "cloud-controller-manager" && strings.HasSuffix(r.User, ":cloud-controller-manager")
			account := slices.Contains(r.Groups, "system:serviceaccounts:kube-system")
			assert.Truef(t, about.Namespace == "kube-system" && about.Resource == "leases" && named != (about.Verb == "create") && account == strings.HasPrefix(r.User, "system:serviceaccount:") && slices.Contains(r.Groups, "system:authenticated"), "%+v %+v", r, about)
		}
		assert.Truef(t, len(s.Reviews) == 8, "%d questions", len(s.Reviews))
	})
}

func TestPodsOfAllNamespacesAreReadWhenRequested(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Pods = append(s.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}}}}})
		assert.Equal(t, len(observation(t, s).Volumes), 0)
		ob := observer(t, s, time.Minute)
		ob.AllPods = true
		o, err := ob.Observe(t.Context())
		assert.Truef(t, err == nil && len(o.Volumes) == 1 && o.Volumes[0].Name == "shop/cart", "%+v, %v", o, err)
	})
}

// A configuration in a ConfigMap decides what the manager runs; one that hangs
// as a single file counts as well.
func TestConfigurationsAreReadFromConfigMaps(t *testing.T) {
	for _, c := range []struct {
		name  string
		mount corev1.VolumeMount
		items []corev1.KeyToPath
	}{
		{"a folder", corev1.VolumeMount{Name: "conf", MountPath: "/etc/lm"}, nil},
		{"one file", corev1.VolumeMount{Name: "conf", MountPath: "/etc/lm/migration.conf", SubPath: "migration.conf"}, nil},
		{"a key by another name", corev1.VolumeMount{Name: "conf", MountPath: "/etc/lm"}, []corev1.KeyToPath{{Key: "lm", Path: "migration.conf"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
				data := map[string]string{"migration.conf": "leaderName: other\n"}
				if c.items != nil {
					data = map[string]string{"lm": "leaderName: other\n"}
				}
				s.ConfigMaps["lm"] = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lm"}, Data: data}
				spec := &s.Pods[1].Spec
				spec.Containers[0].Args = append(spec.Containers[0].Args, "--leader-migration-config=/etc/lm/migration.conf")
				spec.Containers[0].VolumeMounts = []corev1.VolumeMount{c.mount}
				spec.Volumes = []corev1.Volume{{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "lm"}, Items: c.items}}}}
				for _, m := range observation(t, s).Managers {
					assert.True(t, m.Pod != s.Pods[1].Name || m.Config != nil && *m.Config == "leaderName: other\n", m)
				}
			})
		})
	}
}

func TestADumpHoldsWhatWasSeenAndNoSecret(t *testing.T) {
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		const secret = "wJalrXUtnFEMI7MDENGbPxRfiCYzzzKEY0123456"
		s.ControlPlanes = rancherList
		s.Machines, s.Secrets = machines("one"), []corev1.Secret{plan("one", secret, secret)}
		s.Nodes[0].Annotations = map[string]string{"example.org/password": secret}
		for i := range s.Pods {
			c := &s.Pods[i].Spec.Containers[0]
			c.Args = append(c.Args, "--service-account-token="+secret, "--aws-secret-key", "short-one", "--v=3")
			c.Env = []corev1.EnvVar{{Name: "AWS_SECRET_ACCESS_KEY", Value: secret}}
		}
		o := observation(t, s)
		file := filepath.Join(t.TempDir(), "dump.yaml")
		assert.NilError(t, observe.WriteDump(file, o))
		text, err := os.ReadFile(file)
		assert.Truef(t, err == nil && !strings.Contains(string(text), secret) && !strings.Contains(string(text), "short-one") && strings.Contains(string(text), "--v=3"), "%v\n%s", err, text)
		assert.Equal(t, assert.Value(os.Stat(file))(t).Mode().Perm(), 0o600)
		assert.DeepEqual(t, assert.Value(observe.ReadDump(file))(t), o, "(-seen +read)")
	})
}

func TestSnapshotsAreNeverOverwritten(t *testing.T) {
	onCluster(t, 1500, func(t *testing.T, s *apitest.Server) {
		ob := observer(t, s, time.Minute)
		o := observation(t, s)
		first := o.Snapshot("install-ccm")
		assert.NilError(t, ob.KeepSnapshot(t.Context(), first))
		assert.NilError(t, ob.KeepSnapshot(t.Context(), first)) // the same again, as after a lost answer
		second := first
		second.Reached = "switch-to-external"
		err := ob.KeepSnapshot(t.Context(), second)
		assert.True(t, errors.Is(err, observe.ErrKept), err)
		before := observation(t, s).Before
		assert.True(t, before != nil && before.Reached == "install-ccm" && len(before.Nodes) == 1500, before)
		file := filepath.Join(t.TempDir(), "snapshot.yaml")
		assert.NilError(t, observe.WriteSnapshot(file, first))
		err = observe.WriteSnapshot(file, second)
		assert.True(t, errors.Is(err, observe.ErrKept), err)
		got, err := observe.ReadSnapshot(file)
		assert.Truef(t, err == nil && cmp.Diff(first.Nodes, got.Nodes) == "", "%v, %+v", err, got)
		second.Reached = "\x7f" // which YAML cannot hold
		err = observe.WriteSnapshot(file+".new", second)
		_, none := os.Stat(file + ".new")
		assert.True(t, err != nil && errors.Is(none, os.ErrNotExist), err, none)
	})
}

// onCluster runs a test over an API server with so many nodes.
func onCluster(t *testing.T, nodes int, test func(t *testing.T, s *apitest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t)
		s.Fill(nodes)
		test(t, s)
	})
}

// What the managers do and who holds the leases is read again when the rest of the
// observation took so long that both are old.
func TestWhatMovesIsOfOneMoment(t *testing.T) {
	t.Parallel()
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = changing(s, often(1, "/nodes", apitest.Fault{Hang: 11 * time.Second}))
		o := assert.Value(observer(t, s, time.Minute).Observe(t.Context()))(t)
		for _, l := range o.Leases {
			assert.Truef(t, l.Name != "kube-controller-manager" || l.Holder == "somebody-else", "held by %s", l.Holder)
		}
	})
}

// changing lets the holder of a lease change once the nodes were requested and the
// leases were read.
func changing(s *apitest.Server, fault func(*http.Request) apitest.Fault) func(*http.Request) apitest.Fault {
	observations := 0
	return func(r *http.Request) apitest.Fault {
		if strings.Contains(r.URL.Path, "/leases") {
			if observations++; observations == 2 {
				s.Hold("kube-controller-manager", "somebody-else")
			}
		}
		return fault(r)
	}
}

// Answers that all take long are never of one moment, and give no verdict.
func TestAnswersThatAreNeverOfOneMomentAreReported(t *testing.T) {
	t.Parallel()
	onCluster(t, 3, func(t *testing.T, s *apitest.Server) {
		s.Fault = always("/daemonsets", apitest.Fault{Hang: 11 * time.Second})
		o, err := observer(t, s, time.Minute).Observe(t.Context())
		assert.True(t, o == nil && err != nil && strings.Contains(err.Error(), "the responses take too long to describe one moment"), err)
	})
}
