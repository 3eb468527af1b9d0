//go:build unix && !linux

package child

import (
	"errors"
	"syscall"
)

// childAttributes puts a child in its own process group. Without Linux's
// parent-death signal, what a killed supervisor leaves is ended by the next
// world that starts.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func lockThread() {}

func startTime(int) (string, error) {
	return "", errors.New("start times of processes are read on Linux only")
}
