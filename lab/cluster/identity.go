// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The users of a cluster. A manager run by RKE2 has a certificate with its name; the
// cloud-controller-manager runs as a pod with a service account.
const (
	Admin                  = "admin"
	KubeControllerManager  = "system:kube-controller-manager"
	KubeScheduler          = "system:kube-scheduler"
	CloudControllerManager = "system:serviceaccount:kube-system:cloud-controller-manager"
)

// groups are those that a user's certificate or token carries.
var groups = map[string][]string{
	Admin:                  {"system:masters"},
	KubeControllerManager:  {},
	KubeScheduler:          {},
	CloudControllerManager: {"system:serviceaccounts", "system:serviceaccounts:kube-system"},
}

// token is no secret: the cluster listens on loopback and lasts for one test.
func token(user string) string { return strings.ReplaceAll(user, ":", "-") }

// writeIdentities writes the users' tokens and the key that signs those of service accounts.
func (c *Cluster) writeIdentities() error {
	var tokens strings.Builder
	for user, of := range groups {
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token(user), user, user, strings.Join(of, ","))
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(c.path("tokens.csv"), []byte(tokens.String()), 0o600); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("service.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// certificate is the file with the API server's own certificate and who signed it.
func (c *Cluster) certificate() string { return c.path("tls", "apiserver.crt") }

// Kubeconfig writes a kubeconfig for a user and returns its path.
func (c *Cluster) Kubeconfig(user string) (string, error) {
	return WriteKubeconfig(c.path(token(user)+".kubeconfig"), &api.Cluster{Server: c.server, CertificateAuthority: c.certificate()}, token(user))
}

// WriteKubeconfig writes a kubeconfig for a server and a token, and returns its path.
func WriteKubeconfig(file string, server *api.Cluster, token string) (string, error) {
	const name = "lab"
	config := api.NewConfig()
	config.Clusters[name] = server
	config.AuthInfos[name] = &api.AuthInfo{Token: token}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return file, clientcmd.WriteToFile(*config, file)
}
