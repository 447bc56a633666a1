// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/lab/build"
	"github.com/rke-lm/rke-lm/lab/cluster"
	"github.com/rke-lm/rke-lm/lab/rancher"
	"github.com/rke-lm/rke-lm/transform/args"
)

// Every write but a dry run comes back as Rancher's types and its webhook have it.
func TestTheWebhookWritesWhatIsWrittenInAnotherForm(t *testing.T) {
	l := withRKE2(t)
	write := func(patch string, options metav1.PatchOptions) []any {
		o := assert.Value(l.local.Resource(clusters).Namespace(rancher.Namespace).Patch(t.Context(), "lab", types.JSONPatchType, []byte(patch), options))(t)
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "rkeConfig", "machineGlobalConfig", "kube-apiserver-arg")
		return list
	}
	const key = "/spec/rkeConfig/machineGlobalConfig/kube-apiserver-arg"
	written := []any{"v=2", "audit-log-maxage=30", "audit-log-maxsize=50", "cloud-provider=aws"}
	add := `[{"op":"add","path":"/spec/defaultPodSecurityAdmissionConfigurationTemplateName","value":"rancher-restricted"},
		{"op":"add","path":"` + key + `","value":["v=2","audit-log-maxage=30","audit-log-maxsize=50","cloud-provider=aws"]}]`
	assert.EqualSlices(t, write(add, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}), written, "a dry run is changed")
	orders := map[string]bool{}
	for range 8 {
		list := write(add, metav1.PatchOptions{})
		if len(list) != len(written)+1 || !slices.ContainsFunc(list, func(v any) bool { return v == "audit-log-maxage=30" }) {
			t.Fatalf("not what was written, and the webhook's own: %v", list)
		}
		orders[fmt.Sprint(list)] = true
	}
	if len(orders) < 2 || l.Reformed() == 0 {
		t.Errorf("%d orders, %d writes in another form", len(orders), l.Reformed())
	}
}

// listed is a flag with a type that more than one occurrence adds to, in kube-apiserver's help.
var listed = regexp.MustCompile(`(?m)^ +--([a-z0-9-]+) (?:strings|stringArray|stringToString|mapString\w+|namedCertKey|pattern=N,\.\.\.)`)

func TestTheFlagsThatKubeAPIServerGathersAreKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a control plane")
	}
	p := assert.Value(build.ControlPlane(cluster.LastInTree))(t)
	program := assert.Value(p.Path(t.Context()))(t)
	help := assert.Value(exec.CommandContext(t.Context(), program, "kube-apiserver", "--help").CombinedOutput())(t)
	found := listed.FindAllStringSubmatch(string(help), -1)
	if len(found) < 20 {
		t.Fatalf("%d flags in:\n%s", len(found), help)
	}
	for _, m := range found {
		if !args.Accumulates(m[1]) {
			t.Errorf("every occurrence of --%s counts", m[1])
		}
	}
}
