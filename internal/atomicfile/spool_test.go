// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// temporaries makes a folder for temporary files and returns what is in it.
func temporaries(t *testing.T) func() int {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	return func() int {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
}

func TestASpoolReturnsWhatWasWritten(t *testing.T) {
	left := temporaries(t)
	for _, size := range []int{0, 1, spoolMemory - 1, spoolMemory, spoolMemory + 1, 3*spoolMemory + 7} {
		rnd := rand.New(rand.NewPCG(uint64(size), 1))
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rnd.Uint32())
		}
		var s Spool
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(1<<20))
			if _, err := s.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got, err := io.ReadAll(io.NewSectionReader(&s, 0, s.Len()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d came back, error %v", size, len(got), err)
		}
		for range 100 {
			from := rnd.IntN(size + 1)
			b := make([]byte, rnd.IntN(1<<20))
			n, err := s.ReadAt(b, int64(from))
			if whole := from+len(b) <= size; !bytes.Equal(b[:n], want[from:min(size, from+len(b))]) || whole != (err == nil) || !whole && err != io.EOF {
				t.Errorf("%d bytes at %d of %d: %d came back, error %v", len(b), from, size, n, err)
			}
		}
		if err := s.Close(); err != nil || s.Len() != 0 {
			t.Errorf("closed with %d bytes, error %v", s.Len(), err)
		}
	}
	if n := left(); n > 0 {
		t.Errorf("%d temporary files are left", n)
	}
}

func TestAWriteLargerThanAllMemoryIsKept(t *testing.T) {
	temporaries(t)
	want := strings.Repeat("x", 2*spoolMemory)
	var s Spool
	defer s.Close()
	io.WriteString(&s, want)
	io.WriteString(&s, "y")
	got, err := io.ReadAll(io.NewSectionReader(&s, 0, s.Len()))
	if err != nil || string(got) != want+"y" {
		t.Errorf("%d bytes came back, error %v", len(got), err)
	}
}

func TestASpoolWithoutARoomForItsFileFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	var s Spool
	defer s.Close()
	if _, err := s.Write(make([]byte, spoolMemory)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte{1}); err == nil {
		t.Error("no error")
	}
}

func TestCollectedPartsAreSpliced(t *testing.T) {
	src := strings.Repeat("0123456789", 1000)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var collected Parts
		var want, got bytes.Buffer
		done := 0
		for at := 0; at < len(src)-20; at += 20 + rnd.IntN(500) {
			p := Part{Offset: int64(at), Length: int64(rnd.IntN(20)), New: []byte(src[:rnd.IntN(100)])}
			want.WriteString(src[done:at] + string(p.New))
			done = at + int(p.Length)
			if err := collected.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		want.WriteString(src[done:])
		if err := collected.Splice(&got, strings.NewReader(src), int64(len(src))); err != nil || got.String() != want.String() {
			t.Errorf("seed %d: %d bytes, want %d, error %v", seed, got.Len(), want.Len(), err)
		}
		if err := collected.Close(); err != nil || collected.Len() != 0 {
			t.Errorf("closed with %d parts, error %v", collected.Len(), err)
		}
	}
}

func TestCollectedPartsThatDoNotFitAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	var ps Parts
	for _, p := range []Part{{Offset: 1, Length: 3}, {Offset: 3, Length: 1}} {
		if err := ps.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := ps.Splice(&out, strings.NewReader("0123456789"), 10); err == nil || out.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, out.Len())
	}
}

// A run that is stopped forgets what it has read while its reader still reads.
func TestASpoolIsClosedWhileSomeoneWrites(t *testing.T) {
	left := temporaries(t)
	var s Spool
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		block := make([]byte, 1<<20)
		for n := range 3 * spoolMemory / len(block) {
			if _, err := s.Write(block); err != nil {
				t.Error(err)
			}
			if n == 0 {
				close(begun)
			}
		}
	}()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if err := s.Close(); err != nil || s.Len() != 0 || left() != 0 {
		t.Errorf("%v, %d bytes and %d files are left", err, s.Len(), left())
	}
}
