// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform"
)

// programNames are those under which scripts start rke-lm.
var programNames = []string{"rke-lm", "kubectl-leader_migration"}

// TestMain lets scripts start this very binary as rke-lm, where they need a
// process with files for its streams.
func TestMain(m *testing.M) {
	if slices.Contains(programNames, filepath.Base(os.Args[0])) {
		main()
	}
	// The first of a process starts a goroutine that stays, which must not be in the bubble of a test.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	os.Unsetenv("COLUMNS")   // of the shell that runs the tests
	debug.SetGCPercent(1600) // little lives long: a quarter of the time was spent on looking for garbage, and at 400 still a sixth
	os.Exit(m.Run())
}

// TestScript runs the command lines in testdata/script.
func TestScript(t *testing.T) {
	bin := t.TempDir()
	self := assert.Value(os.Executable())(t)
	for _, name := range programNames {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Logf("exec %s will not be found: %v", name, err)
		}
	}
	scripts, err := filepath.Abs("testdata/script") // the scripts change the current folder
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                scripts,
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no such condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rke-lm":  scriptRun,
			"exits":   scriptExits,
			"json":    scriptJSON,
			"convert": scriptConvert,
			"big":     scriptBig,
		},
	})
}

// scriptRun is
//
//	rke-lm ARG... [<FILE]
//
// It runs rke-lm in this process, which must exit with 0; FILE is its standard
// input.
func scriptRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use: exits CODE rke-lm ...")
	}
	requireExit(ts, transform.ExitDone, args)
}

// scriptExits is
//
//	exits CODE rke-lm ARG... [<FILE]
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "rke-lm" {
		ts.Fatalf("usage: exits CODE rke-lm ...")
	}
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	requireExit(ts, code, args[2:])
}

func requireExit(ts *testscript.TestScript, want int, args []string) {
	var stdin string
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "<") {
		stdin, args = ts.ReadFile(args[n-1][1:]), args[:n-1]
	}
	currentFolder.Lock()
	defer currentFolder.Unlock()
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(before)) }()
	if got := execute(context.Background(), args, streams{in: strings.NewReader(stdin), out: ts.Stdout(), err: ts.Stderr()}); got != want {
		ts.Fatalf("exit %d, not %d", got, want)
	}
}

// currentFolder guards the one that the scripts share.
var currentFolder sync.Mutex

// scriptJSON is
//
//	[!] json FILE PATH [VALUE]
//
// It takes the steps of PATH, separated by dots, from the top of the JSON value
// in FILE: keys, positions in lists, and len for a length. What is there must be
// VALUE, or, without one, only be there.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: [!] json FILE PATH [VALUE]")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var v any
	ts.Check(dec.Decode(&v))
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("text after the JSON value")
	}
	v, found := stepThrough(v, strings.Split(args[1], "."))
	matches := found && (len(args) == 2 || fmt.Sprint(v) == args[2])
	if matches == neg {
		ts.Fatalf("%s is %v (found: %t)", args[1], v, found)
	}
}

func stepThrough(v any, steps []string) (any, bool) {
	for _, step := range steps {
		switch in := v.(type) {
		case map[string]any:
			member, found := in[step]
			if !found {
				return nil, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(step)
			switch {
			case step == "len":
				v = len(in)
			case err != nil || i >= len(in):
				return nil, false
			default:
				v = in[i]
			}
		default:
			return nil, false
		}
	}
	return v, true
}

// scriptConvert is
//
//	convert crlf|bom|open|utf16|latin1|nul FROM TO
//
// It writes a file in a form that a script cannot hold; open takes the last line
// break away.
func scriptConvert(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: convert FORM FROM TO")
	}
	text := ts.ReadFile(args[1])
	switch args[0] {
	case "crlf":
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case "bom":
		text = "\ufeff" + text
	case "open":
		text = strings.TrimSuffix(text, "\n")
	case "utf16":
		var b bytes.Buffer
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		text = b.String()
	case "latin1":
		text = strings.ReplaceAll(text, "ø", "\xf8")
	case "nul":
		text += "\x00"
	default:
		ts.Fatalf("no such form: %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o644))
}

// scriptBig is
//
//	big FILE MEBIBYTES LINE
//
// It writes LINE so often that the file has the size.
func scriptBig(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: big FILE MEBIBYTES LINE")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	line := []byte(args[2] + "\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat(line, size<<20/len(line)+1), 0o644))
}

// onFirst is an output that does something before it takes the first text.
type onFirst struct {
	io.Writer
	do func()
}

func (o *onFirst) Write(p []byte) (int, error) {
	if o.do != nil {
		o.do()
	}
	o.do = nil
	return o.Writer.Write(p)
}

// A file changes after it was read, and before it is written: when the line of the file before it, which -v prints, is shown.
func TestApplyRefusesAFileThatChangesMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		left   string // the file's text at the end
		change func() error
	}{
		"longer": {small("fen") + "# more\n", func() error { return os.WriteFile("fen.yaml", []byte(small("fen")+"# more\n"), 0o644) }},
		"empty":  {"", func() error { return os.Truncate("fen.yaml", 0) }},
		"replaced by one of the same text": {small("fen"), func() error {
			return errors.Join(os.WriteFile("new", []byte(small("fen")), 0o644), os.Rename("new", "fen.yaml"))
		}},
		"gone": {"", func() error { return os.Remove("fen.yaml") }},
	} {
		t.Run(name, func(t *testing.T) {
			here(t, map[string]string{"reed.yaml": small("reed"), "fen.yaml": small("fen")})
			var out, errs bytes.Buffer
			shown := &onFirst{&errs, func() { assert.NilError(t, c.change()) }}
			code := execute(t.Context(), strings.Fields("apply -v --next reed.yaml fen.yaml -"), streams{in: strings.NewReader(small("heath")), out: &out, err: shown})
			ran{out.String(), errs.String(), code}.shows(t, name, transform.ExitRefused, "fen.yaml", "name: heath", "cloud-provider-extraction-migration")
			left, err := os.ReadFile("fen.yaml")
			assert.True(t, string(left) == c.left && (err == nil || name == "gone"), string(left), err)
			hidden, err := filepath.Glob(".*")
			assert.Truef(t, err == nil && len(hidden) == 0, "files are left: %v %v", hidden, err)
		})
	}
}

// stop is a standard input during whose reading something happens.
type stop func()

func (s stop) Read([]byte) (int, error) {
	s()
	return 0, io.EOF
}

// TestAStoppedRunWritesNothing covers what an interrupt does: it comes while the
// first path is read, and no file is written after it.
func TestAStoppedRunWritesNothing(t *testing.T) {
	here(t, map[string]string{"fen.yaml": small("fen")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, line := range []string{"apply --stage grant-migration-lease - fen.yaml", "plan - fen.yaml", "explain fen.yaml"} {
		var out, errs bytes.Buffer
		in := io.MultiReader(stop(cancel), strings.NewReader(small("heath"))) // one that is stopped may continue reading
		code := execute(ctx, strings.Fields(line), streams{in: in, out: &out, err: &errs})
		assert.Truef(t, code != transform.ExitDone && out.Len() == 0, "%s: exit %d\n%s%s", line, code, out.String(), errs.String())
	}
	assert.Equal(t, textOf(t, "fen.yaml"), small("fen"))
}
