// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package fleet makes clusters up, as many as a benchmark needs.
//
// Invariant: a number always gives the same text, so two runs measure the same.
package fleet

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed templates
var templates embed.FS

// Both lists are used in turn, so all of their members are equally frequent.
var (
	clusters = read("hand-written", "ui-made", "highly-available", "commented")
	others   = read("other-deployment", "other-configmap")
)

func read(names ...string) []string {
	var texts []string
	for _, name := range names {
		b, err := templates.ReadFile("templates/" + name + ".yaml")
		if err != nil {
			panic(err) // it is embedded
		}
		texts = append(texts, string(b))
	}
	return texts
}

// Cluster returns cluster i: one document of about 5 KB, to which every stage
// can be applied.
func Cluster(i int) string { return fill(clusters[i%len(clusters)], i) }

// Other returns document i of those that are no clusters.
func Other(i int) string { return fill(others[i%len(others)], i) }

// fill gives a template what makes it differ from all others.
func fill(template string, i int) string {
	in := func(list ...string) string { return list[i/len(clusters)%len(list)] }
	return strings.NewReplacer(
		"%name%", in("harbour", "meadow", "orchard", "ravine", "estuary")+"-"+strconv.Itoa(i),
		"%version%", in("v1.23.17+rke2r1", "v1.24.17+rke2r1", "v1.25.16+rke2r1", "v1.26.15+rke2r1"),
		"%stage%", in("production", "staging", "integration"),
		"%region%", in("eu-west-1", "us-east-2", "ap-southeast-2"),
		"%id%", fmt.Sprintf("%05x", i),
		"%number%", strconv.Itoa(100_000+i),
		"%net%", strconv.Itoa(i%200+20),
		"%minute%", fmt.Sprintf("%02d", i%60),
		"%count%", strconv.Itoa(i%9+2),
	).Replace(template)
}

// Stream returns n clusters as one text.
func Stream(n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString("---\n" + strings.TrimPrefix(Cluster(i), "---\n"))
	}
	return all.String()
}

// Folder writes n clusters into files of their own.
func Folder(path string, n int) error { return folder(path, n, Cluster) }

// Tree writes n files, of which one in a hundred is a cluster.
func Tree(path string, n int) error {
	return folder(path, n, func(i int) string {
		if i%100 == 50 {
			return Cluster(i / 100)
		}
		return Other(i)
	})
}

// folder writes n files, and a folder for each hundred, as people sort what they keep.
func folder(path string, n int, text func(int) string) error {
	for i := range n {
		file := filepath.Join(path, fmt.Sprintf("%03d", i/100), fmt.Sprintf("%05d.yaml", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, []byte(text(i)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
