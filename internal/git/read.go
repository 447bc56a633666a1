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
	"slices"
	"strconv"
	"strings"
)

// blobs is a git that answers for one object after the other.
type blobs struct {
	process *exec.Cmd
	ask     io.WriteCloser
	answers *bufio.Reader
}

func (b *blobs) end() {
	b.process.Process.Kill() // it only reads
	b.process.Wait()
}

// blobs returns the one of this repository.
func (r *Repository) blobs(ctx context.Context) (*blobs, error) {
	if r.reading != nil {
		return r.reading, nil
	}
	c := r.command(ctx, "cat-file", "--batch-command")
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	r.reading = &blobs{c, in, bufio.NewReader(out)}
	return r.reading, nil
}

// head asks for the size of an object, or for its bytes, which follow the answer.
func (b *blobs) head(question, hash string) (size int64, err error) {
	if _, err := fmt.Fprintf(b.ask, "%s %s\n", question, hash); err != nil {
		return 0, err
	}
	line, err := b.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("git cat-file has ended: %w", err)
	}
	parts := strings.Fields(line)
	if len(parts) != 3 || parts[1] != "blob" {
		return 0, errors.New("its bytes are not in this clone; fetch them first")
	}
	return strconv.ParseInt(parts[2], 10, 64)
}

// blob is the bytes of one object.
type blob struct {
	io.LimitedReader
	from *blobs
}

// Read implements io.Reader. Part of an object is none.
func (b *blob) Read(p []byte) (int, error) {
	n, err := b.LimitedReader.Read(p)
	if err == io.EOF && b.N > 0 {
		err = fmt.Errorf("%w: git cat-file has ended", ErrUnread)
	}
	return n, err
}

// Close skips what was not read, and the line break after the object.
func (b *blob) Close() error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	_, err := b.from.answers.ReadByte()
	return err
}

// ErrUnread means that the bytes of a file that a commit has are not to be had.
var ErrUnread = errors.New("cannot read it")

// Read returns the bytes of a file of a commit, which are to be closed before those of the next one
// are asked for. A file larger than most is refused before a byte of it is read.
func (r *Repository) Read(ctx context.Context, f File, most int64) (io.ReadCloser, error) {
	b, err := r.blobs(ctx)
	if err != nil {
		return nil, err
	}
	size, err := b.head("info", f.Hash)
	if err == nil && size > most {
		err = fmt.Errorf("has %d bytes, more than the %d that are read; make it smaller, or exclude it", size, most)
	}
	if err == nil {
		size, err = b.head("contents", f.Hash)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", r.Name(f.Path), ErrUnread, err)
	}
	return &blob{io.LimitedReader{R: b.answers, N: size}, b}, nil
}

// Text returns the bytes of a file of a commit at once.
func (r *Repository) Text(ctx context.Context, f File, most int64) ([]byte, error) {
	in, err := r.Read(ctx, f, most)
	if err != nil {
		return nil, err
	}
	defer in.Close() // all was read
	return io.ReadAll(in)
}

// File returns a file of a commit, if the commit has it.
func (r *Repository) File(ctx context.Context, commit, name string) (f File, found bool, err error) {
	files, err := r.entries(ctx, commit, name)
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == name })
	switch {
	case err != nil || i < 0:
		return File{}, false, err
	case !files[i].regular():
		return File{}, false, fmt.Errorf("%s: not a regular file in %.12s; replace the link or folder by a file", r.Name(name), commit)
	}
	return files[i], true, nil
}
