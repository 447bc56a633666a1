// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Config is what Rancher gives a machine from the user's configuration, before
// it adds its own arguments.
type Config map[string]Setting

// Setting is an argument's value and where it comes from.
type Setting = transform.Setting

// Values returns the configuration without its origins.
func (c Config) Values() map[string]any {
	values := make(map[string]any, len(c))
	for key, s := range c {
		values[key] = s.Value
	}
	return values
}

// Effective returns what machines of a class get: the last matching layer wins
// per key, and the filter sees only the winner, so what it drops there also
// erases the good values before it (rancher pkg/capr/planner, addUserConfig).
//
// The class is one of the cluster's, and the caller must not change the result.
func (c *Cluster) Effective(class Class) Config { return c.configs[class.reach] }

// effective works out the configuration of every class.
func (c *Cluster) effective() map[*reach]Config {
	configs := make(map[*reach]Config, len(c.kinds))
	for _, class := range c.kinds {
		configs[class.reach] = c.effectiveOf(class)
	}
	return configs
}

// reach is all that the configuration of a class depends on; classes share it.
type reach struct {
	controlPlane, server bool
	selected             []int // the selectors that match, in their order
	layers               int   // how many of them are those of layers
}

// setReaches finds that of each class.
func (c *Cluster) setReaches() {
	known, selects := map[string]*reach{}, c.selection()
	for i, class := range c.Classes {
		r := c.reachOf(class, selects)
		key := fmt.Sprint(r)
		if known[key] == nil {
			known[key], class.reach = &r, &r
			c.kinds = append(c.kinds, class)
		}
		c.Classes[i].reach = known[key]
	}
}

func (c *Cluster) reachOf(class Class, selects func(map[string]string) []int) reach {
	r := reach{controlPlane: class.ControlPlane(), server: class.Server(), selected: selects(class.Labels)}
	r.layers, _ = slices.BinarySearch(r.selected, len(c.Layers))
	return r
}

// under returns the cluster as another release would read it.
func (c *Cluster) under(r Release) *Cluster {
	if c.Release.Version == r.Version {
		return c
	}
	other := *c
	other.Release = r
	other.configs = other.effective()
	return &other
}

func (c *Cluster) effectiveOf(class Class) Config {
	config := c.merge(class)
	dataDir := config[dataDirKey]
	for key, s := range config {
		if v, ok := c.Release.Keep(class.Server(), key, s.Value); ok {
			s.Value = v
			config[key] = s
		} else {
			delete(config, key)
		}
	}
	// Rancher sets this one after the filter, which never lets it through.
	if c.dataDir != "" {
		dataDir = overriddenBy(dataDir, c.RKEConfig().Get("dataDirectories", "k8sDistro"))
		dataDir.Value = c.dataDir
		config[dataDirKey] = dataDir
	}
	return config
}

const dataDirKey = "data-dir"

// Candidates returns the layers that set a key for a class, in the order of the
// merge: the last one wins.
func (c *Cluster) Candidates(class Class, key string) (found []int) {
	for i, l := range c.matching(class) {
		if l.Get(key).Exists() {
			found = append(found, i)
		}
	}
	return found
}

// matching are the layers that machines of a class get, with their numbers.
func (c *Cluster) matching(class Class) iter.Seq2[int, Layer] {
	return func(yield func(int, Layer) bool) {
		for _, i := range class.reach.selected[:class.reach.layers] {
			if !yield(i, c.Layers[i]) {
				return
			}
		}
	}
}

// layerOf returns the layer that holds a setting.
func (c *Cluster) layerOf(setting yamledit.Node) Layer {
	if entry := setting.Parent().Parent(); entry.Parent().IsList() {
		return c.Layers[1+entry.Index()]
	}
	return c.Layers[0]
}

// weight is what the match of a selector, or a value or item that is merged, counts in the budget of a document.
const weight = 128

// entries are those of a layer, to be merged for one class.
func (c *Cluster) entries(l Layer) []yamledit.Entry {
	list := l.Config.Entries()
	for _, e := range list {
		c.Doc.Visit(weight * (1 + e.Value.Len()))
	}
	return list
}

// Why a key that was set does not reach a machine. The last three speak of the value that won; it erased those
// before it.
const (
	UnknownKey  = "the release does not have the key"
	LaterKey    = "only newer metadata of Rancher lists the key for this release"
	ServerKey   = "workers do not have the key"
	NullValue   = "null is dropped"
	NumberValue = "a number is dropped"
	MapValue    = "a mapping is dropped"
)

// Dropped returns the keys that do not reach machines of a class, sorted.
func (c *Cluster) Dropped(class Class) []transform.Dropped {
	merged := c.merge(class)
	var drops []transform.Dropped
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		s := merged[key]
		if why := c.Release.reason(class.Server(), key, s.Value); why != "" {
			drops = append(drops, transform.Dropped{Key: key, Origin: s.Origin, Reason: why})
		}
	}
	return drops
}

// merge lays the matching layers over each other; nothing is dropped yet.
func (c *Cluster) merge(class Class) Config {
	merged := Config{}
	for _, l := range c.matching(class) {
		for _, e := range c.entries(l) {
			merged[e.Key] = overriddenBy(merged[e.Key], e.Value)
		}
	}
	return merged
}

// overriddenBy returns the setting that n makes after s.
func overriddenBy(s Setting, n yamledit.Node) Setting {
	before := s.Overridden
	if s.Origin.Exists() {
		before = append(before, s.Origin)
	}
	return Setting{Value: n.Value(), Origin: n, Overridden: before}
}

// reason returns why Keep drops a key, and "" when it does not.
func (r Release) reason(server bool, key string, v any) string {
	if _, ok := r.argument(server, key); ok {
		return unfit(v)
	}
	if r.ServerOnly(key) {
		return ServerKey
	}
	if later, ok := r.Later(key); ok && (server || !later.ServersOnly) {
		return LaterKey
	} else if ok {
		return ServerKey
	}
	return UnknownKey
}

// unfit returns why Rancher drops a value whatever its key, or "".
func unfit(v any) string {
	switch v.(type) {
	case string, bool, []any:
		return ""
	case nil:
		return NullValue
	case map[string]any:
		return MapValue
	}
	return NumberValue
}
