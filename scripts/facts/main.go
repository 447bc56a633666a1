// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command facts makes the tables of RKE2's releases and arguments from Rancher's
// metadata: go run ./scripts/facts -from data.json. The address of data.json is in
// Rancher's setting rke-metadata-config; it is downloaded by hand.
//
// Invariant: the same metadata, day and tables give the same bytes. A release that
// the metadata does not list any more keeps what the tables say, because older
// Ranchers list it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	from := flag.String("from", "", "data.json of rancher/kontainer-driver-metadata")
	date := flag.String("date", "", "day of the metadata, such as 2026-07-31; the file's own when not given")
	folder := flag.String("tables", "transform/rke2/effective", "folder of releases.tsv and arguments.tsv")
	flag.Parse()
	if err := run(os.Stdout, *from, *date, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, from, date, folder string) error {
	if from == "" {
		return errors.New("name the metadata: make facts FROM=data.json")
	}
	if date == "" {
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		date = info.ModTime().UTC().Format(time.DateOnly)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	releases, arguments := filepath.Join(folder, "releases.tsv"), filepath.Join(folder, "arguments.tsv")
	old, err := readTables(releases, arguments)
	if err != nil {
		return err
	}
	fresh, err := parseMetadata(data, date)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	merged, changes, err := old.merge(fresh)
	if err != nil {
		return err
	}
	r, a, err := merged.render()
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintln(out, c)
	}
	fmt.Fprintf(out, "%d releases, %d changes, metadata of %s\n", len(merged.sets), len(changes), merged.date)
	return errors.Join(os.WriteFile(releases, []byte(r), 0o644), os.WriteFile(arguments, []byte(a), 0o644))
}

func readTables(releases, arguments string) (tables, error) {
	r, err := os.ReadFile(releases)
	if err != nil {
		return tables{}, err
	}
	a, err := os.ReadFile(arguments)
	if err != nil {
		return tables{}, err
	}
	return parseTables(string(r), string(a))
}
