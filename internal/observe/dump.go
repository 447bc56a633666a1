// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/observed"
	"github.com/rke-lm/rke-lm/transform/redact"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// maxDump is the size of the largest dump that is read.
const maxDump = 1 << 30

// WriteDump writes what was seen into a file that only its owner may read: it
// names every node.
func WriteDump(file string, o *observed.Observation) error {
	text, err := yaml.Marshal(o) // a time may have a year that JSON has not
	if err == nil {
		err = writePrivate(file, text)
	}
	if err != nil {
		return fmt.Errorf("cannot write the dump: %w; use another file", err)
	}
	return nil
}

// writePrivate also takes the file away from others that may have read the one
// before it.
func writePrivate(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Chmod(0o600)
	}
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// ReadDump reads a dump, or the objects that kubectl get -o yaml (or json) prints.
// Of the latter it takes the kinds that are there.
func ReadDump(file string) (*observed.Observation, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the dump: %w; check the path", err)
	}
	defer f.Close() // nothing was written
	return readDump(file, f, "the path", maxDump)
}

// ReadDumpFrom reads the same from a stream that messages call by a name.
func ReadDumpFrom(name string, in io.Reader) (*observed.Observation, error) {
	return readDump(name, in, "the program that writes it", maxDump)
}

// readDump refuses a dump that is larger than most.
func readDump(name string, in io.Reader, check string, most int64) (*observed.Observation, error) {
	text, large, err := files.ReadAll(in, most)
	switch {
	case large:
		return nil, fmt.Errorf("%s: the dump is larger than %d MiB, so it is not read; use a dump of verify --dump, which is smaller", name, most>>20)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot read the dump: %w; check %s", name, err, check)
	}
	return parseDump(name, text)
}

func parseDump(file string, text []byte) (*observed.Observation, error) {
	d := dump{seen: map[string]types.UID{}, maps: map[string]map[string]string{}}
	d.out = &observed.Observation{APIVersion: observed.APIVersion, Kind: observed.Kind, Partial: true}
	for _, c := range documents(file, text) {
		if err := d.document(c); err != nil {
			return nil, fmt.Errorf("%s:%d: %s", file, c.line, redact.Text(err.Error()))
		}
	}
	if d.count == 0 {
		return nil, fmt.Errorf("%s: it has no object of a cluster; use a dump of verify --dump, or the output of kubectl get nodes,leases,daemonsets,pods -A -o yaml", file)
	}
	d.managers()
	failures(d.out.Services, d.warns)
	return d.out, nil
}

// named fails for a node that no cluster has, because Kubernetes refuses its name.
func named(nodes []observed.Node) error {
	for _, n := range nodes {
		if !k8s.IsName(n.Name) {
			return fmt.Errorf("the name of a node, %q, is not valid in Kubernetes; use the output of kubectl get -o yaml", n.Name)
		}
	}
	return nil
}

// dump gathers an observation from objects.
type dump struct {
	out   *observed.Observation
	pods  []corev1.Pod // that run managers
	warns []corev1.Event
	maps  map[string]map[string]string
	seen  map[string]types.UID // by kind, namespace and name
	count int                  // of the objects that were of use

	outside bool // pods outside kube-system were there
}

// document is one of a file.
type document struct {
	bytes []byte
	line  int
	json  bool
}

// documents cuts a file: kubectl prints JSON one value after the other, and YAML
// with marks between.
func documents(file string, text []byte) []document {
	if list, is := values(text); is {
		return list
	}
	return lists.Map(yamledit.Split(file, text), func(c yamledit.Chunk) document { return document{bytes: c.Bytes, line: c.Line + 1} })
}

// values cuts a file that is nothing but values of JSON.
func values(text []byte) ([]document, bool) {
	var list []document
	line, at := 1, 0
	for read := json.NewDecoder(bytes.NewReader(text)); ; {
		var raw json.RawMessage
		err := read.Decode(&raw)
		if err != nil {
			return list, err == io.EOF
		}
		begin := int(read.InputOffset()) - len(raw)
		line += bytes.Count(text[at:begin], []byte("\n"))
		list, at = append(list, document{raw, line, true}), begin
	}
}

func (d *dump) document(c document) error {
	if c.json {
		return d.object(c.bytes, metav1.TypeMeta{})
	}
	raw, err := yaml.YAMLToJSON(c.bytes)
	if err != nil {
		return fmt.Errorf("this is not YAML: %w; check that the output of kubectl is complete", err)
	}
	return d.object(raw, metav1.TypeMeta{})
}

// head is what all objects have; a list has items.
type head struct {
	metav1.PartialObjectMetadata `json:",inline"`
	Items                        []json.RawMessage `json:"items"`
}

// kind returns the kind with its group.
func (h head) kind() string { return h.GroupVersionKind().GroupKind().String() }

