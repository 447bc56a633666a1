// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/golden"
	"github.com/rke-lm/rke-lm/internal/memnet"
	"github.com/rke-lm/rke-lm/internal/migrate/migratetest"
	"github.com/rke-lm/rke-lm/transform"
	"github.com/rke-lm/rke-lm/transform/ccm"
	"github.com/rke-lm/rke-lm/transform/k8s"
	"github.com/rke-lm/rke-lm/transform/rke2"
)

// guide is a document with sessions, and what its reader has before the first of them.
type guide struct {
	file   string
	inputs map[string]string // files, and the golden cases they are the inputs of
	world  func(testing.TB) *migratetest.World
	object string // file that describes the cluster of the world
}

// guides lead through one situation each. Other documents have examples/ alone.
var guides = []guide{
	{file: "docs/rke2-git.md", world: migratetest.NewRKE2, object: "orchard.yaml"},
	{file: "docs/rke2-live.md", world: migratetest.NewRKE2},
	{file: "docs/rke1.md", world: migratetest.NewRKE1, inputs: map[string]string{"cluster.yml": "rke1-cluster-yml"}},
	{file: "docs/past-1.26.md", world: past126World, inputs: map[string]string{"knot.yaml": "rke2-past-126-broken-pools-override"}},
	{file: "docs/manifests.md", inputs: map[string]string{
		"manifests/kube-controller-manager.yaml":      "manifest-static-pod",
		"manifests/aws-cloud-controller-manager.yaml": "manifest-cloud-daemonset",
		"kube-controller-manager.yaml":                "manifest-static-pod",
	}},
}

// past126World has a Node without a provider ID whose name proves its instance.
func past126World(t testing.TB) *migratetest.World {
	return migratetest.NewRKE2Past126(t, func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}}
	})
}

func TestDocsSessionsAreWhatHappens(t *testing.T) {
	for _, file := range documents(t) {
		if file == "README.md" || !sessionBlock.MatchString(readDoc(t, file)) {
			continue
		}
		g := guide{file: file}
		if i := slices.IndexFunc(guides, func(g guide) bool { return g.file == file }); i >= 0 {
			g = guides[i]
		}
		t.Run(file, func(t *testing.T) { checkSessions(t, g) })
	}
}

// One reads a guide in minutes, and all of its commands are run.
func TestDocsGuidesAreShortAndRun(t *testing.T) {
	for _, g := range guides {
		doc := readDoc(t, g.file)
		words := len(strings.Fields(doc))
		assert.Truef(t, words <= 1500, "%s has %d words, more than 1500", g.file, words)
		rest := sessionBlock.ReplaceAllString(doc, "")
		assert.Truef(t, !strings.Contains(rest, "```") && rest != doc, "%s has a block of commands that is no session, or no session", g.file)
	}
}

// Each page is read in a few glances: no paragraph of more than 5 lines, and no sentence of more than 25 words.
func TestDocsHaveShortParagraphsAndSentences(t *testing.T) {
	for _, file := range documents(t) {
		if file != "README.md" && !strings.HasPrefix(file, "docs/") {
			continue
		}
		for paragraph := range strings.SplitSeq(anyBlock.ReplaceAllString(readDoc(t, file), ""), "\n\n") {
			isProse := strings.IndexAny(strings.TrimSpace(paragraph), "|-#<0123456789") != 0
			assert.Truef(t, !isProse || strings.Count(strings.TrimSpace(paragraph), "\n") <= 4, "%s has a paragraph of more than 5 lines: %s", file, paragraph)
			for _, sentence := range endOfSentence.Split(paragraph, -1) {
				assert.Truef(t, len(strings.Fields(sentence)) <= 25, "%s has a sentence of more than 25 words: %s", file, sentence)
			}
		}
	}
}

// anyBlock is a block of commands, output or data.
var anyBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// endOfSentence also ends an item of a list and a cell of a table.
var endOfSentence = regexp.MustCompile(`[.:?]\s|\n- |\n\d\. |\|`)

