// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mikefarah/yq/v4/pkg/yqlib"
	"gopkg.in/op/go-logging.v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A pass goes over all bytes of a file or folder, in a process of its own so
// that it can be measured like any program.
var passes = map[string]func(path string) error{
	"parse":     parse,
	"yq":        yq,
	"kio":       pipeline,
	"kustomize": kustomize,
	"raw":       raw,
	"scan":      scan,
}

const marker = "provisioning.cattle.io/v1"

// parse parses every document once with kyaml and keeps none.
func parse(path string) error {
	return eachFile(path, func(name string) error {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, c := range yamledit.Split(name, text) {
			if _, err := yaml.Parse(string(c.Bytes)); err != nil {
				return err
			}
		}
		return nil
	})
}

// The edit, and the same one for a stream that holds other objects as well.
const (
	yqEdit       = `.spec.rkeConfig.machineGlobalConfig.cloud-provider-name = "external"`
	yqSparseEdit = `with(select(.apiVersion == "` + marker + `"); ` + yqEdit + `)`
)

// yq makes one edit in every document, the way its own program does.
func yq(path string) error {
	logging.SetLevel(logging.WARNING, "yq-lib")
	yqlib.InitExpressionParser()
	prefs := yqlib.NewDefaultYamlPreferences()
	printer := yqlib.NewPrinter(yqlib.NewYamlEncoder(prefs), yqlib.NewSinglePrinterWriter(io.Discard))
	edit := yqEdit
	if filepath.Base(path) == sparse {
		edit = yqSparseEdit
	}
	return eachFile(path, func(name string) error {
		return yqlib.NewStreamEvaluator().EvaluateFiles(edit, []string{name}, printer, yqlib.NewYamlDecoder(prefs))
	})
}

// repeats makes the passes that only look at bytes long enough to be measured.
const repeats = 20

// raw looks for the marker and does nothing else.
func raw(path string) error {
	buffer := make([]byte, 1<<20)
	for range repeats {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		found, kept := 0, 0
		for {
			n, err := f.Read(buffer[kept:])
			found += bytes.Count(buffer[:kept+n], []byte(marker))
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			// A marker may begin in one block and end in the next.
			tail := min(kept+n, len(marker)-1)
			copy(buffer, buffer[kept+n-tail:kept+n])
			kept = tail
		}
		if err := errors.Join(f.Close(), mustFind(found)); err != nil {
			return err
		}
	}
	return nil
}

// scan cuts the stream into documents and finds those with the marker, as
// rke-lm does in front of the parser.
func scan(path string) error {
	for range repeats {
		found := 0
		want := func(text []byte) bool { return bytes.Contains(text, []byte(marker)) }
		_, err := source.Source{Name: path, Path: path}.Scan(want, func(yamledit.Chunk) error {
			found++
			return nil
		})
		if err := errors.Join(err, mustFind(found)); err != nil {
			return err
		}
	}
	return nil
}

func mustFind(n int) error {
	if n == 0 {
		return errors.New("nothing was found")
	}
	return nil
}

// eachFile calls do for a file, or for every file in a folder.
func eachFile(path string, do func(name string) error) error {
	return filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if err := do(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}
