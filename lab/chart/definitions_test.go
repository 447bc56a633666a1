// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// definition is one of an API server, which validates objects as it does.
type definition struct {
	schema    *schema.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator // nil on an API server without CEL
}

// definitionOf reads the definition of a kind.
func definitionOf(t *testing.T, kind string, withCEL bool) definition {
	t.Helper()
	text, err := os.ReadFile("../../deploy/chart/crds/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range strings.Split(string(text), "---\n")[1:] {
		d := read[apiextensionsv1.CustomResourceDefinition](t, one)
		if d.Spec.Names.Kind != kind {
			continue
		}
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
			t.Fatal(err)
		}
		s, err := schema.NewStructural(&props)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			t.Fatal(err)
		}
		made := definition{schema: s, validator: v}
		if withCEL {
			made.rules = cel.NewValidator(s, true, celconfig.PerCallLimit)
		}
		return made
	}
	t.Fatal("no definition of " + kind)
	return definition{}
}

// refuses is why the API server refuses a specification, after another one if there is one; "" if it accepts it.
func (d definition) refuses(t *testing.T, spec, before string) string {
	t.Helper()
	object := func(spec string) map[string]any {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(`{"metadata":{"name":"staging"},"spec":`+spec+`}`), &o); err != nil {
			t.Fatal(err)
		}
		defaulting.Default(o, d.schema)
		return o
	}
	now, old := object(spec), any(nil)
	if before != "" {
		old = object(before)
	}
	errs := validation.ValidateCustomResource(nil, now, d.validator)
	if d.rules != nil && len(errs) == 0 {
		errs, _ = d.rules.Validate(t.Context(), field.NewPath(""), d.schema, now, old, celconfig.RuntimeCELCostBudget)
	}
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func TestAnAPIServerRefusesWhatCannotBeDecoded(t *testing.T) {
	for _, withCEL := range []bool{true, false} {
		d := definitionOf(t, "LeaderMigration", withCEL)
		for _, c := range []struct {
			spec   string
			refuse bool
		}{
			{`{"selector":{},"timeout":"30m","waves":[{"name":"a","soak":"1h30m"}]}`, false},
			{`{"selector":{},"timeout":"1.5h","waves":[{"name":"a","soak":"604800s"}]}`, false},
			{`{"selector":{},"timeout":"9999999h"}`, true},
			{`{"selector":{},"timeout":"999999999999s"}`, true},
			{`{"selector":{},"timeout":"99999h99999h99999h99999h99999h"}`, true},
			{`{"selector":{},"timeout":"-5m"}`, true},
			{`{"selector":{},"timeout":5}`, true},
			{`{"selector":{},"waves":[{"name":"a","soak":"9999999h"}]}`, true},
			{`{"selector":{},"maxUnavailable":1e30}`, true},
			{`{"selector":{},"maxFailures":99999999999999999999}`, true},
			{`{"selector":{},"waves":[{"name":"a","size":4000000000}]}`, true},
			{`{"selector":{},"approval":"sometimes"}`, true},
		} {
			if why := d.refuses(t, c.spec, ""); (why != "") != c.refuse {
				t.Errorf("with CEL %t: %s: %q", withCEL, c.spec, why)
			}
		}
	}
}

func TestAnAPIServerWithCELRefusesWhatTheControllerRefuses(t *testing.T) {
	d := definitionOf(t, "LeaderMigration", true)
	for _, c := range []struct{ before, now, want string }{
		{`{"selector":{}}`, `{"selector":{},"approval":"wave"}`, ""},
		{`{"selector":{},"approval":"wave"}`, `{"selector":{},"approval":"stage"}`, ""},
		{`{"selector":{},"approval":"wave"}`, `{"selector":{},"approval":"wave","pause":true}`, ""},
		{`{"selector":{},"approval":"stage"}`, `{"selector":{},"approval":"wave"}`, "approval cannot become weaker"},
		{`{"selector":{},"approval":"wave"}`, `{"selector":{},"approval":"none"}`, "approval cannot become weaker"},
		{`{"selector":{},"approval":"wave"}`, `{"selector":{}}`, "approval cannot become weaker"},
		{`{"selector":{}}`, `{"selector":{},"options":{"chart-repo":"https://charts.example.com"}}`, "options cannot be changed"},
		{"", `{"selector":{},"timeout":"9000h"}`, "at most a year"},
		{"", `{"selector":{},"waves":[{"name":"a","size":1,"percent":5}]}`, "one of selector, size and percent"},
	} {
		if why := d.refuses(t, c.now, c.before); (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s after %s: %q, want %q", c.now, c.before, why, c.want)
		}
	}
}

// A stored object that was accepted can be read: no default makes it another one.
func TestTheDefinitionOfApprovalsIsThatOfAnAPIServer(t *testing.T) {
	d := definitionOf(t, "LeaderMigrationApproval", true)
	approval := `{"migration":"staging","wave":"others"}`
	if why := d.refuses(t, approval, approval); why != "" {
		t.Error(why)
	}
	for _, changed := range []string{`{"migration":"other","wave":"others"}`, `{"migration":"staging","wave":"first"}`, `{"migration":"staging","wave":"others","stage":"install-ccm"}`} {
		if why := d.refuses(t, changed, approval); !strings.Contains(why, "cannot be changed") {
			t.Errorf("%s: %q", changed, why)
		}
	}
}
