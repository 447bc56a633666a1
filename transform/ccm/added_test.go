// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestTheManagerOfAnotherCloudIsKnownByItsNames(t *testing.T) {
	for text, want := range map[string]string{
		"kind: HelmChart\nmetadata: {name: ccm}\nspec: {chart: hcloud-cloud-controller-manager}\n":                                                          "ccm",
		"kind: HelmChart\nmetadata: {name: vsphere-cpi}\nspec: {chart: rancher-vsphere-cpi}\n":                                                              "vsphere-cpi",
		"kind: HelmChart\nmetadata: {name: aws}\nspec: {chart: aws-cloud-controller-manager}\n":                                                             "",
		"kind: HelmChart\nmetadata: {name: cpid}\nspec: {chart: occmd}\n":                                                                                   "",
		"kind: DaemonSet\nmetadata: {name: occm}\nspec: {template: {spec: {containers: [{image: r.example.com/openstack-cloud-controller-manager:v1}]}}}\n": "occm",
		"kind: DaemonSet\nmetadata: {name: m}\nspec: {template: {spec: {containers: [{image: r.example.com/aws/cloud-controller-manager:v1}]}}}\n":          "",
		"kind: ConfigMap\nmetadata: {name: cloud-provider-config}\n":                                                                                        "",
		"# nothing\n": "",
	} {
		docs := assert.Value(yamledit.ParseStream(text))(t)
		assert.Equal(t, OtherManager(docs), want, text)
	}
}

// complete is a chart that lacks nothing, with the given lines among its arguments.
func complete(lines ...string) string {
	return "kind: HelmChart\nspec:\n  chart: aws-cloud-controller-manager\n  failurePolicy: abort\n  version: 0.0.8\n  valuesContent: |-\n" +
		"    image: {tag: v1.26.6}\n    hostNetworking: true\n    nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}\n" +
		"    tolerations: [{operator: Exists}]\n    args:\n      - --cloud-provider=aws\n      " +
		strings.Join(append(lines, "- --configure-cloud-routes=false"), "\n      ") + "\n"
}

func TestTheFlagOfAChartThatIsThere(t *testing.T) {
	without := options
	without.LeaderMigration = false
	for _, c := range []struct {
		name, before, want string
		o                  Options
	}{
		{"is switched on where it is", complete("- --enable-leader-migration=false # for now"), complete("- --enable-leader-migration=true # for now"), options},
		{"keeps its quotes", complete("- '--enable-leader-migration=false'"), complete("- '--enable-leader-migration=true'"), options},
		{"is switched on wherever it is", complete("- --enable-leader-migration", "- --enable-leader-migration=false"), complete("- --enable-leader-migration=true", "- --enable-leader-migration=true"), options},
		{"is kept where it is on", complete("- --enable-leader-migration"), "", options},
		{"goes without leader migration", complete("- --v=2", "- --enable-leader-migration=true"), complete("- --v=2"), without},
		{"needs not go where it is off", complete("- --enable-leader-migration=false"), "", without},
	} {
		assert.Equal(t, completed(t, c.before, c.o), c.want, c.name)
	}
}
