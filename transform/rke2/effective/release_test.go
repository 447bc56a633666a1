// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package effective

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestReleaseKnowsItsArguments(t *testing.T) {
	for _, c := range []struct {
		name, version, key string
		want               bool
	}{
		{"an argument of every release", "v1.21.4+rke2r2", "kube-controller-manager-arg", true},
		{"v1.24.16 does not know tls-san-security", "v1.24.16+rke2r1", "tls-san-security", false},
		{"v1.24.17 gains tls-san-security", "v1.24.17+rke2r1", "tls-san-security", true},
		{"v1.25.13 has it, too", "v1.25.13+rke2r1", "tls-san-security", true},
		{"v1.25.12 does not", "v1.25.12+rke2r1", "tls-san-security", false},
		{"v1.26.8 does not know arguments for RKE2's own cloud controller manager", "v1.26.8+rke2r1", "kube-cloud-controller-manager-arg", false},
		{"v1.26.10 does", "v1.26.10+rke2r2", "kube-cloud-controller-manager-arg", true},
		{"v1.27.16 knows datastore-endpoint", "v1.27.16+rke2r1", "datastore-endpoint", true},
		{"v1.28.8 is newer and lacks it", "v1.28.8+rke2r1", "datastore-endpoint", false},
		{"v1.28.9 has it again", "v1.28.9+rke2r1", "datastore-endpoint", true},
		{"v1.28.9 lacks supervisor-metrics", "v1.28.9+rke2r1", "supervisor-metrics", false},
		{"v1.27.15 is older and has it", "v1.27.15+rke2r1", "supervisor-metrics", true},
		{"v1.34.1 appears in later metadata only", "v1.34.1+rke2r1", "embedded-registry", true},
		{"v1.20.15 is listed without arguments", "v1.20.15+rke2r2", "kubelet-arg", false},
		{"a misspelt argument", "v1.26.15+rke2r1", "kubeapi-server-arg", false},
		{"an argument with plus", "v1.26.15+rke2r1", "kubelet-arg+", false},
		{"another spelling of case", "v1.26.15+rke2r1", "Kubelet-Arg", false},
		{"what Rancher sets itself", "v1.26.15+rke2r1", "node-name", false},
	} {
		r := LookupRelease(c.version)
		_, got := r.Type(c.key)
		assert.Truef(t, got == c.want && r.Known, "%s: %s knows %s: %v, want %v; listed: %v", c.name, c.version, c.key, got, c.want, r.Known)
	}
}

func TestUnlistedReleaseKnowsTheArgumentsOfAll(t *testing.T) {
	r := LookupRelease("v1.26.99+rke2r1")
	assert.True(t, !r.Known, "v1.26.99 is said to be listed")
	keys := r.Keys()
	assert.Truef(t, len(keys) == 64 && slices.IsSorted(keys), "%d keys, want all 64, sorted: %v", len(keys), keys)
	for version := range metadata().sets {
		for _, key := range LookupRelease(version).Keys() {
			_, ok := r.Type(key)
			assert.Truef(t, ok, "%s knows %s, the union does not", version, key)
		}
	}
}

func TestReleaseHasTypesAndMachines(t *testing.T) {
	r := LookupRelease("v1.26.15+rke2r1")
	for _, c := range []struct {
		key, typ   string
		serverOnly bool
	}{
		{"kube-apiserver-arg", "array", true},
		{"disable-cloud-controller", "bool", true},
		{"disable-kube-proxy", "boolean", true},
		{"cloud-provider-name", "enum", false},
		{"kubelet-arg", "array", false},
		{"kube-proxy-arg", "array", false}, // listed for both
		{"audit-policy-file", "string", false},
		{"kube-apiserver-extra-mount", "array", false},
		{"selinux", "bool", false},
		{"no-such-key", "", false},
	} {
		typ, _ := r.Type(c.key)
		assert.Truef(t, typ == c.typ && r.ServerOnly(c.key) == c.serverOnly, "%s: type %q, of servers only: %v", c.key, typ, r.ServerOnly(c.key))
	}
}

func TestKeepConvertsBooleansAndNothingElse(t *testing.T) {
	const server, worker = true, false
	list := []any{"a", 1.0, nil, map[string]any{}}
	r := LookupRelease("v1.30.5+rke2r1")
	for _, c := range []struct {
		name        string
		server      bool
		key         string
		value, want any
		kept        bool
	}{
		{"true stays", server, "disable-kube-proxy", true, true, true},
		{"a string becomes a boolean", server, "disable-kube-proxy", "true", true, true},
		{"trimmed and in any case", server, "disable-kube-proxy", " YES ", true, true},
		{"t is true", server, "disable-kube-proxy", "t", true, true},
		{"on is false", server, "disable-kube-proxy", "on", false, true},
		{"1 is false", server, "disable-kube-proxy", "1", false, true},
		{"an empty string is false", server, "disable-kube-proxy", "", false, true},
		{"of a list the first member counts", server, "disable-kube-proxy", []any{"y", "n"}, true, true},
		{"an empty list is false", server, "disable-kube-proxy", []any{}, false, true},
		{"a bool is not converted", server, "disable-cloud-controller", "true", "true", true},
		{"an array may be a string", server, "kube-controller-manager-arg", "v=2", "v=2", true},
		{"an array may be empty", server, "kube-controller-manager-arg", []any{}, []any{}, true},
		{"a string may be a boolean", server, "resolv-conf", false, false, true},
		{"members of a list are not looked at", server, "kubelet-arg", list, list, true},
		{"null is dropped", server, "kubelet-arg", nil, nil, false},
		{"null is dropped even where it could be converted", server, "disable-kube-proxy", nil, nil, false},
		{"a number is dropped", server, "etcd-expose-metrics", 1.0, nil, false},
		{"a mapping is dropped", server, "kubelet-arg", map[string]any{"v": "2"}, nil, false},
		{"workers lose what is the servers'", worker, "kube-apiserver-arg", []any{"v=2"}, nil, false},
		{"workers lose disable-cloud-controller", worker, "disable-cloud-controller", true, nil, false},
		{"workers keep what is an agent's", worker, "kube-apiserver-extra-mount", []any{"/a:/a"}, []any{"/a:/a"}, true},
		{"unknown keys are dropped", server, "node-name", "n", nil, false},
	} {
		got, kept := r.Keep(c.server, c.key, c.value)
		assert.Truef(t, kept == c.kept && cmp.Equal(got, c.want), "%s: got %#v, kept %v; want %#v, kept %v", c.name, got, kept, c.want, c.kept)
	}
}

