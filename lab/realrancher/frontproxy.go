// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package realrancher

import "path/filepath"

// frontProxy writes the certificates by which API services know kube-apiserver, and returns its flags that name
// them. Rancher's extension API server asks for them.
func frontProxy(dir string) ([]string, error) {
	const name = "front-proxy-client"
	a, err := newAuthority("front-proxy-ca")
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "front-proxy")
	return []string{
		"--requestheader-client-ca-file=" + filepath.Join(dir, "ca.crt"), "--requestheader-allowed-names=" + name,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group", "--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + filepath.Join(dir, "tls.crt"), "--proxy-client-key-file=" + filepath.Join(dir, "tls.key"),
	}, a.write(dir, name)
}
