// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rancher reads and patches the clusters of a Rancher.
//
// Invariant: an object is written with a JSON patch that tests what it changes, on
// the plain Kubernetes route, and by nothing else; when a write is said to have
// succeeded, the server has shown the object with all of the change in it.
package rancher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
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
		if info, err := os.Stat(s.TokenFile); err != nil || !info.Mode().IsRegular() {
			c.TokenFile = "" // what can be read only once, as a pipe, no one renews
		}
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

// Local is the API server of Rancher's own cluster.
func (s *Server) Local() *kube.Client { return s.local }

// Downstream is the API server of a cluster, by its ID, through Rancher.
func (s *Server) Downstream(id string) (*kube.Client, error) {
	if c, through := s.local.Through(id); through {
		return c, nil
	}
	return nil, fmt.Errorf("%s is not the address of Rancher, so no other cluster can be reached through it; use --rancher-url, or a kubeconfig from Rancher for its cluster local", s.local.Address())
}

// pages are the paths below the address of a Rancher that is copied from a
// browser, or from the settings of another client.
var pages = []string{"dashboard", "v3", "v1", "k8s"}

var (
	errNoAddress  = errors.New("the address of a Rancher must be a URL such as https://rancher.example.com; correct --rancher-url")
	errPlain      = errors.New("the address of a Rancher must start with https://, because the token is sent to it; correct --rancher-url")
	errInLocation = errors.New("the address of a Rancher contains credentials; remove them, and set " + TokenVariable + ", or name a file with --token-file")
)

// address is where a Rancher is: the URL that someone gave, up to what its pages and
// its API add. A path before that is kept. No error shows the URL, which may hold a
// secret.
func address(given string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(given))
	switch {
	case err != nil, u.Hostname() == "" && u.Scheme == "https":
		return "", errNoAddress
	case u.Scheme != "https":
		return "", errPlain
	case u.User != nil:
		return "", errInLocation
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	if at := slices.IndexFunc(path, func(part string) bool { return slices.Contains(pages, part) }); at >= 0 {
		path = path[:at]
	}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.Join(path, "/")}
	return strings.TrimSuffix(base.String(), "/"), nil
}

// Version returns the version of Rancher, such as v2.8.5, which it gives to everybody
// (rancher pkg/version, since before 2.7); "" where it cannot be read, as from the API
// server of its own cluster.
func (s *Server) Version(ctx context.Context) string {
	itself, through := s.local.Itself()
	if !through {
		return ""
	}
	var info struct{ Version string }
	read := func(a kube.Answer) error { return json.Unmarshal(a.Body, &info) }
	if _, err := itself.Do(ctx, kube.Request{What: "read the version of Rancher", Method: http.MethodGet, Path: "/rancherversion", Optional: true, Read: read}); err != nil {
		return ""
	}
	return info.Version
}

// CurrentServer is the name of the server that Rancher's command line uses.
const CurrentServer = "current"

// folderVariable names another folder for the configuration of Rancher's command
// line.
const folderVariable = "RANCHER_CONFIG_DIR"

// servers is that configuration (rancher/cli, config).
type servers struct {
	Servers map[string]struct {
		URL       string `json:"url"`
		TokenKey  string `json:"tokenKey"`
		AccessKey string `json:"accessKey"`
		SecretKey string `json:"secretKey"`
		CACerts   string `json:"cacert"`
	}
	CurrentServer string
}

// login takes a server of Rancher's command line.
func (s Source) login(c *kube.Connection) error {
	known, file, err := readServers()
	if err != nil {
		return err
	}
	name := s.CLI
	if name == CurrentServer {
		name = known.CurrentServer
	}
	if name == "" {
		return fmt.Errorf("%s: there is no current server; choose one with rancher server switch, or name it", file)
	}
	server, there := known.Servers[name]
	if !there {
		return fmt.Errorf("%s: there is no server %q; it has %s", file, name, strings.Join(slices.Sorted(maps.Keys(known.Servers)), ", "))
	}
	c.Rancher = server.URL
	c.Token = cmp.Or(server.TokenKey, server.AccessKey+":"+server.SecretKey)
	if c.Token == ":" {
		return fmt.Errorf("%s: the server %s has no token; log in with rancher login", file, name)
	}
	if c.Authority == "" && !c.Insecure {
		c.AuthorityData = []byte(server.CACerts)
	}
	return nil
}

// Servers lists the servers that Rancher's command line knows.
func Servers() ([]string, error) {
	known, _, err := readServers()
	return slices.Sorted(maps.Keys(known.Servers)), err
}

func readServers() (known servers, file string, err error) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return known, "", errors.New("there is no home folder with the configuration of the Rancher CLI; set its folder in " + folderVariable)
		}
		folder = filepath.Join(home, ".rancher")
	}
	file = filepath.Join(folder, "cli2.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return known, file, fmt.Errorf("cannot read the configuration of the Rancher CLI: %w; log in with rancher login, or use --rancher-url", err)
	}
	if json.Unmarshal(text, &known) != nil { // its error may quote a key
		err = fmt.Errorf("%s: not a configuration of the Rancher CLI; log in with rancher login, or use --rancher-url", file)
	}
	return known, file, err
}
