// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestPlainValuesStayAsTheyAre(t *testing.T) {
	for value, want := range map[string]string{
		"plans/a-b_c.yaml": "plans/a-b_c.yaml", "my plans": "'my plans'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'", "a;b": "'a;b'", "ü": "'ü'",
		"=ls": "'=ls'", "~": "'~'", "a\nb": `"$(printf 'a\012b')"`, "\u202ex": `"$(printf '\342\200\256x')"`,
	} {
		assert.Equal(t, Word(value), want, value)
	}
}

func TestNamesAreNeverFlags(t *testing.T) {
	assert.Equal(t, Command("kubectl -n %s delete --now %--%s %s", "a", "pod", "b"), "kubectl -n a delete --now pod b")
	assert.Equal(t, Command("kubectl -n %s delete --now %--%s %s", "-a", "pod", "-b"), "kubectl -n -a delete --now -- pod -b")
	assert.Equal(t, strings.Join(Arguments([]string{"up"}, []string{"-a"}, []string{"--x", "y"}), " "), "up --x y -- -a")
	assert.True(t, Path("-") == "./-" && Path("a") == "a", "a path that is a flag")
}

func TestAFormatThatDoesNotMatchPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"a value in quotes":        func() { Command("echo '%s'", "x") },
		"a value in double quotes": func() { Command(`echo "%s"`, "x") },
		"a value too few":          func() { Command("echo %s %s", "x") },
		"a value too many":         func() { Command("echo", "x") },
	} {
		func() {
			defer func() {
				assert.True(t, recover() != nil, name)
			}()
			f()
		}()
	}
}

func TestSedPutsATextInThePlaceOfAnother(t *testing.T) {
	sed, err := exec.LookPath("sed")
	if err != nil {
		t.Skip("sed is not on the PATH")
	}
	for _, old := range []string{`a/b`, `a.b*[c]^$\`, `a&b`} {
		c := exec.Command(sed, Substitute(old, `&/\`+old))
		c.Stdin = strings.NewReader("x" + old + "y\n")
		out, err := c.CombinedOutput()
		assert.Truef(t, err == nil && string(out) == `x&/\`+old+"y\n", "%s: got %s, %v", old, out, err)
	}
}

// FuzzWord has a shell read a word.
func FuzzWord(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("sh is not on the PATH")
	}
	for _, seed := range []string{"$(id)", "a'b", "-n", "\\", "a\\\n", "%s\x1b", "\n\n", "\u202e%\\'", "\xff\n", "~", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if strings.ContainsRune(value, 0) {
			t.Skip("no program takes it as an argument")
		}
		out, err := exec.Command(sh, "-c", "set -- "+Word(value)+` && printf '%s:%s' "$#" "$1"`).CombinedOutput()
		assert.Truef(t, err == nil && string(out) == "1:"+value, "%q: %s gives %q, %v", value, Word(value), out, err)
	})
}

func TestCommandsNameTheirCluster(t *testing.T) {
	prod := Cluster{Context: `"${CONTEXT:?}"`}
	for command, want := range map[string]string{
		"kubectl get nodes":                      `kubectl --context="${CONTEXT:?}" get nodes`,
		"a | xargs kubectl taint":                `a | xargs kubectl --context="${CONTEXT:?}" taint`,
		"helm get values ccm":                    `helm --kube-context="${CONTEXT:?}" get values ccm`,
		"rke-lm verify --stage install-ccm":      `rke-lm verify --context="${CONTEXT:?}" --stage install-ccm`,
		`kubectl --kubeconfig "$R" get secret`:   `kubectl --kubeconfig "$R" get secret`,
		"helm upgrade c --values helm/v.yaml":    `helm --kube-context="${CONTEXT:?}" upgrade c --values helm/v.yaml`,
		"rke up --config a.yml; grep kubectlish": "rke up --config a.yml; grep kubectlish",
	} {
		got := prod.In(command)
		assert.Truef(t, got == want, "%s becomes\n%s, want\n%s", command, got, want)
	}
	assert.Equal(t, (Cluster{Kubeconfig: "'my file'"}).In("kubectl get nodes"), "kubectl --kubeconfig='my file' get nodes")
	assert.Equal(t, (Cluster{}).In("kubectl get nodes"), "kubectl get nodes")
}
