// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// documents returns what every archive holds next to the program: the texts of the
// repository, and the pages and completions that the program of this machine writes.
func (r *release) documents(ctx context.Context, work string) ([]entry, error) {
	var texts []entry
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		content, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		texts = append(texts, entry{name, 0o644, content})
	}
	b, err := r.build(ctx, native, filepath.Join(work, "native"))
	if err != nil {
		return nil, err
	}
	program := filepath.Join(work, "native", b.file())
	scripts, err := r.completions(ctx, program)
	if err != nil {
		return nil, err
	}
	pages, err := r.pages(ctx, program, filepath.Join(work, "man"))
	return append(append(texts, scripts...), pages...), err
}

// completions are the scripts for the shells.
func (r *release) completions(ctx context.Context, program string) ([]entry, error) {
	var list []entry
	for shell, file := range map[string]string{"bash": "rke-lm.bash", "zsh": "_rke-lm", "fish": "rke-lm.fish", "powershell": "rke-lm.ps1"} {
		text, err := r.run(ctx, nil, program, "completion", shell)
		if err != nil {
			return nil, err
		}
		list = append(list, entry{"completions/" + file, 0o644, []byte(text + "\n")})
	}
	return list, nil
}

// pages are the pages of the manual, with the date of the commit.
func (r *release) pages(ctx context.Context, program, folder string) ([]entry, error) {
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.committed.Unix(), 10)}
	if _, err := r.run(ctx, env, program, "man", folder); err != nil {
		return nil, err
	}
	files, err := fs.Glob(os.DirFS(folder), "*.1")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: no pages of the manual: %w", folder, err)
	}
	var list []entry
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		list = append(list, entry{"man/" + name, 0o644, content})
	}
	return list, nil
}