// The range of releases and the date of the metadata are those of rke-lm version.
func TestDocsStateTheTablesOfTheProgram(t *testing.T) {
	tables := releaseTables()
	for _, file := range []string{"README.md", "docs/guide.md"} {
		doc := readDoc(t, file)
		assert.Truef(t, strings.Contains(doc, tables.Newest) && strings.Contains(doc, "Rancher metadata of "+tables.Date), "%s does not have %s and the Rancher metadata of %s", file, tables.Newest, tables.Date)
	}
	_, last, _ := strings.Cut(ccm.Known(rke2.Name), " to ")
	_, _, sure := k8s.FlagOf("kubelet", "node-ip", "v"+last+".0")
	assert.Truef(t, sure && strings.Contains(readDoc(t, "docs/guide.md"), ", and are known up to "+last+".\n"), "docs/guide.md does not explain why flags and images are known up to %s", last)
}

// sessionBlock is a block of commands after "$ " with what they print.
var sessionBlock = regexp.MustCompile("(?s)(<!-- session -->\n```console\n)(.*?)(```\n<!-- /session -->)")

// checkSessions runs the sessions of a document one after another in one folder
// that holds a copy of examples/, and compares what is printed.
func checkSessions(t *testing.T, g guide) {
	t.Helper()
	if g.world == nil {
		replaySessions(t, g, &terminal{t: t})
		return
	}
	synctest.Test(t, func(t *testing.T) {
		w := g.world(t)
		flags := []string{"--cacert=" + w.Rancher.Authority(t), "--rancher-url=" + w.URL, "--token-file=" + w.Rancher.TokenFile(t)}
		replaySessions(t, g, &terminal{t: t, world: w, flags: flags})
	})
}

func replaySessions(t *testing.T, g guide, s *terminal) {
	t.Helper()
	is := readDoc(t, g.file)
	home := assert.Value(os.Getwd())(t)
	folder := t.TempDir()
	assert.NilError(t, os.CopyFS(filepath.Join(folder, "examples"), os.DirFS("../../examples")))
	for name, golden := range g.inputs {
		putFile(s.t, filepath.Join(folder, name), textOf(s.t, inputOf(t, golden)))
	}
	t.Chdir(folder)
	if g.object != "" {
		s.download(g.object)
	}
	should := sessionBlock.ReplaceAllStringFunc(is, func(block string) string {
		parts := sessionBlock.FindStringSubmatch(block)
		return parts[1] + s.replay(parts[2]) + parts[3]
	})
	t.Chdir(home)
	assert.Truef(t, s.commands != 0, "%s: no session was found", g.file)
	checkDoc(t, g.file, is, should)
}

// terminal knows the few commands of sessions. --rancher-cli leads to its Rancher.
type terminal struct {
	t        *testing.T
	world    *migratetest.World
	flags    []string
	commands int
	code     int // of the last command
}

// replay runs the commands of a session and returns it as it went.
func (s *terminal) replay(session string) string {
	var out strings.Builder
	for line := range strings.Lines(session) {
		if command, found := strings.CutPrefix(line, "$ "); found {
			command, tail, cut := strings.Cut(command, " | tail -n ")
			shown := s.execute(strings.Fields(command))
			if cut {
				lines := slices.Collect(strings.Lines(shown))
				n := assert.Value(strconv.Atoi(strings.TrimSpace(tail)))(s.t)
				shown = strings.Join(lines[max(0, len(lines)-n):], "")
			}
			out.WriteString(line + shown)
			s.commands++
		}
	}
	return out.String()
}

// execute returns what a command shows on a terminal.
func (s *terminal) execute(words []string) string {
	switch {
	case words[0] == "rke-lm":
		return s.rkeLM(words[1:])
	case words[0] == "cp" && len(words) == 3:
		putFile(s.t, words[2], textOf(s.t, words[1]))
		return ""
	case words[0] == "git":
		out, _ := exec.Command("git", append([]string{"-c", "user.name=you", "-c", "user.email=you@example.com"}, words[1:]...)...).CombinedOutput()
		return string(out)
	case s.world != nil && slices.Equal(words[:len(words)-1], []string{"kubectl", "replace", "-f"}):
		s.upload(words[3])
		return "cluster.provisioning.cattle.io/orchard replaced\n"
	case slices.Equal(words, []string{"echo", "$?"}):
		return fmt.Sprintln(s.code)
	}
	s.t.Fatalf("a session cannot run %q; it knows rke-lm, cp FILE FILE, git, kubectl replace -f FILE and echo $?", words)
	return ""
}

