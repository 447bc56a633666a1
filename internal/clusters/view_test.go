// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	ghodss "github.com/ghodss/yaml"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/source"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/manifest"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/rke2"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// everyFormat finds clusters as the command line does.
func everyFormat() Finder {
	return Finder{Formats: []transform.Format{rke2.Format(), rke1.Format(), manifest.Format()}}
}

// byKubectl returns the objects that kubectl apply makes of a stream: those of its visitors of
// streams and of lists.
func byKubectl(stream []byte) []any {
	var all []any
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096); ; {
		var read runtime.RawExtension
		if err := d.Decode(&read); err != nil {
			return all // the end, or what kubectl complains of
		}
		if text := bytes.TrimSpace(read.Raw); len(text) == 0 || string(text) == "null" {
			continue
		}
		object, _, err := unstructured.UnstructuredJSONScheme.Decode(read.Raw, nil, nil)
		if err != nil {
			continue // it is no object; kubectl complains, and reads on
		}
		for objects := []runtime.Object{object}; len(objects) > 0; objects = objects[1:] {
			if meta.IsListType(objects[0]) {
				items, err := meta.ExtractList(objects[0])
				if err == nil {
					objects = append(objects, items...)
				}
				continue
			}
			text, err := json.Marshal(objects[0])
			var v any
			if err == nil && json.Unmarshal(text, &v) == nil {
				all = append(all, v)
			}
		}
	}
}

// byRancher returns what RKE reads of a cluster.yml, which is no object.
func byRancher(stream []byte) []any {
	var v any
	err := ghodss.Unmarshal(stream, &v)
	if m, isMap := v.(map[string]any); err != nil || !isMap || m["kind"] != nil {
		return nil
	}
	return []any{v}
}

// isOurs reports whether a value is a document of a format.
func isOurs(t *testing.T, f Finder, v any) bool {
	text := assert.Value(json.Marshal(v))(t)
	doc, err := yamledit.Parse(yamledit.Chunk{Bytes: text})
	return err == nil && slices.ContainsFunc(f.Formats, func(d transform.Format) bool { return d.Owns(doc) })
}

// report returns the clusters that are found in a stream, as in a file of a folder, and the errors.
func report(t *testing.T, f Finder, stream []byte) (found []any, errs []error) {
	for _, r := range f.From(t.Context(), []source.Source{source.FromVersion("in.yaml", "", func() ([]byte, error) { return stream, nil })}, false).Results {
		if r.Err != nil {
			errs = append(errs, r.Err)
			continue
		}
		for _, doc := range r.Docs {
			found = append(found, doc.Root().Value())
		}
	}
	return found, errs
}

// checkView fails unless each cluster that others read of a stream is reported with equal content,
// or an error is.
func checkView(t *testing.T, stream []byte) {
	t.Helper()
	f := everyFormat()
	found, errs := report(t, f, stream)
	if len(errs) > 0 {
		return
	}
	left := slices.Clone(found)
	for _, v := range byKubectl(stream) {
		if !isOurs(t, f, v) {
			continue
		}
		i := slices.IndexFunc(left, func(o any) bool { return reflect.DeepEqual(o, v) })
		assert.Mustf(t, i >= 0, "kubectl applies %v\nfrom %q\nand reported are %v", v, stream, found)
		left = slices.Delete(left, i, i+1)
	}
	for _, v := range byRancher(stream) {
		assert.Mustf(t, !isOurs(t, f, v) || slices.ContainsFunc(found, func(o any) bool { return reflect.DeepEqual(o, v) }), "RKE reads %v\nfrom %q\nand reported are %v", v, stream, found)
	}
}

const (
	short1 = "nodes:\n- {address: a, role: [controlplane]}\ncloud_provider: {name: aws}\nkubernetes_version: v1.26.15-rancher1-1\n"
	short2 = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: a, namespace: b}\nspec:\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n"
)

