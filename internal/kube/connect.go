// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/redact"
)

// Connection names a cluster as kubectl does.
type Connection struct {
	Kubeconfig string // "" for KUBECONFIG, or the usual file
	Context    string // "" for the current one
	UserAgent  string
	// Rancher is the address of a Rancher, whose own cluster is meant; then Token
	// is needed, and Kubeconfig and Context say nothing. TokenFile is where it comes
	// from, if someone may renew it there.
	Rancher, Token, TokenFile string
	// Authority is a file with the certificate that signed the server's, and
	// AuthorityData what such a file holds; without both the system's are trusted,
	// or those of the kubeconfig.
	Authority     string
	AuthorityData []byte
	// Insecure takes any certificate: any server that answers then gets the token.
	Insecure bool
	// RetryFor is for how long a request is tried again.
	RetryFor time.Duration
	// FirstFor is the same for a connection that is refused before the server has answered once; 0 for
	// RetryFor. Refused is called then, with what to show; nil for nothing.
	FirstFor time.Duration
	Refused  func(string)
	// Dial opens the connections to the server; nil for the network of this machine.
	Dial Dial
}

// Dial opens a network connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// ErrConfig means that the configuration names no cluster.
var ErrConfig = errors.New("no cluster to connect to")

// Connect makes a client; it does not speak to the cluster yet. It fails with
// ErrConfig.
func Connect(c Connection) (*Client, error) {
	if c.Rancher != "" { // Rancher's plain Kubernetes route to its own cluster
		return newClient(&rest.Config{
			Host: strings.TrimSuffix(c.Rancher, "/") + clusterRoute + "local", BearerToken: c.Token, BearerTokenFile: c.TokenFile, UserAgent: c.UserAgent,
			TLSClientConfig: rest.TLSClientConfig{CAFile: c.Authority, CAData: c.AuthorityData, Insecure: c.Insecure},
		}, c, usual(), "")
	}
	raw, _ := c.loader().RawConfig() // the next call reports what is wrong
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, c.nowhere(err)
	}
	config.UserAgent = c.UserAgent
	if c.Authority != "" || c.Insecure {
		config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile = nil, c.Authority
		config.Insecure = c.Insecure
	}
	return newClient(config, c, usual(), cmp.Or(c.Context, raw.CurrentContext))
}

func (c Connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
}

// nowhere reports why a kubeconfig leads to no cluster; what client-go advises is about other programs.
func (c Connection) nowhere(err error) error {
	file := cmp.Or(c.Kubeconfig, os.Getenv(clientcmd.RecommendedConfigPathEnvVar), clientcmd.RecommendedHomeFile)
	if several, is := errors.AsType[utilerrors.Aggregate](err); is {
		err = several.Errors()[0]
	}
	if _, missing := os.Stat(file); missing != nil && len(filepath.SplitList(file)) == 1 {
		err = missing
	}
	what, _, _ := strings.Cut(err.Error(), "\n")
	context, noContext := strings.CutPrefix(what, "context was not found for specified context: ")
	switch path, is := errors.AsType[*fs.PathError](err); {
	case is && path.Path == file:
		what = path.Err.Error()
	case is:
		what = "it names " + path.Path + ": " + path.Err.Error()
	case noContext:
		what = fmt.Sprintf("context %q does not exist", context)
	case clientcmd.IsEmptyConfig(err):
		what = "it names no cluster"
	case strings.HasPrefix(what, loading):
		file, what = unloaded(strings.TrimPrefix(what, loading))
	}
	return fmt.Errorf("%s: %w: %s; name another file with --kubeconfig or KUBECONFIG, or a context with --context", file, ErrConfig, redact.Text(what))
}

// loading begins what clientcmd reports of a file that it cannot load, without its cause.
const loading = "error loading config file "

// unloaded returns the file, and what is wrong with it.
func unloaded(text string) (file, what string) {
	quoted, _ := strconv.QuotedPrefix(text)
	file, _ = strconv.Unquote(quoted)
	text = strings.TrimPrefix(text, quoted+": ")
	if what = text[strings.LastIndex(text, ": ")+1:]; strings.HasPrefix(text, "open ") || strings.HasPrefix(text, "read ") {
		return file, strings.TrimSpace(what)
	}
	_, line, is := strings.Cut(text, "yaml: ")
	if what = "it is not a kubeconfig"; is {
		what += ", " + line
	}
	return file, what
}

// Contexts lists the contexts of a configuration, sorted. It fails with ErrConfig.
func Contexts(c Connection) ([]string, error) {
	raw, err := c.loader().RawConfig()
	if err != nil {
		return nil, c.nowhere(err)
	}
	names := lists.Keys(raw.Contexts)
	if len(names) == 0 {
		return nil, c.nowhere(clientcmd.ErrEmptyConfig)
	}
	return names, nil
}

