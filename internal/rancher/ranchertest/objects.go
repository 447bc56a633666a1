// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	evanphx "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// The paths of lists, and the kinds in them.
var lists = map[string]string{
	"provisioning.cattle.io/v1/clusters": "Cluster", "management.cattle.io/v3/clusters": "Cluster", "cluster.x-k8s.io/v1beta1/clusters": "Cluster",
	"rke.cattle.io/v1/rkecontrolplanes": "RKEControlPlane", "cluster.x-k8s.io/v1beta1/machines": "Machine", "v1/secrets": "Secret",
	installed + "/leadermigrations": "LeaderMigration", installed + "/leadermigrationapprovals": "LeaderMigrationApproval",
}

// installed is a group that a server has once it has an object of it, as after its definition was created.
const installed = "rke-lm.io/v1alpha1"

// has reports whether the server has a group.
func (s *Server) has(group string) bool {
	if group != installed {
		return true
	}
	for path := range s.objects {
		if strings.HasPrefix(path, "/apis/"+group+"/") {
			return true
		}
	}
	return false
}

// Put gives the server an object in JSON; what a server adds to one it adds.
func (s *Server) Put(t testing.TB, text string) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	metadata := o["metadata"].(map[string]any)
	s.Do(func() {
		s.revision++
		for key, v := range map[string]any{"uid": fmt.Sprintf("uid-%d", s.revision), "generation": 1.0, "resourceVersion": fmt.Sprint(s.revision)} {
			if metadata[key] == nil {
				metadata[key] = v
			}
		}
		s.objects[pathOf(o)] = o
	})
}

// Remove takes an object away.
func (s *Server) Remove(path string) { s.Do(func() { delete(s.objects, path) }) }

// RemoveAll takes away the objects with this in their paths.
func (s *Server) RemoveAll(part string) {
	s.Do(func() {
		maps.DeleteFunc(s.objects, func(path string, _ map[string]any) bool { return strings.Contains(path, part) })
	})
}

// Object returns an object as it is now, in JSON, or "".
func (s *Server) Object(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[path] == nil {
		return ""
	}
	return string(asJSON(http.StatusOK, s.objects[path]).body)
}

// Edit changes an object as another client does.
func (s *Server) Edit(path string, change func(object map[string]any)) {
	s.Do(func() { s.edit(path, change) })
}

func (s *Server) edit(path string, change func(object map[string]any)) {
	change(s.objects[path])
	s.touch(s.objects[path], true)
}

// touch gives an object a new version.
func (s *Server) touch(o map[string]any, spec bool) {
	s.revision++
	metadata := o["metadata"].(map[string]any)
	metadata["resourceVersion"] = fmt.Sprint(s.revision)
	if generation, is := metadata["generation"].(float64); is && spec {
		metadata["generation"] = generation + 1
	}
}

// pathOf is the path of an object on the API.
func pathOf(o map[string]any) string {
	version, _ := o["apiVersion"].(string)
	metadata := o["metadata"].(map[string]any)
	path := "/apis/" + version
	if version == "v1" {
		path = "/api/v1"
	}
	if namespace, in := metadata["namespace"].(string); in {
		path += "/namespaces/" + namespace
	}
	return fmt.Sprintf("%s/%ss/%s", path, strings.ToLower(o["kind"].(string)), metadata["name"])
}

