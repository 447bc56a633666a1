// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/lab/cluster"
)

// User is who may do everything in every cluster.
const User = "user-lab01"

// prefix is the path below which Rancher passes requests on to its clusters.
const prefix = "/k8s/clusters/"

// proxy is the way in: it asks for a token and passes on, in the name of the token's user.
type proxy struct {
	server    *http.Server
	url       string
	ca        string // file
	pem       []byte
	gate      *gate
	router    *router
	anonymous http.Handler // passes a token on to Rancher's own API server, which does not know it

	mu       sync.Mutex
	tokens   map[string]string // users by token
	backends map[string]http.Handler
	cut      bool
	log      []Request
	before   []hook
}

// hook is what happens once before a request is passed on.
type hook struct {
	matches func(Request) bool
	do      func()
}

// Request is one that came in with a token that holds.
type Request struct {
	Method, Cluster, Path string
	Name                  string // of the object that it makes, if it makes one
	Query, Agent          string // the second is the client's own name
	Status                int
}

func (s *Server) startProxy(dir string) (*proxy, error) {
	certificate, pem, err := certificate()
	if err != nil {
		return nil, err
	}
	p := &proxy{pem: pem, ca: filepath.Join(dir, "cacerts.pem"), tokens: map[string]string{}, backends: map[string]http.Handler{}}
	if err := os.WriteFile(p.ca, pem, 0o644); err != nil {
		return nil, err
	}
	p.gate = &gate{reviews: s.client.AuthorizationV1().SubjectAccessReviews(), memory: 10 * time.Second, answered: map[string]remembered{}}
	p.router = &router{s.Local.Config(cluster.Admin)}
	if p.anonymous, err = handing(localName, rest.AnonymousClientConfig(s.Local.Config(cluster.Admin))); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.url = "https://" + l.Addr().String()
	p.server = &http.Server{Handler: p, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ErrorLog: quiet}
	go p.server.ServeTLS(l, "", "")
	return p, nil
}

func (p *proxy) stop() { p.server.Close() }

// ServeHTTP implements http.Handler. Rancher's own API server gets a token that does not hold itself.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user := p.user(r)
	switch {
	case p.isCut():
		panic(http.ErrAbortHandler) // the connection breaks without an answer
	case user != "" && strings.HasPrefix(r.URL.Path, prefix):
		p.passOn(w, r)
	case ranchertest.Door(w, r, string(p.pem), user != "", nil):
	case user == "":
		p.anonymous.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// user returns who a request's token was given to; "" for one that was undone, or never given out.
func (p *proxy) user(r *http.Request) string {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name, password, basic := r.BasicAuth(); basic {
		token = name + ":" + password
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens[token]
}

// passOn passes a request on to the cluster that its path names.
func (p *proxy) passOn(w http.ResponseWriter, r *http.Request) {
	id, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, prefix), "/")
	p.mu.Lock()
	backend := p.backends[id]
	p.mu.Unlock()
	request := Request{Method: r.Method, Cluster: id, Path: "/" + path, Query: r.URL.RawQuery, Agent: r.UserAgent()}
	if r.Method == http.MethodPost {
		request.Name = named(r)
	}
	p.intercept(request)
	user := p.user(r)
	as := r.Header.Clone()
	as.Set("Impersonate-User", user)
	as["Impersonate-Group"] = groups
	as.Del("Authorization")
	r.Header = as
	seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		request.Status = seen.status
		p.log = append(p.log, request)
	}()
	switch {
	case ranchertest.Door(seen, r, "", true, func() bool { return p.gate.lets(r.Context(), user, groups) }):
	case id != localName && !p.router.leads(seen, r, id, user):
	case backend == nil:
		routed(seen, http.StatusServiceUnavailable, "ClusterUnavailable", "cluster not found")
	default:
		backend.ServeHTTP(seen, r)
	}
}

// named returns the name in the body of a request, which it leaves as it was.
func named(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var o struct {
		Metadata struct{ Name string }
	}
	if err != nil || json.Unmarshal(body, &o) != nil {
		return "" // it is not JSON
	}
	return o.Metadata.Name
}

// intercept does what is to happen before a request.
func (p *proxy) intercept(r Request) {
	p.mu.Lock()
	i := slices.IndexFunc(p.before, func(h hook) bool { return h.matches(r) })
	if i < 0 {
		p.mu.Unlock()
		return
	}
	h := p.before[i]
	p.before = slices.Delete(p.before, i, i+1)
	p.mu.Unlock()
	h.do()
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets watches be flushed.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// admit makes the proxy hand on to a cluster, in which one user may do everything.
func (s *Server) admit(ctx context.Context, id string, c *cluster.Cluster) error {
	client, err := c.Client(cluster.Admin)
	if err != nil {
		return err
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: User},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: User}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return s.proxy.lead(id, c)
}

// lead makes a path lead to a cluster.
func (p *proxy) lead(id string, c *cluster.Cluster) error {
	backend, err := handler(id, c)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backends[id] = backend
	return nil
}

// handler passes requests on to a cluster, in the name of whom they say.
func handler(id string, c *cluster.Cluster) (http.Handler, error) {
	return handing(id, c.Config(cluster.Admin))
}

// handing passes requests on with the credentials of a configuration.
func handing(id string, config *rest.Config) (http.Handler, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, prefix+id)
		r.Out.URL.RawPath = ""
		r.SetURL(target)
	}}, nil
}
