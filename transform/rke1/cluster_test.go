// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"errors"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

func TestTheProviderIsTheOneThatRKETakes(t *testing.T) {
	for text, want := range map[string]string{
		"cloud_provider: {name: aws}\n":                                                           "aws",
		"cloud_provider: {awsCloudProvider: {}}\n":                                                "aws",
		"cloud_provider: {name: external-aws}\n":                                                  "external-aws",
		"cloud_provider: {name: external-aws, awsCloudProvider: {}}\n":                            "aws",
		"cloud_provider: {name: external-aws, awsCloudProvider: {}, customCloudProvider: a}\n":    "external-aws",
		"cloud_provider: {name: aws, vsphereCloudProvider: {}}\n":                                 "vsphere",
		"cloud_provider: {name: aws, openstackCloudProvider: {}}\n":                               "openstack",
		"cloud_provider: {name: aws, azureCloudProvider: {}}\n":                                   "azure",
		"cloud_provider: {name: harvester, harvesterCloudProvider: {}, customCloudProvider: a}\n": "harvester",
		"cloud_provider:\n": "",
		"":                  "",
	} {
		assert.Equal(t, assert.Value(Open(parse(t, at(release, text)), ""))(t).provider(), want, text)
	}
}

func TestArgumentsThatMayBeRepeatedWin(t *testing.T) {
	m := opened(t, at(release, onAWS+"services: {kube-controller: {extra_args: {v: '1'}, extra_args_array: {v: ['2', '3']}}}\n"), transform.Target{})
	a, found := args.Last(m.argsOf(manager), "v")
	assert.True(t, found && a.Value == "3", a)
}

func TestWhatRKEReadsIsReadInAnySpelling(t *testing.T) {
	m := opened(t, at(release, onAWS+"services:\n  kube_controller: {cluster_cidr: 10.42.0.0/16, extra_args: {v: 2}}\n"), transform.Target{})
	s := m.Read.Services.KubeController
	assert.True(t, s.ClusterCIDR == "10.42.0.0/16" && s.ExtraArgs["v"] == "2", s)
	for _, key := range []string{"service_override", "serviceOverride"} {
		m := opened(t, at(release, "cloud_provider:\n  awsCloudProvider: {"+key+": {'1': {service: ec2, signing-region: a}}}\n"), transform.Target{})
		assert.Equal(t, m.cloudConfig(), "[ServiceOverride \"1\"]\nService = ec2\nSigningRegion = a\n", key)
	}
}

func TestEverySettingOfTheBlockIsCarried(t *testing.T) {
	m := opened(t, at(release, "cloud_provider:\n  awsCloudProvider:\n    global:\n      zone: z\n      vpc: v\n      subnet-id: s\n      routetable-id: r\n      role-arn: a\n"+
		"      kubernetes-cluster-tag: t\n      kubernetes-cluster-id: i\n      disable-security-group-ingress: true\n      elb-security-group: g\n      disable-strict-zone-check: true\n"), transform.Target{})
	want := "[Global]\nZone = z\nVPC = v\nSubnetID = s\nRouteTableID = r\nRoleARN = a\nKubernetesClusterTag = t\nKubernetesClusterID = i\n" +
		"DisableSecurityGroupIngress = true\nElbSecurityGroup = g\nDisableStrictZoneCheck = true\n"
	assert.Equal(t, m.cloudConfig(), want)
}

func TestTheConfigurationIsWhatItsReaderTakes(t *testing.T) {
	m := opened(t, at(release, "cloud_provider:\n  awsCloudProvider:\n    global: {zone: eu-west-1a, role-arn: 'arn:aws:iam::1:role/a', kubernetes-cluster-id: 'a; b \"c\" \\d'}\n"+
		"    service_override: {'0': {}, '1': {url: 'https://a.example.com:443/'}}\n"), transform.Target{})
	want := "[Global]\nZone = eu-west-1a\nRoleARN = arn:aws:iam::1:role/a\nKubernetesClusterID = \"a; b \\\"c\\\" \\\\d\"\n\n[ServiceOverride \"1\"]\nURL = https://a.example.com:443/\n"
	assert.Equal(t, m.cloudConfig(), want)
}

