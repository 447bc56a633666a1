// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// MaxFile is the size of the largest file that is read of a commit. It is held in memory.
const MaxFile = 64 << 20

// Read returns the bytes of files of commits, by hash.
func (r *Repository) Read(ctx context.Context, files []File) (map[string][]byte, error) {
	texts := map[string][]byte{}
	if len(files) == 0 {
		return texts, nil
	}
	var asked strings.Builder
	for _, f := range files {
		fmt.Fprintln(&asked, f.Hash)
	}
	out, err := r.git(ctx, strings.NewReader(asked.String()), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	answer := bufio.NewReader(bytes.NewReader(out))
	for _, f := range files {
		if texts[f.Hash], err = readBlob(answer); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name(f.Path), err)
		}
	}
	return texts, nil
}

// readBlob reads one answer: a line with the hash, the type and the size, the bytes, and a
// line break.
func readBlob(r *bufio.Reader) ([]byte, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	parts := strings.Fields(head)
	if len(parts) != 3 || parts[1] != "blob" {
		return nil, fmt.Errorf("its bytes are not in this clone; fetch them first")
	}
	size, err := strconv.Atoi(parts[2])
	switch {
	case err != nil:
		return nil, err
	case size > MaxFile:
		return nil, fmt.Errorf("larger than %d MiB, which no file of clusters is; exclude it", MaxFile>>20)
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return text[:size], nil
}

// File returns the bytes of a file of a commit, if the commit has it.
func (r *Repository) File(ctx context.Context, commit, name string) (text []byte, found bool, err error) {
	files, err := r.List(ctx, commit, path.Dir(name))
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return nil, false, nil
	}
	texts, err := r.Read(ctx, files[i:i+1])
	return texts[files[i].Hash], err == nil, err
}
