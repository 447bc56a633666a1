// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// full lets files grow no further than to a size while something is done.
func full(t *testing.T, size int64, do func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	assert.NilError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: before.Max}))
	do()
	assert.NilError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
}

func TestALogStaysWholeWhenTheDiskIsFull(t *testing.T) {
	file := written(t, entry("1", Intent, "u"))
	a, _, err := openAudit(file, "u")
	assert.NilError(t, err)
	info := assert.Value(os.Stat(file))(t)
	full(t, info.Size()+10, func() { err = a.add(entry("1", Result, "u")) })
	assert.Must(t, err != nil, "half a line was taken for a whole one")
	assert.NilError(t, errors.Join(a.add(entry("2", Intent, "u")), a.close()))
	_, open, err := openAudit(file, "u")
	assert.Truef(t, err == nil && len(open) == 2, "%v %v", err, open)
}

func TestALogIsAFile(t *testing.T) {
	for _, name := range []string{"/dev/full", "/dev/null"} {
		_, _, err := openAudit(name, "u")
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "it is not a file, so the entries of an earlier run cannot be read; use another one with --audit-log"), "%s: %v", name, err)
	}
}
