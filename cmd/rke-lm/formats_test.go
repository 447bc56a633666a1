// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// inEachFormat is a golden case that is to be migrated, for every format.
var inEachFormat = map[string]string{"rke2": "rke2-docs-like-minimal", "rke1": "rke1-minimal", "manifest": "manifest-static-pod"}

// pastInEachFormat is one whose components do not start.
var pastInEachFormat = map[string]string{"rke2": "rke2-past-126-broken-pools-override", "rke1": "rke1-past-126", "manifest": "manifest-past-126"}

// All formats have stages of one list in its order, whatever each of them does. One leaves out a stage that it
// does not have, and at least one has each.
func TestAllFormatsHaveTheirStagesInOneOrder(t *testing.T) {
	var ofAny []string
	for _, d := range formats() {
		c := openGolden(t, d, inEachFormat[d.Name], transform.Target{EndState: transform.EndStateExternal})
		got := stageNames(c)
		own := lists.Where(migrationStages(), func(name string) bool { return slices.Contains(got, name) })
		assert.Truef(t, slices.Equal(got, own), "%s: %s", d.Name, strings.Join(got, ", "))
		ofAny = append(ofAny, got...)
		short := openGolden(t, d, inEachFormat[d.Name], transform.Target{NoLeaderMigration: true})
		got = stageNames(short)
		assert.Truef(t, slices.Equal(got, []string{stages.InstallCCM, stages.SwitchToExternal, stages.VerifyProviderIDs}), "%s, without leader migration: %s", d.Name, strings.Join(got, ", "))
		broken := openGolden(t, d, pastInEachFormat[d.Name], transform.Target{EndState: transform.EndStateExternal})
		got = stageNames(broken)
		assert.Truef(t, slices.Equal(got, []string{stages.SwitchToExternal, stages.InstallCCM, stages.SetProviderIDs, stages.VerifyProviderIDs}), "%s, past 1.26: %s", d.Name, strings.Join(got, ", "))
	}
	for _, name := range migrationStages() {
		assert.True(t, slices.Contains(ofAny, name), "no format has", name)
	}
}

// No document belongs to two formats.
func TestEveryGoldenClusterHasOneFormat(t *testing.T) {
	for _, f := range goldenChunks(t) {
		doc, err := transform.Parse(f)
		if err != nil {
			continue
		}
		var owners []string
		for _, d := range formats() {
			if d.Owns(doc) {
				owners = append(owners, d.Name)
				assert.Truef(t, d.Words.In(doc.Bytes()), "%s is one of %s, and a search would pass over it", f.File, d.Name)
			}
		}
		assert.Truef(t, len(owners) <= 1, "%s is taken for %s", f.File, strings.Join(owners, " and "))
	}
}

func openGolden(t *testing.T, d transform.Format, folder string, target transform.Target) transform.Cluster {
	t.Helper()
	for _, f := range goldenChunks(t) {
		if filepath.Dir(f.File) != folder {
			continue
		}
		doc := assert.Value(transform.Parse(f))(t)
		return assert.Value(d.Open(transform.Only(doc), target))(t)
	}
	t.Fatalf("no golden case %s for %s", folder, d.Name)
	return nil
}

func stageNames(c transform.Cluster) []string {
	return lists.Map(c.Stages(), func(s transform.Listed) string { return s.Name })
}

// goldenChunks returns the documents of all golden inputs.
func goldenChunks(t *testing.T) []yamledit.Chunk {
	t.Helper()
	var chunks []yamledit.Chunk
	for _, c := range goldenFiles(t) {
		chunks = append(chunks, chunksOf(c)...)
	}
	return chunks
}

// Every field of a format is there, but for those that say what their zero value means.
func TestAFormatHasAllOfItsFields(t *testing.T) {
	optional := []string{"Plausible", "Explain", "IsObject", "Kept", "Keys"}
	for _, d := range formats() {
		v := reflect.ValueOf(d)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			assert.Truef(t, !v.Field(i).IsZero() || slices.Contains(optional, name), "%s has no %s", d.Name, name)
		}
	}
}

// goldenFiles returns the golden cases whose input is a file, and no dump and no part of an object.
func goldenFiles(t *testing.T) []golden.Case {
	t.Helper()
	return slices.DeleteFunc(golden.Inputs(t), func(c golden.Case) bool { return isLive(c) || isRancher(c) })
}

// ofEachFormat returns those that differ in their stages: the files of the cases of rules differ in one rule, and no
// command and no step comes from them alone.
func ofEachFormat(t *testing.T) []golden.Case {
	return golden.Inputs(t, lists.Map(formats(), func(d transform.Format) string { return d.Name + "-" })...)
}

// chunksOf returns the documents of a golden input, which say of which case they are.
func chunksOf(c golden.Case) []yamledit.Chunk {
	return yamledit.Split(filepath.Join(c.Name, c.Input()), []byte(c.Text()))
}

// Rancher describes a cluster by an object of one kind, and permissions depend on it.
func TestEveryKindOfObjectsIsThatOfOneFormat(t *testing.T) {
	for _, kind := range []transform.ObjectKind{transform.Provisioning, transform.Management} {
		of := slices.DeleteFunc(slices.Clone(formats()), func(d transform.Format) bool { return d.Live.Kind != kind })
		assert.Truef(t, len(of) == 1 && of[0].Live.Snapshot != nil, "%d formats have objects of %s", len(of), kind.APIVersion())
	}
}
