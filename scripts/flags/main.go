// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command flags makes the table of the flags and feature gates of Kubernetes' components from
// their modules:
//
//	go run ./scripts/flags -cache DIR >transform/k8s/flags.tsv
//
// It downloads each module with the go command, once, and reads what the code registers. A name
// that it cannot work out stops it, so that the table of each minor is complete. What a component
// does not register, though code that it shares with another one does, counts as known.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// patches are the releases that are read, one per minor from the first one on: the last patch is
// best, because feature gates are added in patches as well.
var patches = []string{"22.17", "23.17", "24.17", "25.16", "26.15", "27.16", "28.15", "29.15", "30.14", "31.14", "32.9", "33.5", "34.1", "35.1", "36.3"}

const firstMinor = 22

// missing are modules that the proxy does not have at a patch, with the patch that is read instead.
var missing = map[string]string{"controller-manager 25.16": "25.0", "controller-manager 26.15": "26.13"}

// shared is what every component is made of, and serving those with an API.
var (
	shared  = []string{"k8s.io/component-base"}
	serving = []string{"k8s.io/apiserver/pkg", "k8s.io/component-base", "k8s.io/kubernetes/pkg/features"}
)

// components are the folders in which each one registers its flags.
var components = map[string][]string{
	"kube-apiserver": append([]string{
		"k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/pkg/kubeapiserver", "k8s.io/kubernetes/pkg/controlplane", "k8s.io/kubernetes/plugin/pkg/admission",
		"k8s.io/kube-aggregator/pkg", "k8s.io/apiextensions-apiserver/pkg",
	}, serving...),
	"kube-controller-manager": append([]string{"k8s.io/kubernetes/cmd/kube-controller-manager", "k8s.io/controller-manager", "k8s.io/cloud-provider"}, serving...),
	"kube-scheduler":          append([]string{"k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/pkg/scheduler"}, serving...),
	"kube-proxy":              append([]string{"k8s.io/kubernetes/cmd/kube-proxy", "k8s.io/kubernetes/pkg/proxy"}, shared...),
	"kubelet":                 append([]string{"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/pkg/kubelet", "k8s.io/kubernetes/pkg/credentialprovider"}, shared...),
}

// gates is the name under which the table lists feature gates, which all components read.
const gates = "feature-gates"

var modules = []string{"kubernetes", "apiserver", "component-base", "cloud-provider", "controller-manager", "kube-aggregator", "apiextensions-apiserver", "client-go", "apimachinery"}

// klog are the flags of k8s.io/klog/v2 that components took up to 1.25 (KEP-2845), and those that
// the libraries of flags add.
var (
	klog = []string{
		"add-dir-header", "alsologtostderr", "log-backtrace-at", "log-dir", "log-file", "log-file-max-size", "logtostderr",
		"one-output", "skip-headers", "skip-log-headers", "stderrthreshold",
	}
	always = []string{"help", "version", "v", "vmodule"}
)

// plugins are the prefixes of the flags of audit backends.
var plugins = []string{"audit-log", "audit-webhook"}

func main() {
	cache := flag.String("cache", filepath.Join(os.TempDir(), "rke-lm-flags"), "folder of the downloads")
	flag.Parse()
	known := map[string]map[string][]int{} // component, name, minors
	for i, patch := range patches {
		minor := firstMinor + i
		for component, r := range read(*cache, patch) {
			if known[component] == nil {
				known[component] = map[string][]int{}
			}
			for name := range r.names {
				known[component][name] = append(known[component][name], minor)
			}
			if len(r.unclear) > 0 {
				log.Fatalf("1.%d: %s: %s", minor, component, strings.Join(r.unclear, ", "))
			}
		}
	}
	write(os.Stdout, known)
}

