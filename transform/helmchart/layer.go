// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Form says how a layer holds its values.
type Form int

// The forms of layers.
const (
	Own     Form = iota // values.yaml of the chart, which the file cannot change
	Content             // a string with YAML
	Mapping             // a mapping of the document
	Entry               // an entry of spec.set
	Secret              // a Secret: what it holds is unknown
)

// InFile is the index of a layer of the cluster's file itself.
const InFile = -1

// Layer is one source of values.
type Layer struct {
	Form  Form
	Name  string        // as in "valuesContent of HelmChartConfig kube-system/ccm"
	Index int           // of the manifest that holds it, or InFile
	At    yamledit.Node // what holds the values in that document; may not exist
	Root  yamledit.Node // the values, if they are a mapping
	// Unknown means that no one can determine which values the layer has.
	Unknown bool

	values  map[string]any
	partial bool // an entry that sets one item of a list
	order   int  // among the layers of its release
}

// settles reports whether nothing of earlier layers is left at a path.
func (l Layer) settles(path []string) bool {
	v, decided := lookup(l.values, path)
	_, merged := v.(map[string]any)
	return decided && !merged && !l.partial
}

// lookup returns what values say about a path. A null says something, and so does what is no
// mapping where the path continues.
func lookup(values map[string]any, path []string) (any, bool) {
	var v any = values
	for _, key := range path {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil, true
		}
		if v, isMap = m[key]; !isMap {
			return nil, false
		}
	}
	return v, true
}

// read takes the values from the root, which is a mapping if it is anything. It is the first
// document of a string with YAML, as for Helm.
func (l Layer) read() (Layer, error) {
	if l.Form == Content && l.At.Exists() && !l.At.IsNull() {
		in, err := l.At.Embedded()
		if err != nil {
			return l, err
		}
		l.Root = in.Documents()[0].Root()
	}
	if !l.Root.Exists() || l.Root.IsNull() {
		return l, nil
	}
	v, isMap := l.Root.Value().(map[string]any)
	if !isMap {
		return l, l.Root.Errorf("the values of a chart must be a mapping", "correct "+l.Name)
	}
	l.values = v
	return l, nil
}

// given returns the values that layers give to the chart, without those that are
// unknown: mappings are merged, all else is replaced.
func given(layers []Layer) (map[string]any, error) {
	values := map[string]any{}
	for _, l := range layers {
		switch l.Form {
		case Own:
		case Entry:
			if err := l.apply(values); err != nil {
				return nil, err
			}
		default:
			values = overlay(values, runtime.DeepCopyJSON(l.values)) // entries of spec.set change them in place
		}
	}
	return values, nil
}

// overlay puts later values over earlier ones, as Helm merges files of values.
func overlay(early, late map[string]any) map[string]any {
	out := maps.Clone(early)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range late {
		m, isMap := v.(map[string]any)
		before, wasMap := out[key].(map[string]any)
		if isMap && wasMap {
			out[key] = overlay(before, m)
			continue
		}
		out[key] = v
	}
	return out
}

// coalesce completes values with those of the chart; null takes one away.
func coalesce(values, own map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range own {
		if _, stated := values[key]; !stated {
			out[key] = v
		}
	}
	for key, v := range values {
		standard, known := own[key]
		m, isMap := v.(map[string]any)
		below, wasMap := standard.(map[string]any)
		switch {
		case v == nil && known: // null takes it away
		case isMap && wasMap:
			out[key] = coalesce(m, below)
		default:
			out[key] = v
		}
	}
	return out
}

// addSet adds the entries of spec.set in the order in which they count:
// helm-controller sorts the keys, and Helm takes all of --set before all of
// --set-string.
func (r *Release) addSet() {
	entries := r.Spec("set").Entries()
	slices.SortFunc(entries, func(a, b yamledit.Entry) int {
		return cmp.Or(rank(a.Value)-rank(b.Value), strings.Compare(a.Key, b.Key))
	})
	for _, e := range entries {
		l := Layer{Form: Entry, Name: "set", Index: r.Index, At: e.Value, values: map[string]any{}, partial: indexed.MatchString(e.Key)}
		r.err = cmp.Or(r.err, l.apply(l.values))
		r.add(l)
	}
}

func rank(n yamledit.Node) int {
	if typed(n) {
		return 0
	}
	return 1
}

// typed reports whether helm-controller passes a value with --set rather than
// --set-string.
func typed(n yamledit.Node) bool {
	s, isString := n.String()
	return !isString || slices.Contains([]string{"true", "false", "null"}, strings.ToLower(s))
}

var (
	// indexed is a key of --set that names an item of a list.
	indexed = regexp.MustCompile(`(^|[^\\])\[`)
	// farIndex is an index of four digits or more: Helm would make a list that long.
	farIndex = regexp.MustCompile(`\[[0-9]{4,}`)
	// commas are those that helm-controller escapes, with what escapes them already.
	commas = regexp.MustCompile(`\\*,`)
)

// apply sets what the entry sets.
func (l Layer) apply(values map[string]any) error {
	if farIndex.MatchString(l.At.Key()) {
		return l.At.Errorf("an index above 999 creates a list with mostly empty items", "correct its key")
	}
	parse, value := strvals.ParseInto, fmt.Sprint(l.At.Value())
	if !typed(l.At) {
		parse = strvals.ParseIntoString
		value = commas.ReplaceAllStringFunc(value, func(s string) string {
			if len(s)%2 == 1 {
				return `\` + s
			}
			return s
		})
	}
	if err := parse(l.At.Key()+"="+value, values); err != nil {
		return l.At.Errorf("Helm cannot read this entry as --set", "correct its key")
	}
	return nil
}
