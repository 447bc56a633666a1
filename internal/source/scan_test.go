// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// pieces are what makes the end of a document hard to tell.
var pieces = []string{
	"---", "---\n", "--- a\n", "...", "...\n", "... # b\n", "..", ".", "-", "--",
	"a: b\n", "c", "# d\n", "%YAML 1.1\n", "  # e\n", "  ", "\t", "'", "\"---\"\n", "|\n  ---\n",
	"\n", "\r", "\r\n", "\n\n\n\n", "\u0085", "\u2028", "\u2029", "\xc2", "\xe2", "\xe2\x80", "\ufeff",
	"long long long long long long long long long text\n", "# long long long long long long comment\n", "日本語のテキスト",
}

func randomStream(rnd *rand.Rand, most int) string {
	var b strings.Builder
	for range rnd.IntN(most) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

// stutter reads random amounts at a time.
type stutter struct {
	r   io.Reader
	rnd *rand.Rand
}

func (s stutter) Read(p []byte) (int, error) {
	return s.r.Read(p[:min(len(p), s.rnd.IntN(9))])
}

// difference reports how two chunks differ, or nothing.
func difference(got, want yamledit.Chunk) string {
	g, w := fmt.Sprintf("%+q", got.Bytes), fmt.Sprintf("%+q", want.Bytes)
	if got.File == want.File && got.Index == want.Index && got.Line == want.Line && got.Offset == want.Offset && g == w {
		return ""
	}
	return fmt.Sprintf("got  %s #%d line %d offset %d %s\nwant %s #%d line %d offset %d %s",
		got.File, got.Index, got.Line, got.Offset, g, want.File, want.Index, want.Line, want.Offset, w)
}

// checkChunks fails unless a scan returns what Split cuts.
func checkChunks(t *testing.T, stream string, seed uint64) {
	t.Helper()
	want := yamledit.Split("f", []byte(stream))
	got, stats, err := collect(FromReader("f", stutter{strings.NewReader(stream), rand.New(rand.NewPCG(seed, 2))}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || stats.Documents != len(want) || stats.Bytes != int64(len(stream)) {
		t.Fatalf("%+q, seed %d: %d chunks, %+v; want %d chunks", stream, seed, len(got), stats, len(want))
	}
	for i := range got {
		if d := difference(got[i], want[i]); d != "" {
			t.Fatalf("%+q, seed %d:\n%s", stream, seed, d)
		}
	}
}

func TestChunksAreThoseOfSplitHoweverTheStreamIsRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(rounds(10_000)) {
		checkChunks(t, randomStream(rnd, 40), seed)
	}
	for _, long := range []string{"#", " ", "a", "é", "---\r"} { // lines longer than what is read at once
		checkChunks(t, strings.Repeat(long, readSize)+"\n---\nb\n---\n"+strings.Repeat(long, 2*readSize)+"\n---\n", 1)
	}
}

func rounds(n int) int {
	if testing.Short() {
		return n / 50
	}
	return n
}

func FuzzChunksAreThoseOfSplit(f *testing.F) {
	for i, p := range pieces {
		f.Add(p+"a\n...\n\n\n\n\n..."+p+"\n# c\n---\n"+p, uint64(i))
	}
	f.Fuzz(checkChunks)
}

func TestAFileIsScannedWithItsInfo(t *testing.T) {
	path := write(t, t.TempDir(), "a.yaml", "a: 1\n---\nb: 2\n")
	chunks, stats, err := collect(Source{Name: "name", Path: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks) != 2 || chunks[1].File != "name" || string(chunks[1].Bytes) != "---\nb: 2\n" || chunks[1].Line != 1 {
		t.Errorf("chunks: %+v", chunks)
	}
	if stats.Info == nil || stats.Info.Size() != 14 || stats.Bytes != 14 || stats.Documents != 2 {
		t.Errorf("stats: %+v", stats)
	}
}

func TestAStreamHasNoInfo(t *testing.T) {
	chunks, stats, err := collect(FromReader("<stdin>", strings.NewReader("a: 1\n")), nil)
	if err != nil || len(chunks) != 1 || chunks[0].File != "<stdin>" || stats.Info != nil {
		t.Errorf("chunks %+v, stats %+v, error %v", chunks, stats, err)
	}
}

func TestUnwantedDocumentsAreCountedAndNotReturned(t *testing.T) {
	src := FromReader("s", strings.NewReader("a: 1\n---\nb: 2\n---\na: 3\n"))
	chunks, stats, err := collect(src, func(text []byte) bool { return strings.Contains(string(text), "b") })
	if err != nil || len(chunks) != 1 || chunks[0].Index != 1 || chunks[0].Line != 1 {
		t.Errorf("chunks %+v, error %v", chunks, err)
	}
	if stats.Documents != 3 || stats.Skipped != 2 {
		t.Errorf("stats: %+v", stats)
	}
}

func TestChunksMayBeKept(t *testing.T) {
	var stream strings.Builder
	for i := range 20_000 { // several times what is read at once
		fmt.Fprintf(&stream, "---\nkey: %0200d\n", i)
	}
	text := stream.String()
	chunks, _, err := collect(FromReader("s", strings.NewReader(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range chunks {
		b.Write(c.Bytes)
	}
	if len(chunks) != 20_000 || b.String() != text {
		t.Errorf("the %d chunks joined are not the stream", len(chunks))
	}
}

// sized returns a document of so many bytes, an object below blank lines.
func sized(size int) string {
	const marker, object = "---\n", "kind: Secret\n"
	blank := size - len(marker) - len(object)
	return marker + strings.Repeat(strings.Repeat(" ", 1023)+"\n", blank/1024) + strings.Repeat("\n", blank%1024) + object
}

func TestWhatIsTooLargeIsAnErrorWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		before           int // documents that are read
	}{
		{"a document of the largest size", sized(MaxDocument) + sized(20), "", 2},
		{"a document above it", "a: 1\n" + sized(MaxDocument+1) + "---\nb\n", "f:2: the document is larger than 16 MiB", 1},
		{"the last document", sized(MaxDocument + 1), "f:1: the document is larger than 16 MiB", 0},
		{"one line", "a: " + strings.Repeat("x", MaxDocument), "f:1: the document is larger than 16 MiB", 0},
		{"comments after an end marker", "a: 1\n...\n" + strings.Repeat("# comment\n", MaxDocument/9), "f:1: the document is larger than 16 MiB", 0},
		{"a file of the largest size", strings.Repeat(sized(MaxDocument), 4), "", 4},
		{"a file above it", strings.Repeat(sized(MaxDocument), 4) + "---\n", fmt.Sprintf("f:%d: the file is larger than 64 MiB", 1+4*strings.Count(sized(MaxDocument), "\n")), 4},
	} {
		chunks, _, err := collect(FromReader("f", strings.NewReader(c.text)), nil)
		if text := fmt.Sprint(err); (c.want == "") != (err == nil) || !strings.HasPrefix(text, c.want) || len(chunks) != c.before {
			t.Errorf("%s: %d documents, %v", c.name, len(chunks), err)
		}
		if at := (*yamledit.Error)(nil); err != nil && (!errors.As(err, &at) || at.Do == "") {
			t.Errorf("%s: %v does not say what to do", c.name, err)
		}
	}
}

func TestAnErrorOfEachEndsTheScanAsItIs(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	_, err := FromReader("s", strings.NewReader("a\n---\nb\n")).Scan(nil, func(yamledit.Chunk) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

func TestAReadErrorNamesTheSourceAndItsCause(t *testing.T) {
	for _, before := range []string{"", "a\n---\nb\n", strings.Repeat("a\n---\n", 10_000)} {
		r := io.MultiReader(strings.NewReader(before), iotest.ErrReader(io.ErrUnexpectedEOF))
		_, _, err := collect(FromReader("the-stream", r), nil)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "the-stream: ") {
			t.Errorf("after %d bytes: %v", len(before), err)
		}
	}
}

func TestAFileThatIsGoneIsAnErrorWithItsNameOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	_, _, err := collect(Source{Name: path, Path: path}, nil)
	if !errors.Is(err, os.ErrNotExist) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("error: %v", err)
	}
}

// collect keeps all chunks of a scan.
func collect(s Source, want func([]byte) bool) ([]yamledit.Chunk, Stats, error) {
	var chunks []yamledit.Chunk
	stats, err := s.Scan(want, func(c yamledit.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	return chunks, stats, err
}

// write makes a file and the folders above it, and returns its path.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
