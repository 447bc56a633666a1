// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
)

func external(text string) string {
	return strings.Replace(text, `"cloud-provider-name": "aws"`, `"cloud-provider-name": "external"`, 1)
}

func spec(object map[string]any, keys ...string) map[string]any {
	at := object["spec"].(map[string]any)
	for _, key := range keys {
		at = at[key].(map[string]any)
	}
	return at
}

// meta is the metadata of an object as the server has them.
func meta(t *testing.T, o Object) metav1.ObjectMeta {
	t.Helper()
	var h head
	assert.NilError(t, json.Unmarshal(o.Raw, &h))
	return h.ObjectMeta
}

func TestAPatchIsWrittenOnceAndShown(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		r.Do(func() { r.Warning = `unknown field spec.rkeConfig.x token=abcdefghijkl` })
		o := find(t, s, "orchard")
		now, warnings, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
		assert.Truef(t, err == nil && meta(t, now).Generation == meta(t, o).Generation+1 && strings.Contains(r.Object(orchard), `"external"`), "%v %+v\n%s", err, now, r.Object(orchard))
		assert.True(t, len(warnings) == 1 && strings.Contains(warnings[0], "unknown field") && !strings.Contains(warnings[0], "abcdefghijkl"), warnings)
		assert.True(t, strings.Contains(string(now.Raw), "c-m-8kqlhbsd") && now.UID == o.UID && r.Count("fieldManager=rke-lm") == 1, now.Raw)
	})
}

func TestAnEngineIsPatchedOnThePlainRoute(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "curlew")
		p := edit(t, o, func(s string) string { return strings.Replace(s, `"name": "aws"`, `"name": "external-aws"`, 1) })
		_, _, err := s.Patch(t.Context(), o, p, nil, false)
		assert.Truef(t, err == nil && strings.Contains(r.Object(curlew), "external-aws") && r.Count("/v3/clusters/c-x7k2p?") == 1 && r.Count("PATCH") == 1, "%v %s %v", err, r.Object(curlew), r.Requests)
	})
}

func TestADryRunWritesNothing(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o, before := find(t, s, "orchard"), r.Object(orchard)
		now, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, true)
		assert.Truef(t, err == nil && r.Object(orchard) == before && strings.Contains(string(now.Raw), "external"), "%v\n%s", err, r.Object(orchard))
	})
}

func TestAnEmptyPatchAsksNoOne(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		now, _, err := s.Patch(t.Context(), o, nil, nil, false)
		assert.Truef(t, err == nil && r.Count("PATCH") == 0 && now.UID == o.UID, "%v %v", err, r.Requests)
	})
}

func TestAStaleObjectIsRefusedAndKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ranchertest.Server, *testing.T)
		want   string
	}{
		{"another client changed the value", func(r *ranchertest.Server, _ *testing.T) {
			r.Edit(orchard, func(o map[string]any) { spec(o, "rkeConfig", "machineGlobalConfig")["cloud-provider-name"] = "azure" })
		}, "has changed in the meantime"},
		{"another client took it away", func(r *ranchertest.Server, _ *testing.T) {
			r.Edit(orchard, func(o map[string]any) { delete(spec(o, "rkeConfig"), "machineGlobalConfig") })
		}, "has changed in the meantime"},
		{"it is gone", func(r *ranchertest.Server, _ *testing.T) { r.Remove(orchard) }, "is gone"},
		{"it was created again", func(r *ranchertest.Server, t *testing.T) {
			r.Put(t, strings.Replace(orchardText, "u-orchard", "u-other", 1))
		}, "another cluster has its name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
				o := find(t, s, "orchard")
				c.change(r, t)
				before := r.Object(orchard)
				_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
				assert.Truef(t, stale(err) && strings.Contains(err.Error(), c.want) && r.Object(orchard) == before, "%v\n%s", err, r.Object(orchard))
			})
		})
	}
}

