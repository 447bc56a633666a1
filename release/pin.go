// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pinned is the file with the release that a commit installs.
const pinned = "scripts/ci/release.txt"

// archiveLine is that of an archive in the checksums.
var archiveLine = regexp.MustCompile(`(?m)^[0-9a-f]{64}  rke-lm_(v[^_]+)_[a-z]+_[a-z0-9]+\.(?:tar\.gz|zip)$`)

// pin makes the two commits after a release. The first has the version and the sums of its archives, so
// that whoever names that commit names the bytes. The second names it in the examples.
func (r *release) pin(ctx context.Context) error {
	if dirty, err := r.git(ctx, "status", "--porcelain", "--untracked-files=no"); err != nil || dirty != "" {
		return errors.Join(err, fmt.Errorf("the work tree has changes; commit them first\n%s", dirty))
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
	if err != nil {
		return err
	}
	archives := archiveLine.FindAllStringSubmatch(string(sums), -1)
	if len(archives) == 0 {
		return fmt.Errorf("%s has no archive of a release; run make release first", r.out)
	}
	version, text, linux := archives[0][1], archives[0][1]+"\n", ""
	for _, a := range archives {
		if a[1] != version {
			return fmt.Errorf("%s has archives of %s and %s; run make release again", r.out, version, a[1])
		}
		if text += a[0] + "\n"; strings.HasSuffix(a[0], "_linux_amd64.tar.gz") {
			linux, _, _ = strings.Cut(a[0], " ")
		}
	}
	if err := os.WriteFile(filepath.Join(r.source, pinned), []byte(text), 0o644); err != nil {
		return err
	}
	commit, err := r.commit(ctx, "scripts: the archives of "+version, pinned)
	if err != nil {
		return err
	}
	changed, err := r.pinExamples(ctx, version, commit, linux)
	if err != nil {
		return err
	}
	_, err = r.commit(ctx, "examples: "+version+" by its commit", changed...)
	fmt.Printf("%s is installed by the commit %s\n", version, commit)
	return err
}

func (r *release) commit(ctx context.Context, subject string, files ...string) (string, error) {
	if _, err := r.git(ctx, append([]string{"add", "--"}, files...)...); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, append([]string{"commit", "--quiet", "--message", subject, "--"}, files...)...); err != nil {
		return "", err
	}
	return r.git(ctx, "rev-parse", "HEAD")
}

// pinExamples replaces the release that the examples and documents name.
func (r *release) pinExamples(ctx context.Context, version, commit, linux string) (changed []string, err error) {
	names, err := r.git(ctx, "ls-files", "--", "README.md", "docs", "examples")
	if err != nil {
		return nil, err
	}
	for _, p := range []struct{ what, with string }{
		{`(rke-lm/rke-lm@)[0-9a-z.]+( #.*)?`, "${1}" + commit + " # " + version},
		{`(repo: https://github.com/rke-lm/rke-lm\n *rev: ).*`, "${1}" + commit + " # frozen: " + version},
		{`(RKE_LM_VERSION: ).*`, "${1}" + version},
		{`(RKE_LM_SHA256: )"[0-9a-f]{64}"`, `${1}"` + linux + `"`},
	} {
		what, found := regexp.MustCompile(p.what), false
		for name := range strings.SplitSeq(names, "\n") {
			file := filepath.Join(r.source, name)
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if !what.Match(text) {
				continue
			}
			found, changed = true, append(changed, name)
			if err := os.WriteFile(file, what.ReplaceAll(text, []byte(p.with)), 0o644); err != nil {
				return nil, err
			}
		}
		if !found {
			return nil, fmt.Errorf("no example has %s", p.what)
		}
	}
	return changed, nil
}
