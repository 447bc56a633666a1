// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// document returns a cluster; the first line of config is line 7.
func document(version, config string) string {
	text := "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: demo, namespace: fleet-default}\nspec:\n  kubernetesVersion: " + version + "\n"
	config = strings.Trim(config, "\n")
	if config == "" {
		return text + "  rkeConfig: {}\n"
	}
	return text + "  rkeConfig:\n    " + strings.ReplaceAll(config, "\n", "\n    ") + "\n"
}

func parse(t *testing.T, text string) *yamledit.Document {
	t.Helper()
	return assert.Value(yamledit.ParseString("c.yaml", text))(t)
}

func opened(t *testing.T, version, config string) *Cluster {
	t.Helper()
	return assert.Value(Open(parse(t, document(version, config)), transform.Target{}))(t)
}

// refuse expects a cluster that cannot be read, with this message. Only selectors
// have a rule that refuses them.
func refuse(t *testing.T, text, want string) {
	t.Helper()
	_, err := Open(parse(t, text), transform.Target{})
	assert.Truef(t, err != nil && err.Error() == want, "got:  %v\nwant: %s", err, want)
	var not *transform.Refused
	selects := strings.Contains(want, selectorField)
	assert.Truef(t, errors.As(err, new(*yamledit.Error)) && errors.As(err, &not) == selects && (!selects || not.Rule == ruleSelectorInvalid), "the error is a %T", err)
}

func names(c *Cluster) []string {
	return lists.Map(c.Classes, func(class effective.Class) string { return class.Name })
}

func TestOpenReadsNameAndVersion(t *testing.T) {
	c := opened(t, release, "additionalManifest: x")
	assert.True(t, c.Name == "demo" && c.Namespace == "fleet-default" && c.Version == "v1.26.15+rke2r1" && c.Release.Known, c)
	assert.Equal(t, c.RKEConfig().Path(), "spec.rkeConfig", "the configuration is at")
}

func TestVersionThatIsNotStatedIsAssumed(t *testing.T) {
	for _, c := range []struct{ name, stated, assumed, want string }{
		{"stated", "v1.26.15+rke2r1", "", "v1.26.15+rke2r1"},
		{"what is stated counts", "v1.26.15+rke2r1", "v1.27.5+rke2r1", "v1.26.15+rke2r1"},
		{"a release candidate", "v1.26.15-rc2+rke2r1", "", "v1.26.15-rc2+rke2r1"},
		{"the oldest one", "v1.22.4+rke2r2", "", "v1.22.4+rke2r2"},
		{"null", "null", "v1.26.15+rke2r1", "v1.26.15+rke2r1"},
		{"empty", `""`, "v1.26.15+rke2r1", "v1.26.15+rke2r1"},
		{"a placeholder", "<required>", "v1.26.15+rke2r1", "v1.26.15+rke2r1"},
		{"without build", "v1.26.15", "v1.26.15+rke2r1", "v1.26.15+rke2r1"},
	} {
		got, err := Open(parse(t, document(c.stated, "")), transform.Target{AssumeVersion: c.assumed})
		assert.Truef(t, err == nil && got.Version == c.want && got.Release.Version == c.want, "%s: got %+v, %v", c.name, got, err)
	}
}

