// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package forms recognizes files that describe clusters in a form that is not read, such as
// Terraform, a configuration file of RKE2 or a script that writes one.
//
// Invariant: it reads lines and no syntax, so a line that may be about the provider, the arguments
// of a manager or the version counts, wherever it is and whatever is around it. A file that has
// no such line is of no form. Comments never count.
package forms

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/rke-lm/rke-lm/transform/lists"
)

// Found is what a file has in a form that is not read.
type Found struct {
	Form  Form
	File  string
	Line  int    // the first one with a key; 0 if the file is of no form
	text  string // the lines that count, each after "!" if it is about a key, or else a space
	lines []int  // their numbers
}

const assigned = `["'\]]*\s*\+?[:={]`

var (
	// A key is at the start of a line, or assigned. In a block a mention is enough.
	outside = regexp.MustCompile(`^[\s?"']*(?:` + own + `)s?\b|(?:` + own + `)s?` + assigned)
	holding = regexp.MustCompile(`(?:` + holders + `)s?` + assigned)
	inside  = regexp.MustCompile(own + `|/(?:` + holders + `)|\b(?:` + shared + `)s?` + assigned)
	release = regexp.MustCompile(`(?:=|[:=]\s+)["']?v?\d+\.\d+\.\d+(?:\+rke2r|-rancher\d+-)\d`)
	// What another program reads may be any key.
	control = regexp.MustCompile(`\{\{[-~]?\s*(?:/\*|#|if|else|end|range|with|for|define|block)|\{%|(?:^|[^$])\{#|%\{|(?:^|\s)/\*|\*/(?:\s|$)|\$patch["']?\s*:`)
	opaque  = regexp.MustCompile(`\\(?:[xuU]|$)|!!|<<\s*:|:\s*[*&]\w|^(?:---|\.\.\.)|[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{16,}={1,2}["']?\s*$|:\s*["']?(?:aws|external)["']?\s*(?:[,}]|$)`)
)

// Find returns what a text has in a form that is not read; first is the number of its first line.
func Find(file string, text []byte, first int) (found Found) {
	if IsDump(text) {
		found = Found{Form: Dump, File: file, Line: first}
	}
	plainly := decoded(string(text))
	if !hinted(plain(plainly)) {
		return found
	}
	form, all := read(file, plainly)
	if found.Line == 0 {
		found.Form, found.File = form, file
	}
	about, end := make([]bool, len(all)), -1 // of what belongs to a key
	for i, l := range all {
		plain := plain(l.text)
		likely := hinted(plain)
		about[i] = about[i] || likely && holding.MatchString(plain)
		key := likely && (outside.MatchString(plain) || release.MatchString(l.text)) || l.inside && inside.MatchString(plain)
		if found.Line == 0 && (key || about[i]) {
			found.Line = first + i
		}
		if key && i > end {
			operation := all.operation(i)
			end = max(i, all.region(operation))
			for j := operation; j <= end; j++ {
				about[j] = true
			}
		}
	}
	for i, l := range all {
		mark := " "
		if about[i] || control.MatchString(l.text) || l.inside && opaque.MatchString(l.text) {
			mark = "!"
		}
		if l.text != "" && (mark == "!" || l.inside) {
			found.text, found.lines = found.text+mark+l.text+"\n", append(found.lines, first+i)
		}
	}
	return found
}

// ByFile joins what the documents of a file have.
func ByFile(list []Found) map[string]Found {
	files := map[string]Found{}
	for _, f := range list {
		if of, had := files[f.File]; had {
			f.Line, f.text, f.lines = cmp.Or(of.Line, f.Line), of.text+f.text, append(of.lines, f.lines...)
		}
		files[f.File] = f
	}
	return files
}

// Compare reports whether two versions differ in lines that count, and in one about the provider,
// the arguments of a manager or the version. line is such a line, after the change where there is one.
func Compare(before, after Found) (line int, differ, about bool) {
	numbers := after.lines
	if len(numbers) == 0 {
		numbers = before.lines
	}
	for _, e := range udiff.Lines(before.text, after.text) {
		touched := strings.Contains("\n"+before.text[e.Start:e.End]+e.New, "\n!")
		if !differ || touched && !about {
			line = numbers[min(strings.Count(before.text[:e.Start], "\n"), len(numbers)-1)]
		}
		differ, about = true, about || touched
	}
	return line, differ, about
}

