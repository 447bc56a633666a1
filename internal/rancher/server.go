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
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
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

// address is where a Rancher is: the URL that someone gave, up to what its pages and
// its API add. A path before that is kept. No error shows the URL, which may hold a
// secret.
func address(given string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(given))
	switch {
	case err != nil, u.Hostname() == "" && u.Scheme == "https":
		return "", errors.New("the address of a Rancher must be a URL such as https://rancher.example.com; correct --rancher-url")
	case u.Scheme != "https":
		return "", errors.New("the address of a Rancher must start with https://, because the token is sent to it; correct --rancher-url")
	case u.User != nil:
		return "", errors.New("the address of a Rancher contains credentials; remove them, and set " + TokenVariable + ", or name a file with --token-file")
	}
	pages := []string{"dashboard", "v3", "v1", "k8s"} // it may be copied from a browser, or from the settings of another client
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
		return fmt.Errorf("%s: there is no server %q; it has %s", file, name, strings.Join(lists.Keys(known.Servers), ", "))
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
	return lists.Keys(known.Servers), err
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

// Rights asks which of these rights the user has, and returns those that are
// missing, in their order: of [rollout.GatePermission] only where Rancher refuses requests for
// lack of it. If Rancher forwards no request of the user to a cluster, its rights are not
// asked for: [rollout.ClusterPermission] is missing. It changes nothing.
func (s *Server) Rights(ctx context.Context, needed []rollout.Access) ([]rollout.Access, error) {
	downstream := func(r rollout.Access) bool { return r.Cluster != "" }
	missing, err := s.missing(ctx, slices.DeleteFunc(slices.Clone(needed), downstream))
	if err != nil {
		return nil, err
	}
	open := lists.Where(needed, func(r rollout.Access) bool {
		return downstream(r) && !slices.Contains(missing, rollout.ClusterPermission(r.Cluster))
	})
	more, err := s.missing(ctx, open)
	return append(missing, more...), err
}

// missing returns those that the user lacks.
func (s *Server) missing(ctx context.Context, needed []rollout.Access) ([]rollout.Access, error) {
	allowed := make([]bool, len(needed))
	err := kube.ForEach(len(needed), func(i int) (err error) {
		allowed[i], err = s.may(ctx, needed[i])
		return err
	})
	if err != nil {
		return nil, s.explained(err)
	}
	var missing []rollout.Access
	for i, r := range needed {
		if !allowed[i] {
			missing = append(missing, r)
		}
	}
	if !slices.Contains(missing, rollout.GatePermission) {
		return missing, nil
	}
	gated, err := s.gated(ctx)
	if !gated {
		missing = slices.DeleteFunc(missing, func(r rollout.Access) bool { return r == rollout.GatePermission })
	}
	return missing, s.explained(err)
}

// Review fails with *kube.Denied where the user lacks a right.
func (s *Server) Review(ctx context.Context, needed []rollout.Access) error {
	missing, err := s.Rights(ctx, needed)
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.explained(&kube.Denied{Missing: lists.Map(missing, rollout.Access.String)})
}

// may asks the authorizer of the right's cluster.
func (s *Server) may(ctx context.Context, r rollout.Access) (bool, error) {
	client := s.local
	if r.Cluster != "" {
		var err error
		if client, err = s.Downstream(r.Cluster); err != nil {
			return false, err
		}
	}
	resource, part, _ := strings.Cut(r.Resource, "/")
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: part, Name: r.Name,
		}},
	}
	answer, err := kube.Get[authorizationv1.SelfSubjectAccessReview](ctx, client, kube.Request{
		What: "create selfsubjectaccessreviews.authorization.k8s.io", Method: http.MethodPost,
		Path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Body: review,
	}, "SelfSubjectAccessReview")
	return err == nil && answer.Status.Allowed, err
}

const (
	// management is the API group that Rancher guards.
	management = "/apis/management.cattle.io/"
	// gateTime is longer than Rancher remembers a refusal: its setting
	// authorization-deny-cache-ttl-seconds is 10.
	gateTime  = 15 * time.Second
	gatePause = time.Second
)

var errNoReason = fmt.Errorf("403 without a reason from Rancher, although its API server reports that the user has permission to %s; check the log of Rancher", rollout.GatePermission)

// PastGate makes a request to Rancher's own cluster, and finds the reason where Rancher
// itself refuses it and gives none: the token is not accepted any more, or the user
// lacks [rollout.GatePermission]. It fails with *kube.Failure and *kube.Denied then.
//
// Rancher refuses management.cattle.io so, and nothing else (rancher
// pkg/api/steve/proxy/proxy.go, authLocalCluster: 2.6.10 and later, but not 2.7.0). It
// also does so while it cannot ask its API server, and for as long as it remembers an
// earlier refusal, so a user who has the right is let through a little later.
func PastGate[T any](ctx context.Context, s *Server, path string, do func() (T, error)) (T, error) {
	end := time.Now().Add(gateTime)
	for {
		answer, err := do()
		if !kube.Gated(err) || !strings.HasPrefix(path, management) {
			return answer, err
		}
		switch may, asked := s.may(ctx, rollout.GatePermission); {
		case asked != nil:
			return answer, asked
		case !may:
			return answer, &kube.Denied{Missing: []string{rollout.GatePermission.String()}}
		case time.Now().After(end) || !kube.Pause(ctx, gatePause):
			return answer, &kube.Unreached{What: "reach management.cattle.io", Err: errNoReason}
		}
	}
}

// gated reports whether Rancher lets the user reach management.cattle.io not at all.
// A Rancher of an older version, and an API server that is not reached through one, ask
// for no such right.
func (s *Server) gated(ctx context.Context) (bool, error) {
	path := kube.Path(transform.Management.APIVersion(), "clusters", "", rollout.GatePermission.Name)
	_, err := s.local.Do(ctx, kube.Request{What: rollout.GatePermission.String(), Method: http.MethodGet, Path: path})
	if err == nil || kube.HasStatus(err, http.StatusForbidden, http.StatusNotFound) {
		return kube.Gated(err), nil
	}
	return false, err
}

// advised is an error with what to do about it on a Rancher.
type advised struct {
	text string
	err  error
}

func (a *advised) Error() string { return a.text }

func (a *advised) Unwrap() error { return a.err }

// explained says of a Rancher what an API server alone cannot.
func (s *Server) explained(err error) error {
	if errors.As(err, new(*advised)) {
		return err
	}
	err = kube.Refusal(err)
	var denied *kube.Denied
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &denied) && denied.Expired:
		return &advised{fmt.Sprintf("%s does not accept the token: it has expired, or its scope is one cluster, which Rancher's own cluster does not accept; create an API key without a scope, and run the command again", s.local.Address()), err}
	case errors.As(err, &denied) && slices.Contains(denied.Missing, rollout.GatePermission.String()):
		return &advised{fmt.Sprintf("%s; without %q Rancher itself rejects every request for management.cattle.io, regardless of other permissions", denied, rollout.GatePermission), err}
	case errors.As(err, &authority):
		if at, is := s.local.Rancher(); is {
			return &advised{fmt.Sprintf("the certificate of %s is signed by an authority that this machine does not trust; get it with: %s, compare it with the one from the administrators of the Rancher, and add --cacert cacerts.pem", at, action.Command("curl -sk %s | jq -r .value > cacerts.pem", at+"/v3/settings/cacerts")), err}
		}
	}
	return err
}