// newClient turns a configuration, which may be that of a context, into a client. It puts the
// RoundTrippers of this package over client-go's, which sends the credentials and unpacks answers: an answer
// is ended when it stays away, and counted. No redirect is followed, for the credentials are for one server.
//
// client-go's REST client would try again by itself what comes with a Retry-After header, ten times,
// and wait for as long as the server says. Here the time is bounded, and what has no such header may
// pass as well. The API server's own priority and fairness is enough, and says when to wait.
func newClient(config *rest.Config, c Connection, b bounds, context string) (*Client, error) {
	if c.Dial != nil {
		config.Dial = c.Dial
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil { // its text quotes the address, which may hold a password
		return nil, fmt.Errorf("%w: the server's address is no URL; correct it", ErrConfig)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; check the certificates and the credentials that are named", ErrConfig, err)
	}
	file := config.BearerTokenFile // that of a kubeconfig a program keeps; that of a Rancher's token a person renews, if at all
	sent := &tokens{next: transport, file: file, renewed: file != "" && c.Rancher == "" || config.ExecProvider != nil || config.AuthProvider != nil}
	client := &Client{
		http:  &http.Client{Transport: &unfollowed{&limitedBody{&timely{sent}, b.answer}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		retry: &retry{tokens: sent, allowed: c.RetryFor, first: &first{limit: c.FirstFor, note: c.Refused}}, bounds: b, base: strings.TrimSuffix(base.String(), "/"), config: config,
	}
	client.retry.first.where = "the API server " + client.Address()
	if context != "" {
		client.retry.first.where += " of the context " + context
	}
	return client, nil
}

// unfollowed takes a Location that is no URL from an answer: http.Client reads it before it asks
// whether to follow it, and its error quotes all of it, with the tickets in its query.
type unfollowed struct{ next http.RoundTripper }

func (u *unfollowed) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := u.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if _, err := res.Location(); err != nil {
		res.Header.Del("Location")
	}
	return res, nil
}

// clusterRoute is the part of an address after which a Rancher has a cluster's
// API server.
const clusterRoute = "/k8s/clusters/"

// Through returns a client for another cluster that is reached through the same Rancher;
// false where the server was not reached through one.
func (c *Client) Through(id string) (*Client, bool) {
	return c.at(clusterRoute + url.PathEscape(id))
}

// Itself returns a client for the Rancher through which the server was reached; false
// where there is none.
func (c *Client) Itself() (*Client, bool) { return c.at("") }

// at returns a client for a path of the same Rancher.
func (c *Client) at(path string) (*Client, bool) {
	before, _, through := strings.Cut(c.base, clusterRoute)
	if !through {
		return nil, false
	}
	other := *c
	other.base, other.config = before+path, rest.CopyConfig(c.config)
	other.config.Host = other.base
	other.retry = &retry{tokens: c.retry.tokens, allowed: c.retry.allowed, first: c.retry.first}
	return &other, true
}

// Address is where the server is, for messages: without the credentials that a URL
// may hold.
func (c *Client) Address() string {
	u, _ := url.Parse(c.base) // it was one of a URL
	u.User = nil
	return u.String()
}

// Rancher is the address of the Rancher before the server; false where there is none.
func (c *Client) Rancher() (string, bool) {
	address, _, through := strings.Cut(c.Address(), clusterRoute)
	return address, through
}

// tokens sends the token that a file holds now. client-go by itself reads the file once
// a minute, for as long as which a new token would be of no use.
type tokens struct {
	next http.RoundTripper
	file string // with a token; "" for none
	// renewed means that a program renews the credentials, so that what was refused may
	// be accepted.
	renewed bool
	// given means that credentials were there: the server answered, whatever it was.
	given atomic.Bool
}

// RoundTrip implements http.RoundTripper. A token that cannot be read is left to
// client-go, which has the last one.
func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	if token := t.token(); token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := t.next.RoundTrip(req)
	if err == nil {
		t.given.Store(true)
	}
	return res, err
}

// changed reports whether the file holds another token than a request had.
func (t *tokens) changed(sent *http.Request) bool {
	token := t.token()
	return token != "" && sent.Header.Get("Authorization") != "Bearer "+token
}

// token is what the file holds; "" where it cannot be read, or is being written.
func (t *tokens) token() string {
	text, err := os.ReadFile(t.file) // it fails for none
	if err != nil {
		return ""
	}
	token, _ := Token(string(text))
	return token
}

// Token takes the blanks around a token away, and the mark that an editor begins a file
// with; false where that does not leave one token.
func Token(text string) (string, bool) {
	token := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", false
	}
	return token, true
}

// Kubeconfig returns a configuration that leads other programs to the same server, on
// the same way and in the same name. It holds secrets.
func (c *Client) Kubeconfig() ([]byte, error) {
	const name = "rke-lm"
	config, tls := c.config, c.config.TLSClientConfig
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, errors.New("the credentials come from a program or a plugin, and cannot be passed on; use --rancher-url with a token")
	}
	proxy := "" // leaves it to the environment, which other programs have as well
	if config.Proxy != nil {
		base, _ := url.Parse(c.base) // it was one of a URL
		at, err := config.Proxy(&http.Request{Method: http.MethodGet, URL: base})
		if err != nil {
			return nil, err
		}
		if at != nil {
			proxy = at.String()
		}
	}
	out := api.NewConfig()
	out.Clusters[name] = &api.Cluster{
		Server: c.base, InsecureSkipTLSVerify: tls.Insecure, TLSServerName: tls.ServerName, ProxyURL: proxy,
		CertificateAuthority: tls.CAFile, CertificateAuthorityData: tls.CAData,
	}
	as := config.Impersonate
	user := &api.AuthInfo{
		Token: config.BearerToken, TokenFile: config.BearerTokenFile, Username: config.Username, Password: config.Password,
		ClientCertificate: tls.CertFile, ClientCertificateData: tls.CertData, ClientKey: tls.KeyFile, ClientKeyData: tls.KeyData,
		Impersonate: as.UserName, ImpersonateUID: as.UID, ImpersonateGroups: as.Groups, ImpersonateUserExtra: as.Extra,
	}
	out.AuthInfos[name] = user
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	files := append(clientcmd.GetClusterFileReferences(out.Clusters[name]), clientcmd.GetAuthInfoFileReferences(user)...)
	_ = clientcmd.ResolvePaths(files, here) // it joins paths, which cannot fail
	return clientcmd.Write(*out)
}
