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

// mountCloudConfig mounts the Secret; cloudConfigArg names its file (extraVolumes:
// chart 0.0.7 or later).
func mountCloudConfig(e *yamledit.Edit, root yamledit.Node) {
	appendOrInsert(e, root, "extraVolumes", yamledit.Map{
		{Key: "name", Value: CloudConfigSecret},
		{Key: "secret", Value: yamledit.Map{{Key: "secretName", Value: CloudConfigSecret}}},
	})
	appendOrInsert(e, root, "extraVolumeMounts", yamledit.Map{
		{Key: "name", Value: CloudConfigSecret},
		{Key: "mountPath", Value: cloudConfigFolder},
		{Key: "readOnly", Value: true},
	})
}

func appendOrInsert(e *yamledit.Edit, root yamledit.Node, key string, v any) {
	switch at := root.Get(key); {
	case at.IsList():
		e.Append(at, v)
	case at.Exists():
		e.Set(at, []any{v})
	default:
		e.Insert(root, key, []any{v})
	}
}

// CloudConfigManifest returns a Secret with a provider's configuration.
func CloudConfigManifest(config string) (string, error) {
	d, err := yamledit.ParseString("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: "+CloudConfigSecret+"\n  namespace: kube-system\nstringData:\n  "+CloudConfigKey+": \"\"\n")
	if err != nil {
		return "", err
	}
	e := d.Edit()
	e.Set(d.Root().Get("stringData", CloudConfigKey), config)
	after, _, err := e.Apply()
	if err != nil {
		return "", err
	}
	return string(after.Bytes()), nil
}
