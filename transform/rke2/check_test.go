// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

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
