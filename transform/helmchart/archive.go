// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

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
