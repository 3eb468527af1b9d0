// Package child starts processes that end when the process that started them ends, even if that process is killed.
package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// PIDsDir is the directory, in the state directory, with a file for each running process.
const PIDsDir = "pids"

// Process is a child process. It is started once; a restart needs a new Process.
type Process struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	pidPath string
	exited  chan struct{}
	err     error // valid once exited is closed
}

// Launcher starts child processes from one thread that exists until Close. The kernel sends the parent-death signal
// when the thread that forked ends, and the Go runtime may end any thread that is not locked.
type Launcher struct {
	jobs chan func()
	once sync.Once
}

// NewLauncher starts the thread of a launcher.
func NewLauncher() *Launcher {
	l := &Launcher{jobs: make(chan func())}
	go func() {
		lockThread()
		for job := range l.jobs {
			job()
		}
	}()
	return l
}

// Close ends the thread. On Linux, this also ends the children that still run.
func (l *Launcher) Close() { l.once.Do(func() { close(l.jobs) }) }

// Start runs a program in its own process group and writes its output to logs/NAME.log in the state directory, which must
// have the directories logs and PIDsDir.
func (l *Launcher) Start(name, stateDir, path string, args, env []string) (*Process, error) {
	p := &Process{
		name:    name,
		logPath: filepath.Join(stateDir, "logs", name+".log"),
		pidPath: filepath.Join(stateDir, PIDsDir, name),
		exited:  make(chan struct{}),
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", name, err)
	}
	defer log.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = stateDir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = childAttributes()

	started := make(chan error, 1)
	l.jobs <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := writePIDFile(p.pidPath, p.cmd.Process.Pid); err != nil {
		p.signal(syscall.SIGKILL)
		p.cmd.Wait()
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		os.Remove(p.pidPath)
		close(p.exited)
	}()
	return p, nil
}

// IsAlive reports whether the process runs.
func (p *Process) IsAlive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal sends a signal to the whole process group.
func (p *Process) signal(s syscall.Signal) {
	if p.IsAlive() {
		syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Kill ends the process at once, like a crash, and waits until it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// Stop sends SIGTERM, waits, and kills the process after the timeout.
func (p *Process) Stop(timeout time.Duration) {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
		p.Kill()
	}
}

// ExitStatus describes how the process ended, such as "signal: killed".
func (p *Process) ExitStatus() string { return p.cmd.ProcessState.String() }

// ExitError returns an error about an unexpected exit, with the last lines of the log.
func (p *Process) ExitError() error {
	return fmt.Errorf("%s ended unexpectedly (%v); the end of its log:\n%s", p.name, p.err, Tail(p.logPath, 15))
}

// Tail returns the last lines of a file, indented.
func Tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return "    (" + err.Error() + ")"
	}
	defer f.Close()
	const maxRead = 16 << 10
	if st, err := f.Stat(); err == nil && st.Size() > maxRead {
		f.Seek(-maxRead, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	all := strings.Split(string(bytes.TrimSpace(b)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "    " + strings.Join(all, "\n    ")
}

// writePIDFile stores PID and start time of a process. The start time distinguishes it from a later process with the
// same PID.
func writePIDFile(path string, pid int) error {
	start, err := startTime(pid)
	if err != nil {
		start = "unknown"
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(pid)+" "+start), 0o600); err != nil {
		return fmt.Errorf("record process: %w", err)
	}
	return nil
}

// KillRecordedProcesses kills the processes of the PID files in dir, if PID and start time still match.
func KillRecordedProcesses(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		pidText, recordedStart, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
		pid, err := strconv.Atoi(pidText)
		if err != nil || pid <= 1 {
			continue
		}
		if start, err := startTime(pid); err == nil && start == recordedStart {
			syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}
