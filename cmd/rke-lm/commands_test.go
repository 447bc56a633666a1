// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/account"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/rke1"
	"github.com/rke-lm/rke-lm/transform/shell"
	"github.com/rke-lm/rke-lm/transform/stages"
)

// actions are all that have a command.
var actions = []transform.Action{
	transform.APIServerProvider{}, transform.ApplyConfigMap{}, transform.ApplyFile{}, transform.ClusterSettled{},
	transform.ClusterUpdated{}, transform.CopySecret{}, transform.Cordon{}, transform.Delete{}, transform.DeleteObject{},
	transform.Gone{}, transform.HelmUninstall{}, transform.HelmUpgrade{}, transform.HelmValues{}, transform.InitializeNodes{}, transform.KubeadmSource{},
	transform.KubeadmUpload{}, transform.KubeletProvider{}, transform.PatchLeaderRole{},
	transform.PlaceFile{}, transform.PodsRunning{}, transform.RegisterNodes{}, transform.RemoveFile{},
	transform.SecretFromFile{}, transform.Uncordon{}, transform.WorkloadDone{}, rke1.RKEUp{},
	stages.Inspection{Asks: stages.Check{Granted: true}}, stages.Inspection{Asks: stages.Check{Manager: true}, Selector: "a=b"},
	stages.Inspection{Asks: stages.Check{External: true}}, stages.Inspection{Asks: stages.Check{Lease: stages.Either}},
	account.ECRImages{}, account.ECRProvider{}, account.ManagerRole{}, account.NodeRole{}, account.Tag{}, account.Tagged{},
}

func TestEveryTypeWithACommandIsAmongTheActions(t *testing.T) {
	var known []string
	for _, a := range actions {
		known = append(known, reflect.TypeOf(a).String())
	}
	var found []string
	for _, folder := range []string{"../../transform", "../../internal", "."} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Name.Name == "Command" && f.Recv != nil && len(f.Type.Params.List) == 0 {
					found = append(found, file.Name.Name+"."+f.Recv.List[0].Type.(*ast.Ident).Name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known) // one shows several things
	slices.Sort(found)
	if diff := cmp.Diff(found, known); diff != "" {
		t.Errorf("(-in the code +in the list):\n%s", diff)
	}
}

// hostile values are what a shell, sed, awk or a program's flags would take for more
// than a text.
var hostile = []string{
	"$(touch pwned)", "`touch pwned`", "x; touch pwned | touch pwned && touch pwned > pwned", "x\ntouch pwned", "x' ; touch pwned ; '", `x" ; touch pwned ; "`,
	"-x9", "--kubeconfig=x", "/*", "a b", "~", "!x", "=ls", "a=b", "#x", "{a,b}", `x\`, "/e touch pwned; s/x", "é日本\u202e\x1b[31m\r", "%s%d%n",
}

// TestAValueIsOneArgumentOfACommand runs every command with hostile values and with
// harmless ones. The programs are called alike, but for the value.
func TestAValueIsOneArgumentOfACommand(t *testing.T) {
	sweep(t)
	m := newMachine(t)
	for _, a := range actions {
		t.Run(reflect.TypeOf(a).String(), func(t *testing.T) {
			for _, field := range texts(a) {
				harmless := "harmless"
				want := m.run(t, holding(a, field, harmless).Command())
				for _, value := range hostile {
					got := m.run(t, holding(a, field, value).Command())
					if diff := cmp.Diff(sameBut(want, harmless, value), sameBut(got, value, value)); diff != "" {
						t.Errorf("%s: %q (-want +got):\n%s", field.Name, value, diff)
					}
				}
			}
		})
	}
}

// texts are the fields of an action that its command may hold.
func texts(a transform.Action) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(reflect.TypeOf(a)), func(f reflect.StructField) bool {
		return f.Type.Kind() != reflect.String || f.Name == "Why" || f.Name == "When"
	})
}

// holding returns an action with a value in one field, and plain ones in the others.
func holding(a transform.Action, field reflect.StructField, value string) transform.Action {
	v := reflect.New(reflect.TypeOf(a)).Elem()
	v.Set(reflect.ValueOf(a))
	for _, f := range texts(a) {
		v.FieldByIndex(f.Index).SetString("other" + strings.ToLower(f.Name))
	}
	v.FieldByIndex(field.Index).SetString(value)
	return v.Interface().(transform.Action)
}

// sameBut returns calls with a mark in the place of a value, in whatever language
// the value is written in an argument: a file that begins with a dash has ./ before
// it, JSON and sed have their own signs. Where names are after --, flags come
// before them.
func sameBut(calls [][]string, is, value string) []string {
	quoted, _ := json.Marshal(is)
	program := strings.TrimSuffix(strings.TrimPrefix(shell.Substitute(is, ""), "s/"), "//")
	replaced := strings.TrimSuffix(strings.TrimPrefix(shell.Substitute("", is), "s//"), "/")
	var out []string
	for _, call := range calls {
		var words []string
		for _, w := range call[1:] {
			switch {
			case w == "--" && strings.HasPrefix(value, "-"):
				continue
			case strings.HasPrefix(w, `{"`):
				w = strings.ReplaceAll(w, string(quoted), `"VALUE"`)
			case strings.HasPrefix(w, "s/"):
				w = strings.ReplaceAll(strings.ReplaceAll(w, program, "VALUE"), replaced, "VALUE")
			case filepath.Base(is) != is && w == filepath.Base(is): // a command may name the file without its folder
				w = "VALUE"
			case w == "./"+is || w == is:
				w = "VALUE"
			default:
				w = strings.ReplaceAll(w, is, "VALUE")
			}
			words = append(words, w)
		}
		if strings.HasPrefix(value, "-") {
			slices.Sort(words)
		}
		out = append(out, fmt.Sprintf("%s %q", call[0], words))
	}
	slices.Sort(out) // those of a pipe run at the same time
	return out
}

