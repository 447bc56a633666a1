// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/rke-lm/rke-lm/internal/temporary"
)

// spoolMemory is what a Spool holds in memory.
const spoolMemory = 1 << 20

// Spool keeps what is written to it until it can be used: a megabyte in
// memory, more in a temporary file that only the user can read and that has no
// name where the system allows that. The zero Spool is empty. It may be closed while
// someone writes: a reader of standard input cannot be stopped.
type Spool struct {
	mu     sync.Mutex
	held   []byte // the end
	file   *os.File
	inFile int64 // size of what is before held
}

// Len returns how much was written.
func (s *Spool) Len() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFile + int64(len(s.held))
}

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 && len(s.held)+len(p) > spoolMemory {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	s.held = append(s.held, p...)
	return len(p), nil
}

// spill moves what is held to the file. The caller holds the lock.
func (s *Spool) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", temporary.Pattern)
		if err != nil {
			return err
		}
		s.file = f
		os.Remove(f.Name()) // where this fails, Close does it
	}
	n, err := s.file.WriteAt(s.held, s.inFile)
	if err != nil {
		return err
	}
	s.inFile += int64(n)
	s.held = s.held[:0]
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if off < s.inFile {
		var err error
		n, err = s.file.ReadAt(p[:min(int64(len(p)), s.inFile-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
	}
	if at := off + int64(n) - s.inFile; at >= 0 && at < int64(len(s.held)) {
		n += copy(p[n:], s.held[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close forgets what was written.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	s.held, s.file, s.inFile = nil, nil, 0
	if f == nil {
		return nil
	}
	err := f.Close()
	os.Remove(f.Name())
	return err
}