func TestVersionsThatCannotBeUsed(t *testing.T) {
	const (
		absent    = "c.yaml:4: spec: kubernetesVersion is absent; set it, or use --assume-version"
		malformed = "c.yaml:5: spec.kubernetesVersion: not an RKE2 release such as v1.26.15+rke2r1; correct it, or use --assume-version"
		assumed   = "c.yaml:1: the assumed version is not an RKE2 release; give --assume-version a release such as v1.26.15+rke2r1"
	)
	for _, c := range []struct{ stated, assumed, want string }{
		{"", "", absent},
		{"null", "", absent},
		{`""`, "", absent},
		{"v1.26.15", "", malformed},
		{"1.26.15+rke2r1", "", malformed},
		{"v1.26+rke2r1", "", malformed},
		{"v1.026.15+rke2r1", "", malformed},
		{"v1.26.15+rke2", "", malformed},
		{"v1.26.15-beta+rke2r1", "", malformed},
		{"v1.26.15+rke2r1-custom", "", malformed},
		{"v1.26.15", "1.26", assumed},
		{"", "v1.26.15+k3s1", assumed},
	} {
		_, err := Open(parse(t, document(c.stated, "")), transform.Target{AssumeVersion: c.assumed})
		assert.Truef(t, err != nil && err.Error() == c.want, "stated %q, assumed %q:\ngot:  %v\nwant: %s", c.stated, c.assumed, err, c.want)
	}
}

func TestClustersThatAreRefused(t *testing.T) {
	const start = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\n"
	const imported = "rkeConfig is absent: the cluster is imported or hosted, and Rancher does not configure its machines; change it where it is configured"
	for _, c := range []struct{ name, text, want string }{
		{"imported", start + "metadata: {name: a}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n", "4: spec: " + imported},
		{"imported, with a null", start + "spec:\n  rkeConfig: null\n", "3: spec: " + imported},
		{"without spec", start, "1: " + imported},
		{"K3s", document("v1.27.8+k3s2", ""), "5: spec.kubernetesVersion: this is a K3s cluster; name an RKE2 cluster"},
		{"too old", document("v1.21.14+rke2r1", ""), "5: spec.kubernetesVersion: leader migration requires Kubernetes 1.22 or later; upgrade the cluster first"},
		{"Rancher's own", start + "metadata:\n  name: local\n  namespace: fleet-local\nspec: {rkeConfig: {}}\n", "4: metadata.name: this is the cluster that Rancher itself runs on; migrate it with the tools of its distribution"},
	} {
		_, err := Open(parse(t, c.text), transform.Target{})
		var not *transform.Refused
		assert.Mustf(t, errors.As(err, &not) && not.Rule == "not-migratable" && err.Error() == "c.yaml:"+c.want, "%s\ngot:  %v\nwant: %s", c.name, err, c.want)
		assert.True(t, errors.Is(err, not.At), "the place is out of reach")
	}
	_, err := Open(parse(t, strings.Replace(document(release, ""), "name: demo", "name: local", 1)), transform.Target{})
	assert.NilError(t, err) // in another namespace
}

func TestIsCluster(t *testing.T) {
	for text, want := range map[string]bool{
		document("", ""): true,
		"{apiVersion: provisioning.cattle.io/v1, kind: Cluster}":     true,
		"apiVersion: provisioning.cattle.io/v1\nkind: ClusterList\n": false,
		"apiVersion: management.cattle.io/v3\nkind: Cluster\n":       false,
		"kind: Cluster\n": false,
		"- Cluster\n":     false,
		"":                false,
	} {
		assert.Equal(t, IsCluster(parse(t, text)), want, text)
	}
	refuse(t, "kind: Cluster\n", "c.yaml:1: not a Cluster of provisioning.cattle.io/v1; name a document that is one")
	refuse(t, "", "c.yaml:1: not a Cluster of provisioning.cattle.io/v1; name a document that is one")
}