// What another client changed elsewhere in the object is none of the patch's.
func TestAChangeElsewhereIsNoConflict(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		r.Edit(orchard, func(o map[string]any) { spec(o)["enableNetworkPolicy"] = true })
		_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
		assert.Truef(t, err == nil && strings.Contains(r.Object(orchard), `"enableNetworkPolicy":true`), "%v\n%s", err, r.Object(orchard))
	})
}

func TestATryWhoseAnswerGotLostIsNoConflict(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
		o := find(t, s, "orchard")
		r.Do(func() { patchFault(ranchertest.Fault{Lost: true})(r) }) // which was written
		now, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
		assert.Truef(t, err == nil && r.Count("PATCH") == 2 && meta(t, now).Generation == meta(t, o).Generation+1, "%v %v %+v", err, r.Requests, now)
	})
}

func TestWhatTheServerAnswersIsReportedAsItIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*ranchertest.Server)
		want  string
		is    func(error) bool
	}{
		{"an object that is not valid", func(r *ranchertest.Server) {
			r.Refuse = func(map[string]any) string { return "spec.rkeConfig: Invalid value: password=hunter22222" }
		}, "Invalid value", rejected},
		{"a webhook that denies it", patchFault(ranchertest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","message":"admission webhook \"rancher.cattle.io.clusters\" denied the request: spec is wrong"}`}), "spec is wrong", rejected},
		{"Rancher's webhook, which says 401", patchFault(denial(401, `admission webhook \"rancher.cattle.io.clusters.provisioning.cattle.io\" denied the request: no such credential`)), "no such credential", rejected},
		{"a webhook that says 404", patchFault(denial(404, `admission webhook \"w\" denied the request: it cannot be found`)), "it cannot be found", rejected},
		{"a webhook that says 409", patchFault(denial(409, `admission webhook \"w\" denied the request: it is locked`)), "it is locked", rejected},
		{"a webhook that failed within", patchFault(denial(500, `admission webhook \"w\" denied the request: Internal error occurred: x`)), "Internal error occurred", rejected},
		{"a policy", patchFault(denial(403, `clusters.provisioning.cattle.io \"orchard\" is forbidden: ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: not today`)), "not today", rejected},
		{"a plugin of the server", patchFault(denial(403, `clusters.provisioning.cattle.io \"orchard\" is forbidden: exceeded quota: all`)), "exceeded quota", rejected},
		{"a conflict that the server could not settle", patchFault(ranchertest.Fault{Status: 409}), "has changed in the meantime", stale},
		{"a patch that cannot be read", patchFault(ranchertest.Fault{Status: 400}), "Bad Request", rejected},
		{"a right that is missing", func(r *ranchertest.Server) { r.Denied["patch clusters"] = true }, "patch clusters.provisioning.cattle.io", denied},
		{"a token that expired", patchFault(ranchertest.Fault{Status: 401}), "expired", denied},
		{"a webhook that is not there", patchFault(ranchertest.Fault{Status: 500, Body: `{"kind":"Status","apiVersion":"v1","message":"failed calling webhook"}`}), "not known whether", lostAnswer},
		{"a server that never answers", patchFault(ranchertest.Fault{Lost: true}), "", func(err error) bool { return err == nil }}, // the retries find it written
		{"a proxy that is overloaded", patchFault(ranchertest.Fault{Status: 502}), "not known whether", lostAnswer},
		{"a login page", patchFault(ranchertest.Fault{Status: 302, Location: "https://login.example.com"}), "not known whether", lostAnswer},
		{"an answer that gets lost, and another client", func(r *ranchertest.Server) {
			patchFault(ranchertest.Fault{Lost: true})(r)
			r.Change = func(o map[string]any) { spec(o, "rkeConfig", "machineGlobalConfig")["cloud-provider-name"] = "azure" }
		}, "", stale},
		{"an answer with the object", patchFault(ranchertest.Fault{Status: 403, Body: `{"kind":"Status","apiVersion":"v1","message":"admission denied","details":{"causes":[{"message":"secretKey: hunter2"}]},"object":` + orchardText + `}`}), "", denied},
		{"a page", patchFault(ranchertest.Fault{Status: 200, Body: "<html>"}), "not known whether", lostAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
				o := find(t, s, "orchard")
				r.Do(func() { c.fault(r) })
				_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, false)
				assert.Truef(t, c.is(err) && (err == nil || strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "hunter2") && !strings.Contains(err.Error(), "kubernetesVersion") && !strings.Contains(err.Error(), "machineGlobalConfig")), "%T %v", err, err)
			})
		})
	}
}

