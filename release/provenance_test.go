// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"

	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	statement "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const provenanceFile = "rke-lm_" + version + "_provenance.json"

// readProvenance reads one as strictly as in-toto's own library does.
func readProvenance(text []byte) (*statement.Statement, *provenance.Provenance, error) {
	s, p := &statement.Statement{}, &provenance.Provenance{}
	if err := protojson.Unmarshal(text, s); err != nil {
		return nil, nil, err
	}
	predicate, err := protojson.Marshal(s.GetPredicate())
	if err == nil {
		err = protojson.Unmarshal(predicate, p)
	}
	if err == nil {
		err = s.Validate()
	}
	if err == nil {
		err = p.Validate()
	}
	return s, p, err
}

func TestTheProvenanceIsWhatInTotoAndSLSADefine(t *testing.T) {
	text := content(t, provenanceFile)
	s, p, err := readProvenance(text)
	if err != nil {
		t.Fatal(err)
	}
	if s.GetPredicateType() != "https://slsa.dev/provenance/v1" || p.GetRunDetails().GetBuilder().GetId() != builder {
		t.Errorf("%.2000s", text)
	}
	for _, part := range []string{`"_type"`, `"id"`, `"buildType"`, `"digest"`, `"resolvedDependencies"`} {
		broken := bytes.ReplaceAll(text, []byte(part), []byte(`"other"`))
		if _, _, err := readProvenance(broken); err == nil {
			t.Errorf("it is valid without %s", part)
		}
	}
}

func TestTheProvenanceNamesEveryFile(t *testing.T) {
	s, _, err := readProvenance(content(t, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	want, got := files(t, made), map[string]string{}
	delete(want, provenanceFile)
	for _, f := range s.GetSubject() {
		got[f.GetName()] = f.GetDigest()["sha256"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-files +provenance):\n%s", diff)
	}
}

// TestTheProvenanceNamesWhatTheFilesAreMadeOf asks git and go, not the program.
func TestTheProvenanceNamesWhatTheFilesAreMadeOf(t *testing.T) {
	_, p, err := readProvenance(content(t, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range p.GetBuildDefinition().GetResolvedDependencies() {
		for kind, sum := range d.GetDigest() {
			got[d.GetName()] = kind + ":" + sum
		}
		if d.GetName() == standard {
			got[standard] = d.GetUri()
		}
	}
	want := map[string]string{
		"source": "gitCommit:" + strings.TrimSpace(output(t, exec.Command("git", "-C", "..", "rev-parse", "HEAD"))),
		standard: packageURL(standard, strings.TrimPrefix(strings.TrimSpace(output(t, exec.Command("go", "env", "GOVERSION"))), "go")),
	}
	known := sums(t)
	for _, p := range platforms(t) {
		for m := range linkedModules(t, p) {
			path, _, _ := strings.Cut(m, " ")
			want[path] = "dirHash1:" + known[m]
		}
	}
	if given != "" {
		h, err := readHelm(given)
		if err != nil {
			t.Fatal(err)
		}
		want["helm/"+h.arch] = "sha256:" + h.digest()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sums are those of go.sum, in hex.
func sums(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(f[2], "h1:"))
		if err != nil {
			t.Fatal(err)
		}
		found[f[0]+" "+f[1]] = hex.EncodeToString(raw)
	}
	return found
}

func TestThereIsNoProvenanceForWhatIsNotCommitted(t *testing.T) {
	folder := t.TempDir()
	output(t, exec.Command("git", "init", "-q", folder))
	r := release{source: folder, version: version}
	if list, err := r.withProvenance(t.Context(), nil); err != nil || len(list) != 1 {
		t.Errorf("%d files for a tree without changes: %v", len(list), err)
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := r.withProvenance(t.Context(), nil); err != nil || len(list) != 0 {
		t.Errorf("%d files for a tree with changes: %v", len(list), err)
	}
}

// TestCosignVerifiesEveryFileOffline signs as make does, with a key of its own, and has no network. It compiles cosign, in
// minutes: with all platforms, or COSIGN=FILE has it compiled.
func TestCosignVerifiesEveryFileOffline(t *testing.T) {
	program := os.Getenv("COSIGN")
	switch {
	case program == "" && tested() != "":
		t.Skip("cosign is compiled only for a release of all platforms; COSIGN=FILE has one")
	case program == "":
		program = buildCosign(t)
	}
	folder := t.TempDir()
	run := func(name string, words ...string) ([]byte, error) {
		c := exec.Command(name, words...)
		c.Dir = folder
		c.Env = append(os.Environ(), "COSIGN_PASSWORD=x", "HOME="+folder, "HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9")
		return c.CombinedOutput()
	}
	must := func(name string, words ...string) {
		t.Helper()
		if out, err := run(name, words...); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, words, err, out)
		}
	}
	must("cp", "-r", made, "dist")
	must("cp", filepath.Join(filepath.Dir(made), "Makefile"), ".")
	must(program, "generate-key-pair")
	must(program, "signing-config", "create", "--out", "none.json")
	must("make", "sign", "COSIGN="+program, "SIGN_FLAGS=--key cosign.key --signing-config none.json")
	verify := func(key, file string) error {
		_, err := run(program, "verify-blob-attestation", "--key", key, "--insecure-ignore-tlog", "--type", "slsaprovenance1",
			"--bundle", "dist/"+strings.TrimSuffix(provenanceFile, ".json")+".sigstore.json", "dist/"+file)
		return err
	}
	for name := range files(t, made) {
		if err := verify("cosign.pub", name); (err == nil) != (name != provenanceFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "dist", "checksums.txt"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if verify("cosign.pub", "checksums.txt") == nil {
		t.Error("a file that was changed is verified")
	}
	must(program, "generate-key-pair", "--output-key-prefix", "other")
	if verify("other.pub", plugin+".yaml") == nil {
		t.Error("another key verifies")
	}
}

// buildCosign compiles the release of cosign that the Makefile names.
func buildCosign(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^COSIGN \?= go run (\S+)$`).FindSubmatch(text)
	if at == nil {
		t.Fatal("the Makefile names no cosign")
	}
	folder := t.TempDir()
	c := exec.Command("go", "install", string(at[1]))
	c.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=", "GOWORK=off")
	output(t, c)
	return filepath.Join(folder, "cosign")
}
