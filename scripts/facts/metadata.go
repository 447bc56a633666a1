// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// metadata is as much of data.json as the tables need.
type metadata struct {
	RKE2 struct {
		Releases []struct {
			Version    string
			ServerArgs map[string]struct{ Type string }
			AgentArgs  map[string]struct{ Type string }
		}
	}
}

var (
	releaseForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-rc\d+)?\+rke2r\d+$`)
	nameForm    = regexp.MustCompile(`^[a-z0-9-]+$`)
	// types are those that transform/rke2/effective knows how Rancher treats.
	types = []string{"array", "bool", "boolean", "enum", "string"}
)

// parseMetadata reads the releases of RKE2.
func parseMetadata(data []byte, date string) (tables, error) {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return tables{}, fmt.Errorf("%q is no day such as 2026-07-31", date)
	}
	var m metadata
	if err := json.Unmarshal(data, &m); err != nil {
		return tables{}, err
	}
	t := tables{date: date, sets: map[string]set{}}
	for _, r := range m.RKE2.Releases {
		if !releaseForm.MatchString(r.Version) {
			return tables{}, fmt.Errorf("%q is no release of RKE2", r.Version)
		}
		var s set
		for machines, list := range map[string]map[string]struct{ Type string }{"server": r.ServerArgs, "agent": r.AgentArgs} {
			for name, a := range list {
				s = append(s, argument{name, a.Type, machines})
			}
		}
		if err := s.check(); err != nil {
			return tables{}, fmt.Errorf("%s: %w", r.Version, err)
		}
		t.sets[r.Version] = s.sorted()
	}
	if len(t.sets) == 0 {
		return tables{}, errors.New("no releases below rke2.releases; name the data.json of Rancher's metadata")
	}
	return t, nil
}

// check refuses what the tables could not hold or the filter could not evaluate.
func (s set) check() error {
	for _, a := range s {
		if !nameForm.MatchString(a.name) {
			return fmt.Errorf("%q is no name of an argument", a.name)
		}
		if !slices.Contains(types, a.kind) {
			return fmt.Errorf("%s has the type %q, which is not known; check how Rancher handles it, and add it to Release.Keep", a.name, a.kind)
		}
	}
	return nil
}
