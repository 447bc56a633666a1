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

// endless are streams without an end.
var endless = map[string]string{
	"small documents": "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: something\n",
	"lines":           "- some: value\n", "one line": `{"some": "value"}, `, "blank lines": "  \t  \n", "CR": "a\r",
}

func TestAnEndlessStreamTakesLittleMemoryAndIsAnError(t *testing.T) {
	for name, text := range endless {
		t.Run(name, func(t *testing.T) {
			meter := &heapMeter{r: &repeated{text: text}}
			before := heap()
			_, _, err := collect(FromReader("endless", meter), func([]byte) bool { return false })
			if err == nil || !strings.Contains(err.Error(), "MiB") || meter.read > MaxFile+readSize {
				t.Errorf("%d bytes read: %v", meter.read, err)
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
	wanted := func(text []byte) bool { return bytes.Contains(text, []byte("rkeConfig")) }
	for name, text := range endless {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.SetBytes(MaxDocument)
			b.ReportAllocs()
			for b.Loop() {
				r := io.LimitReader(&repeated{text: text}, MaxDocument)
				if _, err := FromReader("huge", r).Scan(wanted, func(yamledit.Chunk) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
