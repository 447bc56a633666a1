// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/krew/pkg/constants"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// plugin is the name under which kubectl runs rke-lm.
const plugin = "leader-migration"

// withPlugin adds the manifest with which krew installs the archives, if it is known where
// they will be.
func (r *release) withPlugin(made []product) ([]product, error) {
	if r.baseURL == "" {
		fmt.Println("no manifest for krew: set BASE_URL to the URL of the folder with the files")
		return made, nil
	}
	at, err := url.Parse(r.baseURL)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("-base-url %q is not a URL such as https://example.com/v0.1.0", r.baseURL)
	}
	var platforms []index.Platform
	for _, p := range made {
		if p.of != nil {
			platforms = append(platforms, r.pluginFor(p, at))
		}
	}
	text, err := yaml.Marshal(index.Plugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: constants.CurrentAPIVersion, Kind: constants.PluginKind},
		ObjectMeta: metav1.ObjectMeta{Name: plugin},
		Spec: index.PluginSpec{
			Version:          r.version,
			Homepage:         home,
			ShortDescription: "Migrate from the in-tree AWS provider",
			Description: "Migrates Rancher clusters (RKE2 and RKE1) from the in-tree AWS cloud provider to the\n" +
				"external aws-cloud-controller-manager with leader migration: as reviewable edits of\n" +
				"their YAML in git, or live, stage by stage.\n",
			Platforms: platforms,
		},
	})
	return append(made, product{name: plugin + ".yaml", content: text}), err
}

// pluginFor describes for krew where the archive of a platform is, and what to take out of it.
func (r *release) pluginFor(p product, at *url.URL) index.Platform {
	folder := r.name(p.of.platform, "")
	return index.Platform{
		URI:      at.JoinPath(p.name).String(),
		Sha256:   fmt.Sprintf("%x", sha256.Sum256(p.content)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"os": p.of.os, "arch": p.of.arch}},
		Files: []index.FileOperation{
			{From: path.Join(folder, p.of.file()), To: "."},
			{From: path.Join(folder, "LICENSE"), To: "."},
			{From: path.Join(folder, "NOTICES.txt"), To: "."},
		},
		Bin: p.of.file(),
	}
}
