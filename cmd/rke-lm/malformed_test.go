// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/plan"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// samples are golden cases that have, together, most of what is read.
var samples = []string{
	"rke2-page-entry-overwrites", "rke2-values-config", "rke2-values-set-not", "rke2-tainted-control-plane-pool", "rke2-chart-archive-not", "rke2-own-daemonset",
	"rke2-leader-migration-config-given", "rke2-past-126-broken-custom-external", "rke2-custom-cluster-own-labels", "rke2-migrated-as-published", "rke1-minimal", "rke1-block-settings", "rke1-extra-args-array", "rke1-addons-granted",
	"manifest-cloud-finished", "manifest-static-pod-with-configuration", "manifest-deployment-certificates-in-image", "manifest-kubeadm-mapping", "manifest-kubeadm-nodes",
}

// misfits are values that a part may have instead of its own.
var misfits = []any{nil, "x", "", 7, true, []any{}, map[string]any{}, []any{map[string]any{}}, map[string]any{"": nil}}

// eachWrong makes one part after the other below a path miss, or be of another type, and calls use with what was done.
func eachWrong(in any, path string, use func(what string)) {
	part := func(path string, was any, set func(any)) {
		for _, w := range misfits {
			set(w)
			use(fmt.Sprintf("%s: %#v", path, w))
		}
		set(was)
		eachWrong(was, path, use)
	}
	switch in := in.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(in)) {
			was := in[k]
			delete(in, k)
			use(path + "." + k + " is missing")
			part(path+"."+k, was, func(v any) { in[k] = v })
		}
	case []any:
		for i, was := range in {
			part(fmt.Sprintf("%s[%d]", path, i), was, func(v any) { in[i] = v })
		}
	}
}

func parsedYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	assert.NilError(t, yaml.Unmarshal([]byte(text), &v))
	return v
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	return string(assert.Value(yaml.Marshal(v))(t))
}

// Documents whose parts are missing, null or of another type are refused with their
// place, or planned to an end that lasts. Nothing panics, and nothing is taken for a
// bug of rke-lm. A part is missing and null in each sample that has it, and of another type
// in the first: where the type is wrong it is not read, whatever is around it.
func TestMalformedDocumentsAreRefusedWithTheirPlace(t *testing.T) {
	sweep(t)
	o, count, tried := searchFor(t, ""), 0, map[string]bool{}
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			outer := parsedYAML(t, golden.Input(t, name).Text())
			try := func(what string) {
				at := indexes.ReplaceAllString(what, "")
				if tried[at] && !strings.HasSuffix(what, "<nil>") && !strings.HasSuffix(what, "missing") {
					return
				}
				tried[at] = true
				count++
				text := marshalled(t, outer)
				err := transform.Guard(what, func() error { return tryMalformed(o, text) })
				assert.Truef(t, err == nil, "%s: %v\n%s", what, err, text)
			}
			kindOf := func(v map[string]any) string { return fmt.Sprint(v["apiVersion"], " ", v["kind"]) }
			eachWrong(outer, kindOf(outer), try)
			config, _ := field(outer, "spec", "rkeConfig").(map[string]any)
			for key, in := range map[string]map[string]any{"additionalManifest": config, "addons": outer} {
				manifests, _ := in[key].(string)
				for _, c := range yamledit.Split("", []byte(manifests)) {
					one := parsedYAML(t, string(c.Bytes))
					eachWrong(one, "manifest "+kindOf(one), func(what string) {
						in[key] = marshalled(t, one)
						try(what)
					})
				}
			}
		})
	}
	assert.Truef(t, count >= 3000, "only %d variants", count)
}

// indexes are places in lists, in a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// A format that is forced on a document refuses what it is not.
func TestAForcedFormatRefusesOtherDocuments(t *testing.T) {
	texts := []string{"x\n", "[]\n", "{}\n", "7\n", "- a\n", "a:\n", "kind: Pod\n", "apiVersion: v1\nkind: Pod\n", "spec:\n", "spec: {rkeConfig: }\n"}
	for _, name := range samples {
		texts = append(texts, golden.Input(t, name).Text())
	}
	for _, format := range formatNames() {
		o := searchFor(t, format)
		for _, text := range texts {
			err := transform.Guard(format, func() error { return tryMalformed(o, text) })
			assert.Truef(t, err == nil, "%v\n%s", err, text)
		}
	}
}

// searchFor is a search for clusters of a format, or of each with "".
func searchFor(t *testing.T, format string) *run.Search {
	t.Helper()
	o := &run.Search{Formats: formats(), Format: format}
	assert.NilError(t, o.Check())
	return o
}

// tryMalformed lints, explains and plans a document, and returns what must not be.
func tryMalformed(o *run.Search, text string) error {
	_, f, err := o.Finder.Open(yamledit.Chunk{File: "m.yaml", Bytes: []byte(text)})
	if err != nil || f.Docs == nil {
		return unfit(err)
	}
	target := transform.Target{EndState: transform.EndStateExternal, AssumeVersion: map[string]string{"rke2": "v1.26.15+rke2r1", "rke1": "v1.26.15-rancher1-1"}[f.Format.Name]}
	c, err := f.Format.Lint(f.Docs, target)
	if c != nil {
		c.Findings("")
	}
	if err := unfit(err); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	_, err = f.Format.Classes(f.Docs, target)
	if err := unfit(err); err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	p, err := plan.Build(f.Format, f.Docs, target)
	if err != nil {
		return unfit(err)
	}
	var made []plan.Step
	for _, s := range p.Steps {
		if s.State == plan.Blocked {
			return nil
		}
		if s.Changes() {
			made = append(made, s)
		}
	}
	return plan.StayDone(f.Format, made, target)
}

// unfit returns an error that is none about the document and its place.
func unfit(err error) error {
	var at *yamledit.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at) || at.File == "" || at.Line == 0 || at.Do == "":
		return fmt.Errorf("no place, or nothing to do: %w", err)
	case strings.Contains(err.Error(), "bug of rke-lm"):
		return err
	}
	return nil
}
