// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// chartOf reads the manager that a chart's values describe. What its arguments name has to be mounted from
// an object that is there; it is put below host, where the manager reads it.
func chartOf(related Related, host string) (*Chart, error) {
	root := related.Values.Root()
	tag, _ := root.Get("image", "tag").String()
	chart := &Chart{Minor: semver.MajorMinor(tag), Values: root.Value()}
	for _, n := range root.Get("args").Items() {
		text, ok := n.String()
		if !ok {
			return nil, n.Errorf("an argument that is no string", "quote it")
		}
		a := args.Parse(text)
		if !path.IsAbs(a.Value) {
			chart.Args = append(chart.Args, text)
			continue
		}
		content, ok := related.mounted(a.Value)
		if !ok {
			return nil, n.Errorf("no object is mounted at "+a.Value, "mount it, and apply it first")
		}
		if a.Name == "cloud-config" {
			chart.CloudConfig = content
			continue
		}
		file := filepath.Join(host, "pods", a.Value)
		if err := put(file, content); err != nil {
			return nil, err
		}
		chart.Args = append(chart.Args, "--"+a.Name+"="+file)
	}
	return chart, nil
}

// mounted returns what the chart's pods find in a file: the text of a Secret or ConfigMap next to them.
func (b Related) mounted(file string) (string, bool) {
	root := b.Values.Root()
	for _, mount := range root.Get("extraVolumeMounts").Items() {
		at, _ := mount.Get("mountPath").String()
		key, inside := strings.CutPrefix(file, at+"/")
		for _, volume := range root.Get("extraVolumes").Items() {
			if !inside || !same(volume.Get("name"), mount.Get("name")) {
				continue
			}
			for _, o := range b.Objects {
				if text, ok := held(o.Root(), volume, key); ok {
					return text, true
				}
			}
		}
	}
	return "", false
}

// held returns the text that an object holds under a key, if it is the object of the volume.
func held(object, volume yamledit.Node, key string) (string, bool) {
	kind, _ := object.Get("kind").String()
	switch name := object.Get("metadata", "name"); {
	case kind == "Secret" && same(name, volume.Get("secret", "secretName")):
		return object.Get("stringData", key).String()
	case kind == "ConfigMap" && same(name, volume.Get("configMap", "name")):
		return object.Get("data", key).String()
	}
	return "", false
}

func same(a, b yamledit.Node) bool {
	left, ok := a.String()
	right, _ := b.String()
	return ok && left == right
}

// put writes a file of a machine, and the folders above it.
func put(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}
