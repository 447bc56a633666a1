// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mikefarah/yq/v4/pkg/yqlib"
	"gopkg.in/op/go-logging.v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// A pass goes over all bytes of a file or folder, in a process of its own so
// that it can be measured like any program.
var passes = map[string]func(path string) error{
	"parse":     parse,
	"yq":        yq,
	"kio":       pipeline,
	"kustomize": kustomize,
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
