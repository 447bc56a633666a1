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
)

// full lets files grow no further than to a size while something is done.
func full(t *testing.T, size int64, do func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(size), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	do()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
}

func TestALogStaysWholeWhenTheDiskIsFull(t *testing.T) {
	file := written(t, entry("1", Intent, "u"))
	a, _, err := openAudit(file, "u")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	full(t, info.Size()+10, func() { err = a.add(entry("1", Result, "u")) })
	if err == nil {
		t.Fatal("half a line was taken for a whole one")
	}
	if err := errors.Join(a.add(entry("2", Intent, "u")), a.close()); err != nil {
		t.Fatal(err)
	}
	if _, open, err := openAudit(file, "u"); err != nil || len(open) != 2 {
		t.Errorf("%v %v", err, open)
	}
}

func TestALogIsAFile(t *testing.T) {
	for _, name := range []string{"/dev/full", "/dev/null"} {
		if _, _, err := openAudit(name, "u"); err == nil || !strings.Contains(err.Error(), "it is not a file, so the entries of an earlier run cannot be read; use another one with --audit-log") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
