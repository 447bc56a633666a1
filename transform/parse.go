// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// The rules of documents that Parse refuses, whatever format they are of.
var (
	Encrypted = Rule{
		ID: "encrypted", Severity: Error,
		Doc: "Refused: the file is encrypted with SOPS, and an edit would break its checksum.",
	}.Because("SOPS signs the whole file. A changed byte breaks the signature, and the file cannot be decrypted any more.", "getsops/sops README: message authentication code", "Decrypt it, plan and apply, and encrypt it again; or make the printed change inside of sops.", "")
	Templated = Rule{
		ID: "templated", Severity: Error,
		Doc: "Refused: the file is a template, whose values are not set yet.",
	}.Because("The values are not set yet: what machines get, and where a stage has to edit, is unknown.", "Helm, Go templates", "Render the file, plan the result, and make the printed change in the template.", "")
)

// Parse parses one document and refuses what must not be edited as text:
// templates, whose values are not there yet, encrypted files, whose
// checksum an edit would break, and what kubectl reads otherwise. What fails as it is read is an error
// of the document, which may be a cluster.
func Parse(c yamledit.Chunk) (doc *yamledit.Document, err error) {
	err = Guard(fmt.Sprintf("%s:%d", c.File, c.Line+1), func() (err error) {
		doc, err = parse(c)
		return err
	})
	return doc, err
}

func parse(c yamledit.Chunk) (*yamledit.Document, error) {
	doc, err := yamledit.Parse(c)
	if err != nil {
		if line := templateLine(c.Bytes); line > 0 {
			return nil, templated(c, line)
		}
		return nil, err
	}
	if line, found := doc.Unquoted("{{"); found {
		return nil, templated(c, line-c.Line)
	}
	if n := doc.Root().Get("sops"); n.Get("mac").Exists() || n.Get("lastmodified").Exists() { // what SOPS writes
		return nil, &Refused{Rule: Encrypted.ID, At: &yamledit.Error{File: c.File, Line: n.Line(), What: "the file is encrypted with SOPS, and an edit would break its checksum", Do: "decrypt it, or apply the printed diff in sops"}}
	}
	if err := yamledit.CheckKubectl(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

func templated(c yamledit.Chunk, line int) error {
	return &Refused{Rule: Templated.ID, At: &yamledit.Error{File: c.File, Line: c.Line + line, What: "the file is a template ({{ }}), not a cluster", Do: "render it, and plan the result: helm template CHART | rke-lm plan -; then make the same edits in the template"}}
}

// templateLine returns the 1-based line of the first unquoted {{ of a text that
// does not parse, or 0.
func templateLine(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		at := bytes.Index(line, []byte("{{"))
		if at < 0 {
			continue
		}
		before := string(line[:at])
		if strings.Count(before, `"`)%2 == 0 && strings.Count(before, `'`)%2 == 0 && !strings.Contains(before, "#") {
			return i + 1
		}
	}
	return 0
}
