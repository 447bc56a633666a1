// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// part is a module that is in a binary, or Go's standard library.
type part struct {
	path, version, sum string
	licenses           []string // by their names of SPDX
	texts              []entry  // files with the license, and notices
}

// moduleGraph is what go knows of the modules of rke-lm.
type moduleGraph struct {
	folder map[string]string   // of a module: where its files are
	needs  map[string][]string // of a module: the modules that its go.mod requires
}

// standard is the path under which Go's own packages are listed.
const standard = "std"

// graph reads the modules.
func (r *release) graph(ctx context.Context) (moduleGraph, error) {
	g := moduleGraph{folder: map[string]string{}, needs: map[string][]string{}}
	list, err := r.run(ctx, nil, "go", "list", "-m", "-json=Path,Dir", "all")
	if err != nil {
		return g, err
	}
	for d := json.NewDecoder(strings.NewReader(list)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return g, err
		}
		g.folder[m.Path] = m.Dir
	}
	if g.folder[standard], err = r.run(ctx, nil, "go", "env", "GOROOT"); err != nil {
		return g, err
	}
	edges, err := r.run(ctx, nil, "go", "mod", "graph")
	for line := range strings.Lines(edges) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		from, _, _ = strings.Cut(from, "@")
		to, _, _ = strings.Cut(to, "@")
		if !slices.Contains(g.needs[from], to) {
			g.needs[from] = append(g.needs[from], to)
		}
	}
	return g, err
}

// linked returns the parts of a binary with their licenses. One without a license that is
// known must not be passed on.
func (g moduleGraph) linked(info *buildinfo.BuildInfo) ([]part, error) {
	parts := []part{{path: standard, version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced; a release has only published modules", m.Path)
		}
		parts = append(parts, part{path: m.Path, version: m.Version, sum: m.Sum})
	}
	for i := range parts {
		if err := parts[i].readLicense(g.folder[parts[i].path]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.path, b.path) })
	return parts, nil
}

// legal are the names of files that have to be passed on, and licensed of those with the license.
var (
	legal    = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)
	licensed = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)
)

// readLicense reads the license of a part from its folder.
func (p *part) readLicense(folder string) error {
	files, err := fs.ReadDir(os.DirFS(folder), ".")
	if err != nil {
		return fmt.Errorf("%s: %w; run go mod download", p.path, err)
	}
	for _, f := range files {
		if f.IsDir() || !legal.MatchString(f.Name()) || filepath.Ext(f.Name()) == ".go" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		p.texts = append(p.texts, entry{name: f.Name(), content: content})
		if !licensed.MatchString(f.Name()) {
			continue
		}
		for _, m := range licensecheck.Scan(content).Match {
			if !m.IsURL && !slices.Contains(p.licenses, m.ID) {
				p.licenses = append(p.licenses, m.ID)
			}
		}
	}
	if slices.Sort(p.licenses); len(p.licenses) == 0 {
		return fmt.Errorf("%s %s: no license was found in %s", p.path, p.version, folder)
	}
	return nil
}

// notices is the file with the licenses of all parts, which they require to be passed on.
func notices(parts []part) entry {
	var b bytes.Buffer
	b.WriteString("rke-lm contains these modules. Each license follows its name.\n")
	for _, p := range parts {
		for _, t := range p.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n%[1]s\n\n%s\n", strings.Repeat("=", 80), p.path, p.version, t.name, bytes.TrimSpace(t.content))
		}
	}
	return entry{name: "NOTICES.txt", mode: 0o644, content: b.Bytes()}
}
