// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package args

import (
	"slices"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// container parses a container whose command begins with so many items of the
// program, and reads its arguments.
func container(t *testing.T, text string, program int) (*yamledit.Document, Container, error) {
	t.Helper()
	d := assert.Value(yamledit.ParseString("in.yaml", text))(t)
	c, err := ReadContainer(d.Root(), program)
	return d, c, err
}

// edited returns a document after a change.
func edited(t *testing.T, d *yamledit.Document, change func(*yamledit.Edit)) string {
	t.Helper()
	e := d.Edit()
	change(e)
	after, _, err := e.Apply()
	assert.NilError(t, err)
	return string(after.Bytes())
}

func TestContainerArgumentsAreRead(t *testing.T) {
	for _, c := range []struct {
		name, in string
		program  int
		want     string // name=value of each
	}{
		{"items of the command", "command: [m, --a=1, --b=2]\n", 1, "a=1 b=2"},
		{"args alone", "args: [--a=1]\n", 0, "a=1"},
		{"args after the command", "command: [m, --a=1]\nargs: [--a=2]\n", 1, "a=1 a=2"},
		{"the program in args", "args: [m, --a=1]\n", 1, "a=1"},
		{"a program of two items", "command: [/hyperkube, m, --a=1]\n", 2, "a=1"},
		{"a value as an item of its own", "command: [m, --a, x, --b=2]\n", 1, "a=x b=2"},
		{"a value that begins args", "command: [m, --a]\nargs: [x]\n", 1, "a=x"},
		{"a bare flag in front of another", "command: [m, --a, --b=2]\n", 1, "a=true b=2"},
		{"a bare flag at the end", "command: [m, --a]\n", 1, "a=true"},
		{"a bare switch", "command: [m, --enable-leader-migration, --b=2]\n", 1, "enable-leader-migration=true b=2"},
		{"underscores are dashes", "command: [m, --cloud_provider=aws]\n", 1, "cloud-provider=aws"},
		{"a short flag", "command: [m, -v=4]\n", 1, "v=4"},
		{"a value with = in it", "command: [m, --feature-gates=A=true]\n", 1, "feature-gates=A=true"},
		{"an empty value", "command: [m, --a=]\n", 1, "a="},
		{"no arguments", "command: [m]\n", 1, ""},
		{"nothing at all", "image: m\n", 0, ""},
	} {
		_, got, err := container(t, c.in, c.program)
		assert.NilError(t, err)
		assert.Equal(t, strings.Join(lists.Map(got.List(), func(a Arg) string { return a.Name + "=" + a.Value }), " "), c.want, c.name)
	}
}

func TestContainerArgumentsThatAreUnclearAreRefused(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a word that is no flag", "command: [m, start]\n", "in.yaml:1: command[1]: not a flag, nor the value of one"},
		{"a number", "command: [m, 7]\n", "in.yaml:1: command[1]: not a flag"},
		{"the end of the flags", "command: [m, --, --a=1]\n", "in.yaml:1: command[1]: not a flag"},
		{"a value after a switch", "command:\n- m\n- --enable-leader-migration\n- 'true'\n", "in.yaml:4: command[2]: a value apart from --enable-leader-migration, which takes none"},
	} {
		_, _, err := container(t, c.in, 1)
		assert.Truef(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%s: got %v, want %s", c.name, err, c.want)
	}
}

func TestContainerArgumentsChange(t *testing.T) {
	on, off := Update{Set: []Arg{On("f")}}, Update{Remove: []string{"f"}}
	external := Update{Set: []Arg{With("cloud-provider", "external")}, Remove: []string{"f"}}
	for _, c := range []struct {
		name, in, want string
		change         Update
	}{
		{"a flag goes after the others", "command:\n- m\n- --a=1\n", "command:\n- m\n- --a=1\n- --f\n", on},
		{"it goes where the last one is", "command: [m]\nargs: [--a=1]\n", "command: [m]\nargs: [--a=1, --f]\n", on},
		{"it stays with the command where args is empty", "command: [m, --a=1]\nargs: []\n", "command: [m, --a=1, --f]\nargs: []\n", on},
		{"without any argument it goes to args", "command: [m]\nargs: []\n", "command: [m]\nargs:\n  - --f\n", on},
		{"the program alone gets it", "command: [m]\n", "command: [m, --f]\n", on},
		{"a container without both gets args", "command:\nimage: m\n", "command:\nimage: m\nargs:\n  - --f\n", on},
		{"one that is on stays", "command: [m, --f=true]\n", "command: [m, --f=true]\n", on},
		{"one that is off is switched on in place", "command: [m, --f=false, --a=1]\n", "command: [m, --f=true, --a=1]\n", on},
		{"all occurrences get the value", "command: [m, --f=false]\nargs: [--f=false]\n", "command: [m, --f=true]\nargs: [--f=true]\n", on},
		{"the last occurrence counts", "command: [m, --f=false, --f]\n", "command: [m, --f=false, --f]\n", on},
		{"it leaves in all its spellings", "command: [m, --f, --a=1, --f=false]\n", "command: [m, --a=1]\n", off},
		{"it leaves with its value", "command:\n- m\n- --f\n- x # why\n- --a=1\n", "command:\n- m\n# why\n- --a=1\n", off},
		{"a value is replaced and keeps its comment", "command:\n- m\n- --cloud-provider=aws # why\n- --f\n", "command:\n- m\n- --cloud-provider=external # why\n", external},
		{"a value apart is replaced alone", "command: [m, --cloud-provider, aws, --f]\n", "command: [m, --cloud-provider, external]\n", external},
		{"underscores stay", "command: [m, --cloud_provider=aws]\n", "command: [m, --cloud_provider=external]\n", external},
		{"quotes stay", "command: [\"m\", \"--cloud-provider=aws\"]\n", "command: [\"m\", \"--cloud-provider=external\"]\n", external},
	} {
		program := 1
		if !strings.Contains(c.in, "[m") && !strings.Contains(c.in, "- m") && !strings.Contains(c.in, `"m"`) {
			program = 0
		}
		d, read, err := container(t, c.in, program)
		assert.NilError(t, err)
		assert.Equal(t, edited(t, d, func(e *yamledit.Edit) { read.Apply(e, c.change) }), c.want, c.name)
	}
}

func TestACommandIsReadAsTheComponentReadsIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		items []string
		want  map[string]string
	}{
		{"values after an equals sign", []string{"kube-controller-manager", "--cloud-provider=aws", "--v=2"}, map[string]string{"kube-controller-manager": "true", "cloud-provider": "aws", "v": "2"}},
		{"values as items of their own", []string{"--cloud-provider", "aws", "--v", "2"}, map[string]string{"cloud-provider": "aws", "v": "2"}},
		{"a switch takes no value", []string{"--enable-leader-migration", "--cloud-provider", "aws"}, map[string]string{"enable-leader-migration": "true", "cloud-provider": "aws"}},
		{"a flag at the end", []string{"--profiling", "--cloud-provider"}, map[string]string{"profiling": "true", "cloud-provider": "true"}},
		{"underscores", []string{"--cloud_provider=aws", "--enable_leader_migration"}, map[string]string{"cloud-provider": "aws", "enable-leader-migration": "true"}},
		{"a program after another one", []string{"tini", "--", "manager", "--v", "2"}, map[string]string{"tini": "true", "": "true", "manager": "true", "v": "2"}},
	} {
		got := map[string]string{}
		for _, a := range Command(c.items) {
			got[a.Name] = a.Value
		}
		assert.DeepEqual(t, got, c.want, c.name)
	}
}

