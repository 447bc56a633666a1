// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ccm

import (
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

const (
	// CloudConfigSecret is the Secret in kube-system whose key CloudConfigKey
	// holds the provider's configuration.
	CloudConfigSecret = "aws-cloud-config"
	// CloudConfigKey is the key and the name of the file.
	CloudConfigKey = "cloud.conf"

	cloudConfigFolder = "/etc/aws-cloud-config"
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
	return holding("Secret", CloudConfigSecret, "stringData", CloudConfigKey, config)
}

// holding returns an object in kube-system that holds a text byte for byte.
func holding(kind, name, field, key, content string) (string, error) {
	d, err := yamledit.ParseString("manifest.yaml", "apiVersion: v1\nkind: "+kind+"\nmetadata:\n  name: "+name+"\n  namespace: kube-system\n"+field+":\n  "+key+": \"\"\n")
	if err != nil {
		return "", err
	}
	e := d.Edit()
	e.Set(d.Root().Get(field, key), content)
	after, _, err := e.Apply()
	if err != nil {
		return "", err
	}
	return string(after.Bytes()), nil
}
