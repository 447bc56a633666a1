// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package rke2

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/args"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rke2/effective"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// configurationObjectRules are those about the objects with the managers' configurations.
func configurationObjectRules() []rule {
	return []rule{
		{Rule: rules.ConfigNotMounted.WithDoc(
			"A manager's leader-migration-config names a file that nothing creates: machineSelectorFiles for kube-controller-manager, extraVolumes and extraVolumeMounts for the chart. The manager exits."),
			Check: func(m *migration, found *transform.Findings) {
				m.undelivered(found)
				m.emptyFiles(found)
				for _, c := range m.Charts(rules.ConfigNotMounted.ID) {
					if c.ConfigFile() != "" && !c.ConfigMounted() {
						found.Add(c.At("no entry of extraVolumes and extraVolumeMounts creates the file that --"+configFlag+" names, and the manager exits",
							"mount a ConfigMap that holds it, as --leader-migration-config generate does", chartArgs))
					}
				}
			}},
		// It reports which configurations are not checked. That of rke-lm is part of the
		// stage that names it.
		{Rule: transform.Rule{ID: "object-not-given", Severity: transform.Note, Guards: rules.FlagEdits,
			Doc: "machineSelectorFiles takes the configuration of kube-controller-manager from an object of Rancher's cluster that was not given, so it is not checked. An object joins its cluster where both are in one folder or stream."}.Because(
			"The configuration is in an object of Rancher's cluster, so its content is not checked.", "rancher/rancher: machineSelectorFiles", "Plan the object together with the cluster, from one folder or stream.", "If it was checked with `rke-lm leader-migration-config --lint`."),
			Check: func(m *migration, found *transform.Findings) {
				for _, d := range m.deliveries() {
					ours := m.Stage != "" && d.source.Object == m.ownConfigMap()
					if d.object == nil && !ours {
						found.At(d.source.At, "not checked: the configuration of kube-controller-manager is in "+d.source.String()+", which was not given",
							"give the file of the object as well, from the same folder; or check it with rke-lm leader-migration-config --lint FILE")
					}
				}
			}},
		// It finds entries for which Rancher's planner fails, so that no machine gets
		// a new configuration (rancher pkg/capr/planner/config.go renderFiles at v2.8.5).
		{Rule: transform.Rule{ID: "machine-files-refused", Severity: transform.Error, Guards: rules.FlagEdits,
			Doc: "Rancher's planner stops at an entry of machineSelectorFiles, and no machine gets a new configuration. The selector is invalid, or one source names both a Secret and a ConfigMap. Or the object with the configuration of kube-controller-manager does not authorize the cluster or has another hash."}.Because(
			"Rancher's planner stops with an error, and no machine of the cluster gets any further change.", "rancher/rancher pkg/capr/planner: machineSelectorFiles and object-authorized-for-clusters", "Correct the entry, or the annotation of the object.", "If the object in Rancher's cluster was corrected since the file was written."),
			Check: func(m *migration, found *transform.Findings) {
				for _, f := range m.Files {
					if f.Invalid != nil {
						found.At(f.Entry.Get(selectorField), "Kubernetes refuses the selector: "+f.Invalid.Error()+"; Rancher's planner stops at it", "correct it")
					}
					for i, s := range f.Sources {
						if i > 0 && s.At.Parent().Same(f.Sources[i-1].At.Parent()) {
							found.At(s.At, "an element of fileSources names both a Secret and a ConfigMap, and Rancher's planner stops at it", "write two elements")
						}
						if object := m.given(s.Object); object != nil {
							m.objectRefused(found, s, object)
						}
					}
				}
			}},
	}
}

// undelivered finds files that control planes do not get. Without the flag no one
// reads them.
func (m *migration) undelivered(found *transform.Findings) {
	for _, won := range m.Won(managerArgs, effective.Class.ControlPlane) {
		list := args.Of(won.At.Value())
		a, named := args.Last(list, configFlag)
		lacks := func(c effective.Class) bool {
			_, _, gets := m.Delivered(c, a.Value)
			return !gets && m.Effective(c)[managerArgs].Origin.Exists()
		}
		if class, has := lists.Find(won.Classes, lacks); has && named && args.Enables(list, leaderFlag) {
			found.At(won.At, "no entry of machineSelectorFiles writes the file that "+configFlag+" names on machines of class "+class.Name+", and the manager exits",
				"add it to machineSelectorFiles, as --leader-migration-config generate does; accept the rule if something else writes it")
		}
	}
}

