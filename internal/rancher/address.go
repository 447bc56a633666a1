// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

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
