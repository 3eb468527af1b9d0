//go:build unix && !linux

package child

import (
	"errors"
	"syscall"
)

// childAttributes puts a child in its own process group. Other systems have no parent-death signal; the next local
// world that starts kills the processes that a killed supervisor left.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func lockThread() {}

func startTime(int) (string, error) {
	return "", errors.New("start times of processes are read on Linux only")
}
