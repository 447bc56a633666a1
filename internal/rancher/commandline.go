// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/internal/kube"
)

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
