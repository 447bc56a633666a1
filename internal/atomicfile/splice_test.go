// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// splice collects parts and splices them.
func splice(dst io.Writer, src io.ReaderAt, size int64, list []Part) error {
	var ps Parts
	defer ps.Close()
	for _, p := range list {
		if err := ps.Add(p); err != nil {
			return err
		}
	}
	return ps.Splice(dst, src, size)
}

func TestPartsAreReplacedAndTheRestIsCopied(t *testing.T) {
	const src = "0123456789"
	for _, test := range []struct {
		name  string
		parts []Part
		want  string
	}{
		{"no part", nil, src},
		{"one in the middle", []Part{{3, 2, []byte("abc")}}, "012abc56789"},
		{"at the start", []Part{{0, 1, []byte("abc")}}, "abc123456789"},
		{"at the end", []Part{{9, 1, []byte("abc")}}, "012345678abc"},
		{"after the end", []Part{{10, 0, []byte("abc")}}, src + "abc"},
		{"an insertion", []Part{{5, 0, []byte("abc")}}, "01234abc56789"},
		{"a removal", []Part{{5, 3, nil}}, "0123489"},
		{"all of it", []Part{{0, 10, []byte("abc")}}, "abc"},
		{"all removed", []Part{{0, 10, nil}}, ""},
		{"two that touch", []Part{{1, 2, []byte("a")}, {3, 2, []byte("b")}}, "0ab56789"},
		{"two that came out of order", []Part{{5, 1, []byte("b")}, {1, 1, []byte("a")}}, "0a234b6789"},
		{"two insertions at one place, in order", []Part{{4, 0, []byte("a")}, {4, 0, []byte("b")}, {4, 1, []byte("c")}}, "0123abc56789"},
	} {
		var out bytes.Buffer
		if err := splice(&out, strings.NewReader(src), int64(len(src)), test.parts); err != nil || out.String() != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, out.String(), err, test.want)
		}
	}
}

func TestPartsThatDoNotFitAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	for name, parts := range map[string][]Part{
		"before the start":   {{Offset: -1, Length: 1}},
		"negative length":    {{Offset: 5, Length: -1}},
		"beyond the end":     {{Offset: 9, Length: 2}},
		"far beyond the end": {{Offset: 11}},
		"overflow":           {{Offset: 5, Length: math.MaxInt64}},
		"overlap":            {{Offset: 1, Length: 3}, {Offset: 3, Length: 1}},
		"one in the other":   {{Offset: 1, Length: 5}, {Offset: 2, Length: 1}},
	} {
		var out bytes.Buffer
		if err := splice(&out, strings.NewReader("0123456789"), 10, parts); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", name, err, out.Len())
		}
	}
}

func TestRandomPartsGiveWhatTheyGiveInMemory(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		src := make([]byte, rnd.IntN(50))
		for i := range src {
			src[i] = byte('a' + i%26)
		}
		want, parts := slices.Clone(src), randomParts(rnd, len(src))
		for _, p := range slices.Backward(parts) {
			want = slices.Replace(want, int(p.Offset), int(p.Offset+p.Length), p.New...)
		}
		var out bytes.Buffer
		if err := splice(&out, bytes.NewReader(src), int64(len(src)), parts); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("%q with %v: %q, %v; want %q", src, parts, out.Bytes(), err, want)
		}
	}
}

func randomParts(rnd *rand.Rand, size int) []Part {
	var parts []Part
	for at := 0; rnd.IntN(4) > 0; {
		at += rnd.IntN(size - at + 1)
		length := rnd.IntN(size - at + 1)
		parts = append(parts, Part{int64(at), int64(length), []byte("XYZ")[:rnd.IntN(4)]})
		at += length
	}
	return parts
}

func TestASourceThatEndsEarlyIsAnError(t *testing.T) {
	for _, parts := range [][]Part{nil, {{Offset: 12, Length: 1}}} {
		err := splice(io.Discard, strings.NewReader("0123456789"), 20, parts)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error: %v", err)
		}
	}
}

type badReader struct{ err error }

func (r badReader) ReadAt([]byte, int64) (int, error) { return 0, r.err }

func TestErrorsOfSourceAndDestinationAreReturned(t *testing.T) {
	broken := errors.New("broken")
	parts := []Part{{Offset: 4, Length: 1, New: []byte("abc")}}
	if err := splice(io.Discard, badReader{broken}, 10, parts); err != broken {
		t.Errorf("reading: %v", err)
	}
	for room := range int64(12) {
		full := &fullWriter{room: room}
		if err := splice(full, strings.NewReader("0123456789"), 10, parts); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
	if err := splice(iotest.TruncateWriter(io.Discard, 100), strings.NewReader("0123456789"), 10, parts); err != nil {
		t.Error(err)
	}
}

var errFull = errors.New("no space left on device")

// fullWriter is a disk with little room.
type fullWriter struct{ room int64 }

func (w *fullWriter) Write(p []byte) (int, error) {
	n := min(int64(len(p)), w.room)
	w.room -= n
	if n < int64(len(p)) {
		return int(n), errFull
	}
	return len(p), nil
}

// zeros is a source of any size.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestALargeSourceIsSplicedInLittleMemory(t *testing.T) {
	const size = 1 << 30
	var before, after runtime.MemStats
	var out counter
	runtime.ReadMemStats(&before)
	err := splice(&out, zeros{}, size, []Part{{Offset: size / 2, Length: 10, New: []byte("abc")}})
	runtime.ReadMemStats(&after)
	if err != nil || out.n != size-7 {
		t.Fatalf("%d bytes, %v", out.n, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes of memory were used", used)
	}
}

func ExampleSplice() {
	var out strings.Builder
	src := "version: v1.26\nname: prod\n"
	parts := []Part{{Offset: 9, Length: 5, New: []byte("v1.27")}, {Offset: 26, New: []byte("paused: true\n")}}
	if err := splice(&out, strings.NewReader(src), int64(len(src)), parts); err != nil {
		fmt.Println(err)
	}
	fmt.Print(out.String())
	// Output:
	// version: v1.27
	// name: prod
	// paused: true
}
