// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
)

// binary is rke-lm for one platform.
type binary struct {
	platform
	content []byte
	info    *buildinfo.BuildInfo // what was linked
}

// file is the name of the program.
func (b *binary) file() string {
	if b.os == "windows" {
		return "rke-lm.exe"
	}
	return "rke-lm"
}

// settings are what of the environment can change the result.
var settings = []string{"GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off"}

// build compiles rke-lm.
func (r *release) build(ctx context.Context, p platform, folder string) (*binary, error) {
	b := &binary{platform: p}
	path := filepath.Join(folder, b.file())
	env := append([]string{"GOOS=" + p.os, "GOARCH=" + p.arch}, settings...)
	_, err := r.run(ctx, env, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+r.version+" -X main.commit="+r.revision, "-o", path, "./cmd/rke-lm")
	if err != nil {
		return nil, err
	}
	if b.content, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	b.info, err = buildinfo.ReadFile(path)
	return b, err
}

// pack returns the archive of a binary, and the list of its modules.
func (r *release) pack(b *binary, graph moduleGraph, texts []entry) ([]product, error) {
	parts, err := graph.linked(b.info)
	if err != nil {
		return nil, err
	}
	bill, err := r.bill(b, nil, parts, graph)
	if err != nil {
		return nil, err
	}
	entries := append([]entry{{name: b.file(), mode: 0o755, content: b.content}, notices(parts)}, texts...)
	archive, suffix, err := r.archive(b.platform, entries)
	list := []product{
		{name: r.name(b.platform, suffix), content: archive, of: b},
		{name: r.name(b.platform, ".cdx.json"), content: bill},
	}
	if h := r.helmFor(b); err == nil && h != nil {
		bill, err = r.bill(b, h, parts, graph)
		list = append(list, product{name: r.name(b.platform, "_helm.cdx.json"), content: bill})
	}
	return list, err
}

// checksums lists the digests of files as sha256sum does.
func checksums(made []product) product {
	var text []byte
	for _, p := range made {
		text = fmt.Appendf(text, "%x  %s\n", sha256.Sum256(p.content), p.name)
	}
	return product{name: "checksums.txt", content: text}
}
