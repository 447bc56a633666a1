// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user runs the program in a container: a user that no machine has.
const user = "65532"

// images returns the container images of the Linux binaries, each as a layout of OCI in one file: the one of the
// release, and one with helm where that is given. Without a binary for Linux there is none.
func (r *release) images(work string, made []product) ([]product, error) {
	list, err := r.image(work, made, "")
	if err != nil || len(r.helms) == 0 {
		return list, err
	}
	with, err := r.image(work, made, helmVariant)
	return append(list, with...), err
}

// image returns one of them.
func (r *release) image(work string, made []product, variant string) ([]product, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, p := range made {
		if p.of == nil || p.of.os != "linux" {
			continue
		}
		var h *helm
		if variant == helmVariant {
			if h = r.helmFor(p.of); h == nil {
				continue
			}
		}
		image, err := r.imageOf(p.of, h)
		if err != nil {
			return nil, err
		}
		found = true
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: containers.Descriptor{Platform: &containers.Platform{OS: p.of.os, Architecture: p.of.arch}},
		})
	}
	if !found {
		return nil, nil
	}
	content, err := r.layout(filepath.Join(work, "image"+variant), r.version+variant, index)
	return []product{{name: "rke-lm_" + r.version + "_oci" + variant + ".tar", content: content}}, err
}

// imageOf returns the image of one binary: one layer, and nothing below it. A layer above it has helm.
func (r *release) imageOf(b *binary, h *helm) (containers.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := r.withLayer(image, "release", []entry{
		{"rke-lm", 0o755, b.content},
		{"etc/", 0o755, nil},
		{"etc/passwd", 0o644, []byte("rke-lm:x:" + user + ":" + user + "::/home/rke-lm:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"home/", 0o755, nil},
		{"home/rke-lm/", 0o777, nil},
		{"tmp/", 0o1777, nil},
	})
	if err == nil && h != nil {
		image, err = r.withLayer(image, "release -helm: helm "+h.version+", sha256 "+h.digest(), h.entries())
	}
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, containers.Time{Time: r.committed}
	config.Config = containers.Config{
		Entrypoint: []string{"/rke-lm"}, WorkingDir: "/home/rke-lm", User: user + ":" + user, Env: []string{"HOME=/home/rke-lm"},
		Labels: r.labels(),
	}
	if h != nil {
		config.Config.Env = append(config.Config.Env, h.environment()...)
		maps.Copy(config.Config.Labels, h.labels())
	}
	return mutate.ConfigFile(image, config)
}

// withLayer adds a layer of files to an image.
func (r *release) withLayer(image containers.Image, by string, files []entry) (containers.Image, error) {
	content, err := tarred(files, r.committed)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: containers.History{Created: containers.Time{Time: r.committed}, CreatedBy: by}})
}

// labels are the annotations that OCI defines.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "rke-lm",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.revision,
		"org.opencontainers.image.source":   home,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// authorities are the certificates that a Rancher with a public certificate is checked
// with. Those that are only trusted in part cannot be distinguished from others in this format,
// and are left out.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return text.Bytes()
}

// layout writes an index as a folder and returns the folder as one file.
func (r *release) layout(folder, tag string, index containers.ImageIndex) ([]byte, error) {
	top, err := layout.Write(folder, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := top.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
		return nil, err
	}
	var entries []entry
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		entries = append(entries, entry{name, 0o644, content})
		return err
	})
	if err != nil {
		return nil, err
	}
	return tarred(entries, r.committed)
}
