// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/crd"
	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rke-lm/rke-lm/internal/apis/v1alpha1"
	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/internal/run"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// TestDocsCustomResourceDefinitions holds deploy/chart/crds/crds.yaml to the Go types.
func TestDocsCustomResourceDefinitions(t *testing.T) {
	const file = "deploy/chart/crds/crds.yaml"
	should := "# Generated from internal/apis/v1alpha1. To change it, change the types and run make generate.\n"
	for _, d := range definitions() {
		should += "---\n" + definition(t, d)
	}
	checkDoc(t, file, readDoc(t, file), should)
}

// defined is a CustomResourceDefinition and the type that it is made from.
type defined struct {
	crd.CRD
	kind reflect.Type
}

func definitions() []defined {
	group := crd.New(v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version)
	column := func(name, kind, path string, priority int32) apiextensionsv1.CustomResourceColumnDefinition {
		return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: kind, JSONPath: path, Priority: priority}
	}
	m, a := group, group
	m.GVK.Kind, a.GVK.Kind = v1alpha1.MigrationKind, v1alpha1.ApprovalKind
	m = m.WithSchemaFromStruct(v1alpha1.LeaderMigration{}).WithStatus().WithShortNames("lm").WithCategories("rke-lm").WithCustomColumn(
		column("Wave", "string", ".status.wave", 0), column("Total", "integer", ".status.counts.total", 0), column("Done", "integer", ".status.counts.done", 0),
		column("Running", "integer", ".status.counts.running", 0), column("Failed", "integer", ".status.counts.failed", 0), column("Skipped", "integer", ".status.counts.skipped", 1),
		column("Complete", "string", `.status.conditions[?(@.type=="Complete")].status`, 0), column("Reason", "string", `.status.conditions[?(@.type=="Waiting")].reason`, 0),
		column("Paused", "boolean", ".spec.pause", 1), column("Age", "date", ".metadata.creationTimestamp", 0))
	a = a.WithSchemaFromStruct(v1alpha1.LeaderMigrationApproval{}).WithShortNames("lma").WithCategories("rke-lm").WithCustomColumn(
		column("Migration", "string", ".spec.migration", 0), column("Wave", "string", ".spec.wave", 0), column("Stage", "string", ".spec.stage", 0), column("Age", "date", ".metadata.creationTimestamp", 0))
	return []defined{{m, reflect.TypeFor[v1alpha1.LeaderMigration]()}, {a, reflect.TypeFor[v1alpha1.LeaderMigrationApproval]()}}
}

// definition is a definition as YAML, with what wrangler does not read off a type.
func definition(t *testing.T, d defined) string {
	t.Helper()
	made := assert.Value(json.Marshal(assert.Value(d.ToCustomResourceDefinition())(t)))(t)
	whole := decoded[apiextensionsv1.CustomResourceDefinition](t, string(made))
	props := whole.Spec.Versions[0].Schema.OpenAPIV3Schema
	props.Description = described(t)[d.kind.Name()][""]
	(&describer{t, described(t)}).fields(props, d.kind)
	constrain(props, d.GVK.Kind)
	plain := decoded[map[string]any](t, string(assert.Value(json.Marshal(whole))(t)))
	delete(plain, "status")
	delete(plain["metadata"].(map[string]any), "creationTimestamp")
	return string(assert.Value(yaml.Marshal(plain))(t))
}

// described are the comments of the types and their fields, by the names of both; "" for the
// type itself.
func described(t *testing.T) map[string]map[string]string {
	t.Helper()
	list := map[string]map[string]string{}
	files, err := filepath.Glob("../../internal/apis/v1alpha1/*.go")
	assert.Must(t, err == nil && len(files) != 0, files, err)
	for _, name := range files {
		f := assert.Value(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments))(t)
		for _, d := range f.Decls {
			describeType(d, list)
		}
	}
	return list
}

func describeType(d ast.Decl, list map[string]map[string]string) {
	g, is := d.(*ast.GenDecl)
	if !is || g.Tok != token.TYPE {
		return
	}
	of := g.Specs[0].(*ast.TypeSpec)
	s, is := of.Type.(*ast.StructType)
	if !is {
		return
	}
	list[of.Name.Name] = map[string]string{"": sentences(g.Doc)}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			list[of.Name.Name][name.Name] = sentences(f.Doc)
		}
	}
}

// sentences is a comment in one line, without what it has for generators.
func sentences(c *ast.CommentGroup) string {
	lines := strings.Split(c.Text(), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" || strings.HasPrefix(l, "+") })
	return strings.Join(lines, " ")
}

// describer adds descriptions and the forms of strings to schemas.
type describer struct {
	*testing.T
	texts map[string]map[string]string
}

func (d *describer) fields(props *apiextensionsv1.JSONSchemaProps, of reflect.Type) {
	swagger, foreign := reflect.New(of).Interface().(interface{ SwaggerDoc() map[string]string })
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, has := props.Properties[name]
		if !has {
			continue
		}
		p.Description = d.texts[of.Name()][f.Name]
		if foreign {
			p.Description = swagger.SwaggerDoc()[name]
		}
		assert.Truef(d, p.Description != "", "%s.%s has no comment", of.Name(), f.Name)
		d.form(&p, f.Type)
		props.Properties[name] = p
	}
}

