// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// asUser calls f on a thread that accesses files as another user.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root becomes another user")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.Setfsuid(uid)
	defer syscall.Setfsuid(0)
	f()
}

// open makes the folders of a file accessible to other users.
func open(t *testing.T, path string) {
	t.Helper()
	for _, folder := range []string{filepath.Dir(filepath.Dir(path)), filepath.Dir(path)} {
		assert.NilError(t, os.Chmod(folder, 0o777))
	}
}

func TestAFolderThatIsNotWritableIsAnErrorThatNamesIt(t *testing.T) {
	path := make1(t, "a.yaml")
	open(t, path)
	if err := errors.Join(os.Chown(path, 1234, 0), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
		t.Skip(err)
	}
	asUser(t, 1234, func() {
		checkError(t, replace(path, listed(t, path), never), fs.ErrPermission, path, "in the folder "+filepath.Dir(path))
	})
	checkContent(t, path, old)
	checkAlone(t, path)
}

func TestAFileOfAnotherOwnerIsRefusedByWhoCannotKeepTheOwner(t *testing.T) {
	path := make1(t, "a.yaml")
	open(t, path)
	assert.NilError(t, os.Chmod(path, 0o666))
	asUser(t, 1234, func() {
		checkError(t, replace(path, listed(t, path), text("new")), fs.ErrPermission, path, ": unchanged: ", "owner (user 0, group 0)")
	})
	checkContent(t, path, old)
	checkAlone(t, path)
}

func TestAFullDiskIsAnErrorThatDoesNotNameTheTemporaryFile(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	path := make1(t, "a.yaml")
	err = replace(path, listed(t, path), func(io.Writer) error {
		_, err := full.Write(make([]byte, 1<<20))
		return err
	})
	assert.True(t, errors.Is(err, syscall.ENOSPC) && err.Error() == path+": unchanged: "+syscall.ENOSPC.Error(), err)
}

// acl makes an access list as the kernel keeps it: user::rw-, user:1234:rw-,
// group::---, mask::rw-, other::---. With it the file's mode reads 0660.
func acl() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2) // version
	const noUser = 0xFFFFFFFF
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, noUser}, {2, 6, 1234}, {4, 0, noUser}, {0x10, 6, noUser}, {0x20, 0, noUser}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func setACL(t *testing.T, path, attribute string) {
	t.Helper()
	err := syscall.Setxattr(path, attribute, acl(), 0)
	if none(err) {
		t.Skip("no access lists here")
	}
	assert.NilError(t, err)
}

func TestTheAccessListIsKept(t *testing.T) {
	path := make1(t, "a.yaml")
	setACL(t, path, accessList)
	assert.NilError(t, replace(path, listed(t, path), text("new")))
	list := make([]byte, 1<<10)
	n, err := syscall.Getxattr(path, accessList, list)
	assert.Truef(t, err == nil && bytes.Equal(list[:n], acl()), "the list is %x, %v", list, err)
	info, _ := os.Stat(path)
	assert.Truef(t, info.Mode() == 0o660, "the mode is %v", info.Mode())
}

func TestTheAccessListOfTheFolderIsNotInherited(t *testing.T) {
	path := make1(t, "a.yaml")
	assert.NilError(t, os.Chmod(path, 0o644))
	setACL(t, filepath.Dir(path), "system.posix_acl_default")
	assert.NilError(t, replace(path, listed(t, path), text("new")))
	n, err := syscall.Getxattr(path, accessList, nil)
	assert.Truef(t, none(err), "the list has %d bytes, %v", n, err)
	info, _ := os.Stat(path)
	assert.Truef(t, info.Mode() == 0o644, "the mode is %v", info.Mode())
}