// ofOneRun differs from run to run.
var ofOneRun = regexp.MustCompile(`the run \S+/\d+/\S+ holds`)

// Numbers of seconds depend on which goroutine of a bubble runs first.
var seconds = regexp.MustCompile(`(none|one|two|unknown) for [\d.]+ s`)

// start runs rke-lm, and keeps its exit code.
func (s *terminal) start(words []string, out, errs io.Writer) {
	std := streams{in: strings.NewReader(""), out: out, err: errs}
	if i := slices.Index(words, "--rancher-cli"); i >= 0 {
		words, std.network = slices.Concat(words[:i], s.flags, words[i+1:]), memnet.Dial
	} else if os.Getenv("KUBECONFIG") != "" {
		std.network = memnet.Dial
	}
	s.code = execute(s.t.Context(), words, std)
}

func (s *terminal) rkeLM(words []string) string {
	var out bytes.Buffer // for both, so that the lines come in their order
	s.start(words, &out, &out)
	shown := ofOneRun.ReplaceAllString(out.String(), "this run holds")
	shown = seconds.ReplaceAllString(shown, "$1 for … s")
	if s.world != nil {
		shown = strings.ReplaceAll(shown, strings.Join(s.flags, " "), "--rancher-cli")
		shown = strings.ReplaceAll(shown, s.world.URL, "https://rancher.example.com")
	}
	return shown
}

// download writes the object of the cluster as a repository has it: without a status.
func (s *terminal) download(file string) {
	object := parsedYAML(s.t, s.world.Rancher.Object(s.world.Path))
	delete(object, "status")
	object["metadata"] = map[string]any{"name": "orchard", "namespace": "fleet-default"}
	putFile(s.t, file, marshalled(s.t, object))
}

// upload does what Fleet or Argo CD do with the file.
func (s *terminal) upload(file string) {
	object := parsedYAML(s.t, textOf(s.t, file))
	s.world.Rancher.Edit(s.world.Path, func(o map[string]any) { o["spec"] = object["spec"] })
	s.world.Follow()
}

// commandBlock is a block of commands whose output a document does not show.
var commandBlock = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")

// continued is where a command continues on the next line.
var continued = regexp.MustCompile(`\s*(?:\\|(\|))\n\s*`)

// Commands without output run as well: rke-lm, git and jq as they are, other programs as stubs that know how they
// are called. There are clusters in files with their history, in a Rancher, and one in KUBECONFIG.
func TestDocsCommandsRun(t *testing.T) {
	for _, file := range documents(t) {
		blocks := commandBlock.FindAllStringSubmatch(readDoc(t, file), -1)
		if len(blocks) == 0 || strings.HasPrefix(file, "lab/") {
			continue
		}
		t.Run(file, func(t *testing.T) {
			targets, m := makeTargets(t), newMachine(t)
			synctest.Test(t, func(t *testing.T) {
				s := &terminal{t: t}
				s.furnish()
				for _, block := range blocks {
					if strings.Contains(block[1], "host-names.txt") {
						continue // see below
					}
					for line := range strings.Lines(continued.ReplaceAllString(block[1], " $1 ")) {
						s.follow(m, targets, strings.TrimSpace(line))
					}
				}
			})
		})
	}
}

// furnish makes what the commands of documents are about.
func (s *terminal) furnish() {
	s.t.Helper()
	examples := assert.Value(filepath.Abs("../../examples"))(s.t)
	wrong := inputOf(s.t, "rke2-page-entry-overwrites")
	h := newHistory(s.t)
	for to, from := range map[string]string{"examples": examples, "clusters": filepath.Join(examples, "gitops/clusters")} {
		assert.NilError(s.t, os.CopyFS(to, os.DirFS(from)))
	}
	putFile(s.t, "clusters/ridge.yaml", textOf(s.t, wrong))
	for file, component := range map[string]string{"kcm.conf": "kube-controller-manager", "ccm.conf": "cloud-controller-manager"} {
		putFile(s.t, file, s.rkeLM([]string{"leader-migration-config", "--component", component, "--kubernetes-version", "v1.26", "--ccm-version", "v1.28.1"}))
	}
	h.commit("clusters")
	h.git("update-ref", "refs/remotes/origin/main", "HEAD")
	h.git("fetch", "--quiet", ".", "main")
	fleet := migratetest.NewFleet(s.t, "harbour", "orchard")
	for _, w := range fleet.Worlds {
		fleet.Rancher.Edit(w.Path, func(o map[string]any) { o["metadata"].(map[string]any)["labels"] = map[string]any{"env": "staging"} })
	}
	s.flags = []string{"--insecure-skip-tls-verify", "--rancher-url=" + fleet.URL, "--token-file=" + fleet.Rancher.TokenFile(s.t)}
	s.t.Setenv("KUBECONFIG", fleet.Worlds["harbour"].API.Kubeconfig(s.t))
}