func TestValuesOfAnotherTypeAreRefusedWhereTheyAre(t *testing.T) {
	const tail = ", and Rancher refuses the whole cluster; correct it"
	for _, c := range []struct{ name, config, want string }{
		{"pools are a list", "machinePools: {a: b}", "c.yaml:7: spec.rkeConfig.machinePools: this must be a list"},
		{"a pool is a mapping", "machinePools: [a]", "c.yaml:7: spec.rkeConfig.machinePools[0]: this must be a mapping"},
		{"a pool's name is a string", "machinePools:\n- name: a\n- name: 1", "c.yaml:9: spec.rkeConfig.machinePools[1].name: this must be a string"},
		{"a role is a boolean", "machinePools:\n- name: a\n  etcdRole: 'true'", "c.yaml:9: spec.rkeConfig.machinePools[0].etcdRole: this must be true or false"},
		{"a quantity is a number", "machinePools:\n- name: a\n  quantity: '3'", "c.yaml:9: spec.rkeConfig.machinePools[0].quantity: this must be a whole number in range"},
		{"a quantity is whole", "machinePools:\n- name: a\n  quantity: 1.5", "c.yaml:9: spec.rkeConfig.machinePools[0].quantity: this must be a whole number in range"},
		{"a pool's label is a string", "machinePools:\n- name: a\n  labels:\n    x: b\n    z: true", "c.yaml:11: spec.rkeConfig.machinePools[0].labels.z: this must be a string"},
		{"the global configuration is a mapping", "machineGlobalConfig: [a]", "c.yaml:7: spec.rkeConfig.machineGlobalConfig: this must be a mapping"},
		{"the entries are a list", "machineSelectorConfig:\n  config: {}", "c.yaml:7: spec.rkeConfig.machineSelectorConfig: this must be a list"},
		{"an entry is a mapping", "machineSelectorConfig: [{}, a]", "c.yaml:7: spec.rkeConfig.machineSelectorConfig[1]: this must be a mapping"},
		{"a configuration is a mapping", "machineSelectorConfig:\n- config: a", "c.yaml:8: spec.rkeConfig.machineSelectorConfig[0].config: this must be a mapping"},
		{"a label's value is a string", "machineSelectorConfig:\n- machineLabelSelector:\n    matchLabels:\n      a: 'true'\n      b: true", "c.yaml:11: spec.rkeConfig.machineSelectorConfig[0].machineLabelSelector.matchLabels.b: this must be a string"},
		{"values are strings", "machineSelectorConfig:\n- machineLabelSelector:\n    matchExpressions:\n    - key: a\n      operator: In\n      values: [b, yes]", "c.yaml:12: spec.rkeConfig.machineSelectorConfig[0].machineLabelSelector.matchExpressions[0].values[1]: this must be a string"},
		{"elsewhere", "upgradeStrategy:\n  workerConcurrency: 1", "c.yaml:8: spec.rkeConfig.upgradeStrategy.workerConcurrency: this must be a string"},
		{"a duration", "machinePools:\n- name: a\n  unhealthyNodeTimeout: soon", "c.yaml:9: spec.rkeConfig.machinePools[0].unhealthyNodeTimeout: the value cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fix := "correct it"
			if strings.Contains(c.want, selectorField) {
				fix = `write labels and values as strings, as in "true"`
			}
			refuse(t, document(release, c.config), c.want+", and Rancher refuses the whole cluster; "+fix)
		})
	}
	refuse(t, document("1.26", ""), "c.yaml:5: spec.kubernetesVersion: this must be a string"+tail)
	refuse(t, "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nspec: []\n", "c.yaml:3: spec: this must be a mapping"+tail)
}

func TestEmptyEntriesAndNamesAreRefused(t *testing.T) {
	for config, want := range map[string]string{
		"machineSelectorConfig:\n- config: {}\n-": "c.yaml:9: spec.rkeConfig.machineSelectorConfig[1]: the entry is empty; remove it, or give it a config",
		"machinePools:\n- etcdRole: true":         "c.yaml:8: spec.rkeConfig.machinePools[0]: the machine pool has no name, and Rancher refuses the whole cluster; name it",
		"machinePools:\n- {name: a}\n- {name: a}": "c.yaml:9: spec.rkeConfig.machinePools[1].name: another machine pool has the same name, and Rancher refuses the whole cluster; rename one of the two",
	} {
		refuse(t, document(release, config), want)
	}
}

