// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

// modes says in one word each how service, route and node lifecycle are run.
func modes(p Process) string {
	text := ""
	for _, c := range controllers() {
		text += [...]string{"never", "main", "migration"}[p.Modes[c]] + " "
	}
	return text + p.Unreadable
}

const listOld = `leaderName: other-lease
controllerLeaders:
- {name: route, component: "*"}
- {name: service, component: kube-controller-manager}
- {name: cloud-node-lifecycle, component: cloud-controller-manager}
`

const listNew = `controllerLeaders:
- {name: node-route-controller, component: "*"}
- {name: service-lb-controller, component: "*"}
- {name: cloud-node-lifecycle-controller, component: "*"}
`

func TestArgumentsShowHowControllersAreRun(t *testing.T) {
	conf := func(s string) *string { return &s }
	const routes, image128 = "--allocate-node-cidrs=true", "example.org/provider-aws/cloud-controller-manager:v1.28.1"
	for _, c := range []struct {
		name, component, image string
		config                 *string
		args                   []string
		want                   string
	}{
		{"in-tree without the flag", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes}, "main main main "},
		{"in-tree, which writes no routes without ranges", observed.KubeManager, "", nil, []string{"--cloud-provider=aws"}, "main never main "},
		{"in-tree with the flag", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes, "--enable-leader-migration"}, "migration migration migration "},
		{"a flag that is overridden", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes, "--enable-leader-migration", "--enable-leader-migration=false"}, "main main main "},
		{"the flag without an election", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes, "--enable-leader-migration", "--leader-elect=false"}, "main main main "},
		{"an external one that keeps the flag", observed.KubeManager, "", nil, []string{"--cloud-provider=external", "--enable-leader-migration"}, "never never never "},
		{"no provider at all", observed.KubeManager, "", nil, nil, "never never never "},
		{"controllers that are switched off", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes, "--controllers=*,-service,-route"}, "never never main "},
		{"controllers that are switched off by their new names", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", "--controllers=*,-service-lb-controller"}, "never never main "},
		{"only one controller", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", routes, "--controllers=service"}, "main never never "},
		{"a list for the manager", observed.KubeManager, "", conf(listOld), []string{"--cloud-provider=aws", routes, "--enable-leader-migration", "--leader-migration-config=/etc/l.conf"}, "migration migration never "},
		{"a list without the flag", observed.KubeManager, "", conf(listOld), []string{"--cloud-provider=aws", routes, "--leader-migration-config=/etc/l.conf"}, "main main main "},
		{"an empty list", observed.KubeManager, "", conf("leaderName: x\n"), []string{"--cloud-provider=aws", routes, "--enable-leader-migration", "--leader-migration-config=/etc/l.conf"}, "main main main "},
		{"a list on the node", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", "--enable-leader-migration", "--leader-migration-config=/etc/l.conf"}, "never never never kube-controller-manager has its LeaderMigrationConfiguration in a file on its node"},
		{"the other manager of 1.26", observed.CloudManager, "example.org/c:v1.26.6", nil, []string{"--enable-leader-migration=true", "--configure-cloud-routes=false"}, "migration never migration "},
		{"the other manager of 1.28 by default", observed.CloudManager, image128, nil, []string{"--enable-leader-migration=true"}, "main main migration "},
		{"that with a list of old names", observed.CloudManager, image128, conf(listOld), []string{"--enable-leader-migration=true", "--leader-migration-config=/etc/l.conf"}, "main main main "},
		{"that with a list of new names", observed.CloudManager, image128, conf(listNew), []string{"--enable-leader-migration=true", "--leader-migration-config=/etc/l.conf"}, "migration migration migration "},
		{"values that are items of their own", observed.KubeManager, "", nil, []string{"kube-controller-manager", "--cloud-provider", "aws", "--allocate-node-cidrs", "--enable-leader-migration"}, "migration migration migration "},
		{"an external provider that is an item of its own", observed.KubeManager, "", nil, []string{"--cloud-provider", "external"}, "never never never "},
		{"underscores in names", observed.KubeManager, "", nil, []string{"--cloud_provider=aws", "--enable_leader_migration=true"}, "migration never migration "},
		{"a shell", observed.KubeManager, "", nil, []string{"/bin/sh", "-c", "exec kube-controller-manager --cloud-provider=aws"}, "never never never kube-controller-manager gets its arguments from a shell or from variables"},
		{"a provider from a variable", observed.KubeManager, "", nil, []string{"--cloud-provider=$(PROVIDER)"}, "main never main kube-controller-manager gets its arguments from a shell or from variables"},
		{"a lease in another namespace", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", "--leader-elect-resource-namespace=managers"}, "main never main kube-controller-manager has its leases in the namespace managers"},
		{"a lock that is no Lease", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", "--leader-elect-resource-lock=endpoints"}, "main never main kube-controller-manager has its leases in endpoints"},
		{"a lock that is a Lease and more", observed.KubeManager, "", nil, []string{"--cloud-provider=aws", "--leader-elect-resource-lock=endpointsleases"}, "main never main "},
		{"an idle manager has its lease where it likes", observed.KubeManager, "", nil, []string{"--cloud-provider=external", "--leader-elect-resource-lock=endpoints"}, "never never never "},
		{"an image that tells no version", observed.CloudManager, "example.org:5000/c:latest", nil, []string{"--enable-leader-migration=true"}, "never never never the tag of cloud-controller-manager's image does not show its version, which determines its default configuration"},
		{"an image that tells none, and a list", observed.CloudManager, "example.org/c@sha256:0a", conf(listNew), []string{"--enable-leader-migration=true", "--leader-migration-config=/etc/l.conf"}, "migration migration migration "},
	} {
		assert.Equal(t, modes(ReadProcess(observed.Manager{Component: c.component, Image: c.image, Config: c.config, Args: c.args})), c.want, c.name)
	}
}

func TestImagesShowTheirMinor(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6": "v1.26",
		"mirror.example.org:5000/hardened-kubernetes:v1.26.15-rke2r1":   "v1.26",
		"mirror.example.org:5000/hardened-kubernetes":                   "",
		"a/b:v1.27.1@sha256:9f86d081884c7d65":                           "v1.27",
		"a/b:v2.28.1":                                                   "", "a/b:main": "", "": "",
	} {
		assert.Equal(t, versionOf(image), want, image)
	}
}

func TestContainersShowTheirManager(t *testing.T) {
	for _, c := range []struct {
		image   string
		command []string
		want    string
	}{
		{"rancher/hardened-kubernetes:v1.26.15-rke2r1", []string{"kube-controller-manager", "--v=2"}, observed.KubeManager},
		{"registry.k8s.io/kube-controller-manager:v1.26.15", []string{"--v=2"}, observed.KubeManager},
		{"registry.k8s.io/provider-aws/cloud-controller-manager:v1.26.6", []string{"--cloud-provider=aws"}, observed.CloudManager},
		{"mirror.example.org/cloud-controller-manager:v1.26.6", []string{"--cloud-provider=aws"}, observed.CloudManager},
		{"rancher/rke2-cloud-provider:v1.26.3", []string{"cloud-controller-manager", "--cloud-provider=rke2"}, ""},
		{"registry.k8s.io/provider-os/openstack-cloud-controller-manager:v1.26.3", []string{"--cloud-provider=openstack"}, ""},
		{"rancher/hardened-kubernetes:v1.26.15-rke2r1", []string{"kube-scheduler"}, ""},
		{"mirror.example.org/kube-controller-manager@sha256:9f86d081884c7d65", []string{"--v=2"}, observed.KubeManager},
		{"mirror.example.org/kubernetes:v1.26.15", []string{"/go-runner", "--also-stdout=true", "/usr/local/bin/kube-controller-manager", "--v=2"}, observed.KubeManager},
		{"mirror.example.org/cloud-controller-manager:v1.26.6", []string{"--v", "2", "--cloud-provider", "aws"}, observed.CloudManager},
		{"rancher/hardened-kubernetes:v1.26.15-rke2r1", []string{"sh", "-c", "exec kube-controller-manager --cloud-provider=aws"}, observed.KubeManager},
		{"rancher/hardened-kubernetes:v1.26.15-rke2r1", []string{"/bin/bash", "-c", "set -e; . /etc/env\nLOG=1 /usr/local/bin/kube-controller-manager $ARGS"}, observed.KubeManager},
		{"mirror.example.org/cloud-controller-manager:v1.26.6", []string{"sh", "-c", "exec /bin/cloud-controller-manager --cloud-provider=aws --v=2"}, observed.CloudManager},
		{"mirror.example.org/cloud-controller-manager:v1.26.6", []string{"sh", "-c", "exec /bin/cloud-controller-manager --cloud-provider=vsphere"}, ""},
		{"mirror.example.org/kubectl:v1.26", []string{"sh", "-c", "kubectl -n kube-system get lease kube-controller-manager"}, ""},
		{"mirror.example.org/exporter:v1", []string{"exporter", "--watch=/var/lib/kube-controller-manager"}, ""},
	} {
		assert.Equal(t, Component(c.image, c.command), c.want, c.image, c.command)
	}
}

func TestTheLastConfigurationFileCounts(t *testing.T) {
	for want, command := range map[string][]string{
		"/b": {"--leader-migration-config=/a", "--leader-migration-config=/b"},
		"/c": {"--leader-migration-config", "/c", "--v=2"},
		"":   {"--v=2"},
	} {
		assert.Equal(t, ConfigFile(command), want, command)
	}
}

// written lets arguments be written in a file from now on.
func (p *play) written(args ...string) *play {
	p.versions = p.versions.Written(Given{"cluster.yml", args})
	return p
}

// RKE1's manager is a container of docker, which no API shows.
func TestGivenArgumentsShowWhatAManagerWithoutAPodOwns(t *testing.T) {
	waiting := cloud("v1.26.6", flag, noRoutes)
	for _, c := range []struct {
		name string
		play *play
		want string
	}{
		{"without them it is unknown", newPlay().hold("cp_a", km).observe(10), "10 unknown"},
		{"in-tree", newPlay().written(providerAWS).hold("cp_a", km).observe(10), "10 kube"},
		{"external", newPlay().written(providerExternal).hold("cp_a", km).observe(10), "10 none"},
		{"with the flag, and the lease", newPlay().written(providerAWS, flag).hold("cp_a", km, mig).observe(10), "10 kube"},
		{"with the flag, and without the lease", newPlay().written(providerAWS, flag).hold("cp_a", km).observe(10), "10 none"},
		{"without an election nothing shows that it runs", newPlay().written(providerAWS, "--leader-elect=false").observe(10), "10 unknown"},
		{"who was there before a change has what was written before it", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5), "10 kube"},
		{"who comes later has one of the two: here they differ", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5).hold("cp_b", km).observe(5), "10 kube, 5 unknown"},
		{"by the lease it has the flag", newPlay().written(providerAWS).hold("cp_a", km).observe(5).written(providerAWS, flag).observe(5).hold("cp_b", km, mig).observe(5), "15 kube"},
		{"the switch: whoever comes owns nothing without the lease", newPlay(waiting).written(providerAWS, flag).hold("cp_a", km, mig).hold("one_b", cm).observe(5).written(providerExternal).observe(5).die(km, mig).observe(15).hold("cp_b", km).observe(2).hold("one_b", mig).observe(5), "24 kube, 3 none, 5 cloud"},
		{"what was written before the last two is on no machine any more", newPlay().written(providerAWS).written(providerAWS, flag).written(providerExternal).observe(1).hold("cp_b", km).observe(5), "6 none"},
		{"the pods that there are tell more", newPlay(kube(providerAWS)).written(providerExternal).hold("one_a", km).observe(5), "5 kube"},
	} {
		assert.Equal(t, c.play.summary(), c.want, c.name)
	}
}

