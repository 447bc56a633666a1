// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	containers "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// images returns the images of the release by their architectures: those of a variant, or with "" the others.
func images(t *testing.T, variant string) map[string]containers.Image {
	t.Helper()
	folder := t.TempDir()
	extract(t, bytes.NewReader(content(t, "rke-lm_"+version+"_oci"+variant+".tar")), folder)
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := top.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || list.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != version+variant {
		t.Fatalf("%+v, %v", list, err)
	}
	index, err := top.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]containers.Image{}
	for _, m := range inner.Manifests {
		if found[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// extract writes the files of a tar archive below a folder.
func extract(t *testing.T, from io.Reader, folder string) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, h.Name)
		text, err := io.ReadAll(r)
		if h.Typeflag == tar.TypeDir {
			err = errors.Join(err, os.MkdirAll(path, 0o755))
		} else {
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, h.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheImageRuns unpacks the image of this machine and runs its program as its
// configuration says; for root with nothing around it but the image.
func TestTheImageRuns(t *testing.T) {
	if native.os != "linux" {
		t.Skip("images are for Linux")
	}
	image := images(t, "")[native.arch]
	if image == nil {
		t.Fatalf("there is no image for %s", native.arch)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := rootOf(t, image)
	if printed := output(t, within(root, config.Config, config.Config.Entrypoint[0], "version")); !strings.HasPrefix(printed, "rke-lm "+version+" (") {
		t.Errorf("it prints %q", printed)
	}
	if config.Config.User != "65532:65532" || config.Architecture != native.arch || config.OS != "linux" {
		t.Errorf("%+v", config)
	}
	checkAuthorities(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
}

// rootOf returns a folder with the files of an image.
func rootOf(t *testing.T, image containers.Image) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	extract(t, files, root)
	return root
}

// within is a program of an unpacked image, as its configuration runs it; for root with nothing around it but the image.
func within(root string, config containers.Config, program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		c.Dir = config.WorkingDir
	} else {
		c.Path = filepath.Join(root, program)
	}
	c.Env = config.Env
	return c
}

func checkAuthorities(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known, is := x509.NewCertPool(), bytes.Count(text, []byte("BEGIN CERTIFICATE"))
	if !known.AppendCertsFromPEM(text) || is < 50 {
		t.Errorf("%d certificates", is)
	}
}

func TestTheImageIsThereForEveryLinux(t *testing.T) {
	found := images(t, "")
	for _, p := range platforms(t) {
		if p.os != "linux" {
			continue
		}
		image := found[p.arch]
		if image == nil {
			t.Errorf("there is no image for %s", p)
			continue
		}
		if layers, err := image.Layers(); err != nil || len(layers) != 1 {
			t.Errorf("%s: %d layers, %v", p, len(layers), err)
		}
	}
}
