// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	provv1 "github.com/rancher/rancher/pkg/apis/provisioning.cattle.io/v1"
	"github.com/rogpeppe/go-internal/txtar"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// agree requires of a type that the tree is stored as the library decodes its text, or
// left to the library. It reports whether it was stored.
func agree[T any](t *testing.T, root yamledit.Node) bool {
	t.Helper()
	var have T
	if !fits(root, &have) {
		return false
	}
	want, strict := decodeText[T](root.JSON(), "it")
	if strict.err != nil || len(strict.fields) > 0 {
		t.Errorf("stored, and the library finds %v, %v", strict.err, strict.fields)
	}
	if !reflect.DeepEqual(want, have) {
		t.Errorf("%+v\n%+v", want, have)
	}
	return true
}

// odd has a field of each kind that types can have.
type odd struct {
	Any      any              `json:"any,omitempty"`
	Map      map[string]any   `json:"map"`
	Names    map[string]int32 `json:"names"`
	Pointer  *string          `json:"pointer"`
	Numbers  []int8           `json:"numbers"`
	Small    uint8            `json:"small"`
	Float    float32          `json:"float"`
	Quoted   int              `json:"quoted,string"`
	Bytes    []byte           `json:"bytes"`
	Pointers []*bool          `json:"pointers"`
	Untagged string
	hidden   string
	Left     string `json:"-"`
}

var _ = odd{}.hidden // no key is stored in it

// plain is without what only the library stores.
type plain struct {
	Any      any              `json:"any,omitempty"`
	Map      map[string]any   `json:"map"`
	Names    map[string]int32 `json:"names"`
	Pointer  *string          `json:"pointer"`
	Numbers  []int8           `json:"numbers"`
	Small    uint8            `json:"small"`
	Float    float32          `json:"float"`
	Pointers []*bool          `json:"pointers"`
	Untagged string
	embedded
}

type embedded struct {
	Inner struct{ A, B string } `json:"inner"`
}

func TestATreeIsStoredAsItsTextDecodes(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		stored bool
	}{
		"nothing":                 {"{}\n", true},
		"strings":                 {"Untagged: yes it is\npointer: 'true'\ninner: {A: \"\\u00ff\\u2028<&>\", B: '007'}\n", true},
		"numbers":                 {"any: [1, 1.5, -0, 1e3, 0x10, 1_000, 123456789012]\nnumbers: [1, -128]\nsmall: 255\nfloat: 0.1\n", true},
		"a number out of range":   {"small: 256\n", false},
		"a negative one":          {"small: -1\n", false},
		"a fraction for an int":   {"numbers: [1.5]\n", false},
		"an inexact number":       {"any: 123456789012345678901\n", false},
		"not a number":            {"any: .nan\n", true},
		"null everywhere":         {"any:\nmap:\nnames: {a: }\npointer: ~\nnumbers: [~]\nsmall:\npointers: [~, true]\nUntagged: null\ninner:\n", true},
		"empty collections":       {"any: []\nmap: {}\nnames: {}\nnumbers: []\npointers: []\n", true},
		"any of any":              {"any: {a: [1, {b: ~, c: yes}], 007: x, true: y}\nmap: {a: {b: 1.25}}\n", true},
		"a text for a number":     {"small: '1'\n", false},
		"a number for a text":     {"Untagged: 1\n", false},
		"a mapping for a text":    {"Untagged: {a: b}\n", false},
		"a list for a mapping":    {"inner: [a]\n", false},
		"an unknown field":        {"other: 1\n", false},
		"a field of another case": {"untagged: a\n", false},
		"a merge key":             {"inner: &x {A: a, B: b}\nmap: {<<: *x, B: c}\n", true},
		"an alias":                {"Untagged: &a text\npointer: *a\n", true},
		"a list":                  {"[a]\n", false},
		"a text":                  {"text\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if stored := agree[plain](t, root(t, c.text)); stored != c.stored {
				t.Errorf("stored: %t", stored)
			}
			if agree[odd](t, root(t, c.text)) {
				t.Error("a type with rules of its own is not left to the library")
			}
		})
	}
}

func TestAConfigurationWithoutTypesIsStoredAsItsTextDecodes(t *testing.T) {
	for config, stored := range map[string]bool{
		"{}": true,
		"{a: 1, b: [x, 1.5, true, ~], c: {d: 'yes', 007: 0644}, e: -0}":  true,
		"{a: 123456789012345678901, b: 1e300, c: .nan, d: \"\\u2028<\"}": true,
		"{a: &x {b: c}, d: *x, e: {<<: *x, f: g}}":                       true,
		"~":     true,
		"[a]":   false,
		"text":  false,
		"1e400": false,
	} {
		if agree[provv1.Cluster](t, root(t, "spec: {rkeConfig: {machineGlobalConfig: "+config+"}}\n")) != stored {
			t.Errorf("%s: stored: %t", config, !stored)
		}
	}
}

func FuzzATreeIsStoredAsItsTextDecodes(f *testing.F) {
	f.Add("apiVersion: v1\nmetadata: {name: a, creationTimestamp: null, deletionTimestamp: 2024-01-01T00:00:00Z}\nspec: {containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}, ports: [{containerPort: 80}]}]}\n")
	f.Add("spec: {template: {spec: {tolerations: [{tolerationSeconds: 3}]}}, strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}}\n")
	f.Add("any: {a: [1, {b: ~}]}\nnumbers: [1]\nfloat: 1e40\n")
	f.Add("spec:\n  rkeConfig:\n    machineGlobalConfig: {cni: calico, a: [1, 2]}\n    machinePools: [{name: p, quantity: 3, drainBeforeDeleteTimeout: 1m}]\n")
	files, err := filepath.Glob("../../testdata/golden/rke2-*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(txtar.Parse(text).Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := yamledit.ParseString("in.yaml", text)
		if err != nil {
			return
		}
		agree[provv1.Cluster](t, d.Root())
		agree[appsv1.Deployment](t, d.Root())
		agree[corev1.Pod](t, d.Root())
		agree[plain](t, d.Root())
	})
}

func TestMostClustersAreStoredWithoutTheLibrary(t *testing.T) {
	text := "metadata: {name: a, labels: {a: b}}\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig: {cni: calico, a: [1, 2]}\n    additionalManifest: x\n" +
		"    machinePools: [{name: p, etcdRole: true, quantity: 3}]\n    chartValues: {rke2-calico: {}}\n  localClusterAuthEndpoint: {enabled: true}\n"
	if !agree[provv1.Cluster](t, root(t, text)) {
		t.Error("it was left to the library")
	}
}