// form describes the schema of a type, and what is in it.
func (d *describer) form(p *apiextensionsv1.JSONSchemaProps, of reflect.Type) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	p.Nullable = false
	p.Enum = slices.DeleteFunc(p.Enum, func(v apiextensionsv1.JSON) bool { return string(v.Raw) == `""` })
	switch {
	case of == reflect.TypeFor[metav1.Time]():
		p.Format = "date-time"
	case of == reflect.TypeFor[metav1.Duration]():
		// No sum of these is beyond a time.Duration, which CEL alone could not prevent on API servers without it.
		most := int64(32)
		p.Pattern, p.MaxLength = `^([0-9]{1,5}(\.[0-9]+)?h|[0-9]{1,7}(\.[0-9]+)?(s|m)){1,4}$`, &most
		p.XValidations = apiextensionsv1.ValidationRules{{Rule: "duration(self) <= duration('8784h')", Message: "it is at most a year, 8784h"}}
	case of.Kind() == reflect.Struct:
		d.fields(p, of)
		if of == reflect.TypeFor[metav1.LabelSelectorRequirement]() {
			p.Required = []string{"key", "operator"}
		}
	case p.Items != nil:
		d.form(p.Items.Schema, of.Elem())
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		d.form(p.AdditionalProperties.Schema, of.Elem())
	}
}

// constrain adds the rules that no type shows.
func constrain(props *apiextensionsv1.JSONSchemaProps, kind string) {
	spec := props.Properties["spec"]
	defer func() { props.Properties["spec"] = spec }()
	immutable := func(message string, fields ...string) {
		for _, f := range fields {
			rule := "has(self." + f + ") == has(oldSelf." + f + ") && (!has(self." + f + ") || self." + f + " == oldSelf." + f + ")"
			spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{Rule: rule, Message: f + message})
		}
	}
	if kind == v1alpha1.ApprovalKind {
		set(&spec, "stage", func(p *apiextensionsv1.JSONSchemaProps) { p.Enum = values(stages.Names()...) })
		set(&spec, "accept", func(p *apiextensionsv1.JSONSchemaProps) {
			most, longest := int64(100), int64(63)
			p.MaxItems, p.Items.Schema.MaxLength = &most, &longest
		})
		immutable(" cannot be changed: create another approval", "migration", "wave", "stage", "accept")
		return
	}
	set(&spec, "options", func(p *apiextensionsv1.JSONSchemaProps) { p.XPreserveUnknownFields, p.Properties = nil, optionProps() })
	set(&spec, "until", func(p *apiextensionsv1.JSONSchemaProps) { p.Enum = values(stages.Names()...) })
	set(&spec, "waves", func(p *apiextensionsv1.JSONSchemaProps) {
		most, one := int64(100), p.Items.Schema
		p.MaxItems = &most
		list := "map"
		p.XListType, p.XListMapKeys = &list, []string{"name"}
		one.XValidations = apiextensionsv1.ValidationRules{{Rule: "[has(self.selector), has(self.size), has(self.percent)].filter(x, x).size() <= 1", Message: "a wave has one of selector, size and percent"}}
	})
	set(&spec, "window", func(p *apiextensionsv1.JSONSchemaProps) {
		set(p, "days", func(d *apiextensionsv1.JSONSchemaProps) {
			d.Items.Schema.Enum = values("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
		})
		for _, end := range []string{"from", "to"} {
			set(p, end, func(c *apiextensionsv1.JSONSchemaProps) { c.Pattern = `^([01][0-9]|2[0-3]):[0-5][0-9]$` })
		}
	})
	spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{
		Rule:    "!has(oldSelf.approval) || oldSelf.approval == 'none' || has(self.approval) && (self.approval == oldSelf.approval || self.approval == 'stage')",
		Message: "approval cannot become weaker: create another LeaderMigration",
	})
	immutable(" cannot be changed: create another LeaderMigration", "selector", "options", "until", "etcdSnapshot", "canaryService", "waves")
	status := props.Properties["status"]
	set(&status, "conditions", func(p *apiextensionsv1.JSONSchemaProps) {
		list := "map"
		p.XListType, p.XListMapKeys = &list, []string{"type"}
		p.Items.Schema.Required = []string{"type", "status"}
	})
	props.Properties["status"] = status
}

func set(props *apiextensionsv1.JSONSchemaProps, name string, change func(*apiextensionsv1.JSONSchemaProps)) {
	p := props.Properties[name]
	change(&p)
	props.Properties[name] = p
}

func values(list ...string) []apiextensionsv1.JSON {
	return lists.Map(list, func(v string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: strconv.AppendQuote(nil, v)} })
}

// optionProps are the migration options that migrate has.
func optionProps() map[string]apiextensionsv1.JSONSchemaProps {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&options{}).targetFlags(flags)
	kinds := choiceKinds()
	list := map[string]apiextensionsv1.JSONSchemaProps{}
	flags.VisitAll(func(f *pflag.Flag) {
		p := apiextensionsv1.JSONSchemaProps{Description: strings.TrimSuffix(f.Usage, " (repeatable)")}
		switch kinds[f.Name] {
		case config.Bool:
			p.Type = "boolean"
		case config.List:
			p.Type, p.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}
		default:
			p.Type = "string"
			p.Enum = values(run.ChoiceValues[f.Name]...)
		}
		list[f.Name] = p
	})
	return list
}

// Every option of a LeaderMigration is a choice that --config knows.
func TestOptionsOfALeaderMigrationAreFlagsOfChoice(t *testing.T) {
	assert.True(t, optionProps()["end-state"].Enum != nil && optionProps()["accept"].Items != nil, optionProps())
	for name := range optionProps() {
		_, known := choiceKinds()[name]
		assert.Truef(t, known, "%s is not a migration option", name)
	}
}