// configurationTextRules check the configurations of both managers, as far as they were given. That
// of kube-controller-manager is in an object of its own.
func configurationTextRules() []rule {
	return lists.Map(leadermigration.Rules(), func(r transform.Rule) rule {
		return rule{Rule: r.WithGuards(rules.BothManagers...), Check: func(m *migration, found *transform.Findings) {
			found.Add(lists.Where(m.inConfigs(), func(f transform.Finding) bool { return f.Rule == r.ID })...)
		}}
	})
}

// configFindings are about the configurations that a manager reads from a stage on.
func (m *migration) configFindings() []transform.Finding {
	var found []transform.Finding
	if m.Stage == "" || slices.Contains(rules.FlagEdits, m.Stage) {
		found = m.managerFindings()
	}
	if m.Stage == "" || slices.Contains(rules.ChartRuns, m.Stage) {
		found = append(found, m.cloudFindings()...)
	}
	return found
}

// cloudConfig is a configuration of the cloud-controller-manager in additionalManifest.
type cloudConfig struct {
	rules.Chart
	root     yamledit.Node // does not exist where it is none
	unquoted []transform.Finding
	at       yamledit.Node // the string that holds it
	document int           // of additionalManifest
}

func (m *migration) cloudConfigs() []cloudConfig {
	docs, _ := m.manifests()
	return lists.Found(m.installs(), func(c rules.Chart) (cloudConfig, bool) {
		at, i := c.Config(docs)
		if c.ConfigFile() == "" || !at.Exists() {
			return cloudConfig{}, false // it lies elsewhere
		}
		root, unquoted, err := leadermigration.Embedded(at)
		return cloudConfig{c, root, unquoted, at, i}, err == nil
	})
}

// cloudFindings are about each of them, and about what it and that of
// kube-controller-manager say together.
func (m *migration) cloudFindings() []transform.Finding {
	var all []transform.Finding
	unaware := m.anyControlPlane(func(c effective.Config) bool { return !args.Has(args.Of(c[managerArgs].Value), configFlag) })
	for _, c := range m.cloudConfigs() {
		found := c.unquoted
		if c.root.Exists() {
			found = append(found, leadermigration.Lint(c.root, m.reader(leadermigration.CloudManager, c.ImageTag(), c.root, m.isExternal() || !unaware))...)
		}
		for _, d := range m.givenDeliveries() {
			root, _ := d.config()
			found = slices.Concat(found, leadermigration.OtherLease(c.root, root), leadermigration.NotListed(c.root, root))
		}
		for k := range found {
			f := m.Bundle().Finding(c.document, c.at, found[k].Message, found[k].Fix)
			f.Rule, f.Severity, f.Line = found[k].Rule, found[k].Severity, found[k].Line
			if found[k].Path != "" {
				f.Path += "." + found[k].Path
			}
			found[k] = f
		}
		all = append(all, found...)
	}
	return all
}

// reader is the manager that reads a configuration. Another lease than the chosen one is right where the managers may
// lock it and the other one knows of it.
func (m *migration) reader(component, version string, root yamledit.Node, known bool) leadermigration.Reader {
	r := leadermigration.Reader{Component: component, Version: semver.MajorMinor(version), Lease: m.Target.Lease()}
	docs, _ := m.manifests()
	if name := root.StringAt("leaderName"); known && leadermigration.Granted(docs, name) {
		r.Lease = name
	}
	return r
}

// delivery is a configuration that Rancher writes to control planes for
// kube-controller-manager.
type delivery struct {
	source effective.FileSource
	key    string
	object *yamledit.Document // nil where it was not given
}