// hostile are spellings in which readers have disagreed about a cluster, or might.
func hostile() []string {
	list := []string{
		short1, short2, podOfManager, daemonSetOfCloud, provisioned("a"),
		"kind: ClusterConfiguration\napiVersion: kubeadm.k8s.io/v1beta3\ncontrollerManager: {extraArgs: {cloud-provider: aws}}\n",
	}
	change := func(text string, pairs ...string) { list = append(list, strings.NewReplacer(pairs...).Replace(text)) }
	for _, c := range list[:len(list):len(list)] {
		list = append(list, c+"---\n"+c, c+"...\n"+c, "# x\n---\n"+c, "a: 1\n...\n"+c, "a: 1\r---\r"+c, "--- # x\n"+c, "---#\n"+c, "---\u00a0\n"+c, "a: 1\n--- x\n"+c, "\ufeff"+c,
			"%YAML 1.1\n---\n"+c, "---\n\ufeff"+c, "---\n---\n\ufeff"+c, "a: 1\n---\n\ufeff"+c, c+"\x00", "{\"a\": 1}\n"+c, c+"{\"a\": 1}\n", c+"b: \"\xff\"\n", "{\"kind\": \"x\", \"apiVersion\": \"v1\"} "+c)
		change(c, "\n", "\r")
		change(c, "\n", "\r\n")
		change(c, "\n", "\u2028")
		change(c, "/", "\\/")
		change(c, "cloud", "cl\\u006fud", "provisioning", "\\u0070rovisioning", "Pod", "P\\u006fd", "controller-", "\\u0063ontroller-")
		var utf16 strings.Builder
		for _, char := range "\ufeff" + c {
			utf16.Write([]byte{byte(char >> 8), byte(char)})
		}
		list = append(list, utf16.String(), utf16.String()+"yes: ") // the second one ends in the middle of a character
		item := "- " + strings.ReplaceAll(strings.TrimSuffix(c, "\n"), "\n", "\n  ") + "\n"
		for _, head := range []string{"kind: List\napiVersion: v1\nitems:\n", "apiVersion: v1\nkind: \"L\\x69st\"\nmetadata: {}\nitems:\n", "kind: ConfigMap\napiVersion: v1\nitems:\n", "items:\n"} {
			list = append(list, head+item, head+item+item)
		}
		list = append(list, "kind: List\napiVersion: v1\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n  "+strings.ReplaceAll(item, "\n", "\n  ")+"\n")
	}
	list = append(list, strings.TrimSpace(provisioned("a"))+": 1\n")
	change(short2, "provisioning.cattle.io", "\"provisioning.cattle.\\x69o/v1\" #")
	change(short2, "provisioning.cattle.io/v1", "!!binary cHJvdmlzaW9uaW5nLmNhdHRsZS5pby92MQ==")
	change(short2, "provisioning.cattle.io/v1", "!!b%69nary cHJvdmlzaW9uaW5nLmNhdHRsZS5pby92MQ==")
	change(short2, "provisioning.cattle.io/v1", "\"provisioning.cat\\\n  tle.io/v1\"")
	change(short2, "provisioning.cattle.io/v1", ">-\n  provisioning.cattle.io/v1")
	change(short2, "apiVersion: p", "x: &x p", "kind", "apiVersion: *x\nkind")
	change(short2, "kind: C", "kind: &k C", "spec", "y: *k\nspec")
	change(short2, "kind: Cluster", "k: &k kind\n*k : Cluster")
	change(short2, "kind: Cluster", "!!binary a2luZA==: Cluster")
	change(short2, "kind: Cluster", "? kind\n: Cluster")
	change(short2, "kind: Cluster", "kind: Other\nkind: Cluster")
	change(short2, "kind: Cluster", "<<: {kind: Cluster}")
	change(short2, "kind: Cluster", "kind: Other\n<<: {kind: Cluster}")
	change(short2, "cloud-provider-name: aws", "cloud-provider-name: aws\n      \"cloud-provider-n\\x61me\": external")
	change(short2, "cloud-provider-name: aws", "cloud-provider-name: &k aws\n      <<: {cloud-provider-name: external}")
	change(short2, "cloud-provider-name: aws", "cloud-provider-name: aws\n      !!binary Y2xvdWQtcHJvdmlkZXItbmFtZQ==: external")
	change(short2, "rkeConfig", "\"rkeConfi\\x67\"")
	list = append(list, "apiVersion: provisioning.cattle.io/v1\nkind: ClusterList\nitems:\n- spec: {}\n", short2+"items: []\n", short2+"items:\n", short2+"items: [{kind: Pod, apiVersion: v1}]\n")
	change(short1, "nodes:", " nodes:", "\n", "\n ")
	list = append(list, strings.ReplaceAll(" "+short1, "\n", "\n ")+"\n---...\n", "---\u2028"+strings.Replace(short1, "kubernetes_version", "!!str ubernetes_version", 1)+"{}")
	change(short1, "nodes:", "? nodes\n:", "controlplane", "control\\\nplane")
	change(short1, "cloud_provider: {name: aws}", "\"cloud_pr\\x6fvider\": {name: aws}", "- {", "- { x: &x ")
	return list
}

func TestWhatKubectlAppliesIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("the same in every run")
	}
	for _, text := range hostile() {
		checkView(t, []byte(text))
	}
	for _, c := range golden.Inputs(t) {
		checkView(t, []byte(c.Text()))
	}
}

// spellings are what may change how a reader takes what is around them.
var spellings = []string{
	"---\n", "\n---\n", "...\n", "\r", "\u0085", "\u2028", "\ufeff", "\x00", "\xff", "# ", "#", "%YAML 1.1\n", "&a ", "*a", "*a : ", "<<: *a\n", "!!binary ", "!!str ", "!x ", "? ", ": ", "- ",
	"{", "}", "[", "]", ",", "\"", "'", "|\n", ">-\n", "\\", "\\/", "\\x61", "\\u0061", "\\\n", "\n", "\n\n", "\t", "  ", "kind", "items: ", "kind: List\n", "{}", "{\"a\": 1}", "0x1: ", "1.10: ", "~: ", "yes: ", "!!merge <<: ",
}

// respelt changes a text in a few places.
func respelt(text []byte, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	for n := rnd.IntN(6); seed > 0 && n > 0; n-- {
		i := rnd.IntN(len(text) + 1)
		if at := bytes.IndexAny(text[i:], " \n\"{[:"); at >= 0 && rnd.IntN(4) > 0 {
			i += at + rnd.IntN(2) // most spellings mean something at the start or end of a token
		}
		end := min(i+rnd.IntN(3)*rnd.IntN(4), len(text))
		text = slices.Concat(text[:i], []byte(spellings[rnd.IntN(len(spellings))]), text[end:])
	}
	return text
}

// views are texts to begin with: hostile ones, inputs of golden cases, and files of the corpus where it is.
func views(t testing.TB) (all [][]byte) {
	for _, text := range hostile() {
		all = append(all, []byte(text))
	}
	for _, c := range golden.Inputs(t) {
		if len(c.Text()) < 2000 {
			all = append(all, []byte(c.Text()))
		}
	}
	if folder := os.Getenv("RKE_LM_CORPUS"); folder != "" {
		names, _ := filepath.Glob(filepath.Join(folder, "*", "*.y*ml"))
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil && len(text) < 4000 {
				all = append(all, text)
			}
		}
	}
	return all
}

// TestRandomSpellingsAreReadAsKubectlReadsThem checks RKE_LM_SPELLINGS texts; go test -fuzz, which
// finds new ones, takes a hundred times as long for each.
func TestRandomSpellingsAreReadAsKubectlReadsThem(t *testing.T) {
	rounds := 6_000
	if n, err := strconv.Atoi(os.Getenv("RKE_LM_SPELLINGS")); err == nil {
		rounds = n
	}
	texts := views(t)
	const workers = 8
	for first := range workers {
		t.Run(strconv.Itoa(first), func(t *testing.T) {
			t.Parallel()
			for seed := first; seed < rounds; seed += workers {
				checkView(t, respelt(texts[seed%len(texts)], uint64(seed)))
			}
		})
	}
	t.Logf("%d texts", rounds)
}

// FuzzKubectlAppliesNothingElse: each cluster that kubectl would apply from any bytes, or that RKE
// reads, is one that is reported with equal content, or there is an error.
func FuzzKubectlAppliesNothingElse(f *testing.F) {
	for i, text := range views(f) {
		f.Add(text, uint64(i%3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		if len(stream) < 16<<10 {
			checkView(t, respelt(stream, seed))
		}
	})
}
