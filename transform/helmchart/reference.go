// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strings"
)

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
	rest, isOCI := strings.CutPrefix(chart, "oci://")
	if isOCI {
		return parseOCI(rest)
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

// parseOCI reads a reference to a registry, which may end in a tag or a digest.
func parseOCI(rest string) Reference {
	rest, digest, _ := strings.Cut(rest, "@")
	name, tag, _ := strings.Cut(path.Base(rest), ":")
	tag = cmp.Or(tag, digest)
	return Reference{Name: name, Version: tag}
}
