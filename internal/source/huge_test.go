// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/transform/yamledit"
)

// repeated is a stream of one text over and over.
type repeated struct {
	text string
	off  int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := copy(p[n:], r.text[r.off:])
		n += k
		r.off = (r.off + k) % len(r.text)
	}
	return n, nil
}

// heapMeter notes the largest heap met while a stream is read.
type heapMeter struct {
	r             io.Reader
	read, measure int
	most          uint64
}

func (m *heapMeter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += n
	if m.read >= m.measure {
		m.measure += 4 << 20
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		m.most = max(m.most, s.HeapAlloc)
	}
	return n, err
}

var configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: something
data:
  key: ` + strings.Repeat("value ", 100) + "\n"

// hugeStreams are long streams without a cluster.
var hugeStreams = []struct {
	name, start, text string
	size              int
	merges            bool // what follows belongs to the same document
}{
	{name: "small documents", text: configMap, size: 256 << 20},
	{name: "one document", start: "a:\n", text: "- some: value\n", size: 256 << 20},
	{name: "one document with CR as line break", start: "a:\r", text: "- some: value\r", size: 40 << 20},
	{name: "one document in other characters", start: "a:\n", text: "- “あるもの”: значение\n", size: 40 << 20},
	{name: "one line", start: "[", text: `{"some": "value"}, `, size: 40 << 20},
	{name: "one line in other characters", start: "[", text: `{"あるもの": "“значение”"}, `, size: 40 << 20},
	{name: "comments", text: "# nothing here\n", size: 40 << 20, merges: true},
	{name: "blank lines", text: "  \t  \n", size: 40 << 20, merges: true},
	{name: "one line of blanks", text: "    ", size: 40 << 20, merges: true},
	{name: "one line of comment", start: "#", text: "    ", size: 40 << 20, merges: true},
}

func TestAHugeStreamTakesLittleMemory(t *testing.T) {
	for _, h := range hugeStreams {
		t.Run(h.name, func(t *testing.T) {
			size := h.size
			if testing.Short() {
				size = 2*MaxDocument + 1
			}
			meter := &heapMeter{r: io.MultiReader(
				strings.NewReader(h.start), io.LimitReader(&repeated{text: h.text}, int64(size)), strings.NewReader("\n---\nlast: 1\n"))}
			before := heap()
			chunks, stats, err := collect(FromReader("huge", meter), func(text []byte) bool { return bytes.Contains(text, []byte("last")) })
			if err != nil {
				t.Fatal(err)
			}
			if found := len(chunks) == 1 && string(chunks[0].Bytes) == "---\nlast: 1\n"; found == h.merges {
				t.Errorf("%d chunks, %+v", len(chunks), stats)
			}
			// The buffer, its predecessor, and garbage.
			if grown := int64(meter.most) - int64(before); grown > 6*MaxDocument {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// heap returns the size of what is in use.
func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkScan looks for a cluster where there is none.
func BenchmarkScan(b *testing.B) {
	const size = 64 << 20
	wanted := func(text []byte) bool { return bytes.Contains(text, []byte("rkeConfig")) }
	for _, h := range hugeStreams {
		b.Run(strings.ReplaceAll(h.name, " ", "-"), func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				r := io.MultiReader(strings.NewReader(h.start), io.LimitReader(&repeated{text: h.text}, size))
				if _, err := FromReader("huge", r).Scan(wanted, func(yamledit.Chunk) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
