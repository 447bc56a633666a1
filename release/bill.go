// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

const (
	modulePath = "github.com/rke-lm/rke-lm"
	home       = "https://" + modulePath
)

// bill lists what is in a binary, as CycloneDX, and the helm that is in an image with it. Its serial number follows from
// both.
func (r *release) bill(b *binary, h *helm, parts []part, graph moduleGraph) ([]byte, error) {
	sum := sha256.Sum256(b.content)
	identity := append([]byte(home+"/"), sum[:]...)
	program := cyclonedx.Component{
		BOMRef: packageURL(modulePath, r.version), Type: cyclonedx.ComponentTypeApplication, Name: "rke-lm", Version: r.version,
		PackageURL:         packageURL(modulePath, r.version) + "?goos=" + b.os + "&goarch=" + b.arch,
		Hashes:             &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:           licenses([]string{"Apache-2.0"}),
		Properties:         &[]cyclonedx.Property{{Name: "rke-lm:revision", Value: r.revision}},
		ExternalReferences: &[]cyclonedx.ExternalReference{{Type: cyclonedx.ERTypeVCS, URL: home}},
	}
	inside := components(parts)
	if h != nil {
		identity, inside = append(identity, h.digest()...), append(inside, h.component())
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, identity).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.committed.Format(time.RFC3339), Component: &program}
	bom.Components = &inside
	bom.Dependencies = graph.dependencies(program.BOMRef, parts)
	var text bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	return text.Bytes(), err
}

// components describes the parts. The sum is that of go.sum, which is no digest of one file.
func components(parts []part) []cyclonedx.Component {
	var list []cyclonedx.Component
	for _, p := range parts {
		c := cyclonedx.Component{
			BOMRef: packageURL(p.path, p.version), Type: cyclonedx.ComponentTypeLibrary, Name: p.path, Version: p.version,
			PackageURL: packageURL(p.path, p.version), Licenses: licenses(p.licenses), Scope: cyclonedx.ScopeRequired,
		}
		if p.sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "rke-lm:go.sum", Value: p.sum}}
		}
		list = append(list, c)
	}
	return list
}

func licenses(ids []string) *cyclonedx.Licenses {
	var list cyclonedx.Licenses
	for _, id := range ids {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &list
}

// dependencies are the edges of the module graph between the parts.
func (g moduleGraph) dependencies(program string, parts []part) *[]cyclonedx.Dependency {
	refs := map[string]string{}
	for _, p := range parts {
		refs[p.path] = packageURL(p.path, p.version)
	}
	edges := func(from, ref string) cyclonedx.Dependency {
		to := []string{refs[standard]}
		for _, need := range g.needs[from] {
			if refs[need] != "" {
				to = append(to, refs[need])
			}
		}
		slices.Sort(to)
		return cyclonedx.Dependency{Ref: ref, Dependencies: &to}
	}
	list := []cyclonedx.Dependency{edges(modulePath, program)}
	for _, p := range parts {
		if p.path != standard {
			list = append(list, edges(p.path, refs[p.path]))
		}
	}
	return &list
}

// packageURL names a module as package URLs do.
func packageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
