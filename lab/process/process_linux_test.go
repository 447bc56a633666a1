// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// The test runs itself, starts a process in there, and dies with a panic.
func TestNothingOutlivesAPanic(t *testing.T) {
	if dir := os.Getenv("LAB_PANIC_IN"); dir != "" {
		p := sleeper(t, dir)
		os.Stdout.WriteString(strconv.Itoa(p.PID()) + "\n")
		panic("as meant")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingOutlivesAPanic$")
	cmd.Env = append(os.Environ(), "LAB_PANIC_IN="+t.TempDir())
	out := assert.Value(cmd.StdoutPipe())(t)
	assert.NilError(t, cmd.Start())
	read := bufio.NewScanner(out)
	read.Scan()
	pid := assert.Value(strconv.Atoi(read.Text()))(t)
	if err := cmd.Wait(); err == nil {
		t.Fatal("the panic did not end the test")
	}
	for since := time.Now(); time.Since(since) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH || zombie(pid) {
			return
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("process", pid, "is still running")
}

// zombie reports whether a process has ended and no one has asked for its result: that is for the init
// process, which may be slow.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, found := strings.Cut(string(stat), ") ")
	return err == nil && found && strings.HasPrefix(state, "Z")
}
