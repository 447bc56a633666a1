// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"regexp"
	"strings"

	"github.com/rke-lm/rke-lm/transform/provider/aws"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// CloudConfigSecret is the Secret in kube-system whose key CloudConfigKey
	// holds the provider's configuration.
	CloudConfigSecret = aws.CloudConfig
	// CloudConfigKey is the key and the name of the file.
	CloudConfigKey = "cloud.conf"

	cloudConfigFolder = "/etc/" + aws.CloudConfig
	cloudConfigArg    = "--cloud-config=" + cloudConfigFolder + "/" + CloudConfigKey
)

// cloudConfigMount is where the manager finds it.
var cloudConfigMount = mount{
	name:   CloudConfigSecret,
	source: yamledit.Pair{Key: "secret", Value: yamledit.Map{{Key: "secretName", Value: CloudConfigSecret}}},
	folder: cloudConfigFolder,
}

// CloudConfigManifest returns a Secret with a provider's configuration.
func CloudConfigManifest(config string) (string, error) {
	return Holding("Secret", kubeSystem(CloudConfigSecret), "stringData", CloudConfigKey, config)
}

// kubeSystem is the metadata of an object next to the manager.
func kubeSystem(name string) yamledit.Map {
	return yamledit.Map{{Key: "name", Value: name}, {Key: "namespace", Value: "kube-system"}}
}

// Holding returns an object that holds a text byte for byte.
func Holding(kind string, metadata yamledit.Map, field, key, content string) (string, error) {
	d, err := yamledit.ParseString("manifest.yaml", "apiVersion: v1\nkind: "+kind+"\nmetadata: {}\n"+field+":\n  "+key+": \"\"\n")
	if err != nil {
		return "", err
	}
	e := d.Edit()
	e.Set(d.Root().Get("metadata"), metadata)
	e.Set(d.Root().Get(field, key), content)
	after, _, err := e.Apply()
	if err != nil {
		return "", err
	}
	return string(after.Bytes()), nil
}

// Section is one of a provider's configuration file: [Name "Label"] and its
// settings.
type Section struct {
	Name, Label string
	Settings    []Setting
}

// Setting is one line of a section.
type Setting struct{ Name, Value string }

// INI writes a provider's configuration as its reader (gcfg) takes it; sections
// without settings are left out.
func INI(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		if len(s.Settings) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("[" + s.Name)
		if s.Label != "" {
			b.WriteString(" " + quoted(s.Label))
		}
		b.WriteString("]\n")
		for _, v := range s.Settings {
			b.WriteString(v.Name + " = " + iniValue(v.Value) + "\n")
		}
	}
	return b.String()
}

// plainValue needs no quotes: nothing in it starts a comment or an escape.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9:/._@*+-]+$`)

func iniValue(s string) string {
	if plainValue.MatchString(s) {
		return s
	}
	return quoted(s)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}
