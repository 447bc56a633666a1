// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// reader is a git that answers for one object after the other.
type reader struct {
	*exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

// start starts the reader of the repository.
func (r *Repository) start(ctx context.Context) error {
	c := r.command(ctx, "cat-file", "--batch-command")
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	r.objects = reader{c, in, bufio.NewReader(out)}
	return c.Start()
}

// size asks for the size of a blob, or for its bytes, which follow the answer.
func (r reader) size(question, hash string) (int, error) {
	fmt.Fprintf(r.ask, "%s %s\n", question, hash) // without a reader there is no answer
	line, err := r.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("git cat-file has ended: %w", err)
	}
	parts := strings.Fields(line)
	if len(parts) != 3 || parts[1] != "blob" {
		return 0, errors.New("its bytes are not in this clone; fetch them first")
	}
	return strconv.Atoi(parts[2])
}

// ErrUnread means that the bytes of a file that a commit has are not to be had.
var ErrUnread = errors.New("cannot read it")

// Read returns the bytes of a file of a commit. One larger than most is refused before a byte of it is
// read. It may be used by several goroutines.
func (r *Repository) Read(f File, most int) ([]byte, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	size, err := r.objects.size("info", f.Hash)
	if err == nil && size > most {
		err = fmt.Errorf("has %d bytes, more than the %d that are read; make it smaller, or exclude it", size, most)
	}
	if err == nil {
		size, err = r.objects.size("contents", f.Hash)
	}
	text := make([]byte, size+1) // a line break follows
	if err == nil {
		_, err = io.ReadFull(r.objects.answers, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.Name(f.Path), ErrUnread, err)
	}
	return text[:size], nil
}

// File returns a file of a commit, if the commit has it.
func (r *Repository) File(ctx context.Context, commit, name string) (f File, found bool, err error) {
	files, err := r.Tree(ctx, commit, name)
	if f, found = files[name]; found && f.Kind() != "" {
		err = fmt.Errorf("%s: a %s in %.12s; replace it by a file", r.Name(name), f.Kind(), commit)
	}
	return f, found, err
}