// The facts are what the tables were made from.
func TestReleasesEqualTheFacts(t *testing.T) {
	folder := os.Getenv("RKE_LM_FACTS")
	if folder == "" {
		t.Skip("RKE_LM_FACTS does not name the folder that holds rke2-args.json")
	}
	text, err := os.ReadFile(filepath.Join(folder, "rke2-args.json"))
	if err != nil {
		t.Skip(err)
	}
	var facts []struct {
		Versions      []string
		Server, Agent map[string]string
	}
	assert.NilError(t, json.Unmarshal(text, &facts))
	releases := 0
	for _, f := range facts {
		for _, version := range f.Versions {
			releases++
			want := Release{Version: version, Known: true, arguments: map[string]argument{}}
			for name, kind := range f.Server {
				want.arguments[name] = argument{kind, true}
			}
			for name, kind := range f.Agent {
				want.arguments[name] = argument{kind, false}
			}
			diff := cmp.Diff(want, LookupRelease(version), cmp.AllowUnexported(Release{}, argument{}))
			assert.Truef(t, diff == "", "%s (-facts +tables):\n%s", version, diff)
		}
	}
	got := len(metadata().sets)
	assert.Truef(t, releases != 0 && got == releases, "the facts list %d releases, the tables %d", releases, got)
}

func TestTheNewestReleaseOfAMinorIsNoCandidate(t *testing.T) {
	for minor, want := range map[string]string{"v1.27": "v1.27.16+rke2r2", "v1.30": "v1.30.14+rke2r1", "v1.99": "", "": "v1.34.1+rke2r1"} {
		assert.Equal(t, Newest(minor), want, minor)
	}
}

func TestLaterArgumentsBeginWithAReleaseOfTheirMinor(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.28.15+rke2r1": false, "v1.31.13+rke2r1": false, "v1.32.8+rke2r1": false, "v1.32.9+rke2r1": true,
		"v1.33.4+rke2r1": false, "v1.33.5+rke2r1": true, "v1.34.1+rke2r1": true, "v1.36.0+rke2r1": true,
	} {
		serversOnly, got := LookupRelease(version).Later("node-name-from-cloud-provider-metadata")
		assert.Truef(t, got == want && (!got || serversOnly), "%s: %v, of servers only: %v", version, got, serversOnly)
	}
	_, got := LookupRelease("v1.34.1+rke2r1").Later("kubelet-arg")
	assert.True(t, !got, "what the tables list is not later")
}

func TestAKeyThatChangesNeedsAPromise(t *testing.T) {
	type config = map[string]any
	var asked []string
	promise := func(class Class, key string, before, after any) bool {
		asked = append(asked, class.Name+" "+key)
		return before == "a" && after == "b"
	}
	for _, c := range []struct {
		name          string
		before, after config
		want          string
		asked         int
	}{
		{"nothing changes", config{"x": "a"}, config{"x": "a"}, "", 0},
		{"equal lists are no change", config{"x": []any{"a"}}, config{"x": []any{"a"}}, "", 0},
		{"as promised", config{"x": "a"}, config{"x": "b"}, "", 1},
		{"another value", config{"x": "a"}, config{"x": "c"}, "x would change on machines of class cp", 1},
		{"a key is gone", config{"x": "a"}, config{}, "x would change on machines of class cp", 1},
		{"a key is new", config{}, config{"x": "b"}, "x would change on machines of class cp", 1},
		{"another type", config{"x": "true"}, config{"x": true}, "x would change on machines of class cp", 1},
		{"a string is not a list", config{"x": "a"}, config{"x": []any{"a"}}, "x would change on machines of class cp", 1},
		{"the order of a list", config{"x": []any{"a", "b"}}, config{"x": []any{"b", "a"}}, "x would change on machines of class cp", 1},
		{"the first key is named", config{"y": "1", "x": "1"}, config{"y": "2", "x": "2"}, "x would change on machines of class cp", 1},
		{"both as promised", config{"y": "a", "x": "a"}, config{"y": "b", "x": "b"}, "", 2},
	} {
		asked = nil
		err := checkClass(Class{Name: "cp"}, c.before, c.after, promise)
		assert.Truef(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && err.Error() == c.want), "%s: got %v, want %q", c.name, err, c.want)
		assert.Equal(t, len(asked), c.asked, "asked for", asked, c.name)
	}
}