// deliveries are those of all control planes that take part in the migration, each once.
func (m *migration) deliveries() []delivery {
	var all []delivery
	for _, class := range m.ControlPlanes {
		list := args.Of(m.Effective(class)[managerArgs].Value)
		file, named := args.Last(list, configFlag)
		if !named || !args.Enables(list, leaderFlag) {
			continue
		}
		source, key, found := m.Delivered(class, file.Value)
		known := func(d delivery) bool { return d.source.At.Same(source.At) && d.key == key }
		if found && !slices.ContainsFunc(all, known) {
			all = append(all, delivery{source, key, m.given(source.Object)})
		}
	}
	return all
}

// givenDeliveries are those whose object was given.
func (m *migration) givenDeliveries() []delivery {
	return lists.Where(m.deliveries(), func(d delivery) bool { return d.object != nil })
}

// given returns the document of an object, or nil.
func (m *migration) given(o effective.Object) *yamledit.Document {
	given, _ := lists.Find(m.objects, func(d *yamledit.Document) bool { return isObject(d, o, m.Doc) })
	return given
}

// emptyFiles finds configurations whose object has none.
func (m *migration) emptyFiles(found *transform.Findings) {
	for _, d := range m.givenDeliveries() {
		const advice = "write the configuration that rke-lm leader-migration-config --component kube-controller-manager prints"
		_, at := valueOf(d.object, d.key)
		switch root, unquoted := d.config(); {
		case !at.Exists():
			found.At(d.object.Root().Get("metadata", "name"), d.source.String()+" has no key "+d.key+": Rancher writes an empty file, and the manager exits", advice)
		case !root.Exists() && len(unquoted) == 0:
			found.At(at, "this is no "+leadermigration.Kind+", and the manager exits", advice)
		}
	}
}

// config reads the configuration, if there is one, and finds wildcards without quotes.
func (d delivery) config() (yamledit.Node, []transform.Finding) {
	text, at := valueOf(d.object, d.key)
	if written := at.StringAt(); written == text {
		root, found, _ := leadermigration.Embedded(at)
		return root, d.placed(found)
	}
	roots, found, _ := leadermigration.Read(yamledit.Chunk{File: d.object.File(), Bytes: []byte(text)})
	return yamledit.First(roots...), d.placed(found)
}

// placed makes findings about a configuration those of the object that holds it. The
// lines of encoded data are all one.
func (d delivery) placed(found []transform.Finding) []transform.Finding {
	text, at := valueOf(d.object, d.key)
	for i := range found {
		f := &found[i]
		if at.StringAt() != text {
			f.Line = at.Line()
		}
		f.File, f.Offset = at.Document().File(), at.Document().Chunk().Offset
		f.Path = strings.TrimSuffix(at.Path()+"."+f.Path, ".")
	}
	return found
}

// managerFindings are about the configurations of kube-controller-manager that were
// given.
func (m *migration) managerFindings() []transform.Finding {
	var all []transform.Finding
	for _, d := range m.givenDeliveries() {
		root, found := d.config()
		if root.Exists() {
			others := m.cloudConfigs()
			known := slices.ContainsFunc(others, func(c cloudConfig) bool { return c.root.StringAt("leaderName") == root.StringAt("leaderName") })
			own := leadermigration.Lint(root, m.reader(leadermigration.Manager, m.Version, root, known))
			lacking := lists.Flat(others, func(c cloudConfig) []transform.Finding { return leadermigration.NotListed(root, c.root) })
			found = append(found, d.placed(append(own, lacking...))...)
		}
		all = append(all, found...)
	}
	return all
}

// objectRefused finds why Rancher's planner refuses an object.
func (m *migration) objectRefused(found *transform.Findings, s effective.FileSource, object *yamledit.Document) {
	if !authorizes(object, m.Name) {
		found.At(object.Root().Get("metadata"), "the annotation "+authorizedKey+" does not name the cluster "+m.Name+", and Rancher's planner stops at the object",
			"add the cluster's name to the annotation, after a comma if there are others")
		return
	}
	for _, item := range s.Items {
		text, _ := valueOf(object, item.Key)
		if sum := sha256.Sum256([]byte(text)); item.Hash != "" && item.Hash != base64.StdEncoding.EncodeToString(sum[:]) {
			found.At(s.At, "the hash of the item "+item.Key+" is not that of the object's data, and Rancher's planner stops at it", "write the SHA-256 of the data in base64, or remove hash")
		}
	}
}
