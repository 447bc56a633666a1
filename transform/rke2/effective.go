// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"maps"
	"slices"
	"sync"

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
func (c *Cluster) Effective(class Class) Config { return c.configs[class.Name] }

// effective works out the configuration of every class. Classes to which the same
// layers and the same filter apply share it.
func (c *Cluster) effective() map[string]Config {
	configs := make(map[string]Config, len(c.Classes))
	shared := map[string]Config{}
	for _, class := range c.Classes {
		config, known := shared[class.reach]
		if !known {
			config = c.effectiveOf(class)
			shared[class.reach] = config
		}
		configs[class.Name] = config
	}
	return configs
}

// reach distinguishes classes by all that their configuration depends on.
func (c *Cluster) reach(class Class) string {
	return string([]byte{bit(class.ControlPlane()), bit(class.Server())}) + c.selected(class.Labels)
}

// kinds returns the first class of each reach.
func (c *Cluster) kinds() []Class {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(c.Classes), func(class Class) bool {
		twice := seen[class.reach]
		seen[class.reach] = true
		return twice
	})
}

func bit(b bool) byte {
	if b {
		return '1'
	}
	return '0'
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
	config := Config{}
	merged := c.merge(class)
	for key, s := range merged {
		if v, ok := c.Release.Keep(class.Server(), key, s.Value); ok {
			s.Value = v
			config[key] = s
		}
	}
	// Rancher sets this one after the filter, which never lets it through.
	if c.dataDir != "" {
		s := overriddenBy(merged[dataDirKey], c.RKEConfig().Get("dataDirectories", "k8sDistro"))
		s.Value = c.dataDir
		config[dataDirKey] = s
	}
	return config
}

const dataDirKey = "data-dir"

// Candidates returns the locations that set a key for a class, in the order of
// the merge: the last one wins. The caller must not change the result.
func (c *Cluster) Candidates(class Class, key string) []yamledit.Node {
	if class.reach == "" {
		class.reach = c.reach(class)
	}
	return c.setters.of(class, c.Layers)[key]
}

// setters are the locations that set each key, by the reach of the classes for which they do.
type setters struct {
	mu      sync.Mutex
	byReach map[string]map[string][]yamledit.Node
}

// of goes through the layers once for each reach.
func (s *setters) of(class Class, layers []Layer) map[string][]yamledit.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	byKey, known := s.byReach[class.reach]
	if known {
		return byKey
	}
	byKey = map[string][]yamledit.Node{}
	for _, l := range layers {
		if !l.Matches(class) {
			continue
		}
		for _, e := range l.Config.Entries() {
			byKey[e.Key] = append(byKey[e.Key], e.Value)
		}
	}
	s.byReach[class.reach] = byKey
	return byKey
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
	for _, l := range c.Layers {
		if !l.Matches(class) {
			continue
		}
		for _, e := range l.Config.Entries() {
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
