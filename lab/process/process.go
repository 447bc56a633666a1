// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs programs that never outlive the one that started them.
//
// Invariant: however the starter ends – return, panic, time limit, kill – its processes end as well. On
// Linux the kernel sees to it, elsewhere Stop does.
package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Command is a program to be run.
type Command struct {
	Path string
	Args []string
	Env  []string // the whole environment
	Dir  string   // in which it runs; "" for the starter's own
	Log  string   // file that the output is appended to
	// Line, when there is one, is called with every line of output, in order.
	Line func(string)
}

// Process is a running program, or one that has ended.
type Process struct {
	cmd    *exec.Cmd
	log    string // file
	asked  atomic.Bool
	ended  chan struct{}
	result error
}

// Start runs a program in a process group of its own.
func Start(c Command) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(c.Path, c.Args...), log: c.Log, ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = c.Env, c.Dir
	p.cmd.SysProcAttr = attributes()
	out := &lines{to: log, each: c.Line}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	started := make(chan error)
	go p.run(started, log)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the program and waits for it on one thread: the kernel takes the end of the thread that
// started a process for the end of the starter.
func (p *Process) run(started chan<- error, log io.Closer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer log.Close()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.result = p.cmd.Wait()
	}
	close(p.ended)
}

// PID returns the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Alive reports whether the process is running.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Asked reports whether the process was stopped; else it ends by itself.
func (p *Process) Asked() bool { return p.asked.Load() }

// Err waits for the end and returns its cause; nil is exit code 0.
func (p *Process) Err() error {
	<-p.ended
	return p.result
}

// Stop asks the process group to end, and kills it after the grace period. It returns when it has ended.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
		p.Kill()
	}
}

// Kill ends the process group at once, and returns when it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Freeze stops the process group without ending it: it does nothing until Thaw, as on a machine that hangs.
func (p *Process) Freeze() { p.send(syscall.SIGSTOP) }

// Thaw lets a frozen process group continue.
func (p *Process) Thaw() { p.send(syscall.SIGCONT) }

// signal asks the whole group to end.
func (p *Process) signal(s syscall.Signal) {
	if p.Alive() {
		p.asked.Store(true)
		p.send(s)
	}
}

// send reaches the whole group. A process that has ended is left alone: its number may be another's.
func (p *Process) send(s syscall.Signal) {
	if p.Alive() {
		_ = syscall.Kill(-p.PID(), s)
	}
}

// lines writes what it gets to a file and passes on complete lines.
type lines struct {
	to   io.Writer
	each func(string)

	mu   sync.Mutex
	rest []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(b); err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	if l.each == nil {
		return len(b), nil
	}
	l.rest = append(l.rest, b...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return len(b), nil
		}
		l.each(string(l.rest[:end]))
		l.rest = l.rest[end+1:]
	}
}