// write prints a row for each range of minors in which a name is known.
func write(w io.Writer, known map[string]map[string][]int) {
	fmt.Fprint(w, "# The flags of Kubernetes' components, and the feature gates of all of them: component, name,\n"+
		"# first minor, last minor. Made by scripts/flags from k8s.io/kubernetes and its libraries at 1.\n# "+strings.Join(patches, " ")+"\n")
	for _, component := range slices.Sorted(maps.Keys(known)) {
		for _, name := range slices.Sorted(maps.Keys(known[component])) {
			minors := known[component][name]
			for start := 0; start < len(minors); {
				end := start
				for end+1 < len(minors) && minors[end+1] == minors[end]+1 {
					end++
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%d\n", component, name, minors[start], minors[end])
				start = end + 1
			}
		}
	}
}

// reading is what was found of one component.
type reading struct {
	names   map[string]bool
	unclear []string
}

// read reads all components of a release.
func read(cache, patch string) map[string]*reading {
	minor, _, _ := strings.Cut(patch, ".")
	of := map[string]*reading{gates: {names: map[string]bool{}}}
	for component := range components {
		of[component] = &reading{names: map[string]bool{}}
		names := always
		if n, _ := strconv.Atoi(minor); n < 26 {
			names = slices.Concat(always, klog)
		}
		for _, name := range names {
			of[component].names[name] = true
		}
	}
	packages := map[string]*source{}
	for folder, files := range sources(cache, patch) {
		packages[folder] = parsePackage(files)
	}
	for folder, p := range packages {
		for _, name := range p.gates() {
			of[gates].names[name] = true
		}
		for component, folders := range components {
			if slices.ContainsFunc(folders, func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") }) {
				p.flags(folder, of[component])
			}
		}
	}
	return of
}

// sources returns the files of all modules that can hold what is looked for, by folder.
func sources(cache, patch string) map[string][][]byte {
	found := map[string][][]byte{}
	for _, module := range modules {
		version := "v0." + cmp.Or(missing[module+" "+patch], patch)
		if module == "kubernetes" {
			version = "v1." + patch
		}
		z, err := zip.OpenReader(download(cache, "k8s.io/"+module, version))
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range z.File {
			name := strings.Replace(f.Name, "@"+version, "", 1)
			if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(path.Base(name), "zz_generated") || strings.Contains(name, "/testing/") || strings.Contains(name, "/vendor/") || strings.HasPrefix(name, "k8s.io/kubernetes/test/") {
				continue
			}
			in, err := f.Open()
			if err != nil {
				log.Fatal(err)
			}
			text, err := io.ReadAll(in)
			if err != nil {
				log.Fatal(err)
			}
			in.Close()
			if bytes.Contains(text, []byte("Var")) || bytes.Contains(text, []byte("Feature")) || bytes.Contains(text, []byte("lag")) {
				found[path.Dir(name)] = append(found[path.Dir(name)], text)
			}
		}
		z.Close()
	}
	return found
}

// download returns the archive of a module, and removes what the go command unpacks of it.
func download(cache, module, version string) string {
	file := filepath.Join(cache, "cache", "download", filepath.FromSlash(module), "@v", version+".zip")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	c := exec.Command("go", "mod", "download", module+"@"+version)
	c.Dir, c.Env = cache, append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw")
	if out, err := c.CombinedOutput(); err != nil {
		log.Fatalf("%s@%s: %v\n%s", module, version, err, out)
	}
	if err := os.RemoveAll(filepath.Join(cache, filepath.FromSlash(module)+"@"+version)); err != nil {
		log.Fatal(err)
	}
	return file
}

// exported are the constants that packages read from others.
var exported = map[string]string{}

// source is a package as far as it is needed.
type source struct {
	files  []*ast.File
	consts map[string]string
	loops  map[string][]string // literals by the variable of a loop over them
}

func parsePackage(files [][]byte) *source {
	p := &source{consts: map[string]string{}, loops: map[string][]string{}}
	for _, text := range files {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			log.Fatal(err)
		}
		p.files = append(p.files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, is := n.(*ast.ValueSpec); is && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					if text, is := literal(v.Values[i]); is {
						p.consts[name.Name] = text
						if name.IsExported() {
							exported[name.Name] = text
						}
					}
				}
			}
			if loop, is := n.(*ast.RangeStmt); is {
				list, isList := loop.X.(*ast.CompositeLit)
				id, isName := loop.Value.(*ast.Ident)
				if isList && isName {
					for _, e := range list.Elts {
						if text, is := literal(e); is {
							p.loops[id.Name] = append(p.loops[id.Name], text)
						}
					}
				}
			}
			return true
		})
	}
	return p
}

