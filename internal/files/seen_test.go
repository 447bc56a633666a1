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
	info := assert.Value(os.Stat(path))(t)
	seen := See(info)
	if err := Unchanged(path, seen); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"another time", func() error { return os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)) }},
		{"another size", func() error {
			return errors.Join(os.WriteFile(path, []byte("after!!"), 0o600), os.Chtimes(path, time.Time{}, info.ModTime()))
		}},
		{"another file", func() error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("before"), 0o600), os.Chtimes(path, time.Time{}, info.ModTime()))
		}},
	} {
		assert.NilError(t, c.change())
		if err := Unchanged(path, seen); !errors.Is(err, ErrChanged) || !strings.HasSuffix(err.Error(), "; run the command again") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := Unchanged(path, Version{}); !errors.Is(err, ErrChanged) {
		t.Errorf("what was never seen is unchanged: %v", err)
	}
	if err := Unchanged(path+".gone", seen); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "the file does not exist") {
		t.Error(err)
	}
}