// denial is a refusal with a message of the server.
func denial(code int, message string) ranchertest.Fault {
	return ranchertest.Fault{Status: code, Body: `{"kind":"Status","apiVersion":"v1","message":"` + message + `"}`}
}

func stale(err error) bool { return errors.As(err, new(*Stale)) }

func rejected(err error) bool { return errors.Is(err, ErrRejected) }

func lostAnswer(err error) bool { return errors.Is(err, ErrLost) }

// patchFault lets patches fail; the first comes through where the answer is lost.
func patchFault(f ranchertest.Fault) func(*ranchertest.Server) {
	first := true
	return func(r *ranchertest.Server) {
		r.Fault = func(req *http.Request) ranchertest.Fault {
			if req.Method != http.MethodPatch || f.Lost && !first {
				return ranchertest.Fault{}
			}
			first = false
			return f
		}
	}
}

// A webhook that writes something else in the same place is not taken for success.
func TestAServerThatKeepsAnotherValueIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, dryRun := range []bool{true, false} {
			r, s := open(t)
			o := find(t, s, "orchard")
			r.Do(func() {
				r.Change = func(o map[string]any) { delete(spec(o, "rkeConfig", "machineGlobalConfig"), "cloud-provider-name") }
			})
			_, _, err := s.Patch(t.Context(), o, edit(t, o, external), nil, dryRun)
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "the server did not store all of it: a webhook, or its schema, changed it") && rejected(err) == dryRun && errors.Is(err, ErrAltered) != dryRun, "dry run %t: %v", dryRun, err)
		}
	})
}

// sameLists is what is the same to a Rancher that sorts arguments.
func sameLists(a, b any) bool {
	sorted := func(v any) []any {
		args := slices.Clone(spec(v.(map[string]any), "rkeConfig", "machineGlobalConfig")["kube-apiserver-arg"].([]any))
		slices.SortFunc(args, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		return args
	}
	return slices.Equal(sorted(a), sorted(b))
}

func TestAWriteInAnotherFormIsNotAltered(t *testing.T) {
	const text = `"cloud-provider-name":"aws"`
	sort := func(first string) func(map[string]any) {
		return func(o map[string]any) {
			list := spec(o, "rkeConfig", "machineGlobalConfig")["kube-apiserver-arg"].([]any)
			if list[0] != first {
				slices.Reverse(list)
			}
		}
	}
	for _, c := range []struct {
		name           string
		change, before func(map[string]any)
		err, rewritten bool
	}{
		{"the webhook reverses the list", sort("v=4"), nil, false, false},
		{"Rancher did so before the patch", nil, sort("a=b"), true, true},
		{"someone changed an argument before the patch", nil, func(o map[string]any) {
			spec(o, "rkeConfig", "machineGlobalConfig")["kube-apiserver-arg"] = []any{"a=b", "v=8"}
		}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRancher(t, func(t *testing.T, r *ranchertest.Server, s *Server) {
				r.Put(t, strings.Replace(orchardText, text, text+`,"kube-apiserver-arg":["v=2","a=b"]`, 1))
				o := find(t, s, "orchard")
				r.Do(func() { r.Change, r.Meanwhile = c.change, c.before })
				_, _, err := s.Patch(t.Context(), o, edit(t, o, func(text string) string { return strings.Replace(text, `"v=2"`, `"v=4"`, 1) }), sameLists, false)
				assert.Truef(t, (err != nil) == c.err && rewrites(err) == c.rewritten && c.err == stale(err), "%v, rewritten: %t", err, rewrites(err))
			})
		})
	}
}

func rewrites(err error) bool {
	stale, is := errors.AsType[*Stale](err)
	return is && stale.Rewritten
}
