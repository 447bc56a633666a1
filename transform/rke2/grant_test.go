// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/stages"
)

const (
	someMap     = "kind: ConfigMap\nmetadata: {name: some, namespace: demo}\n"
	leaseRole   = "kind: Role\nmetadata: {name: cloud-provider-extraction-migration, namespace: kube-system}\n"
	leaseRules  = "rules:\n- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}\n"
	leaseBound  = "kind: RoleBinding\nmetadata: {name: cloud-provider-extraction-migration, namespace: kube-system}\nroleRef: {kind: Role, name: cloud-provider-extraction-migration}\n"
	leaseToUser = "subjects:\n- {kind: User, name: 'system:kube-controller-manager'}\n"
	granted     = leaseRole + leaseRules + "---\n" + leaseBound + leaseToUser
)

// manifest writes additionalManifest as a literal block.
func manifest(header, text string) string {
	return "additionalManifest: " + header + "\n  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// documentsOf lists the documents of additionalManifest as kind and name.
func documentsOf(t *testing.T, m *migration) []string {
	t.Helper()
	in := assert.Value(m.RKEConfig().Get(manifestKey).Embedded())(t)
	var list []string
	for _, d := range in.Documents() {
		if d.Root().Exists() {
			kind, _ := d.Root().Get("kind").String()
			name, _ := d.Root().Get("metadata", "name").String()
			list = append(list, kind+" "+name)
		}
	}
	return list
}

func TestGrantAddsARoleAndABindingAfterWhatIsThere(t *testing.T) {
	added := []string{"Role " + leadermigration.Lease, "RoleBinding " + leadermigration.Lease}
	for _, c := range []struct {
		name, manifest string
		want           []string // in front of what is added
	}{
		{"absent", "", nil},
		{"null", "additionalManifest: null\n", nil},
		{"left out after its key", "additionalManifest:\n", nil},
		{"empty", "additionalManifest: ''\n", nil},
		{"empty in double quotes", "additionalManifest: \"\"\n", nil},
		{"a comment alone", manifest("|", "# later\n"), nil},
		{"one document, clipped", manifest("|", someMap), []string{"ConfigMap some"}},
		{"one document, stripped", manifest("|-", someMap), []string{"ConfigMap some"}},
		{"one document, kept", manifest("|+", someMap+"\n\n"), []string{"ConfigMap some"}},
		{"two documents", manifest("|", someMap+"---\n"+someMap), []string{"ConfigMap some", "ConfigMap some"}},
		{"a marker at the start and at the end", manifest("|", "---\n"+someMap+"---\n"), []string{"ConfigMap some"}},
		{"double quotes", "additionalManifest: \"kind: ConfigMap\\nmetadata: {name: some}\\n\"\n", []string{"ConfigMap some"}},
	} {
		for _, config := range []string{c.manifest + onAWS, onAWS + c.manifest} {
			old, _ := cluster(t, config).RKEConfig().Get(manifestKey).String()
			then := cluster(t, after(t, config, stages.GrantMigrationLease))
			assert.DeepEqual(t, documentsOf(t, then), append(c.want, added...), c.name)
			now, _ := then.RKEConfig().Get(manifestKey).String()
			assert.Truef(t, strings.HasPrefix(now, strings.TrimRight(old, "\n")), "%s: what was there changed:\n%s", c.name, now)
		}
	}
}

func TestGrantFitsIntoAFlowMapping(t *testing.T) {
	doc := parse(t, strings.Replace(document(release, ""), "{}", "{machineGlobalConfig: {cloud-provider-name: aws}}", 1))
	p := assert.Value(plan.Build(Format(), transform.Only(doc), transform.Target{EndState: transform.EndStateExternal}))(t)
	got := documentsOf(t, migrated(t, step(t, p, stages.GrantMigrationLease).Documents[0].After))
	assert.True(t, len(got) == 2, got)
}

func TestGrantIsDoneWhereTheLeaseCanBeLocked(t *testing.T) {
	clusterWide := strings.NewReplacer("RoleBinding", "ClusterRoleBinding", "kind: Role", "kind: ClusterRole", ", namespace: kube-system", "", "name: cloud-provider-extraction-migration", "name: any")
	for name, text := range map[string]string{
		"as rke-lm writes it":     leadermigration.Grant(leadermigration.Lease),
		"written another way":     granted,
		"after other documents":   someMap + "---\n" + granted,
		"the binding first":       leaseBound + leaseToUser + "---\n" + leaseRole + leaseRules,
		"for the whole cluster":   clusterWide.Replace(granted),
		"by a rule with wildcard": leaseRole + "rules:\n- {apiGroups: ['*'], resources: ['*'], verbs: ['*']}\n---\n" + leaseBound + leaseToUser,
	} {
		config := manifest("|", text) + onAWS
		assert.Equal(t, after(t, config, stages.GrantMigrationLease), config, name, "was edited")
	}
}

func TestGrantIsAddedToRightsThatDoNotSuffice(t *testing.T) {
	other := func(text string) string { return strings.ReplaceAll(text, "extraction", "another") }
	for name, text := range map[string]string{
		"no create":                     strings.Replace(other(granted), ", create", "", 1),
		"create of one name only":       strings.Replace(other(granted), "resources: [leases]", "resources: [leases], resourceNames: [cloud-provider-extraction-migration]", 1),
		"another lease":                 strings.Replace(other(granted), "resources: [leases]", "resources: [leases], resourceNames: [x]", 1),
		"another user":                  strings.Replace(other(granted), "system:kube-controller-manager", "another-user", 1),
		"only the service account":      strings.Replace(other(granted), "kind: User", "kind: ServiceAccount", 1),
		"a binding elsewhere":           strings.Replace(other(granted), "another-migration, namespace: kube-system}\nroleRef", "another-migration, namespace: demo}\nroleRef", 1),
		"a role without binding":        other(leaseRole + leaseRules),
		"a binding without role":        other(leaseBound + leaseToUser),
		"a cluster role of that name":   strings.Replace(leaseRole+leaseRules, "kind: Role", "kind: ClusterRole", 1),
		"a role of that name elsewhere": strings.ReplaceAll(granted, "kube-system", "demo"),
	} {
		got := documentsOf(t, cluster(t, after(t, manifest("|", text)+onAWS, stages.GrantMigrationLease)))
		n := len(got)
		assert.True(t, n >= 3 && got[n-1] == "RoleBinding "+leadermigration.Lease && got[n-2] == "Role "+leadermigration.Lease, name, got)
	}
}

func TestGrantRefusesANameThatIsTaken(t *testing.T) {
	const want = ": a manifest with the name cloud-provider-extraction-migration exists, but does not permit kube-controller-manager to acquire the migration lease; complete its rules and subjects, or rename it"
	for name, c := range map[string]struct{ text, line string }{
		"a role without binding":    {leaseRole + leaseRules, "c.yaml:8"},
		"a role with fewer rights":  {strings.Replace(granted, ", create", "", 1), "c.yaml:8"},
		"a binding without subject": {someMap + "---\n" + leaseBound, "c.yaml:11"},
	} {
		_, err := stageOf(t, cluster(t, manifest("|", c.text)+onAWS), stages.GrantMigrationLease).Edit()
		fails(t, err, c.line+want, name)
	}
}

func TestGrantRefusesManifestsThatCannotBeEdited(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"not YAML": {manifest("|", "kind: [\n"), "not YAML"},
		"an alias": {"x: &m |\n  kind: ConfigMap\nadditionalManifest: *m\n", "the anchor (&) on c.yaml:7, and its aliases (*) on c.yaml:9"},
		"folded":   {manifest(">", strings.ReplaceAll(someMap, "\n", "\n\n")), "folded"},
		"one line": {"additionalManifest: '{kind: ConfigMap}'\n", "one line"},
	} {
		_, err := plan.Build(Format(), transform.Only(parse(t, document(release, c.config+onAWS))), transform.Target{})
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), "c.yaml:") && strings.Contains(err.Error(), c.want), "%s: got %v, want … %s", name, err, c.want)
	}
}

func TestTheCheckOfGrantCanFail(t *testing.T) {
	for name, c := range map[string]struct{ after, want string }{
		"no manifest":         {onAWS, "to acquire the migration lease"},
		"a role alone":        {manifest("|", leaseRole+leaseRules) + onAWS, "the manifest would not permit system:kube-controller-manager to acquire the migration lease"},
		"a manifest replaced": {manifest("|", someMap) + onAWS, "to acquire the migration lease"},
		"another key changed": {manifest("|", granted) + onAWS + "  cni: calico\n", "cni would change on machines of class controlplane"},
	} {
		fails(t, checked(t, stages.GrantMigrationLease, onAWS, c.after), c.want, name)
	}
	fails(t, checked(t, stages.GrantMigrationLease, onAWS, manifest("|", granted)+onAWS), "")
}