func TestSharedConfigurationIsReadThrough(t *testing.T) {
	const head = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\n"
	for name, c := range map[string]struct {
		text, key string
		value     any
		line      int // on which the value is written
	}{
		"an anchor":                {document(release, "machineGlobalConfig:\n  kubelet-arg: &args [v=2]"), "kubelet-arg", []any{"v=2"}, 8},
		"an alias":                 {document(release, "x: &args [v=2]\nmachineSelectorConfig:\n- config:\n    kubelet-arg: *args"), "kubelet-arg", []any{"v=2"}, 7},
		"a merge key":              {document(release, "x: &p\n  cni: calico\nmachineGlobalConfig:\n  <<: *p\n  profile: cis"), "cni", "calico", 8},
		"a list of merged ones":    {document(release, "x: &p\n  cni: calico\ny: &q\n  cni: canal\nmachineGlobalConfig: {<<: [*q, *p]}"), "cni", "canal", 10},
		"an own key before them":   {document(release, "x: &p\n  cni: calico\nmachineGlobalConfig:\n  <<: *p\n  cni: canal"), "cni", "canal", 11},
		"the directories":          {document(release, "x: &p {k8sDistro: /a}\ndataDirectories: *p"), "data-dir", "/a", 7},
		"all of rkeConfig":         {head + "x: &c\n  machineGlobalConfig: {cni: calico}\nspec:\n  rkeConfig: *c\n", "cni", "calico", 4},
		"merged into rkeConfig":    {head + "x: &c\n  machineGlobalConfig: {cni: calico}\nspec:\n  rkeConfig:\n    <<: *c\n", "cni", "calico", 4},
		"merged into spec":         {head + "x: &c\n  rkeConfig: {machineGlobalConfig: {cni: calico}}\nspec:\n  <<: *c\n", "cni", "calico", 4},
		"merged into the metadata": {head + "x: &m {name: a}\nmetadata: {<<: *m}\nspec: {rkeConfig: {machineGlobalConfig: {cni: calico}}}\n", "cni", "calico", 5},
	} {
		c0 := assert.Value(Open(parse(t, c.text), transform.Target{AssumeVersion: release}))(t)
		got := c0.Effective(c0.Classes[0])[c.key]
		diff := cmp.Diff(c.value, got.Value)
		assert.Truef(t, diff == "" && got.Origin.Written() == c.line, "%s: written on line %d instead of %d (-want +got):\n%s", name, got.Origin.Written(), c.line, diff)
	}
}

func TestPoolsKeepTheOrderOfTheFile(t *testing.T) {
	c := opened(t, release, "machinePools:\n- {name: zeta, workerRole: true}\n- {name: alpha, etcdRole: true, quantity: 0}\n- {name: mid, controlPlaneRole: true}\n")
	assert.DeepEqual(t, names(c), []string{"zeta", "alpha", "mid"})
	assert.Equal(t, c.Classes[1].Pool.Path(), "spec.rkeConfig.machinePools[1]", "alpha is at")
}

func TestPoolsMayShareValues(t *testing.T) {
	c := opened(t, "&version v1.26.15+rke2r1", "machineGlobalConfig: {cni: calico}\nx: &p {controlPlaneRole: true, etcdRole: true}\nmachinePools:\n- {<<: *p, name: a}\n- {<<: *p, name: b, workerRole: true}\n")
	assert.True(t, len(c.Classes) == 2 && c.Classes[0].ControlPlane() && !c.Classes[0].Worker() && c.Classes[1].Etcd() && c.Classes[1].Worker(), c.Classes)
}

func TestRefusalsDoNotQuoteValues(t *testing.T) {
	for _, config := range []string{
		"machinePools:\n- {name: a, quantity: 31415926535}",
		"machinePools:\n- {name: a, unhealthyNodeTimeout: s3cr3t-31415926535}",
		"machineSelectorConfig:\n- machineLabelSelector: {matchLabels: {a: 's3cr3t 31415926535'}}",
		"additionalManifest: 31415926535",
	} {
		_, err := Open(parse(t, document(release, config)), transform.Target{})
		assert.Truef(t, err != nil && !strings.Contains(err.Error(), "31415926535"), "%s: %v", config, err)
	}
}

