// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// Source says where a Rancher is, in one of three ways: its URL, the configuration
// of Rancher's command line, or else a kubeconfig that leads to Rancher's own
// cluster.
type Source struct {
	URL       string // https://rancher.example.com
	TokenFile string // the token; "" for the variable RANCHER_TOKEN

	CLI string // a server of Rancher's command line; CurrentServer for its current one

	Kubeconfig, Context string // as kubectl has them

	Authority string // file with the certificate that signed Rancher's
	Insecure  bool
	UserAgent string
	RetryFor  time.Duration // for how long a request is tried again
	FirstFor  time.Duration // and Refused, as a kube.Connection has them
	Refused   func(string)
	Dial      kube.Dial // nil for the network of this machine
}

// TokenVariable holds the token of a Rancher.
const TokenVariable = "RANCHER_TOKEN"

// Server is a Rancher.
type Server struct{ local *kube.Client }

// Open finds a Rancher and its credentials; it does not speak to it yet.
func Open(s Source) (*Server, error) {
	c := kube.Connection{
		Kubeconfig: s.Kubeconfig, Context: s.Context, UserAgent: s.UserAgent, RetryFor: s.RetryFor, FirstFor: s.FirstFor, Refused: s.Refused,
		Authority: s.Authority, Insecure: s.Insecure, Dial: s.Dial,
	}
	var err error
	switch {
	case s.URL != "":
		c.Rancher, c.TokenFile = s.URL, s.renewed()
		c.Token, err = s.token()
	case s.CLI != "":
		err = s.login(&c)
	}
	if err != nil {
		return nil, err
	}
	if s.URL != "" || s.CLI != "" {
		if c.Rancher, err = address(c.Rancher); err != nil {
			return nil, err
		}
	}
	client, err := kube.Connect(c)
	if err != nil {
		return nil, err
	}
	return &Server{client}, nil
}

// token reads the token from its file or its variable.
func (s Source) token() (string, error) {
	if s.TokenFile == "" {
		given := os.Getenv(TokenVariable)
		if strings.TrimSpace(given) == "" {
			return "", fmt.Errorf("there is no token for the Rancher; set %s, or use --token-file", TokenVariable)
		}
		return oneToken(given, TokenVariable, "set it to only the token")
	}
	text, err := os.ReadFile(s.TokenFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w; check the path", err)
	}
	return oneToken(string(text), s.TokenFile, "write only the token to the file")
}

// renewed is the file in which someone may renew the token. What can be read only
// once, as a pipe, is none.
func (s Source) renewed() string {
	if info, err := os.Stat(s.TokenFile); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return s.TokenFile
}

func oneToken(text, where, do string) (string, error) {
	token, is := kube.Token(text)
	if !is {
		return "", fmt.Errorf("%s: not one token; %s", where, do)
	}
	return token, nil
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