func TestWhatIsUnknownSaysWhereItIsWritten(t *testing.T) {
	p := newPlay().written(providerAWS).observe(1).written(providerAWS, flag).hold("cp_b", km).observe(2)
	p.summary()
	why := p.got[len(p.got)-1].Unknown
	assert.True(t, strings.Contains(why, "cluster.yml before its last change") && strings.Contains(why, "or those of cluster.yml"), why)
}

// Rancher's object says what is on all machines, and what may be on some of them.
func TestVersionsOfAnObjectGoWhenNothingIsOpen(t *testing.T) {
	a, b, c := Given{"a", []string{"1"}}, Given{"b", []string{"2"}}, Given{"c", []string{"3"}}
	var v Versions
	for i, step := range []struct {
		applied Given
		open    []Given
		want    string
	}{
		{a, []Given{a}, "[1]"},
		{a, []Given{b}, "[1][2]"},
		{a, []Given{c}, "[1][2][3]"}, // b may be on machines that it reached
		{a, []Given{c, b}, "[1][2][3]"},
		{c, []Given{c}, "[3]"},
	} {
		v = v.Served(step.applied, step.open...)
		printed := ""
		for _, g := range v {
			printed += fmt.Sprint(g.Args)
		}
		assert.Equal(t, printed, step.want, i)
	}
}
