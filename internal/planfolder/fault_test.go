// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package planfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/files"
	"github.com/rke-lm/rke-lm/transform/plan"
)

var errFault = errors.New("no space left on device")

// faulty is a disk that fails at one operation, and after a power cut at all that
// follow. What it fails to write is there by half.
type faulty struct {
	realDisk
	left int // operations that work
	cut  bool
	met  bool // the fault
}

func (d *faulty) fails() bool {
	d.left--
	failed := d.left == -1 || d.left < 0 && d.cut
	d.met = d.met || failed
	return failed
}

// unless does an operation unless it fails.
func (d *faulty) unless(do func() error) error {
	if d.fails() {
		return errFault
	}
	return do()
}

func (d *faulty) makeFolders(path string) error {
	return d.unless(func() error { return d.realDisk.makeFolders(path) })
}

func (d *faulty) makeTemporary(parent string) (string, files.Lock, error) {
	if d.fails() {
		return "", files.Lock{}, errFault
	}
	return d.realDisk.makeTemporary(parent)
}

func (d *faulty) writeFile(path string, content []byte) error {
	if d.fails() {
		return errors.Join(errFault, d.realDisk.writeFile(path, content[:len(content)/2]))
	}
	return d.realDisk.writeFile(path, content)
}

func (d *faulty) rename(from, to string) error {
	return d.unless(func() error { return d.realDisk.rename(from, to) })
}

func (d *faulty) remove(path string) error {
	return d.unless(func() error { return d.realDisk.remove(path) })
}

func (d *faulty) sync(folder string) error {
	return d.unless(func() error { return d.realDisk.sync(folder) })
}

// versions of the plan of one cluster, distinguished by a file of each.
func version(n int) (plan.Saved, []File) {
	s := harbour()
	s.Cluster.Version = fmt.Sprint(n)
	return s, named(fmt.Sprintf("%d.diff", n), "runbook.md")
}

// complete returns which version of the plan is in a folder, 0 for none. A folder
// that is not whole is an error.
func complete(t *testing.T, path string) int {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	p, err := read(path)
	assert.Mustf(t, err == nil, "the folder is not a plan: %v", err)
	for _, name := range p.Files {
		text, err := os.ReadFile(filepath.Join(path, name))
		assert.Mustf(t, err == nil && string(text) == "content of "+name, "%s is not whole: %q, %v", name, text, err)
	}
	n := 0
	fmt.Sscan(p.Cluster.Version, &n)
	return n
}

// TestAPlanFolderIsCompleteOrNotThere fails at every operation in turn, with an
// old plan in the folder and without one.
func TestAPlanFolderIsCompleteOrNotThere(t *testing.T) {
	for _, cut := range []bool{false, true} {
		for old := range 2 {
			for n := 0; ; n++ {
				d := &faulty{left: n, cut: cut}
				t.Run(fmt.Sprintf("power cut %v, version %d before, operation %d", cut, old, n), func(t *testing.T) {
					writeWith(t, d, old, cut)
				})
				if !d.met {
					break
				}
			}
		}
	}
}

func writeWith(t *testing.T, d *faulty, old int, cut bool) {
	root := t.TempDir()
	path := filepath.Join(root, Place(harbour()))
	if old > 0 {
		s, held := version(old)
		assert.NilError(t, write(realDisk{}, path, s, held, false))
	}
	s, held := version(2)
	err := write(d, path, s, held, false)
	is := complete(t, path)
	switch {
	case err == nil && is != 2:
		t.Errorf("it says that all went well, and version %d is there", is)
	case err != nil && is != old && !cut:
		t.Errorf("it failed (%v), and version %d is there", err, is)
	case err != nil && !strings.Contains(err.Error(), "the plan was not written: no space left on device"):
		t.Errorf("got %v", err)
	}
	if cut {
		return // no one is there to tidy up
	}
	left := hiddenBeside(path)
	assert.Truef(t, len(left) == 0 || err == nil, "not removed: %v", left)
}

func hiddenBeside(path string) []string {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	return found
}

func TestALostRaceForTheFolderIsAnError(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, Place(harbour()))
	s, held := version(2)
	err := write(racing{path: path}, path, s, held, false)
	assert.Truef(t, err != nil && theirs(path) == "theirs", "got %v, and %s is there", err, theirs(path))
	left := hiddenBeside(path)
	assert.Truef(t, len(left) == 0, "not removed: %v", left)
}

// racing is a disk on which someone else makes the folder in the meantime.
type racing struct {
	realDisk
	path string
}

func (d racing) rename(from, to string) error {
	if err := putFile(filepath.Join(d.path, "theirs"), "theirs"); err != nil {
		return err
	}
	return d.realDisk.rename(from, to)
}

func theirs(path string) string {
	text, _ := os.ReadFile(filepath.Join(path, "theirs"))
	return string(text)
}