// follow runs a command of a document.
func (s *terminal) follow(m *machine, targets []string, line string) {
	s.t.Helper()
	line, _, _ = strings.Cut(line, " # ")
	words := wordsOf(strings.Join(strings.Fields(line), " "))
	switch command, filter, filtered := strings.Cut(line, " | "); {
	case words[0] == "cd":
		s.t.Chdir(words[1])
	case words[0] == "make":
		assert.Truef(s.t, slices.Contains(targets, words[1]), "%s: no such target", line)
	case words[0] == "git":
		out, err := exec.Command("sh", "-c", line).CombinedOutput()
		assert.Truef(s.t, err == nil, "%s: %v\n%s", line, err, out)
	case words[0] == "jq":
		s.filter(line, "")
	case words[0] == "rke-lm" && words[1] == "controller": // it does not end
		parses(s.t, words[1:])
	case words[0] == "rke-lm":
		words = wordsOf(strings.Join(strings.Fields(command), " "))[1:]
		if words[0] == "migrate" && !slices.Contains(words, "--yes") {
			words = append(words, "--yes") // no one is there who confirms
		}
		var out, errs bytes.Buffer
		if s.start(words, &out, &errs); s.code != transform.ExitDone && (s.code != transform.ExitFound || words[0] == "migrate") {
			s.t.Errorf("%s: exit %d\n%s%s", line, s.code, out.String(), errs.String())
		}
		if filtered {
			s.filter(filter, out.String())
		}
	default:
		m.follow(s.t, line)
	}
}

// filter runs jq, which has to find something, unless it is for what is not as it should be.
func (s *terminal) filter(command, input string) {
	s.t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		return
	}
	c := exec.Command("sh", "-c", command)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	assert.Truef(s.t, err == nil && (len(out) != 0 || strings.Contains(command, "| not)")), "%s: %v\n%s\nof\n%s", command, err, out, input)
}

// The command of the guide reads the host names of all machines, and what it writes decides the end state.
func TestTheCommandOfTheGuideReadsHostNames(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not on the PATH")
	}
	blocks := commandOfRunbook.FindAllStringSubmatch(readDoc(t, "docs/guide.md"), -1)
	block := slices.IndexFunc(blocks, func(b []string) bool { return strings.Contains(b[1], "host-names.txt") })
	command, plan, _ := strings.Cut(blocks[block][1], "\nrke-lm ")
	const programs = `
kubectl() { printf 'heron-1.ec2.internal 10.0.0.4\nheron-2.ec2.internal 10.0.0.5\n'; }
ssh() { [ "$1" = -n ] && case "$2" in ec2-user@10.0.0.4) echo heron-1.ec2.internal ;; ec2-user@10.0.0.5) echo "$SECOND" ;; esac; }
`
	cluster := golden.Input(t, "rke2-custom-cluster-own-labels")
	for second, end := range map[string]string{"heron-2.ec2.internal": "end state: external (host names equal the names of Nodes: 2; ", "heron-2": "end state: aws-override"} {
		here(t, map[string]string{"clusters/harbour.yaml": cluster.Files[cluster.Input()]})
		c := exec.Command(sh, "-euc", programs+command)
		c.Env = append(os.Environ(), "SECOND="+second)
		printed, err := c.CombinedOutput()
		assert.Mustf(t, err == nil, "%v: %s", err, printed)
		if r := runHere(t, "", append(wordsOf(strings.TrimSpace(plan)), "--all")...); !strings.Contains(r.stdout, end) {
			t.Errorf("%s\n%s%s", textOf(t, "host-names.txt"), r.stdout, r.stderr)
		}
	}
}
