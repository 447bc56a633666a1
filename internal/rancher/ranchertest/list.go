// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package ranchertest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

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
