// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// helmModule is the module of helm, and helmProgram its program in that module. It is the major that rke-lm calls.
const helmModule, helmProgram = "helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm"

// helmVariant ends the tag of the image with helm.
const helmVariant = "-helm"

// helm is a helm for Linux that is given: it is published by its own project, and no part of a release.
type helm struct {
	arch    string
	version string // unknown where the program does not have it
	content []byte
	linked  []*debug.Module
}

// machines are the architectures of Linux.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// readHelms reads the helms of an image, one for each architecture.
func (r *release) readHelms(files []string) error {
	r.helms = map[string]*helm{}
	for _, file := range files {
		h, err := readHelm(file)
		switch {
		case err != nil:
			return fmt.Errorf("-helm %s: %w", file, err)
		case r.helms[h.arch] != nil:
			return fmt.Errorf("-helm %s: there is another one for linux/%s", file, h.arch)
		case !slices.Contains(r.platforms, platform{"linux", h.arch}):
			return fmt.Errorf("-helm %s: it is for linux/%s, which is not one of -platforms", file, h.arch)
		}
		r.helms[h.arch] = h
	}
	return nil
}

// helmFor returns the helm that runs where a binary does; nil for none.
func (r *release) helmFor(b *binary) *helm {
	if b.os != "linux" {
		return nil
	}
	return r.helms[b.arch]
}

// readHelm reads one. The image has no C library, so that a program which is linked with one cannot start there.
func readHelm(file string) (*helm, error) {
	program, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("it is no program for Linux: %w; use the one of helm's own archive for linux", err)
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("it is linked with a C library, which the image does not have; use the one of helm's own archive")
		}
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil || info.Path != helmProgram {
		return nil, fmt.Errorf("it is not helm 3 (%s)", helmProgram)
	}
	h := &helm{arch: machines[program.Machine], version: "unknown", linked: info.Deps}
	if h.arch == "" {
		return nil, fmt.Errorf("it is for %s; helm has to be for amd64 or arm64", program.Machine)
	}
	for _, m := range append(slices.Clone(info.Deps), &info.Main) {
		if m.Path == helmModule && strings.HasPrefix(m.Version, "v") {
			h.version = m.Version
		}
	}
	h.content, err = os.ReadFile(file)
	return h, err
}

func (h *helm) digest() string {
	sum := sha256.Sum256(h.content)
	return hex.EncodeToString(sum[:])
}

// helmFolder is on the PATH of the image.
const helmFolder = "usr/local/bin/"

// entries are the files of the layer.
func (h *helm) entries() []entry {
	return []entry{{"usr/", 0o755, nil}, {"usr/local/", 0o755, nil}, {helmFolder, 0o755, nil}, {helmFolder + "helm", 0o755, h.content}}
}

// environment lets rke-lm find helm, and helm write only below /tmp: the root file system can be read-only.
func (*helm) environment() []string {
	return []string{"PATH=/" + strings.TrimSuffix(helmFolder, "/"), "HELM_CACHE_HOME=/tmp/helm/cache", "HELM_CONFIG_HOME=/tmp/helm/config", "HELM_DATA_HOME=/tmp/helm/data"}
}

// labels are those of the image with it.
func (h *helm) labels() map[string]string {
	return map[string]string{"io.rke-lm.helm.version": h.version, "io.rke-lm.helm.sha256": h.digest()}
}

// component is helm in the list of what is in the image, with the modules that are linked into it. Their licenses are
// not known here.
func (h *helm) component() cyclonedx.Component {
	var inside []cyclonedx.Component
	for _, m := range h.linked {
		if m.Path != helmModule {
			inside = append(inside, cyclonedx.Component{
				BOMRef: "helm/" + packageURL(m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: packageURL(m.Path, m.Version),
			})
		}
	}
	return cyclonedx.Component{
		BOMRef: packageURL(helmModule, h.version), Type: cyclonedx.ComponentTypeApplication, Name: "helm", Version: h.version,
		PackageURL: packageURL(helmModule, h.version) + "?goos=linux&goarch=" + h.arch,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: h.digest()}},
		Licenses:   licenses([]string{"Apache-2.0"}), Scope: cyclonedx.ScopeRequired, Components: &inside,
	}
}
