// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmchart reads HelmCharts and HelmChartConfigs of helm.cattle.io/v1 as
// RKE2 does: which chart they install, and which values reach it.
//
// Invariant: values are merged in the order of helm-controller and Helm, and what
// the file does not show is unknown, never assumed.
//
// Sources: k3s-io/helm-controller pkg/helm/controller.go at v0.11.7 and v0.12.1,
// pkg/controllers/chart/chart.go at v0.15.9, v0.16.11 and v0.17.7; k3s-io/klipper-helm
// entry; helm v3.19.2 pkg/cli/values/options.go and pkg/chartutil/coalesce.go.
package helmchart

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Chart is a HelmChart among manifests.
type Chart struct {
	Index int           // of its document
	Root  yamledit.Node // the object
}

// Charts returns the HelmCharts among manifests that install anything.
func Charts(docs []*yamledit.Document) []Chart {
	return lists.Where(objects(docs, "HelmChart"), func(c Chart) bool { return c.text("chart") != "" || c.text(contentKey) != "" })
}

// Spec returns a field of the HelmChart's spec.
func (c Chart) Spec(key string) yamledit.Node { return c.Root.Get("spec", key) }

// Name returns the name of the HelmChart, which is that of the Helm release.
func (c Chart) Name() string { return c.Root.StringAt("metadata", "name") }

// Namespace returns the namespace of the HelmChart: RKE2 applies what names none to "default" (wrangler pkg/apply/apply.go).
func (c Chart) Namespace() string { return cmp.Or(c.Root.StringAt("metadata", "namespace"), "default") }

func (c Chart) text(key string) string { return c.Root.StringAt("spec", key) }

// objects returns the objects of a kind, and those in lists, as RKE2 applies
// them (k3s pkg/deploy/controller.go, toObjects).
func objects(docs []*yamledit.Document, kind string) (found []Chart) {
	for i, d := range docs {
		for _, root := range append([]yamledit.Node{d.Root()}, d.Root().Get("items").Items()...) {
			if root.StringAt("kind") == kind {
				found = append(found, Chart{Index: i, Root: root})
			}
		}
	}
	return found
}

// Reference is the chart that spec.chart names.
type Reference struct {
	Name    string // of the chart
	Version string // in the reference itself, or ""
	Archive bool   // the URL of one archive: spec.version has no effect
}

// versioned is the name of an archive as helm package writes it.
var versioned = regexp.MustCompile(`^(.+?)-(v?[0-9]+\.[0-9]+\.[0-9]+\S*)$`)

// ParseReference reads spec.chart: NAME, REPO/NAME, oci://HOST/NAME, or the URL of
// an archive.
func ParseReference(chart string) Reference {
	if registry, is := strings.CutPrefix(chart, "oci://"); is { // which may end in a tag or a digest
		registry, digest, _ := strings.Cut(registry, "@")
		name, tag, _ := strings.Cut(path.Base(registry), ":")
		return Reference{Name: name, Version: cmp.Or(tag, digest)}
	}
	if scheme, after, found := strings.Cut(chart, "://"); found && scheme != "" {
		chart, _, _ = strings.Cut(after, "?")
		chart, _, _ = strings.Cut(chart, "#")
	}
	base := path.Base(chart)
	if unescaped, err := url.PathUnescape(base); err == nil {
		base = unescaped
	}
	for _, ending := range []string{".tgz", ".tar.gz"} {
		name, archive := strings.CutSuffix(base, ending)
		if !archive {
			continue
		}
		if m := versioned.FindStringSubmatch(name); m != nil {
			return Reference{Name: m[1], Version: m[2], Archive: true}
		}
		return Reference{Name: name, Archive: true}
	}
	return Reference{Name: base}
}

// contentKey holds an archive itself, in base64; it wins over spec.chart.
const contentKey = "chartContent"

// What an archive may hold. An object of a cluster has at most 1.5 MiB in all.
const (
	maxPacked   = 2 << 20
	maxUnpacked = 16 << 20
	maxFiles    = 2000
	maxRatio    = 100 // of unpacked to packed bytes
)

// Archive is a packed chart, of which nothing is rendered.
type Archive struct {
	Name, Version string        // in Chart.yaml
	Values        yamledit.Node // values.yaml; may not exist
	// Templates is the digest of all that decides what is installed apart from the
	// values: see DigestOf.
	Templates string
}

// Unpack reads the archive in chartContent.
func Unpack(content string) (*Archive, error) {
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	if len(packed) > maxPacked {
		return nil, fmt.Errorf("the archive has more than %d bytes", maxPacked)
	}
	files, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return readArchive(files)
}

// unpack returns the files of an archive without the folder that holds them all,
// as Helm does.
func unpack(packed []byte) (map[string][]byte, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("it is not a gzip archive")
	}
	limit := int64(min(maxUnpacked, maxRatio*len(packed)))
	in := &io.LimitedReader{R: zipped, N: limit + 1}
	files, read := map[string][]byte{}, tar.NewReader(in)
	for {
		h, err := read.Next()
		var text []byte
		if err == nil && h.Typeflag == tar.TypeReg {
			text, err = io.ReadAll(read)
		}
		switch {
		case in.N <= 0:
			return nil, fmt.Errorf("the archive unpacks to more than %d bytes", limit)
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return nil, errors.New("the archive is damaged")
		case len(files) >= maxFiles:
			return nil, fmt.Errorf("the archive has more than %d files", maxFiles)
		}
		if _, name, inFolder := strings.Cut(path.Clean(h.Name), "/"); inFolder && h.Typeflag == tar.TypeReg {
			files[name] = text
		}
	}
}

func readArchive(files map[string][]byte) (*Archive, error) {
	about, err := first("Chart.yaml", files)
	if err != nil || about.StringAt("name") == "" {
		return nil, errors.New("the archive has no Chart.yaml with a name")
	}
	values, err := first("values.yaml", files)
	if err != nil {
		return nil, errors.New("values.yaml in the archive cannot be read")
	}
	return &Archive{Name: about.StringAt("name"), Version: about.StringAt("version"), Values: values, Templates: DigestOf(files)}, nil
}

// first returns the root of the first document of a file, which is the one that
// Helm reads.
func first(name string, files map[string][]byte) (yamledit.Node, error) {
	chunks := yamledit.Split(name, files[name])
	if len(chunks) == 0 {
		return yamledit.Node{}, nil
	}
	d, err := yamledit.Parse(chunks[0])
	if err != nil {
		return yamledit.Node{}, err
	}
	return d.Root(), nil
}

// DigestOf returns the digest of the templates, custom resources and subcharts of
// a chart: that of "DIGEST  NAME" in the order of the names, as sha256sum prints
// them.
func DigestOf(files map[string][]byte) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if folder, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"templates", "crds", "charts"}, folder) {
			fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(files[name]), name)
		}
	}
	return fmt.Sprintf("%x", all.Sum(nil))
}