// gates lists the constants whose type is that of a feature gate.
func (p *source) gates() []string {
	var names []string
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			v, is := n.(*ast.ValueSpec)
			if !is || v.Type == nil || len(v.Values) != 1 {
				return true
			}
			if s, isSelector := v.Type.(*ast.SelectorExpr); isSelector && s.Sel.Name == "Feature" || isNamed(v.Type, "Feature") {
				if text, is := literal(v.Values[0]); is {
					names = append(names, text)
				}
			}
			return true
		})
	}
	return names
}

func isNamed(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

var (
	variable = regexp.MustCompile(`^([A-Z]\w*)?Var(P|PF)?$`)
	plain    = regexp.MustCompile(`^(Bool|String|StringSlice|StringArray|Int|Int32|Int64|Uint|Float64|Duration|IP)P?$`)
	register = regexp.MustCompile(`(?i)^(pflag)?register(deprecated)?$`)
	flagName = regexp.MustCompile(`^[a-z][a-zA-Z0-9._-]*$`)
)

// flags finds the names that calls register.
func (p *source) flags(folder string, r *reading) {
	add := func(e ast.Expr) {
		names, ok := p.text(e)
		if !ok {
			r.unclear = append(r.unclear, fmt.Sprintf("%s: %#v", folder, e))
		}
		for _, name := range names {
			if flagName.MatchString(name) {
				r.names[strings.ReplaceAll(name, "_", "-")] = true
			}
		}
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if d, is := n.(*ast.FuncDecl); is && variable.MatchString(d.Name.Name) {
				return false // what wraps such a call: those of the wrapper are read
			}
			c, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			called := ""
			switch fun := c.Fun.(type) {
			case *ast.SelectorExpr:
				called = fun.Sel.Name
			case *ast.Ident:
				called = fun.Name
			}
			switch {
			case variable.MatchString(called) && len(c.Args) >= 3 && folder != "k8s.io/component-base/version/verflag": // --version
				add(c.Args[1])
			case register.MatchString(called):
				for _, a := range c.Args {
					if text, is := literal(a); is {
						if flagName.MatchString(text) {
							r.names[strings.ReplaceAll(text, "_", "-")] = true
						}
					}
				}
			case plain.MatchString(called) && len(c.Args) >= 3:
				if text, is := literal(c.Args[0]); is && flagName.MatchString(text) {
					r.names[strings.ReplaceAll(text, "_", "-")] = true
				}
			}
			return true
		})
	}
}

func literal(e ast.Expr) (string, bool) {
	l, is := e.(*ast.BasicLit)
	if !is || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// text works out the values that a name can have.
func (p *source) text(e ast.Expr) ([]string, bool) {
	if text, is := literal(e); is {
		return []string{text}, true
	}
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "pluginName" {
			return plugins, true
		}
		if names, is := p.loops[e.Name]; is {
			return names, true
		}
		text, has := p.consts[e.Name]
		return []string{text}, has
	case *ast.SelectorExpr: // a constant of another package; or Name of a flag that is copied, which klog has
		if text, has := exported[e.Sel.Name]; has {
			return []string{text}, true
		}
		return nil, e.Sel.Name == "Name"
	case *ast.BinaryExpr:
		left, ok := p.text(e.X)
		right, both := p.text(e.Y)
		var all []string
		for _, l := range left {
			for _, r := range right {
				all = append(all, l+r)
			}
		}
		return all, ok && both
	case *ast.CallExpr: // fmt.Sprintf
		if len(e.Args) == 2 {
			form, is := literal(e.Args[0])
			values, ok := p.text(e.Args[1])
			var all []string
			for _, v := range values {
				all = append(all, strings.Replace(form, "%s", v, 1))
			}
			return all, is && ok
		}
	}
	return nil, false
}