// read answers with an object or a list.
func (s *Server) read(r *http.Request, path string) answer {
	if o := s.objects[path]; o != nil {
		return asJSON(http.StatusOK, o)
	}
	if strings.HasPrefix(path, "/apis/") && strings.Count(path, "/") == 3 {
		return s.resources(strings.TrimPrefix(path, "/apis/"))
	}
	group, resource := parts(path)
	kind, known := lists[group+"/"+resource]
	if !known || !s.has(group) {
		return status(http.StatusNotFound, "NotFound", "there is no such object")
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	field, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	items := []any{}
	for _, at := range s.pathsWith("/" + resource + "/") {
		g, res := parts(at[:strings.LastIndex(at, "/")])
		within := strings.HasPrefix(at, path+"/") || !strings.Contains(path, "/namespaces/")
		if g != group || res != resource || !within {
			continue
		}
		o := s.objects[at]
		kind, _ := o["type"].(string)
		if selector.Matches(labelsOf(o)) && field.Matches(fields.Set{"type": kind}) {
			items = append(items, o)
		}
	}
	items, next := page(items, r.URL.Query())
	return asJSON(http.StatusOK, map[string]any{"apiVersion": strings.TrimPrefix(group, "/"), "kind": kind + "List", "metadata": map[string]any{"resourceVersion": fmt.Sprint(s.revision), "continue": next}, "items": items})
}

// pathsWith are the paths of the objects that have a part in them, in their order.
func (s *Server) pathsWith(part string) []string {
	var list []string
	for path := range s.objects {
		if strings.Contains(path, part) {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// parts returns the group with its version, and the resource, of a list's path.
func parts(path string) (group, resource string) {
	words := strings.Split(strings.Trim(path, "/"), "/")
	resource = words[len(words)-1]
	if words[0] == "api" {
		return "v1", resource
	}
	return strings.Join(words[1:min(3, len(words))], "/"), resource
}

func labelsOf(o map[string]any) labels.Set {
	set := labels.Set{}
	given, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	for k, v := range given {
		set[k] = fmt.Sprint(v)
	}
	return set
}

// patch applies a JSON patch, as kube-apiserver does: a test that fails answers
// 422, as does an object that is not valid.
func (s *Server) patch(r *http.Request, path string) answer {
	o := s.objects[path]
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	case o == nil:
		return status(http.StatusNotFound, "NotFound", "there is no such object")
	case s.Denied["patch clusters"]:
		return status(http.StatusForbidden, "Forbidden", `clusters.provisioning.cattle.io "orchard" is forbidden: User "u-abcde" cannot patch resource "clusters" in API group "provisioning.cattle.io" in the namespace "fleet-default"`)
	case r.Header.Get("Content-Type") != "application/json-patch+json":
		return status(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only JSON patches are taken")
	}
	if meanwhile := s.Meanwhile; meanwhile != nil {
		s.Meanwhile = nil
		s.edit(path, meanwhile)
	}
	p, err := evanphx.DecodePatch(body)
	if err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	text, err := p.Apply(asJSON(http.StatusOK, o).body)
	if err != nil {
		return status(http.StatusUnprocessableEntity, "", "the server rejected our request due to an error in our request: "+err.Error())
	}
	var now map[string]any
	if err := json.Unmarshal(text, &now); err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	if s.Refuse != nil {
		if why := s.Refuse(now); why != "" {
			a := status(http.StatusUnprocessableEntity, "Invalid", why)
			a.warning = s.Warning
			return a
		}
	}
	if s.Change != nil {
		s.Change(now)
	}
	dryRun := r.URL.Query().Get("dryRun") == "All"
	if s.Webhook != nil && !dryRun {
		s.Webhook.Change(now)
	}
	s.touch(now, !reflect.DeepEqual(o["spec"], now["spec"]))
	if !dryRun {
		s.objects[path] = now
	}
	a := asJSON(http.StatusOK, now)
	a.warning = s.Warning
	return a
}

// review answers what the user may do.
func (s *Server) review(r *http.Request) answer {
	var review struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Attributes struct {
				Verb     string `json:"verb"`
				Resource string `json:"resource"`
				Group    string `json:"group"`
				Name     string `json:"name"`
				Space    string `json:"namespace"`
			} `json:"resourceAttributes"`
		} `json:"spec"`
		Status map[string]any `json:"status"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	a := review.Spec.Attributes
	gate := a.Group == "management.cattle.io" && a.Resource == "clusters" && a.Name == "local"
	denied := s.Denied[a.Verb+" "+a.Resource] || a.Space == "" && s.Denied[a.Verb+" "+a.Resource+" of all namespaces"]
	review.Status = map[string]any{"allowed": !denied && !(gate && s.Gated)}
	return asJSON(http.StatusCreated, review)
}

// page is the part of a list that a request asks for, and the token of the next.
func page(items []any, q url.Values) ([]any, string) {
	from, _ := strconv.Atoi(q.Get("continue"))
	rest := items[min(from, len(items)):]
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 && limit < len(rest) {
		return rest[:limit], strconv.Itoa(from + limit)
	}
	return rest, ""
}

// resources answers what there is in a group.
func (s *Server) resources(group string) answer {
	for at := range lists {
		if strings.HasPrefix(at, group+"/") && s.has(group) {
			return asJSON(http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group})
		}
	}
	return status(http.StatusNotFound, "NotFound", "there is no such group")
}
