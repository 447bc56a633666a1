// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// release is one version of rke-lm, from one commit.
type release struct {
	source, out       string
	version, revision string
	committed         time.Time // the only time that gets into a file
	baseURL           string
	builder           string // who makes it, a URI
	platforms         []platform
	helms             map[string]*helm // that are given, by architecture
}

// platform is what a binary runs on.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func (p platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// supported are the platforms of a release.
var supported = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// native is the platform of this machine.
var native = platform{runtime.GOOS, runtime.GOARCH}

// read finds out what is to be released.
func (r *release) read(ctx context.Context, platforms string) error {
	if r.out == "" {
		return errors.New("-out is required")
	}
	var err error
	if r.source, err = filepath.Abs(r.source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if r.platforms, err = parsePlatforms(platforms); err != nil {
		return err
	}
	if r.revision, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	if err := r.readTime(ctx); err != nil {
		return err
	}
	return r.readVersion(ctx)
}

// parsePlatforms reads a list of platforms; an empty one means all.
func parsePlatforms(list string) ([]platform, error) {
	if list == "" {
		return supported, nil
	}
	var found []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(supported, func(p platform) bool { return p.String() == name || name == "native" && p == native })
		if i < 0 {
			return nil, fmt.Errorf("-platforms: %q is not one of %v, or native", name, supported)
		}
		if !slices.Contains(found, supported[i]) {
			found = append(found, supported[i])
		}
	}
	return found, nil
}

func (r *release) readTime(ctx context.Context) error {
	text, err := r.git(ctx, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	r.committed = time.Unix(seconds, 0).UTC()
	return err
}

// readVersion takes the version from git unless it was given. What git describes without
// a tag is only a commit.
func (r *release) readVersion(ctx context.Context) error {
	if r.version == "" {
		described, err := r.git(ctx, "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return err
		}
		if r.version = described; !semver.IsValid(described) {
			r.version = "v0.0.0-g" + described
		}
	}
	if !semver.IsValid(r.version) || semver.Canonical(r.version) != r.version {
		return fmt.Errorf("-version %s is not a version such as v0.1.0", r.version)
	}
	if semver.Prerelease(r.version) != "" {
		return nil
	}
	return r.checkChangelog()
}

// checkChangelog refuses a version that the changelog does not describe.
func (r *release) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := "## [" + strings.TrimPrefix(r.version, "v") + "] - "
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(heading) + `\d{4}-\d\d-\d\d$`).Match(text) {
		return fmt.Errorf("CHANGELOG.md has no line %q with a date; describe the version there", heading)
	}
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return r.run(ctx, nil, "git", args...)
}

// run runs a program in the repository and returns what it prints.
func (r *release) run(ctx context.Context, env []string, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = r.source
	c.Env = append(os.Environ(), env...)
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// name is that of a file of this release.
func (r *release) name(p platform, suffix string) string {
	return fmt.Sprintf("rke-lm_%s_%s_%s%s", r.version, p.os, p.arch, suffix)
}

// make builds everything and writes it.
func (r *release) make(ctx context.Context) error {
	work, err := os.MkdirTemp("", "rke-lm-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	texts, err := r.documents(ctx, work)
	if err != nil {
		return err
	}
	graph, err := r.graph(ctx)
	if err != nil {
		return err
	}
	var made []product
	for _, p := range r.platforms {
		b, err := r.build(ctx, p, filepath.Join(work, p.os+"-"+p.arch))
		if err != nil {
			return err
		}
		list, err := r.pack(b, graph, texts)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		made = append(made, list...)
	}
	image, err := r.images(work, made)
	if err != nil {
		return err
	}
	made = append(made, image...)
	if made, err = r.withPlugin(made); err != nil {
		return err
	}
	slices.SortFunc(made, func(a, b product) int { return cmp.Compare(a.name, b.name) })
	if made, err = r.withProvenance(ctx, append(made, checksums(made))); err != nil {
		return err
	}
	return r.write(made)
}

// product is one file of a release.
type product struct {
	name    string
	content []byte
	of      *binary // what an archive holds
}

// write empties the folder and writes the files.
func (r *release) write(made []product) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, p := range made {
		if err := os.WriteFile(filepath.Join(r.out, p.name), p.content, 0o644); err != nil {
			return err
		}
		fmt.Printf("%10d  %s\n", len(p.content), filepath.Join(r.out, p.name))
	}
	return nil
}
