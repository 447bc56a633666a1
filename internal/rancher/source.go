// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"
	"os"
	"strings"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// Source says where a Rancher is, in one of three ways: by the URL and the token, or the file with
// it, of a connection, by the configuration of Rancher's command line, or else by a kubeconfig that
// leads to Rancher's own cluster.
type Source struct {
	kube.Connection        // without a Token, that of the variable RANCHER_TOKEN
	CLI             string // a server of Rancher's command line; CurrentServer for its current one
}

// TokenVariable holds the token of a Rancher.
const TokenVariable = "RANCHER_TOKEN"

// Server is a Rancher.
type Server struct{ local *kube.Client }

// Open finds a Rancher and its credentials; it does not speak to it yet.
func Open(s Source) (*Server, error) {
	c := s.Connection
	var err error
	switch {
	case s.Rancher != "":
		c.TokenFile = s.renewed()
		c.Token, err = s.token()
	case s.CLI != "":
		err = s.login(&c)
	}
	if err == nil && (s.Rancher != "" || s.CLI != "") {
		c.Rancher, err = address(c.Rancher)
	}
	if err != nil {
		return nil, err
	}
	client, err := kube.Connect(c)
	if err != nil {
		return nil, err
	}
	return &Server{client}, nil
}

// token reads the token from its file or its variable.
func (s Source) token() (string, error) {
	text, where, do := os.Getenv(TokenVariable), TokenVariable, "set it to only the token"
	if s.TokenFile != "" {
		read, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return "", fmt.Errorf("cannot read the token: %w; check the path", err)
		}
		text, where, do = string(read), s.TokenFile, "write only the token to the file"
	} else if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("there is no token for the Rancher; set %s, or use --token-file", TokenVariable)
	}
	token, is := kube.Token(text)
	if !is {
		return "", fmt.Errorf("%s: not one token; %s", where, do)
	}
	return token, nil
}

// renewed is the file in which someone may renew the token. What can be read only
// once, as a pipe, is none.
func (s Source) renewed() string {
	if info, err := os.Stat(s.TokenFile); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return s.TokenFile
}

// Local is the API server of Rancher's own cluster.
func (s *Server) Local() *kube.Client { return s.local }

// Downstream is the API server of a cluster, by its ID, through Rancher.
func (s *Server) Downstream(id string) (*kube.Client, error) {
	if c, through := s.local.Through(id); through {
		return c, nil
	}
	return nil, fmt.Errorf("%s is not the address of Rancher, so no other cluster can be reached through it; use --rancher-url, or a kubeconfig from Rancher for its cluster local", s.local.Address())
}
