// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestAFileIsUnchangedOnlyAsItWasSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	assert.NilError(t, os.WriteFile(path, []byte("before"), 0o600))
	seen := assert.Value(os.Stat(path))(t)
	assert.NilError(t, Unchanged(path, seen))
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"another time", func() error { return os.Chtimes(path, time.Time{}, seen.ModTime().Add(time.Second)) }},
		{"another size", func() error {
			return errors.Join(os.WriteFile(path, []byte("after!!"), 0o600), os.Chtimes(path, time.Time{}, seen.ModTime()))
		}},
		{"another file", func() error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("before"), 0o600), os.Chtimes(path, time.Time{}, seen.ModTime()))
		}},
	} {
		assert.NilError(t, c.change())
		err := Unchanged(path, seen)
		assert.Truef(t, errors.Is(err, ErrChanged) && strings.HasSuffix(err.Error(), "; run the command again"), "%s: %v", c.name, err)
	}
	err := Unchanged(path, nil)
	assert.Truef(t, errors.Is(err, ErrChanged), "what was never seen is unchanged: %v", err)
	err = Unchanged(path+".gone", seen)
	assert.True(t, errors.Is(err, ErrChanged) && strings.Contains(err.Error(), "the file does not exist"), err)
}