func TestTheVersionIsTheFilesOrItsImages(t *testing.T) {
	for text, want := range map[string]string{
		at(release, ""): release,
		"system_images: {kubernetes: 'example.com:5000/rancher/hyperkube:v1.25.9-rancher2'}\n": "v1.25.9-rancher2",
		at(release, "system_images: {kubernetes: 'rancher/hyperkube:v1.25.9-rancher2'}\n"):     release,
		"system_images: {kubernetes: 'example.com:5000/rancher/hyperkube'}\nx: 1\n":            "v1.24.1-rancher1-1",
		"kubernetes_version: ''\n": "v1.24.1-rancher1-1",
		"kubernetes_version: v1.26.15-rancher1-1 \nsystem_images: {kubernetes: 'a@sha256:0123456789ab'}\n": release,
	} {
		c, err := Open(parse(t, text), "v1.24.1-rancher1-1")
		assert.Truef(t, err == nil && c.Version == want, "%s: %v, %v", text, c, err)
	}
}

func TestSharedConfigurationIsReadThrough(t *testing.T) {
	for _, text := range []string{
		"x: &p {name: aws}\ncloud_provider: *p\n",
		onAWS + "services:\n  kubelet: &s {}\n  scheduler: *s\n",
		onAWS + "x: &a {extra_args: {}}\nservices:\n  kube-controller:\n    <<: *a\n",
		"x: &all\n  cloud_provider: {name: aws}\n<<: *all\n",
	} {
		c, err := Open(parse(t, at(release, text)), "")
		assert.Truef(t, err == nil && c.Read.CloudProvider.Name == "aws", "%v for\n%s", err, text)
	}
}

func TestAnEditOfASharedValueIsRefused(t *testing.T) {
	text := at(release, "x: &p\n  name: aws\ny: *p\ncloud_provider: *p\n")
	_, err := plan.Build(Format(), transform.Only(parse(t, text)), transform.Target{Accept: []string{"node-address-missing"}})
	assert.ErrorContains(t, err, "c.yml:2, and its aliases (*) on c.yml:4, c.yml:5")
}

// Nodes are only read, so they may share values.
func TestNodesMayShareValues(t *testing.T) {
	const text = "x: &n {user: a, role: &r [controlplane]}\ny: &m {port: '1', user: b}\nnodes:\n- {<<: *n, address: c}\n- {<<: [*n, *m], address: d, user: e}\n- {address: f, role: *r}\n"
	doc := parse(t, at(release, text+onAWS))
	assert.True(t, IsCluster(doc), "it is a cluster")
	m := opened(t, at(release, text+onAWS), transform.Target{})
	got := ""
	for _, n := range m.Read.Nodes {
		got += n.Address + n.User + n.Port + strings.Join(n.Role, "") + ";"
	}
	assert.Equal(t, got, "cacontrolplane;de1controlplane;fcontrolplane;")
}

func TestAValueOfAnotherTypeIsRefusedWithoutQuotingIt(t *testing.T) {
	for text, want := range map[string]string{
		at(release, "services:\n  kubelet: {extra_binds: hunter2}\n"): "c.yml:2: services: a value does not have the type",
		at(release, "nodes: hunter2\n"):                               "c.yml:2: nodes: a value does not have the type",
		`{"rancherKubernetesEngineConfig": {"nodes": "hunter2"}}`:     "rancherKubernetesEngineConfig.nodes: a value does not have the type",
	} {
		_, err := Open(parse(t, text), "")
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "hunter2"), "%s: %v", text, err)
	}
}

func TestOtherClustersAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		at(release, nodes): "no cloud provider is set",
		at(release, "cloud_provider: {name: azure}\n"):      "the cloud provider is not aws",
		at(release, "cloud_provider: {name: external}\n"):   "the cloud provider is not aws",
		at("v1.21.14-rancher1-1", onAWS):                    "leader migration requires Kubernetes 1.22 or later",
		"kubernetes_version: v1.20.15-rancher1-1\n" + nodes: "no cloud provider is set",
	} {
		_, err := open(transform.Only(parse(t, text)), transform.Target{})
		var refused *transform.Refused
		assert.Truef(t, errors.As(err, &refused) && refused.Rule == transform.RuleNotMigratable && strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}

// Every check notices a result that is not the promised one.
func TestChecksNoticeAWrongResult(t *testing.T) {
	block := "cloud_provider:\n  name: aws\n  awsCloudProvider: {global: {zone: a}}\n"
	for _, c := range []struct{ name, stage, before, after, want string }{
		{"nothing was granted", stages.GrantMigrationLease, onAWS, onAWS + "addons: a\n", "to acquire the migration lease"},
		{"more than addons changed", stages.GrantMigrationLease, onAWS, onAWS + granted + "prefix_path: /a\n", "prefixPath would change"},
		{"the flag is missing", stages.EnableLeaderMigration, onAWS, onAWS, "would not get"},
		{"the flag is off", stages.EnableLeaderMigration, onAWS, onAWS + strings.Replace(flagged, "true", "false", 1), "would not get"},
		{"another argument changed", stages.EnableLeaderMigration, onAWS, onAWS + flagged + "      v: '2'\n", "extraArgs.v would change"},
		{"an unknown key came", stages.EnableLeaderMigration, onAWS, onAWS + flagged + "      v: '2'\n    extraargs: {}\n", "would change"},
		{"an unknown key alone came", stages.EnableLeaderMigration, onAWS, onAWS + strings.Replace(flagged, "extra_args:", "extra_argz: {}\n    extra_args:", 1), "extra_argz"},
		{"the provider stayed", stages.SwitchToExternal, onAWS, onAWS, "would not be external-aws"},
		{"the flag stayed", stages.SwitchToExternal, onAWS + flagged, isOut + flagged, "would keep enable-leader-migration"},
		{"a component stayed", stages.SwitchToExternal, onAWS + "services: {kubelet: {extra_args: {cloud-provider: aws}}}\n", isOut + "services: {kubelet: {extra_args: {cloud-provider: aws}}}\n", "kubelet would keep"},
		{"the settings are lost", stages.SwitchToExternal, block, isOut, "would not be kept"},
		{"the settings are others", stages.SwitchToExternal, block, isOut + "  customCloudProvider: other\n", "would not be kept"},
		{"the block stayed", stages.SwitchToExternal, block, isOut + "  awsCloudProvider: {global: {zone: a}}\n", "would not be external-aws"},
		{"the metadata is asked for named nodes", stages.SwitchToExternal, named + onAWS, named + isOut, "useInstanceMetadataHostname would change"},
		{"the version moved", stages.SwitchToExternal, onAWS, isOut + "cluster_name: b\n", "clusterName would change"},
	} {
		assert.ErrorContains(t, checked(t, c.stage, c.before, c.after, transform.Target{}), c.want, c.name)
	}
}

// checked is what the check of a stage says of a result.
func checked(t *testing.T, stage, before, after string, target transform.Target) error {
	t.Helper()
	return stageOf(t, opened(t, at(release, before), target), stage).Check(opened(t, at(release, after), target))
}

// Strict errors name fields and types, never values.
func TestStrictErrorsNameNoValue(t *testing.T) {
	for message, want := range map[string]string{
		"line 3: field secretz not found in type types.BaseService":       "field secretz not found in type types.BaseService",
		"line 1: cannot unmarshal !!str `hunter2` into bool":              "a !!str where bool is expected",
		"line 1: something else about `hunter2`":                          "a value of another type",
		"line 1: cannot unmarshal !!map into []string":                    "a !!map where []string is expected",
		"line 9: field nodes already set in type types.RancherKubernetes": "field nodes already set in type types.RancherKubernetes",
	} {
		assert.Equal(t, withoutValue(message), want, message)
	}
}
