// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// pipeline makes the edit with kyaml's kio, which programs that rewrite Kubernetes'
// files are made of.
func pipeline(path string) error {
	set := kio.FilterFunc(func(nodes []*yaml.RNode) ([]*yaml.RNode, error) {
		for _, n := range nodes {
			err := n.PipeE(yaml.LookupCreate(yaml.MappingNode, "spec", "rkeConfig", "machineGlobalConfig"),
				yaml.SetField("cloud-provider-name", yaml.NewStringRNode("external")))
			if err != nil {
				return nil, err
			}
		}
		return nodes, nil
	})
	return eachFile(path, func(name string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return kio.Pipeline{
			Inputs:  []kio.Reader{&kio.ByteReader{Reader: f, OmitReaderAnnotations: true}},
			Filters: []kio.Filter{set},
			Outputs: []kio.Writer{kio.ByteWriter{Writer: io.Discard}},
		}.Execute()
	})
}

// kustomize makes the edit with a patch for all clusters.
func kustomize(path string) error {
	memory := filesys.MakeFsInMemory()
	var names []string
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		names = append(names, "- "+filepath.Base(name))
		return memory.WriteFile("/"+filepath.Base(name), text)
	})
	if err != nil {
		return err
	}
	patch := "patches:\n- target: {kind: Cluster}\n  patch: |\n    apiVersion: " + marker + "\n    kind: Cluster\n    metadata: {name: all}\n" +
		"    spec: {rkeConfig: {machineGlobalConfig: {cloud-provider-name: external}}}\n"
	if err := memory.WriteFile("/kustomization.yaml", []byte("resources:\n"+strings.Join(names, "\n")+"\n"+patch)); err != nil {
		return err
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/")
	if err != nil {
		return err
	}
	text, err := made.AsYaml()
	if err == nil {
		_, err = io.Discard.Write(text)
	}
	return err
}
