// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "io"

// readSize is large enough that system calls do not show.
const readSize = 1 << 20

// window is the part of a stream that was read and is still needed.
type window struct {
	r     io.Reader
	first int    // size of the first buffer
	held  []byte // the end of buf
	buf   []byte
	eof   bool
}

// fill reads on until n bytes are held or the stream ends.
func (w *window) fill(n int) error {
	if n > cap(w.held) && !w.eof {
		w.makeRoom(n)
	}
	for len(w.held) < n && !w.eof {
		free := w.held[len(w.held):cap(w.held)]
		got, err := w.r.Read(free)
		w.held = w.held[:len(w.held)+got]
		if err == io.EOF {
			w.eof = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

// makeRoom moves what is held to the start of the buffer, a larger one if need
// be. A buffer doubles, so that growing costs no more than reading.
func (w *window) makeRoom(n int) {
	if n > cap(w.buf) {
		w.buf = make([]byte, max(n, w.first, min(2*cap(w.buf), n+readSize)))
	}
	w.held = w.buf[:copy(w.buf, w.held)]
}

// drop forgets the first n bytes.
func (w *window) drop(n int) { w.held = w.held[n:] }

// done reports whether the stream has ended and nothing of it is held.
func (w *window) done() bool { return w.eof && len(w.held) == 0 }
