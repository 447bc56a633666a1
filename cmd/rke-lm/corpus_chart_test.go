// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
)

const manifestPath = "spec.rkeConfig.additionalManifest"

// ourArguments are those of the manager that stages set.
var ourArguments = []string{"enable-leader-migration", "configure-cloud-routes", "cloud-provider", "cloud-config"}

// chartIn is the HelmChart of the cloud-controller-manager in a manifest, as a
// plain YAML reader sees it.
type chartIn struct {
	at           int            // of its document; -1 for none
	root, values map[string]any // values is nil where they are absent
}

func chartAmong(docs []any) (chartIn, error) {
	for i, d := range docs {
		root, _ := d.(map[string]any)
		if root["kind"] != "HelmChart" || !namesManager(root) {
			continue
		}
		c := chartIn{at: i, root: root}
		text, _ := field(root, "spec", "valuesContent").(string)
		values, err := valueOf([]byte(text))
		c.values, _ = values.(map[string]any)
		return c, err
	}
	return chartIn{at: -1}, nil
}

// namesManager reports whether a HelmChart names the chart, in one of the forms of
// spec.chart, is called like it, or holds an archive with the provider in its values.
func namesManager(root map[string]any) bool {
	const chart = "aws-cloud-controller-manager"
	name, _ := field(root, "spec", "chart").(string)
	name = path.Base(name)
	values, _ := field(root, "spec", "valuesContent").(string)
	archive, _ := strings.CutSuffix(name, ".tgz")
	tagged, _, _ := strings.Cut(name, ":")
	version := strings.TrimPrefix(archive, chart)
	return tagged == chart || version == "" || archive != name && strings.HasPrefix(archive, chart+"-") && len(version) > 1 && version[1] <= '9' ||
		field(root, "spec", "chartContent") != nil && strings.Contains(values, "--cloud-provider=aws") ||
		field(root, "metadata", "name") == chart && name != "."
}

// isElsewhere reports whether the place of a difference is Rancher's chartValues of
// the chart: a flag is added there, changed or taken away.
func isElsewhere(d difference) bool {
	isOurs := func(v any) bool {
		text, isText := v.(string)
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		return v == absent || isText && slices.Contains(ourArguments, name)
	}
	return strings.HasPrefix(d.path, "spec.rkeConfig.chartValues.") && strings.HasSuffix(d.path, ".args[]") && isOurs(d.before) && isOurs(d.after)
}