func TestGatesAreReadFromTheirFlag(t *testing.T) {
	got := Gates([]Arg{Parse("feature-gates=A=true, B=false"), Parse("--feature-gates=C"), Parse("v=2")})
	assert.DeepEqual(t, got, map[string]string{"A": "true", "B": "false", "C": ""})
}

func TestOnlyTheOrderAmongDifferentFlagsMeansNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  []any
		alike bool
	}{
		{"another order", []any{"v=2", "audit-log-maxage=30"}, []any{"audit-log-maxage=30", "v=2"}, true},
		{"another spelling", []any{"--v=2", "anonymous_auth=false", "profiling"}, []any{"anonymous-auth=false", "profiling=true", "v=2"}, true},
		{"the last one counts", []any{"v=2", "v=4"}, []any{"v=4"}, true},
		{"and not the first", []any{"v=2", "v=4"}, []any{"v=4", "v=2"}, false},
		{"another value", []any{"v=2"}, []any{"v=3"}, false},
		{"one that is lost", []any{"v=2", "profiling"}, []any{"v=2"}, false},
		{"maps are merged", []any{"feature-gates=A=true", "feature-gates=A=false"}, []any{"feature-gates=A=false"}, false},
		{"in their order", []any{"feature-gates=A=true", "feature-gates=A=false"}, []any{"feature-gates=A=false", "feature-gates=A=true"}, false},
		{"lists grow", []any{"service-account-issuer=a", "service-account-issuer=b"}, []any{"service-account-issuer=b", "service-account-issuer=a"}, false},
		{"whatever is between", []any{"service-account-issuer=a", "v=2", "service-account-issuer=b"}, []any{"service-account-issuer=a", "service-account-issuer=b", "v=2"}, true},
	} {
		assert.Equal(t, slices.Equal(Texts(ForAPIServer(Of(c.a))), Texts(ForAPIServer(Of(c.b)))), c.alike, c.name)
	}
}