// object takes one object, or those of a list. In a list of one kind that the API
// server itself has printed, they do not name theirs.
func (d *dump) object(raw json.RawMessage, listed metav1.TypeMeta) error {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("this is not a Kubernetes object: %w; use the output of kubectl get -o yaml", err)
	}
	if h.Kind == "" {
		h.TypeMeta = listed
	}
	if of, isList := strings.CutSuffix(h.Kind, "List"); isList {
		if of != "" && len(h.Items) == 0 { // the one way in which kubectl says that there are none
			d.noted(schema.FromAPIVersionAndKind(h.APIVersion, of).GroupKind().String(), managersNamespace)
		}
		for _, item := range h.Items {
			if err := d.object(item, metav1.TypeMeta{Kind: of, APIVersion: h.APIVersion}); err != nil {
				return err
			}
		}
		return nil
	}
	if h.Kind == observed.Kind && strings.HasPrefix(h.APIVersion, "rke-lm/") {
		return d.whole(h, raw)
	}
	return d.add(h, raw)
}

// whole takes a dump of verify, which is all that there is.
func (d *dump) whole(h head, raw json.RawMessage) error {
	switch {
	case h.APIVersion != observed.APIVersion:
		return fmt.Errorf("it is a dump of %s, and this program reads %s; read it with the rke-lm that wrote it", h.APIVersion, observed.APIVersion)
	case d.count > 0:
		return errMixed
	}
	d.count++
	d.out.Partial = false
	if err := yaml.UnmarshalStrict(raw, d.out); err != nil {
		return fmt.Errorf("the dump is not of this version: %w; read it with the rke-lm that wrote it", err)
	}
	return named(d.out.Nodes)
}

var errMixed = errors.New("a dump of verify contains a whole cluster, and the file contains more; keep the dump in a separate file")

// dumped are the kinds that a dump may have.
var dumped = map[string]func(*dump, head, json.RawMessage) error{
	observed.Nodes:          nodes.add,
	observed.Leases:         leases.add,
	observed.DaemonSets:     daemonSets.add,
	observed.Services:       services.add,
	observed.Volumes:        volumes.add,
	observed.StorageClasses: storageClasses.add,
	observed.CSINodes:       drivers.add,
	observed.Pods:           func(d *dump, h head, raw json.RawMessage) error { return one(d, h, raw, d.pod) },
	observed.Events: func(d *dump, h head, raw json.RawMessage) error {
		return one(d, h, raw, func(e *corev1.Event) { d.warns = append(d.warns, *e) })
	},
	configMapKind: func(d *dump, h head, raw json.RawMessage) error { return one(d, h, raw, d.configMap) },
}

const configMapKind = "ConfigMap"

// add adds an object of a kind; others are passed over, also those of other groups
// whose kinds have the same names.
func (d *dump) add(h head, raw json.RawMessage) error {
	d.noted(h.kind(), h.Namespace)
	o := d.out
	if at := written(&h.ObjectMeta); at.After(o.Clock) && o.Partial {
		o.Clock = at
	}
	add, known := dumped[h.kind()]
	if !known {
		return nil
	}
	return cmp.Or(add(d, h, raw), named(o.Nodes[max(0, len(o.Nodes)-1):]))
}

// noted keeps that a kind was requested. What is in other namespaces says nothing
// about kube-system; a pod in another one, that kubectl listed all of them.
func (d *dump) noted(kind, namespace string) {
	if kind == observed.Pods && namespace != managersNamespace {
		d.outside = true
	}
	inKubeSystem := slices.Contains([]string{observed.Leases, observed.DaemonSets, observed.Pods}, kind)
	if dumped[kind] == nil || kind == configMapKind || inKubeSystem && namespace != managersNamespace {
		return
	}
	if !slices.Contains(d.out.Kinds, kind) {
		d.out.Kinds = append(d.out.Kinds, kind)
	}
}

func (d *dump) pod(p *corev1.Pod) {
	d.out.Volumes = keepInline(p, d.out.Volumes)
	if _, component := manager(p.Namespace, &p.Spec); component != "" {
		d.pods = append(d.pods, *p)
	}
}

func (d *dump) configMap(m *corev1.ConfigMap) { d.maps[m.Namespace+"/"+m.Name] = m.Data }

// managers is last, because a pod may refer to a ConfigMap after it.
func (d *dump) managers() {
	find := func(namespace, name string) configMap { return configMap{data: d.maps[namespace+"/"+name]} }
	found := lists.Found(d.pods, func(p corev1.Pod) (observed.Manager, bool) { return keepManager(&p, find) })
	d.out.Managers = append(d.out.Managers, found...)
	if d.out.Partial && len(d.out.Volumes) > 0 { // of pods
		d.noted(observed.Volumes, "")
	}
	d.out.KubeSystemOnly = d.out.KubeSystemOnly || d.out.Partial && !d.outside
}

// one reads an object of a type, unless it was there before.
func one[T any](d *dump, h head, raw json.RawMessage, use func(*T)) error {
	if !d.out.Partial {
		return errMixed
	}
	key := strings.Join([]string{h.kind(), h.Namespace, h.Name}, "/")
	switch before, again := d.seen[key]; {
	case again && before != h.UID:
		return fmt.Errorf("the %s %s is in it twice, with different UIDs; use the objects of one cluster at one time", h.Kind, h.Name)
	case again:
		return nil
	}
	d.seen[key] = h.UID
	var object T
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("cannot read this object: %w; use the output of kubectl get -o yaml", err)
	}
	d.count++
	use(&object)
	return nil
}