func never(effective.Class, string, any, any) bool { return false }

func TestErrorsNameNoValues(t *testing.T) {
	before := cluster(t, onAWS+"  kubelet-arg: [token=s3cr3t-1]\n")
	err := before.check(cluster(t, onAWS+"  kubelet-arg: [token=s3cr3t-2]\n"), never)
	assert.True(t, err != nil && !strings.Contains(err.Error(), "s3cr3t"), err)
}

func TestCheckReadsEveryClass(t *testing.T) {
	before := split + onAWS
	for class, selector := range map[string]string{"cp": forControlPlanes, "etcd": forEtcd, "workers": forWorkers} {
		doctored := before + "machineSelectorConfig:\n- config: {kubelet-arg: [v=2]}\n  " + selector + "\n"
		err := cluster(t, before).check(cluster(t, doctored), never)
		want := "kubelet-arg would change on machines of class " + class
		assert.Truef(t, err != nil && err.Error() == want, "got %v, want %s", err, want)
	}
}

func TestCheckSeesWhereConfigurationMovesWithoutEffect(t *testing.T) {
	before := cluster(t, onAWS+"  cni: calico\n")
	after := cluster(t, "machineSelectorConfig:\n- config: {cni: calico, cloud-provider-name: aws, no-such-key: 1}\n")
	assert.NilError(t, before.check(after, never))
}

func TestCheckRefusesChangesOfTheClasses(t *testing.T) {
	const etcd, workers = "- {name: etcd, etcdRole: true}\n", "- {name: workers, workerRole: true}\n"
	for name, c := range map[string]struct{ old, new, want string }{
		"a pool is gone":         {workers, "", "the machine classes would change"},
		"a pool is new":          {"machinePools:\n", "machinePools:\n- {name: more}\n", "the machine classes would change"},
		"all pools are gone":     {split, "", "the machine classes would change"},
		"a pool has a new name":  {"name: etcd", "name: e", "the machine class etcd would change"},
		"a pool has a new role":  {"etcdRole: true", "etcdRole: true, workerRole: true", "the machine class etcd would change"},
		"a pool has a new label": {"etcdRole: true", "etcdRole: true, labels: {a: b}", "the machine class etcd would change"},
		"a pool has a new OS":    {"etcdRole: true", "etcdRole: true, machineOS: windows", "the machine class etcd would change"},
		"the pools swap":         {etcd + workers, workers + etcd, "the machine class etcd would change"},
	} {
		after := cluster(t, strings.Replace(split+onAWS, c.old, c.new, 1))
		err := cluster(t, split+onAWS).check(after, func(effective.Class, string, any, any) bool { return true })
		assert.Truef(t, err != nil && err.Error() == c.want, "%s: got %v, want %s", name, err, c.want)
	}
}

func TestResultsMustFitRanchersSchema(t *testing.T) {
	const odd = "odd: {a: b}\n"
	for _, c := range []struct{ name, before, after, want string }{
		{"no unknown field", onAWS, onAWS, ""},
		{"the unknown field was there", odd + onAWS, odd + onAWS, ""},
		{"the unknown field goes", odd + onAWS, onAWS, ""},
		{"any key may be in a configuration", onAWS, onAWS + "  odd: 1\n", ""},
		{"a new one in rkeConfig", onAWS, odd + onAWS, `.odd"`},
		{"a second one", odd + onAWS, odd + "strange: 1\n" + onAWS, `.strange"`},
		{"one in an entry", onAWS, onAWS + "machineSelectorConfig:\n- configs: {}\n", `.configs"`},
		{"one in a selector", onAWS, onAWS + "machineSelectorConfig:\n- machineLabelSelector: {matchLabel: {}}\n", `.matchLabel"`},
		{"the same one in another entry", onAWS + "machineSelectorConfig:\n- configs: {}\n- {}\n", onAWS + "machineSelectorConfig:\n- configs: {}\n- configs: {}\n", `.configs"`},
		{"one in another case", onAWS, onAWS + "additionalmanifest: x\n", `.additionalmanifest"`},
	} {
		fails(t, cluster(t, c.before).strict.Allows(cluster(t, c.after).strict), c.want, c.name)
	}
}

