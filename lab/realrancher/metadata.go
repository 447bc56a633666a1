// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import (
	"encoding/json"
	"net/http"

	"github.com/rke-lm/rke-lm/transform/rke2/effective"
)

// metadata serves what Rancher downloads about releases of RKE2 (rancher/kontainer-driver-metadata, data.json),
// as far as rke-lm knows it: the arguments of each release.
func metadata(releases []string) http.Handler {
	var list []any
	for _, version := range releases {
		release := effective.LookupRelease(version)
		server, agent := map[string]any{}, map[string]any{}
		for _, key := range release.Keys() {
			of := agent
			if release.ServerOnly(key) {
				of = server
			}
			t, _ := release.Type(key)
			of[key] = map[string]any{"type": string(t)}
		}
		list = append(list, map[string]any{
			"version": version, "minChannelServerVersion": "v2.0.0", "maxChannelServerVersion": "v2.99.99",
			"serverArgs": server, "agentArgs": agent, "featureVersions": map[string]any{"encryption-key-rotation": "2.0.0"},
		})
	}
	text, err := json.Marshal(map[string]any{
		"rke2": map[string]any{"channels": []any{}, "releases": list}, "k3s": map[string]any{"channels": []any{}, "releases": []any{}},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(text)
	})
}
