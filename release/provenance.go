// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// builder is what made the files, where none is named.
const builder = home + "/tree/main/release"

// descriptor names something by its digest, as in-toto defines it.
type descriptor struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// withProvenance adds the statement of how all files were made and from what, as in-toto and SLSA define it. Whoever signs
// it signs every file. It is about a commit, so that there is none for what was changed since.
func (r *release) withProvenance(ctx context.Context, made []product) ([]product, error) {
	if changed, err := r.git(ctx, "status", "--porcelain"); err != nil || changed != "" {
		fmt.Println("no provenance: commit what was changed, or it would not be true")
		return made, err
	}
	subjects := make([]descriptor, len(made))
	for i, p := range made {
		sum := sha256.Sum256(p.content)
		subjects[i] = descriptor{Name: p.name, Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}}
	}
	from, err := r.dependencies(made)
	if err != nil {
		return nil, err
	}
	statement := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            home + "/blob/main/SECURITY.md#provenance",
				"externalParameters":   map[string]any{"version": r.version, "baseURL": r.baseURL, "platforms": r.platforms},
				"internalParameters":   map[string]any{"environment": settings},
				"resolvedDependencies": from,
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": r.builder}},
		},
	}
	text, err := json.MarshalIndent(statement, "", "  ")
	return append(made, product{name: "rke-lm_" + r.version + "_provenance.json", content: append(text, '\n')}), err
}

// dependencies are the commit, the release of Go, the modules, and the helms that were given.
func (r *release) dependencies(made []product) ([]descriptor, error) {
	found := map[string]descriptor{}
	for _, p := range made {
		if p.of == nil {
			continue
		}
		found[standard] = descriptor{Name: standard, URI: packageURL(standard, strings.TrimPrefix(p.of.info.GoVersion, "go"))}
		for _, m := range p.of.info.Deps {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil || len(sum) != sha256.Size {
				return nil, fmt.Errorf("%s %s: the sum %q is not one of go.sum: %w", m.Path, m.Version, m.Sum, err)
			}
			found[m.Path] = descriptor{Name: m.Path, URI: packageURL(m.Path, m.Version), Digest: map[string]string{"dirHash1": hex.EncodeToString(sum)}}
		}
	}
	for arch, h := range r.helms {
		name := "helm/" + arch
		found[name] = descriptor{Name: name, URI: packageURL(helmModule, h.version), Digest: map[string]string{"sha256": h.digest()}}
	}
	list := []descriptor{{Name: "source", URI: "git+" + home, Digest: map[string]string{"gitCommit": r.revision}}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list, nil
}
