// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/yamledit"
)

func TestAFileIsReadWithItsInfo(t *testing.T) {
	path := write(t, t.TempDir(), "a.yaml", "a: 1\n---\nb: 2\n")
	chunks, text, err := documents(Source{Name: "name", Path: path})
	assert.NilError(t, err)
	assert.Truef(t, len(chunks) == 2 && chunks[1].File == "name" && string(chunks[1].Bytes) == "---\nb: 2\n" && chunks[1].Line == 1, "chunks: %+v", chunks)
	assert.True(t, text.Info != nil && text.Info.Size() == 14 && len(text.Bytes) == 14, text)
	assert.NilError(t, os.Truncate(path, MaxFile+1))
	text, err = Source{Name: "main.tf", Path: path}.Read() // its beginning says nothing about the rest, whatever its form
	assert.ErrorContains(t, err, "main.tf: the file is larger than 64 MiB, so it is not read")
	assert.True(t, text.Bytes == nil && text.Info.Size() == MaxFile+1, text.Info)
}

func TestAStreamHasNoInfo(t *testing.T) {
	chunks, text, err := documents(FromReader("<stdin>", strings.NewReader("a: 1\n")))
	assert.Truef(t, err == nil && len(chunks) == 1 && chunks[0].File == "<stdin>" && text.Info == nil, "chunks %+v, text %+v, error %v", chunks, text, err)
}

// sized returns a document of so many bytes, an object below blank lines.
func sized(size int) string {
	const marker, object = "---\n", "kind: Secret\n"
	blank := size - len(marker) - len(object)
	return marker + strings.Repeat(strings.Repeat(" ", 1023)+"\n", blank/1024) + strings.Repeat("\n", blank%1024) + object
}

func TestWhatIsTooLargeIsAnErrorWithItsPlace(t *testing.T) {
	const list = "kind: List\nitems:\n"
	item := func(size int) string {
		return "- apiVersion: v1\n" + strings.NewReplacer("---\n", "", "kind", "  kind").Replace(sized(size-15))
	}
	for _, c := range []struct {
		name, text, want string
		before           int // documents that are read
	}{
		{"a document of the largest size", sized(MaxDocument) + sized(20), "", 2},
		{"a document above it", "a: 1\n" + sized(MaxDocument+1) + "---\nb\n", "f:2: the document is larger than 16 MiB", 1},
		{"one line", "a: " + strings.Repeat("x", MaxDocument), "f:1: the document is larger than 16 MiB", 0},
		{"comments after an end marker", "a: 1\n...\n" + strings.Repeat("# comment\n", MaxDocument/9), "f:1: the document is larger than 16 MiB", 0},
		{"a list of items of the largest size", list + strings.Repeat(item(MaxDocument), 2), "", 1},
		{"a list with an item above it", list + item(40) + item(MaxDocument+1) + item(40), "f:13: the document is larger than 16 MiB", 0},
		{"a file of the largest size", strings.Repeat(sized(MaxDocument), 4), "", 4},
	} {
		chunks, _, err := documents(FromReader("f", strings.NewReader(c.text)))
		assert.Truef(t, (c.want == "") == (err == nil) && strings.HasPrefix(fmt.Sprint(err), c.want) && len(chunks) == c.before, "%s: %d documents, %v", c.name, len(chunks), err)
		at := (*yamledit.Error)(nil)
		assert.Truef(t, err == nil || errors.As(err, &at) && at.Do != "", "%s: %v does not say what to do", c.name, err)
	}
}

func TestAReadErrorNamesTheSourceAndItsCause(t *testing.T) {
	for _, before := range []string{"", "a\n---\nb\n", strings.Repeat("a\n---\n", 10_000)} {
		r := io.MultiReader(strings.NewReader(before), iotest.ErrReader(io.ErrUnexpectedEOF))
		_, _, err := documents(FromReader("the-stream", r))
		assert.Truef(t, errors.Is(err, io.ErrUnexpectedEOF) && strings.HasPrefix(err.Error(), "the-stream: "), "after %d bytes: %v", len(before), err)
	}
}

func TestAFileThatIsGoneIsAnErrorWithItsNameOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	_, _, err := documents(Source{Name: path, Path: path})
	assert.Truef(t, errors.Is(err, os.ErrNotExist) && strings.Count(err.Error(), path) == 1, "error: %v", err)
}

// documents reads a source.
func documents(s Source) ([]yamledit.Chunk, Text, error) {
	text, err := s.Read()
	if err != nil {
		return nil, text, err
	}
	var chunks []yamledit.Chunk
	for c, err := range text.Documents() {
		if err != nil {
			return chunks, text, err
		}
		chunks = append(chunks, c)
	}
	return chunks, text, nil
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat("---\n", 1+len(p)/4)), nil }

func TestAnEndlessStreamIsAnError(t *testing.T) {
	_, err := FromReader("-", endless{}).Read()
	assert.ErrorContains(t, err, "-: the file is larger than 64 MiB, so it is not read")
}

// write makes a file and the folders above it, and returns its path.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}