// machine has programs that only write down how they are called.
type machine struct{ sh, folder, programs, log string }

func newMachine(t *testing.T) *machine {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not on the PATH")
	}
	root := t.TempDir()
	m := &machine{sh: sh, folder: filepath.Join(root, "here"), programs: filepath.Join(root, "bin"), log: filepath.Join(root, "log")}
	for _, folder := range []string{m.folder, m.programs, m.log} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Each call has a file of its own, for the programs of a pipe run at the same
	// time. What asks for nodes gets one.
	script := "#!" + sh + "\nn=0\nset -C\nuntil { : > \"$LOG/$$.$n\"; } 2>/dev/null; do n=$((n+1)); done\nset +C\n" +
		"printf '%s\\0' \"${0##*/}\" \"$@\" > \"$LOG/$$.$n\"\ncase \"$*\" in *'get nodes'*|*'print $1'*) echo node-1;; esac\n"
	for _, name := range []string{"kubectl", "helm", "aws", "install", "mv", "rm", "sed", "grep", "awk", "xargs", "base64", "kubeadm", "rke", "rke-lm", "systemctl", "touch", "ls", "id"} {
		if err := os.WriteFile(filepath.Join(m.programs, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// run runs a command and returns the calls. Nothing but a file that the command
// itself names may be written.
func (m *machine) run(t *testing.T, command string) [][]string {
	t.Helper()
	before := m.entries(t)
	c := exec.Command(m.sh, "-c", command)
	c.Dir = m.folder
	c.Env = []string{"PATH=" + m.programs, "LOG=" + m.log, "HOME=/root", "RANCHER_KUBECONFIG=rancher.yaml", "CONTROL_PLANE_ROLE=cp", "NODE_ROLE=node", "CLUSTER_ID=id", "RESOURCES=r"}
	c.Run() // what is not there on this machine fails; which programs are called tells
	if diff := cmp.Diff(before, m.entries(t)); diff != "" && !strings.Contains(command, transform.KubeadmFile) {
		t.Errorf("%s wrote (-before +after):\n%s", command, diff)
	}
	files, err := filepath.Glob(filepath.Join(m.log, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var calls [][]string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || os.Remove(f) != nil {
			t.Fatal("the log cannot be read")
		}
		words := strings.Split(string(text), "\x00")
		if calls = append(calls, words[:len(words)-1]); words[0] == "touch" {
			t.Errorf("%s runs a value", command)
		}
	}
	return calls
}

func (m *machine) entries(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	list, err := os.ReadDir(m.folder)
	for _, e := range list {
		found[e.Name()] = true
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

// TestNamesThatKubernetesRefusesAreRefused: they would get into commands, titles and
// the names of files.
func TestNamesThatKubernetesRefusesAreRefused(t *testing.T) {
	const (
		rancher  = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n  kubernetesVersion: v1.26.15+rke2r1\n  rkeConfig:\n    machineGlobalConfig:\n      cloud-provider-name: aws\n      cloud-provider-config: %s\n    machinePools:\n    - {name: a, controlPlaneRole: true, etcdRole: true, workerRole: true, quantity: 1}\n"
		wrapped  = "apiVersion: management.cattle.io/v3\nkind: Cluster\nmetadata:\n  name: %s\nspec:\n  rancherKubernetesEngineConfig:\n    kubernetesVersion: v1.26.15-rancher1-1\n    cloudProvider: {name: aws}\n    services: {kubeController: {}}\n"
		workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - name: kube-controller-manager\n        image: registry.k8s.io/kube-controller-manager:v1.26.15\n        command: [kube-controller-manager, --cloud-provider=aws, --leader-elect=true]\n"
	)
	for _, c := range []struct{ text, at string }{
		{fmt.Sprintf(rancher, `"x$(touch pwned)"`, "fleet-default", "secret://fleet-default:aws"), ":4: metadata.name: not a name that Kubernetes accepts"},
		{fmt.Sprintf(rancher, `"x\r# done"`, "fleet-default", "secret://fleet-default:aws"), ":4: metadata.name: not a name that Kubernetes accepts"},
		{fmt.Sprintf(rancher, "plover", `"fleet-default; touch pwned"`, "secret://fleet-default:aws"), ":5: metadata.namespace: not a namespace that Kubernetes accepts"},
		{fmt.Sprintf(rancher, "plover", "fleet-default", `"secret://fleet-default:aws$(touch pwned)"`), ":11: spec.rkeConfig.machineGlobalConfig.cloud-provider-config: it refers to a Secret"},
		{fmt.Sprintf(rancher, "plover", "fleet-default", `"secret://-n x:aws"`), ":11: spec.rkeConfig.machineGlobalConfig.cloud-provider-config: it refers to a Secret"},
		{fmt.Sprintf(wrapped, `"c-$(touch pwned)"`), ":4: metadata.name: not a name that Kubernetes accepts"},
		{fmt.Sprintf(workload, `"kcm$(touch pwned)"`, "kube-system"), ":4: metadata.name: not a name that Kubernetes accepts"},
		{fmt.Sprintf(workload, "kcm", `"kube-system; touch pwned #"`), ":5: metadata.namespace: not a namespace that Kubernetes accepts"},
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range [][]string{{"plan"}, {"lint"}, {"apply", "--next"}} {
			r := runHere(t, "", append(verb, file)...)
			if all := r.stdout + r.stderr; r.code != exitcode.Input || !strings.Contains(all, "c.yaml"+c.at) {
				t.Errorf("%s of\n%sends with %d: %s", verb, c.text, r.code, all)
			}
		}
	}
}