// field follows keys from mapping to mapping.
func field(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// args returns the manager's arguments; without a list the chart has its own.
func (c chartIn) args() []string {
	if list, isList := c.values["args"].([]any); isList {
		return argumentsIn(list)
	}
	return []string{"--v=2", "--cloud-provider=aws"}
}

// arg returns the value of a flag, the last one that is there.
func (c chartIn) arg(name string) (value string, set bool) {
	for _, text := range c.args() {
		n, v, hasValue := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		if n != name {
			continue
		}
		if value, set = v, true; !hasValue {
			value = "true"
		}
	}
	return value, set
}

// argsBut returns the arguments without some flags.
func (c chartIn) argsBut(names ...string) []string {
	return slices.DeleteFunc(c.args(), func(text string) bool {
		n, _, _ := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		return slices.Contains(names, n)
	})
}

func (c chartIn) migrates() bool {
	value, _ := c.arg("enable-leader-migration")
	return value == "true"
}

// manifestChange is a change of the manifest, read as its documents.
type manifestChange struct {
	before, after []any
	had, has      chartIn
}

func readManifestChange(d difference) (m manifestChange, err error) {
	old, _ := d.before.(string)
	text, isText := d.after.(string)
	if d.path != manifestPath || !isText || old == "" && d.before != "" && d.before != absent && d.before != nil {
		return m, errors.New("something else than the manifest changes")
	}
	var errs [4]error
	m.before, errs[0] = manifestsIn(old)
	m.after, errs[1] = manifestsIn(text)
	m.had, errs[2] = chartAmong(m.before)
	m.has, errs[3] = chartAmong(m.after)
	return m, errors.Join(errs[:]...)
}

// keepsOthers wants every document but the chart to stay, equal and in its order,
// and counts those that are added at the end.
func (m manifestChange) keepsOthers() (added int, err error) {
	if len(m.after) < len(m.before) {
		return 0, errors.New("a document is lost")
	}
	for i, d := range m.before {
		if i != m.had.at && !reflect.DeepEqual(d, m.after[i]) && !isConfigured(d, m.after[i]) {
			return 0, fmt.Errorf("document %d changes", i)
		}
	}
	return len(m.after) - len(m.before), nil
}

// isConfigured wants a HelmChartConfig to change in its arguments alone, and in no
// other than the migration's.
func isConfigured(before, after any) bool {
	if field(before, "kind") != "HelmChartConfig" {
		return false
	}
	valuesOf := func(v any) chartIn {
		text, _ := field(v, "spec", "valuesContent").(string)
		values, _ := valueOf([]byte(text))
		m, _ := values.(map[string]any)
		return chartIn{values: m}
	}
	had, has := valuesOf(before), valuesOf(after)
	return slices.Equal(had.argsBut(ourArguments...), has.argsBut(ourArguments...)) && keysBut(had.values, has.values, "args") == nil
}

// keysBut compares two mappings but for some keys.
func keysBut(before, after map[string]any, but ...string) error {
	for _, d := range differences(anyMap(before), anyMap(after)) {
		if key, _ := d.is[0].(string); !slices.Contains(but, key) {
			return fmt.Errorf("%s changes in the chart", spot(d.is))
		}
	}
	return nil
}

func anyMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// grows wants what was there to stay, in front of what is added: an item of a
// list, a key of a mapping.
func grows(before, after any) bool {
	switch b := before.(type) {
	case nil:
		return true
	case []any:
		a, isList := after.([]any)
		return isList && len(a) >= len(b) && reflect.DeepEqual(b, a[:len(b)])
	case map[string]any:
		a, isMap := after.(map[string]any)
		kept := maps.Clone(a)
		maps.DeleteFunc(kept, func(key string, _ any) bool { _, was := b[key]; return !was })
		return isMap && len(kept) == len(b)
	}
	return reflect.DeepEqual(before, after)
}

// isInstall wants a chart after all other documents, or the one that is there to gain what it lacks. What a new one has
// is in the golden cases.
func isInstall(o *outcome, d difference) error {
	if isElsewhere(d) || o.Target.Situation == transform.Broken && strings.HasSuffix(d.path, ".cloud-provider-config") && d.after == absent && chartHasConfig(o) {
		return nil
	}
	m, err := readManifestChange(d)
	if err != nil {
		return err
	}
	added, err := m.keepsOthers()
	switch {
	case err != nil:
		return err
	case m.has.at < 0:
		return errors.New("there is no chart")
	case m.had.at < 0:
		return nil
	case added > 0 || m.has.at != m.had.at:
		return errors.New("a chart is there, and a document is added")
	}
	return m.isCompleted(o.Target)
}

// isCompleted wants a chart that is there to change in what it lacks alone.
func (m manifestChange) isCompleted(t transform.Target) error {
	if err := keysBut(m.had.root, m.has.root, "spec"); err != nil {
		return err
	}
	for _, d := range differences(m.had.root["spec"], m.has.root["spec"]) {
		if key := d.is[0]; key != "valuesContent" && (d.before != absent || key != "version" && key != "failurePolicy") {
			return fmt.Errorf("%s of the chart changes", spot(d.is))
		}
	}
	if m.had.values == nil {
		return nil // all of them are new
	}
	switch {
	case !slices.Equal(m.had.argsBut(ourArguments...), m.has.argsBut(ourArguments...)):
		return errors.New("other arguments of the chart change")
	case t.NoLeaderMigration && m.has.migrates():
		return errors.New("the flag stays without leader migration")
	}
	gains := []string{"image", "hostNetworking", "nodeSelector", "tolerations", "extraVolumes", "extraVolumeMounts"}
	for _, key := range gains {
		if !grows(m.had.values[key], m.has.values[key]) {
			return fmt.Errorf("%s of the chart changes", key)
		}
	}
	return keysBut(m.had.values, m.has.values, append(gains, "args")...)
}

// isDisable wants the flag to leave the chart, unless it is to stay, and the image to move; nothing else.
func isDisable(o *outcome, d difference) error {
	if isElsewhere(d) {
		return nil
	}
	m, err := readManifestChange(d)
	if err != nil {
		return err
	}
	added, err := m.keepsOthers()
	switch {
	case err != nil:
		return err
	case added > 0 || m.had.at < 0 || m.had.at != m.has.at:
		return errors.New("it is not the chart that changes")
	case !slices.Equal(m.had.argsBut("enable-leader-migration"), m.has.argsBut("enable-leader-migration")):
		return errors.New("other arguments of the chart change")
	case m.has.migrates() != (m.had.migrates() && o.Target.KeepLeaderMigration):
		return errors.New("the flag is not as it was chosen")
	}
	if err := keysBut(m.had.root["spec"].(map[string]any), m.has.root["spec"].(map[string]any), "valuesContent"); err != nil {
		return err
	}
	return keysBut(m.had.values, m.has.values, "args", "image")
}