// line is one of a text, without its comment.
type line struct {
	text   string
	indent int
	opens  int  // brackets and heredocs that it opens, less those that it closes
	inside bool // a block
}

type lines []line

var (
	// A comment does not begin in quotes, so what is in quotes is found as well.
	quoted  = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"|'[^'\n]*'`)
	comment = regexp.MustCompile(`(?m)` + quoted.String() + `|(?:^|[ \t])#.*|^[ \t]*//.*`)
	heredoc = regexp.MustCompile(`<<[-~]?\s*\\?["']?([A-Za-z_]\w*)`)
	pointer = regexp.MustCompile(`^\s*(?:-\s+)?["']?(?:path|from)["']?\s*:\s*["']?/`)
	item    = regexp.MustCompile(`^\s*-(?:\s|$)`)
)

// read cuts a text into lines, and finds the blocks of forms. The first row of the table with one
// names the form, or else the name of the file.
func read(file, text string) (form Form, all lines) {
	text = comment.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' || found[0] == '\'' {
			return found
		}
		return ""
	})
	end := "" // of a heredoc
	for s := range strings.SplitSeq(text, "\n") {
		l := line{text: strings.TrimRight(s, " \t\r"), indent: len(s) - len(strings.TrimLeft(s, " \t"))}
		for _, c := range quoted.ReplaceAllString(s, "") {
			l.opens += strings.Count("{[(", string(c)) - strings.Count("}])", string(c))
		}
		if m := heredoc.FindStringSubmatch(s); m != nil && end == "" {
			end, l.opens = m[1], l.opens+1
		} else if end != "" && strings.TrimSpace(s) == end {
			end, l.opens = "", l.opens-1
		}
		all = append(all, l)
	}
	for _, f := range table { // the last row is for other names as well
		if form = f; slices.ContainsFunc(strings.Fields(f.ends), func(end string) bool { return strings.HasSuffix(file, end) }) {
			break
		}
	}
	document := form.mark == nil // no file of blocks
	for _, f := range slices.Backward(table) {
		whole := f.whole && document && f.mark.MatchString(text)
		for i := 0; f.mark != nil && i < len(all); i++ {
			if whole || !f.whole && f.mark.MatchString(all[i].text) {
				form = f
				first := all.operation(i)
				last := all.region(first)
				for j := first; j <= last; j++ {
					all[j].inside = true
				}
				i = max(i, last)
			}
		}
	}
	return form, all
}

// operation is the first line of the operation of a JSON patch in which a line names a path, or else that line.
func (l lines) operation(i int) int {
	if !pointer.MatchString(l[i].text) || item.MatchString(l[i].text) {
		return i
	}
	for j := i - 1; j >= 0 && l[j].text != ""; j-- {
		if l[j].indent < l[i].indent {
			return j
		}
	}
	return i
}

// region returns the last line of what a line begins: its heredoc, what its brackets enclose, and
// what is indented deeper.
func (l lines) region(i int) int {
	end, depth := i, 0
	for j, next := range l[i:] {
		deeper := next.indent > l[i].indent || next.indent == l[i].indent && item.MatchString(next.text) && !item.MatchString(l[i].text)
		switch {
		case j == 0 || depth > 0 || deeper && next.text != "":
			end = i + j
		case next.text != "":
			return end
		}
		depth = max(depth+next.opens, 0)
	}
	return end
}

// Form is one way to describe a cluster that is not read.
type Form struct {
	Name  string
	Fix   string         // what to do in place of planning the file
	ends  string         // of the names of its files
	whole bool           // the block is the document
	mark  *regexp.Regexp // of the first line of a block, or of a document, in which every line counts; nil for none
}

const (
	guided   = "make the edits of docs/stages.md here, one stage after the other"
	rendered = "plan the cluster that is made of it, and make the same edits here"
)

