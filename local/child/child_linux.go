package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// childAttributes puts a child in its own process group, so that Ctrl-C in a terminal reaches only the supervisor, and
// makes the kernel kill the child when the supervisor ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func lockThread() { runtime.LockOSThread() }

// startTime returns the start time of a process, in clock ticks of the kernel.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the name of the program in parentheses. It may contain spaces, so fields are counted from
	// its end. The start time is the 22nd field of the line, the 20th after the name.
	at := strings.LastIndex(string(b), ") ")
	if at < 0 {
		return "", errors.New("unexpected form of /proc/<pid>/stat")
	}
	fields := strings.Fields(string(b[at+2:]))
	if len(fields) < 20 {
		return "", errors.New("unexpected form of /proc/<pid>/stat")
	}
	return fields[19], nil
}
