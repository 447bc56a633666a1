// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"

	evanphx "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// write answers a request that changes an object, as kube-apiserver does: a name
// that is taken and a version that is not the last one answer 409.
func (s *Server) write(r *http.Request, at string) answer {
	body, err := io.ReadAll(r.Body)
	var o map[string]any
	if err == nil && len(body) > 0 {
		err = yaml.Unmarshal(body, &o)
	}
	if err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	if r.Method == http.MethodPost {
		return s.create(at, o)
	}
	old := s.objects[at]
	switch {
	case r.Method == http.MethodPatch && old == nil:
		return s.create(path.Dir(at), o)
	case old == nil:
		return status(http.StatusNotFound, "NotFound", "there is no such object")
	case r.Method == http.MethodDelete:
		return s.remove(at, o)
	case r.Method == http.MethodPut && version(o) != version(old):
		return status(http.StatusConflict, "Conflict", "the object has been modified")
	}
	metadata := o["metadata"].(map[string]any)
	metadata["uid"] = old["metadata"].(map[string]any)["uid"]
	s.objects[at] = o
	s.touch(o, true)
	return asJSON(http.StatusOK, o)
}

func (s *Server) create(list string, o map[string]any) answer {
	metadata, is := o["metadata"].(map[string]any)
	name, named := metadata["name"].(string)
	if !is || !named {
		return status(http.StatusUnprocessableEntity, "Invalid", "there is no name")
	}
	if s.objects[list+"/"+name] != nil {
		return status(http.StatusConflict, "AlreadyExists", "it already exists")
	}
	s.touch(o, false)
	metadata["uid"] = "uid-" + metadata["resourceVersion"].(string)
	s.objects[list+"/"+name] = o
	return asJSON(http.StatusCreated, o)
}

// patchStatus merges a patch into the status of the object with its UID, and into nothing else.
func (s *Server) patchStatus(r *http.Request, at string) answer {
	o := s.objects[at]
	var patch struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &patch)
	}
	switch {
	case err != nil:
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	case o == nil:
		return status(http.StatusNotFound, "NotFound", "there is no such object")
	case o["metadata"].(map[string]any)["uid"] != patch.Metadata.UID:
		return status(http.StatusConflict, "Conflict", "the UID is another one")
	}
	old, err := json.Marshal(o["status"])
	if err == nil && o["status"] == nil {
		old = []byte("{}")
	}
	merged, failed := evanphx.MergePatch(old, patch.Status)
	var now any
	if err := errors.Join(err, failed, json.Unmarshal(merged, &now)); err != nil {
		return status(http.StatusBadRequest, "BadRequest", err.Error())
	}
	o["status"] = now
	s.touch(o, false)
	return asJSON(http.StatusOK, o)
}

// remove deletes an object that is the one of the preconditions.
func (s *Server) remove(at string, options map[string]any) answer {
	conditions, _ := options["preconditions"].(map[string]any)
	metadata := s.objects[at]["metadata"].(map[string]any)
	for _, key := range []string{"uid", "resourceVersion"} {
		if want, set := conditions[key]; set && want != metadata[key] {
			return status(http.StatusConflict, "Conflict", "a precondition failed")
		}
	}
	delete(s.objects, at)
	return asJSON(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"})
}

func version(o map[string]any) any {
	metadata, _ := o["metadata"].(map[string]any)
	return metadata["resourceVersion"]
}

// Objects returns all objects as JSON, by their paths.
func (s *Server) Objects() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for at, o := range s.objects {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err) // it came as JSON
		}
		out[at] = string(text)
	}
	return out
}

// Keep returns what brings all objects back as they are now.
func (s *Server) Keep() (back func()) {
	kept := s.Objects()
	return func() {
		s.Do(func() {
			s.objects = map[string]map[string]any{}
			for at, text := range kept {
				var o map[string]any
				if err := json.Unmarshal([]byte(text), &o); err != nil {
					panic(err) // it was JSON
				}
				s.objects[at] = o
			}
		})
	}
}
