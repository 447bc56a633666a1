// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke1

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/stages"
)

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
