// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// wakeWatches lets each watch read the objects again.
func (s *Server) wakeWatches() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// watch answers a request with the changes of a list since a version, until the client goes away. As API servers do
// without streaming lists, it refuses to begin with what there is.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, path string) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		a := status(http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		w.WriteHeader(a.status)
		w.Write(a.body)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	end := time.After(time.Duration(seconds) * time.Second)
	known := map[string]any{}
	for first := true; ; first = false {
		s.mu.Lock()
		moved, events := s.moved, s.events(path, known, since, first)
		s.mu.Unlock()
		for _, e := range events {
			if json.NewEncoder(w).Encode(e) != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-moved:
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// events are the changes of a list to what a watch knows, which is brought up to date. At first it knows what is not newer
// than its version.
func (s *Server) events(path string, known map[string]any, since int, first bool) (list []any) {
	var page struct {
		Items []map[string]any `json:"items"`
	}
	if json.Unmarshal(s.read(&http.Request{URL: &url.URL{}}, path).body, &page) != nil {
		return nil
	}
	now := map[string]bool{}
	for _, o := range page.Items {
		at := pathOf(o)
		now[at] = true
		was, is := known[at].(map[string]any)
		known[at] = o
		revision, _ := strconv.Atoi(version(o).(string))
		switch {
		case is && version(was) == version(o), first && revision <= since:
		case is:
			list = append(list, map[string]any{"type": "MODIFIED", "object": o})
		default:
			list = append(list, map[string]any{"type": "ADDED", "object": o})
		}
	}
	for at, o := range known {
		if !now[at] {
			delete(known, at)
			list = append(list, map[string]any{"type": "DELETED", "object": o})
		}
	}
	return list
}

// watched is the path of a list that a request watches; "" for another request.
func watched(r *http.Request) string {
	path, local := strings.CutPrefix(r.URL.Path, localRoute)
	if !local || r.Method != http.MethodGet || r.URL.Query().Get("watch") != "true" {
		return ""
	}
	return path
}
