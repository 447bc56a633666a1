// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize reports whether overlays change what a document says: patches,
// replacements and the like of kustomizations, and the overlays of Fleet. It reads
// them and never renders.
//
// Invariant: an overlay counts as changing a document when it names the kind and
// the name of its object and something other than its labels and annotations, or
// when it cannot be read; another name counts where two versions are compared.
// Which files refer to each other is the caller's to find.
package kustomize

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/rules"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// Use is what overlays make of a file.
type Use struct {
	// Layers are the kustomizations that take the file over, directly or through
	// others, the nearest first.
	Layers []*Kustomization
	// Built are those of Layers that no other takes over: what is built of them
	// reaches clusters.
	Built []*Kustomization
	// Omits is the nearest file, of its folder or one around it, that kustomize reads and that does not have the
	// file; "" for none, or if a kustomization above has it, and for files of the disk.
	Omits string
	// PatchOf is the kustomization that has the file for a patch, or nil.
	PatchOf *Kustomization
	// Roots are what is applied together with the file, its folder first; none for a file that is
	// applied with another one, such as a patch.
	Roots []string
	// Bundle is what the fleet.yaml of its bundle says, but for what changes no object, and Default the namespace
	// that it gives to objects without one.
	Bundle, Default string
}

// Named is what the layers make of the name of an object.
func (u Use) Named(id transform.Identity) transform.Identity {
	for _, k := range u.Layers {
		id.Name, id.Namespace = k.prefix+id.Name+k.suffix, cmp.Or(k.namespace, id.Namespace)
	}
	id.Namespace = cmp.Or(id.Namespace, u.Default)
	return id
}

// Evaluate refuses a document that overlays change: the plan would not be for what
// reaches the cluster, and overlays may overwrite its edits.
func Evaluate(doc *yamledit.Document, use Use) error {
	if k := use.PatchOf; k != nil {
		return transform.Refuse(rules.ChangedByOverlay.ID, doc.Root(), "a patch of "+k.File+", not a cluster", k.instead())
	}
	if e, has := lists.Find(Effects(doc, use), func(e Effect) bool { return !e.keepsContent }); has {
		return transform.Refuse(rules.ChangedByOverlay.ID, doc.Root(), e.Text()+", so this is not what reaches the cluster: a patch can replace a list that is edited here", use.instead(e.by))
	}
	return nil
}

// Effect is what one patch of one layer does to a document, or what a document that is a patch does.
type Effect struct {
	patch
	by   *Kustomization
	From string // the folder of the layer, as seen from the document; a component is in that of what has it
}

// Place is where the patch is.
func (e Effect) Place() (file string, line int) { return e.file, e.line }

// Fails reports whether an effect is that a layer cannot be built, or not be read as a whole.
func (e Effect) Fails() bool { return e.keepsContent && e.path == "" }

// Same reports whether two effects make the same of a document, wherever both were moved together.
func (e Effect) Same(o Effect) bool {
	return e.From == o.From && e.path == o.path && e.text == o.text
}

// Effects lists what overlays change of a document, in the order in which they are applied.
func Effects(doc *yamledit.Document, use Use) (all []Effect) {
	if k := use.PatchOf; k != nil {
		return lists.Map(changes(doc.Root(), false), func(p patch) Effect { return Effect{patch: p, by: k} })
	}
	names := object{kind: doc.Root().StringAt("kind"), names: []string{doc.Root().StringAt("metadata", "name")}}
	names.namespaces = []string{cmp.Or(doc.Root().StringAt("metadata", "namespace"), "default")}
	if len(use.Layers) > 0 && doc.Root().StringAt("metadata", "annotations", localConfig) != "" {
		all = append(all, Effect{patch{file: doc.File(), line: doc.Root().Line(), path: whole, text: localConfig}, use.Layers[0], use.Layers[0].From(doc)})
	}
	for _, k := range use.Layers {
		names = k.rename(names) // a patch may use the names that the layer itself gives
		for _, p := range k.changing(doc, &names) {
			if p.copies {
				p.text += k.made
			}
			all = append(all, Effect{p, k, k.From(doc)})
		}
	}
	return all
}

// From is the folder of a layer as seen from a document.
func (k *Kustomization) From(doc *yamledit.Document) string {
	from, _ := filepath.Rel(filepath.Dir(doc.File()), filepath.Dir(cmp.Or(k.in, k.File))) // both are of one repository
	return from
}

// In is a component as a part of a kustomization.
func (k Kustomization) In(of *Kustomization) *Kustomization {
	k.in, k.made = of.File, of.made
	return &k
}

// Text is what a patch does.
func (p patch) Text() string {
	at := fmt.Sprintf("%s:%d", p.file, p.line)
	switch {
	case p.renames():
		return at + " changes " + p.path + ": that is another cluster, and the first one may be deleted"
	case p.keepsContent:
		return at + " has a resource that is not in this repository, and nothing may be built of it"
	}
	switch p.path {
	case "":
		return at + " may change it (it cannot be read)"
	case whole:
		return at + " replaces or deletes it"
	}
	return at + " changes " + p.path
}

// object is what patches call the object of a document: kustomize also uses the
// names that it had before.
type object struct {
	kind              string
	names, namespaces []string
	any               bool // it has more names than mostNames, or an unknown one, so a patch may mean it by any
}

// mostNames bounds the names: each layer may double them, and many overlays build on one base.
const mostNames = 256

func (k *Kustomization) rename(o object) object {
	if o.any = o.any || len(o.names) > mostNames; !o.any && k.prefix+k.suffix != "" {
		for _, name := range slices.Clone(o.names) {
			o.names = append(o.names, k.prefix+name+k.suffix)
		}
	}
	if k.namespace != "" {
		o.namespaces = append(slices.Clone(o.namespaces), k.namespace)
	}
	return o
}

// changing returns the patches that change an object.
func (k *Kustomization) changing(doc *yamledit.Document, o *object) (list []patch) {
	for _, p := range k.patches {
		if p.to.kind.matches(o.kind) && (o.any || p.to.name.matches(o.names...) && p.to.namespace.matches(o.namespaces...)) {
			list = append(list, p)
			o.any = o.any || p.renames()
		}
	}
	for _, item := range k.images(doc) {
		list = append(list, patch{file: k.File, line: item.Line(), path: "the image", text: textOf(item)})
	}
	for _, item := range k.root.Get("vars").Items() {
		if variable := "$(" + item.StringAt("name") + ")"; strings.Contains(string(doc.Bytes()), variable) {
			list = append(list, patch{file: k.File, line: item.Line(), path: variable, text: textOf(item), copies: true})
		}
	}
	return list
}

// instead reports what to do: the edits belong where the list is written last.
func (u Use) instead(k *Kustomization) string {
	if k.Folder == "" || len(u.Built) == 0 {
		return k.instead()
	}
	do := u.Built[0].instead()
	if len(u.Built) > 1 {
		do += " (likewise " + rules.Some(lists.Map(u.Built[1:], func(b *Kustomization) string { return b.Folder })) + ")"
	}
	return do + "; make the edits in its patches, or here where no patch replaces them"
}

func (k *Kustomization) instead() string {
	if k.Folder == "" {
		return "write the cluster of each Fleet target into a file of its own, and plan those"
	}
	return "plan its output: " + Rendered(k.Folder)
}

// Rendered is the command that plans what a folder makes.
func Rendered(folder string) string {
	return action.Command("kubectl kustomize %s | rke-lm plan -", action.Path(folder))
}
