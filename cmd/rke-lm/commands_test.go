// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/action"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/live/rollout"
	"github.com/rke-lm/rke-lm/transform/provider/aws"
)

// actions are all that make a command.
var actions = map[string]any{
	"action.ClusterSettled": action.ClusterSettled, "action.ClusterUpdated": action.ClusterUpdated, "action.ApplyConfigMap": action.ApplyConfigMap,
	"action.Copy": func(namespace, name, to, key string) action.Action {
		return action.Copy(action.CopySecret{Namespace: namespace, Name: name, To: to, Key: key})
	},
	"action.Upgrade": func(release, chart, repo, version, namespace, values string) action.Action {
		return action.Upgrade(action.HelmUpgrade{Release: release, Chart: chart, Repo: repo, Version: version, Namespace: namespace, Values: values}, "")
	},
	"action.Values": action.Values,
	"action.Uninstall": func(release, namespace string) action.Action {
		return action.Uninstall(action.HelmUninstall{Release: release, Namespace: namespace}, "")
	},
	"action.ApplyFile": action.ApplyFile,
	"action.Create": func(namespace, name, key, file string) action.Action {
		return action.Create(action.SecretFromFile{Namespace: namespace, Name: name, Key: key, File: file}, "")
	},
	"action.DeleteAll": action.DeleteAll, "action.DeleteObject": action.DeleteObject, "action.AllRemoved": action.AllRemoved, "action.PatchLeaderRole": action.PatchLeaderRole,
	"action.PodsRunning": action.PodsRunning, "action.RolledOut": action.RolledOut, "action.OnEveryNode": action.OnEveryNode,
	"action.MayUpdate": action.MayUpdate, "action.Leases": action.Leases, "action.CordonNodes": action.CordonNodes, "action.UncordonNodes": action.UncordonNodes,
	"action.ProviderIDs": action.ProviderIDs, "action.InitializeNodes": action.InitializeNodes, "action.RegisterNodes": action.RegisterNodes,
	"action.PlaceFile": action.PlaceFile, "action.RemoveFile": action.RemoveFile, "action.RKEUp": action.RKEUp, "action.KubeadmSource": action.KubeadmSource,
	"action.KubeadmUpload": action.KubeadmUpload, "action.APIServerProvider": action.APIServerProvider, "action.KubeletProvider": action.KubeletProvider,
	"aws.CredentialProvider": func(config, folder string) action.Action {
		return aws.CredentialProvider(aws.Place{Config: config, Folder: folder})
	},
	"aws.Tag": aws.Tag, "aws.Tagged": aws.Tagged,
}

func TestEveryFunctionThatMakesACommandIsAmongTheActions(t *testing.T) {
	var found []string
	for _, folder := range []string{"action", "provider/aws"} {
		files := assert.Value(filepath.Glob("../../transform/" + folder + "/*.go"))(t)
		for _, path := range files {
			file := assert.Value(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
			for _, d := range file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && f.Name.IsExported() && f.Type.Results != nil && strings.HasSuffix(types.ExprString(f.Type.Results.List[0].Type), "Action") {
					found = append(found, filepath.Base(folder)+"."+f.Name.Name)
				}
			}
		}
	}
	slices.Sort(found)
	assert.DeepEqual(t, slices.Sorted(maps.Keys(actions)), found, "(-in the code +in the list)")
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
	for name, of := range actions {
		t.Run(name, func(t *testing.T) {
			for i := range reflect.TypeOf(of).NumIn() {
				const harmless = "harmless"
				values := append([]string{harmless}, hostile...)
				calls := m.run(t, lists.Map(values, func(value string) string { return holding(of, i, value).Command })...)
				for k, value := range values {
					diff := cmp.Diff(sameBut(calls[0], harmless, value), sameBut(calls[k], value, value))
					assert.Truef(t, diff == "", "argument %d: %q (-want +got):\n%s", i, value, diff)
				}
			}
		})
	}
}

func TestWhatActionsNeedIsInTheTableOfPermissions(t *testing.T) {
	for name, of := range actions {
		for _, n := range holding(of, -1, "").Needs {
			documented := slices.ContainsFunc(rollout.Requirements(), func(r action.Permission) bool { return reflect.DeepEqual(r, n) })
			assert.Truef(t, documented, "%s: %+v", name, n)
		}
	}
}

// holding returns an action that is made with a value in one place, and plain ones in the others.
func holding(of any, place int, value string) action.Action {
	var values []reflect.Value
	for i := range reflect.TypeOf(of).NumIn() {
		v := fmt.Sprintf("other%d", i)
		if i == place {
			v = value
		}
		values = append(values, reflect.ValueOf(v))
	}
	return reflect.ValueOf(of).Call(values)[0].Interface().(action.Action)
}