func TestResultsMustDecode(t *testing.T) {
	good := cluster(t, onAWS)
	bad := migrated(t, parse(t, document(release, onAWS)+"status: s3cr3t\n"))
	const want = "it does not decode as a Cluster of provisioning.cattle.io/v1"
	for _, err := range []error{good.strict.Allows(bad.strict), bad.strict.Allows(good.strict), good.check(bad, never)} {
		assert.Truef(t, err != nil && err.Error() == want, "got %v, want %s", err, want)
	}
}

// heron is an object with some configuration in it.
func heron(t *testing.T, spec string) any {
	t.Helper()
	d := assert.Value(yamledit.ParseString("heron", "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: heron, namespace: fleet-default, uid: u-1}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n"+spec))(t)
	return d.Root().Value()
}

func TestTwoObjectsAreTheSameToRancher(t *testing.T) {
	const (
		psact = "  defaultPodSecurityAdmissionConfigurationTemplateName: rancher-restricted\n"
		own   = "{fileSources: [{secret: {name: heron-admission-configuration-psact, items: [{key: a, path: /b}]}}]}"
		other = "{fileSources: [{secret: {name: audit, items: [{key: a, path: /c}]}}]}"
	)
	for _, c := range []struct {
		name, a, b string
		alike      bool
	}{
		{"null, absent and empty", "  rkeConfig: {machinePools: null, chartValues: {}, machineGlobalConfig: {cni: calico}}\n  agentEnvVars: []\n", "  rkeConfig: {machineGlobalConfig: {cni: calico}}\n", true},
		{"an entry without a configuration", "  rkeConfig: {machineSelectorConfig: [{config: {}}]}\n", "  rkeConfig: {machineSelectorConfig: [{config: null, machineLabelSelector: null}]}\n", true},
		{"a null that erases a value for machines", "  rkeConfig: {machineSelectorConfig: [{config: {kubelet-arg: null}}]}\n", "  rkeConfig: {machineSelectorConfig: [{config: {}}]}\n", false},
		{"an empty list for machines", "  rkeConfig: {machineGlobalConfig: {kubelet-arg: []}}\n", "  rkeConfig: {machineGlobalConfig: {}}\n", false},
		{"arguments in the webhook's order", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [v=2, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b, v=2]}}\n", true},
		{"without a template nothing writes them", "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [v=2, a=b]}}\n", "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b, v=2]}}\n", false},
		{"an argument that the webhook drops", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [profiling, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kube-apiserver-arg: [a=b]}}\n", false},
		{"other components are in the order of the file", psact + "  rkeConfig: {machineGlobalConfig: {kubelet-arg: [v=2, a=b]}}\n", psact + "  rkeConfig: {machineGlobalConfig: {kubelet-arg: [a=b, v=2]}}\n", false},
		{"the webhook's file goes to the end", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "," + other + "]}\n", psact + "  rkeConfig: {machineSelectorFiles: [" + other + "," + own + "]}\n", true},
		{"a file that goes", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "," + other + "]}\n", psact + "  rkeConfig: {machineSelectorFiles: [" + own + "]}\n", false},
		{"a cluster that Rancher refuses is compared as it is", "  rkeConfig: {machinePools: 7}\n", "  rkeConfig: {machinePools: 7, chartValues: null}\n", false},
	} {
		assert.Equal(t, Format().Alike(heron(t, c.a), heron(t, c.b)), c.alike, c.name)
	}
}