// overlays finds an object of an API whose patches, images or substitutions name a key, or set a provider, in any order of its
// fields.
func overlays(of string) *regexp.Regexp {
	const layers = `\b(?:patches(?:StrategicMerge|Json6902)?|images|postBuild)["']?\s*:`
	const keys = `(?i:provisioning\.cattle\.io|:\s*["']?(?:aws|external)["']?\s*(?:[,}]|\n|$)|rke_?config|cloud[-_]?provider[-_]?name|disable[-_]?cloud[-_]?controller|(?:manager|kubelet|apiserver)[-_]?arg|machine(?:global|selector)|additionalmanifest|rke2[-_]?version)`
	return regexp.MustCompile(`(?s)` + of + `.*` + layers + `.*` + keys + `|` + layers + `.*` + keys + `.*` + of)
}

// table has a row for each form. The first one with a block in a file names its form, or else the
// one for the file's name.
var table = []Form{
	{"Bundle of Fleet", "plan the cluster's own file, from which Fleet makes the Bundle", "", true, regexp.MustCompile(`(?s)\bkind["']?\s*:\s*["']?Bundle\b.*(rkeConfig|rancherKubernetesEngineConfig)`)},
	{"Kustomization of Flux", "render it with flux build kustomization, plan the result, and make the same edits in its patches or substitutions", "", true, overlays(`kustomize\.toolkit\.fluxcd\.io`)},
	{"Application of Argo CD", "render it with argocd app manifests, plan the result, and make the same edits in its patches", "", true, overlays(`argoproj\.io`)},
	{"cluster of CAPRKE2", guided + "; a change of serverConfig replaces all control planes", "", true, regexp.MustCompile(`\bkind["']?\s*:\s*["']?RKE2(ControlPlane|Config)(Template)?\b`)},
	{"Terraform", "plan the object that it makes, with --cluster or kubectl get -o yaml, and make the same edits here", ".tf .tfvars .hcl .tofu", false, regexp.MustCompile(`^\s*(resource\s+"?|.*")(rancher2_cluster(_v2|_template)?|rke_cluster)"?\s*("|\w+\s*\{|:)|^\s*rke2_config\s*=`)},
	{"variables of Ansible", guided, "", false, regexp.MustCompile(`^[\s"'-]*(cluster_|group_|host_)?rke2_(config|(server|agent)_options)["']?\s*:`)},
	{"configuration file of RKE2", guided, "", true, regexp.MustCompile(`(?m)^["']?(cloud-provider-(name|config)|cloud-controller-manager-[a-z-]+|(etcd|kube-[a-z-]+)-image|control-plane-[a-z-]+)["']?\s*:`)},
	{"script", guided, ".sh .bash .zsh .ps1 .cfg .env .service", false, regexp.MustCompile(`/etc/(rancher/rke2|default/rke2|sysconfig/rke2)|rke2/server/manifests|INSTALL_RKE2_|\brke2\s+(server|agent)\b`)},
	{"template", rendered, ".tpl .tmpl .gotmpl .tftpl .tftmpl .j2 .jinja .jinja2 .erb .jsonnet .libsonnet .cue", false, nil},
	{"values file of a Helm chart", "plan what the chart makes of it, and make the same edits here: helm template CHART | rke-lm plan -", "values.yaml values.yml", false, nil},
	Keys,
}

// Keys is the form of a file of which nothing more is known.
var Keys = Form{"file with keys of a cluster", rendered, ".yaml .yml .json", false, nil}

// The one list of keys, as plain has them: about the provider, the arguments of a manager or the
// version; those that hold such keys; and those about them that other programs have as well, which
// count in a block of a form.
const (
	own     = "cloudprovidername|disablecloudcontroller|kubecontrollermanagerarg|kubeletarg|kubeapiserverarg|rke2version|enableccm"
	holders = "rkeconfig|machineglobalconfig|machineselectorconfig|machineselectorfile|additionalmanifest|rke2config|rke2serveroption|rke2agentoption"
	shared  = "cloudprovider|cloudproviderconfig|cloudproviderconfigmap|awscloudprovider|kubernetesversion|version|kubecontroller|kubecontrollermanager|kubelet|kubeapi|extraarg|disablecomponent|chartvalue|addon|addonsinclude|count|foreach"
)