// sameBut returns calls with a mark in the place of a value, in whatever language
// the value is written in an argument: a file that begins with a dash has ./ before
// it, JSON and sed have their own signs. Where names are after --, flags come
// before them.
func sameBut(calls [][]string, is, value string) []string {
	quoted, _ := json.Marshal(is)
	program := strings.TrimSuffix(strings.TrimPrefix(action.Substitute(is, ""), "s/"), "//")
	replaced := strings.TrimSuffix(strings.TrimPrefix(action.Substitute("", is), "s//"), "/")
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
type machine struct{ sh, folder, programs, log, script string }

func newMachine(t *testing.T) *machine {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not on the PATH")
	}
	root := t.TempDir()
	m := &machine{sh: sh, folder: filepath.Join(root, "here"), programs: filepath.Join(root, "bin"), log: filepath.Join(root, "log")}
	for _, folder := range []string{m.folder, m.programs, m.log} {
		assert.NilError(t, os.Mkdir(folder, 0o700))
	}
	// Each call has a file of its own, for the programs of a pipe run at the same time. What asks for nodes gets one.
	const called = "called() {\ncall_=0\nset -C\nuntil { true > \"$LOG/$nth_.$call_\"; } 2>/dev/null; do call_=$((call_+1)); done\nset +C\n" +
		"printf '%s\\0' \"$@\" > \"$LOG/$nth_.$call_\"\ncase \"$*\" in *'get nodes'*|*'print $1'*) echo node-1;; esac\n}\n"
	m.script = called
	for _, name := range []string{"kubectl", "helm", "aws", "install", "mv", "rm", "sed", "grep", "awk", "xargs", "base64", "kubeadm", "rke", "systemctl", "touch", "ls", "id", "cosign", "skopeo"} {
		m.script += name + "() { called " + name + " \"$@\"; }\n"
	}
	m.script += "nth_=0\nfor it_; do export nth_=$((nth_+1)); (set --; eval \"$it_\"); done"
	// No function has a hyphen in its name.
	assert.NilError(t, os.WriteFile(filepath.Join(m.programs, "rke-lm"), []byte("#!"+sh+"\n"+called+"called rke-lm \"$@\"\n"), 0o700))
	return m
}

// run runs commands and returns the calls of each. Nothing but a file that the commands
// themselves name may be written.
func (m *machine) run(t *testing.T, commands ...string) [][][]string {
	t.Helper()
	before := m.entries(t)
	all, _ := m.calls(t, m.folder, commands) // what is not there on this machine fails; which programs are called tells
	diff := cmp.Diff(before, m.entries(t))
	assert.Truef(t, diff == "" || strings.Contains(commands[0], action.KubeadmFile), "%s wrote (-before +after):\n%s", commands, diff)
	for i, calls := range all {
		for _, call := range calls {
			assert.Truef(t, call[0] != "touch", "%s runs a value", commands[i])
		}
	}
	return all
}

// calls runs commands in a folder, each in a subshell, and returns the calls of each and what they print.
func (m *machine) calls(t *testing.T, folder string, commands []string) (calls [][][]string, printed string) {
	t.Helper()
	c := exec.Command(m.sh, append([]string{"-c", m.script, "sh"}, commands...)...)
	c.Dir = folder
	c.Env = []string{"PATH=" + m.programs, "LOG=" + m.log, "HOME=/root", "RANCHER_KUBECONFIG=rancher.yaml", "CONTEXT=harbour", "CONTROL_PLANE_ROLE=cp", "NODE_ROLE=node", "CLUSTER_ID=id", "RESOURCES=r"}
	out, _ := c.CombinedOutput()
	calls = make([][][]string, len(commands))
	for i := range commands {
		for _, f := range assert.Value(filepath.Glob(filepath.Join(m.log, fmt.Sprint(i+1, ".*"))))(t) {
			text, err := os.ReadFile(f)
			assert.Must(t, err == nil && os.Remove(f) == nil, "the log cannot be read")
			words := strings.Split(string(text), "\x00")
			calls[i] = append(calls[i], words[:len(words)-1])
		}
	}
	return calls, string(out)
}

func (m *machine) entries(t *testing.T) []string {
	t.Helper()
	return lists.Map(assert.Value(os.ReadDir(m.folder))(t), os.DirEntry.Name)
}

// TestNamesThatKubernetesRefusesAreRefused: they would get into commands, titles and
// the names of files.
func TestNamesThatKubernetesRefusesAreRefused(t *testing.T) {
	rancher := small("plover") + "      cloud-provider-config: CONFIG\n"
	const engine = "apiVersion: management.cattle.io/v3\nkind: Cluster\nmetadata: {name: plover}\nspec:\n  rancherKubernetesEngineConfig: {kubernetesVersion: v1.26.15-rancher1-1, cloudProvider: {name: aws}, services: {kubeController: {}}}\n"
	const name, namespace, secret = ":3: metadata.name: not a name that Kubernetes accepts", ":3: metadata.namespace: not a namespace that Kubernetes accepts", ":9: spec.rkeConfig.machineGlobalConfig.cloud-provider-config: it refers to a Secret"
	for _, c := range []struct{ text, old, with, at string }{
		{rancher, "plover", `"x$(touch pwned)"`, name},
		{rancher, "plover", `"x\r# done"`, name},
		{rancher, "fleet-default", `"fleet-default; touch pwned"`, namespace},
		{rancher, "CONFIG", `"secret://fleet-default:aws$(touch pwned)"`, secret},
		{rancher, "CONFIG", `"secret://-n x:aws"`, secret},
		{engine, "plover", `"c-$(touch pwned)"`, name},
		{podOfManager, "name: kube-controller-manager, ", `name: "kcm$(touch pwned)", `, name},
		{podOfManager, "kube-system", `"kube-system; touch pwned #"`, namespace},
	} {
		here(t, map[string]string{"c.yaml": strings.Replace(c.text, c.old, c.with, 1)})
		for _, verb := range []string{"plan", "lint", "apply --next"} {
			shows(t, transform.ExitInput, verb+" c.yaml", "c.yaml"+c.at)
		}
	}
}
