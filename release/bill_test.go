// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTheListsAreWhatCycloneDXDefines checks them with the schema of the specification.
func TestTheListsAreWhatCycloneDXDefines(t *testing.T) {
	folder := strings.TrimSpace(output(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")))
	c := jsonschema.NewCompiler()
	c.UseLoader(loader{folder: filepath.Join(folder, "schema"), under: "http://cyclonedx.org/schema/"})
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	r := release{version: version}
	for _, p := range platforms(t) {
		text := content(t, r.name(p, ".cdx.json"))
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %.2000s", p, err.Error()) // it lists all licenses of the world
		}
		broken := bytes.Replace(text, []byte(`"type": "library"`), []byte(`"type": "book"`), 1)
		value, err = jsonschema.UnmarshalJSON(bytes.NewReader(broken))
		if err != nil || schema.Validate(value) == nil {
			t.Errorf("%s: the schema takes a component that is a book: %v", p, err)
		}
	}
}

// loader reads the schemas from the module that has them.
type loader struct{ folder, under string }

func (l loader) Load(url string) (any, error) {
	name := strings.TrimPrefix(url, l.under)
	if name == "jsf-0.82.schema.json" {
		name = "jsf-0.82.schemax.json" // the module spells it so
	}
	return jsonschema.FileLoader{}.Load("file://" + filepath.Join(l.folder, name))
}

// TestTheListsNameTheLinkedModules asks go for the modules, not the program.
func TestTheListsNameTheLinkedModules(t *testing.T) {
	r := release{version: version}
	for _, p := range platforms(t) {
		var bill struct {
			Components []struct {
				Name, Version string
				Licenses      []any
			}
			Dependencies []struct {
				Ref       string
				DependsOn []string
			}
		}
		if err := json.Unmarshal(content(t, r.name(p, ".cdx.json")), &bill); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, c := range bill.Components {
			if len(c.Licenses) == 0 {
				t.Errorf("%s: %s has no license", p, c.Name)
			}
			if c.Name != standard {
				got[c.Name+" "+c.Version] = true
			}
		}
		if diff := cmp.Diff(linkedModules(t, p), got); diff != "" {
			t.Errorf("%s (-go +list):\n%s", p, diff)
		}
		if len(bill.Dependencies) != len(bill.Components) || len(bill.Dependencies[0].DependsOn) < 10 {
			t.Errorf("%s: %d edges from %d components: %v", p, len(bill.Dependencies), len(bill.Components), bill.Dependencies[0])
		}
	}
}
