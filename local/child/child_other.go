//go:build unix && !linux

package child

import (
	"errors"
	"syscall"
)

// childAttributes puts a child in its own process group. Other systems have no parent-death signal; the next local world
// that starts kills the remaining processes of a killed supervisor.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func lockThread() {}

func startTime(int) (string, error) {
	return "", errors.New("start times of processes are read on Linux only")
}
