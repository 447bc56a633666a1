// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// kubectlValues returns what kubectl reads of a document, up to the first error. Empty documents,
// which it passes over, are left out. In a stream kubectl cuts a document off its marker, and then drops
// a byte order mark from its start.
func kubectlValues(c Chunk) ([]json.RawMessage, error) {
	var before string
	if c.Index > 0 && bytes.HasPrefix(c.Bytes, []byte("---")) {
		before = "\n" // it ends the document before
	}
	var all []json.RawMessage
	for d := yaml.NewYAMLOrJSONDecoder(io.MultiReader(strings.NewReader(before), bytes.NewReader(c.Bytes)), 4096); ; {
		var v json.RawMessage
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case len(v) > 0 && string(v) != "null":
			all = append(all, v)
		}
	}
}

// KubectlObjects returns the objects that kubectl reads of a document, those of a list one by one. What
// has items is a list for it, and an item without a kind takes that of the list.
func KubectlObjects(c Chunk) []map[string]any {
	values, _ := kubectlValues(c) // it applies what it read before an error
	var all []map[string]any
	for _, v := range values {
		object, _ := decoded(v).(map[string]any)
		if _, isList := object["items"]; !isList {
			all = append(all, object)
			continue
		}
		items, _ := object["items"].([]any)
		for _, item := range items {
			item, isMap := item.(map[string]any)
			kind, _ := item["kind"].(string)
			version, _ := item["apiVersion"].(string)
			if isMap && (kind == "" || version == "") {
				list, _ := object["kind"].(string)
				item["kind"], item["apiVersion"] = strings.TrimSuffix(list, "List"), object["apiVersion"]
			}
			all = append(all, item)
		}
	}
	return all
}

// RancherObject returns what Rancher reads of a cluster.yml: the first document, whatever follows it
// (github.com/ghodss/yaml, of which this is a later version); nil for none.
func RancherObject(c Chunk) map[string]any {
	var object map[string]any
	if yaml.Unmarshal(c.Bytes, &object) != nil {
		return nil
	}
	return object
}

// CheckKubectl refuses a document that kubectl, or Rancher, reads otherwise.
func CheckKubectl(doc *Document) error {
	root := doc.Root()
	read, err := kubectlValues(doc.Chunk())
	if len(read) == 1 && doc.Chunk().Item > 0 {
		if list, _ := decoded(read[0]).([]any); len(list) == 1 {
			read[0] = bytes.TrimSuffix(bytes.TrimPrefix(read[0], []byte("[")), []byte("]"))
		}
	}
	switch own := root.JSON(); {
	case err != nil && len(read) == 0:
		return root.Errorf("kubectl cannot read the document", odd)
	case err != nil || len(read) > 1 || (len(read) == 0) != (string(own) == "null"):
		return root.Errorf("kubectl reads other documents here", odd)
	case len(read) == 1 && !bytes.Equal(own, read[0]) && !reflect.DeepEqual(root.Value(), decoded(read[0])): // numbers may be written otherwise
		return otherwise(root, decoded(read[0])).Errorf("kubectl reads another value here, so what would be applied is unknown", odd)
	}
	return nil
}

func decoded(text json.RawMessage) (v any) {
	_ = json.Unmarshal(text, &v) // it was JSON
	return v
}

const odd = "write it as kubectl get -o yaml prints it, without tags, anchors and escapes"

// otherwise returns the first place of a node that was read as something else.
func otherwise(n Node, read any) Node {
	m, _ := read.(map[string]any)
	list, _ := read.([]any)
	for i, c := range n.Children() {
		var v any
		switch {
		case m != nil:
			v = m[c.Key()]
		case i < len(list):
			v = list[i]
		}
		if !reflect.DeepEqual(c.Value(), v) {
			return otherwise(c, v)
		}
	}
	return n
}
