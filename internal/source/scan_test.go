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

// scanSmall scans with sizes so small that short streams reach every path.
func scanSmall(stream string, seed uint64, limit int) ([]yamledit.Chunk, Stats, error) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var chunks []yamledit.Chunk
	sc := scanner{
		text: window{r: stutter{strings.NewReader(stream), rnd}, first: 1 + rnd.IntN(100)},
		max:  limit,
		look: 2 + rnd.IntN(40),
		next: yamledit.Chunk{File: "f"},
		each: func(c yamledit.Chunk) error {
			chunks = append(chunks, c)
			return nil
		},
	}
	err := sc.cut() // checkText would read all of a short stream at once
	return chunks, sc.stats, err
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

// checkAllChunks fails unless a scan returns what Split cuts.
func checkAllChunks(t *testing.T, stream string, seed uint64) {
	t.Helper()
	want := yamledit.Split("f", []byte(stream))
	got, stats, err := scanSmall(stream, seed, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || stats.Documents != len(want) || stats.Oversize != 0 || stats.Bytes != int64(len(stream)) {
		t.Fatalf("%+q, seed %d: %d chunks, %+v; want %d chunks", stream, seed, len(got), stats, len(want))
	}
	for i := range got {
		if d := difference(got[i], want[i]); d != "" {
			t.Fatalf("%+q, seed %d:\n%s", stream, seed, d)
		}
	}
}

// checkSmallChunks fails unless a scan returns what Split cuts, but for the
// documents above the limit. Only in the place of a last document above it may
// there be more: it is cut where it has end markers.
func checkSmallChunks(t *testing.T, stream string, seed uint64, limit int) {
	t.Helper()
	var want []yamledit.Chunk
	all := yamledit.Split("f", []byte(stream))
	for _, c := range all {
		if len(c.Bytes) <= limit {
			want = append(want, c)
		}
	}
	got, stats, err := scanSmall(stream, seed, limit)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	for _, c := range got[min(len(want), len(got)):] {
		if len(last.Bytes) > limit && c.Offset >= last.Offset && string(c.Bytes) == stream[c.Offset:c.Offset+len(c.Bytes)] {
			want = append(want, c)
		}
	}
	if len(got) != len(want) || stats.Documents != stats.Oversize+len(got) || stats.Bytes != int64(len(stream)) {
		t.Fatalf("%+q, seed %d, limit %d: %d chunks, %+v; want %d chunks", stream, seed, limit, len(got), stats, len(want))
	}
	for i := range got {
		if d := difference(got[i], want[i]); d != "" {
			t.Fatalf("%+q, seed %d, limit %d:\n%s", stream, seed, limit, d)
		}
	}
}

func TestChunksAreThoseOfSplitHoweverTheStreamIsRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for seed := range uint64(rounds(40_000)) {
		checkAllChunks(t, randomStream(rnd, 40), seed)
	}
}

func TestDocumentsAboveTheLimitAreLeftOutAndTheOthersKeepTheirPlace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for seed := range uint64(rounds(40_000)) {
		checkSmallChunks(t, randomStream(rnd, 120), seed, 32+rnd.IntN(200))
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
		f.Add(p+"a\n...\n\n\n\n\n..."+p+"\n# c\n---\n"+p, uint64(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, stream string, seed uint64, limit uint8) {
		if len(stream) > 16<<10 {
			t.Skip("Split takes time quadratic in the size")
		}
		checkAllChunks(t, stream, seed)
		checkSmallChunks(t, stream, seed, 32+int(limit))
	})
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

func TestADocumentOfTheLargestSizeIsReadAndALargerOneIsNot(t *testing.T) {
	document := func(size int) string {
		return "---\na: " + strings.Repeat("x", size-len("---\na: \n")) + "\n"
	}
	stream := document(MaxDocument) + document(MaxDocument+1) + document(MaxDocument) + "---\nb\n"
	chunks, stats, err := collect(FromReader("s", strings.NewReader(stream)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks) != 3 || stats.Oversize != 1 || stats.Documents != 4 {
		t.Fatalf("%d chunks, %+v", len(chunks), stats)
	}
	last := yamledit.Chunk{File: "s", Index: 3, Line: 6, Offset: len(stream) - len("---\nb\n"), Bytes: []byte("---\nb\n")}
	if d := difference(chunks[2], last); d != "" {
		t.Error(d)
	}
}

func TestCommentsAfterAnEndMarkerDoNotCostTheLastDocument(t *testing.T) {
	stream := "a: 1\n...\n" + strings.Repeat("# comment\n", MaxDocument/9)
	chunks, stats, err := collect(FromReader("s", strings.NewReader(stream)), nil)
	if err != nil || len(chunks) != 1 || string(chunks[0].Bytes) != "a: 1\n...\n" || stats.Oversize != 1 {
		t.Errorf("%d chunks, %+v, %v", len(chunks), stats, err)
	}
}

func TestBinaryFilesAreDistinguished(t *testing.T) {
	for name, text := range map[string]string{
		"a NUL byte":              "\x7fELF\x00",
		"a NUL byte after 8000":   strings.Repeat("x", 8000) + "\x00",
		"UTF-16, little endian":   "\xff\xfea\x00",
		"UTF-16, big endian":      "\xfe\xff\x00a",
		"a NUL byte, read slowly": "abc\x00",
	} {
		r := iotest.OneByteReader(strings.NewReader(text))
		chunks, _, err := collect(FromReader("the-file", r), nil)
		if !errors.Is(err, ErrBinary) || !strings.HasPrefix(err.Error(), "the-file: ") || len(chunks) != 0 {
			t.Errorf("%s: %d chunks, error %v", name, len(chunks), err)
		}
	}
}

func TestANulByteFarIntoAFileIsLeftToTheParser(t *testing.T) {
	text := "a: " + strings.Repeat("x", 9000) + "\x00\n"
	chunks, _, err := collect(FromReader("s", strings.NewReader(text)), nil)
	if err != nil || len(chunks) != 1 {
		t.Errorf("%d chunks, error %v", len(chunks), err)
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