// hints are what a text of a form has one of: keys, and words of blocks and of releases.
var hints = append(strings.Split(own+"|"+holders, "|"), "rke2", "rkecluster", "rancher2", "rancherkubernetes", "rancher1", "rancher3", "kustomize.toolkit.fluxcd.io", "argoproj.io")

var joins = strings.NewReplacer("-", "", "_", "")

// plain is a text in lower case, without the signs at which the words of keys meet.
func plain(text string) string { return joins.Replace(strings.ToLower(text)) }

func hinted(plain string) bool {
	return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(plain, hint) })
}

// Possible is the quick check of a text: false means that it is of no form.
func Possible(text []byte) bool { return hinted(plain(decoded(string(text)))) }

// spelled matches escapes and binary values, which hide a key from a search and not from what reads the file.
var spelled = regexp.MustCompile(`\\(?:x|u00)([0-9a-fA-F]{2})|!!binary[ \t]+["']?([A-Za-z0-9+/]+=*)["']?`)

// packed matches the content of a resource in a Bundle whose encoding is base64, or base64+gz.
var packed = regexp.MustCompile(`(\bcontent["']?\s*:\s*["']?)([A-Za-z0-9+/]{16,}={0,2})`)

// unpacked returns what packed matches with its content, in one line; the same if it is none.
func unpacked(found string) string {
	m := packed.FindStringSubmatch(found)
	content, err := base64.StdEncoding.DecodeString(m[2])
	if zipped, plain := gzip.NewReader(bytes.NewReader(content)); err == nil && plain == nil {
		content, err = io.ReadAll(io.LimitReader(zipped, mostContent))
	}
	if err != nil || !utf8.Valid(content) {
		return found
	}
	return m[1] + oneLine(string(content))
}

// mostContent bounds what a resource of a Bundle is unpacked to; etcd takes no larger object.
const mostContent = 2 << 20

func oneLine(text string) string {
	return strings.Map(func(r rune) rune { return max(r, ' ') }, text)
}

// decoded is a text with the values of its escapes, binary values and resources of Bundles, in the same lines.
func decoded(text string) string {
	if strings.Contains(text, "Bundle") && strings.Contains(text, "base64") {
		text = packed.ReplaceAllStringFunc(text, unpacked)
	}
	if !strings.Contains(text, `\`) && !strings.Contains(text, "!!binary") {
		return text
	}
	return spelled.ReplaceAllStringFunc(text, func(found string) string {
		m := spelled.FindStringSubmatch(found)
		plain, err := hex.DecodeString(m[1])
		if m[2] != "" {
			plain, err = base64.StdEncoding.DecodeString(m[2])
		}
		if err != nil {
			return found
		}
		return oneLine(string(plain))
	})
}

// Dump is what was seen of a live cluster: what verify --dump writes, or Nodes and Leases as kubectl prints them.
var Dump = Form{Name: "dump of a cluster", Fix: "check it with rke-lm verify --from FILE", mark: regexp.MustCompile(`^(?:#.*\n|[-{\s])*["']?apiVersion["']?\s*:\s*["']?(?:rke-lm/|(?:coordination\.k8s\.io/)?v1["']?,?\s*["']?kind["']?\s*:\s*["']?(?:Node|Lease)(?:List)?\b)`)}

// IsDump reports whether a text is an object of a dump.
func IsDump(text []byte) bool { return Dump.mark.Match(text) }

// Foreign reports whether a file is, by its name, one of another program, of which a reader of YAML says nothing true.
func Foreign(name string) bool {
	end := path.Ext(name)
	return slices.Contains(Extensions(), end) && !slices.Contains(strings.Fields(Keys.ends), end)
}

// Extensions are those of the files that are read for forms.
func Extensions() (all []string) {
	return lists.Flat(table, func(f Form) []string { return strings.Fields(f.ends) })
}
