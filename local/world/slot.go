package world

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/fulcrum-lb/fulcrum/local/child"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// Numbers of local worlds are from firstSlot to lastSlot, without servicesSlot. Lower numbers are left for other programs
// that use loopback addresses. 10.96.0.0/16 contains the cluster IPs of Services.
const (
	firstSlot    = 16
	lastSlot     = 254
	servicesSlot = 96
)

// slot is the reservation of a number N for a local world, and thus of 10.N.0.0/16, the loopback range 127.N.0.0/16 and a
// state directory.
type slot struct {
	number int
	dir    string
	lock   *os.File
	// claimListener is an open port on the slot's control address. The lock file prevents two local worlds with the same
	// base directory from using the slot; claimListener prevents that for local worlds with different base directories.
	claimListener net.Listener
}

// Addr returns the address 10.N.x.y of the slot's VPC range.
func (s *slot) Addr(x, y byte) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(s.number), x, y})
}

// reserveSlot reserves the first free number under base directory base, and creates its state directory.
func reserveSlot(base string) (*slot, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make base directory: %w", err)
	}
	for n := firstSlot; n <= lastSlot; n++ {
		if n == servicesSlot {
			continue
		}
		lock, err := tryLock(lockPath(base, n))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &slot{number: n, dir: statePath(base, n), lock: lock}
		if !s.reserveAddresses() {
			s.release()
			continue
		}
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			s.release()
			return nil, fmt.Errorf("make state directory: %w", err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("no free world number under %s: all %d are in use", base, lastSlot-firstSlot)
}

// reserveAddresses reserves the slot's addresses and reports whether they were free.
func (s *slot) reserveAddresses() bool {
	at := func(port int) string { return loopback.HostPort(s.Addr(255, 1), port) }
	claim, err := net.Listen("tcp4", at(portClaim))
	if err != nil {
		return false
	}
	s.claimListener = claim
	// The check of the API server's port finds processes that use the address without a reservation.
	l, err := net.Listen("tcp4", at(portAPIServer))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// release frees the number for other local worlds. It does not remove the state directory.
func (s *slot) release() {
	if s.claimListener != nil {
		s.claimListener.Close()
	}
	// Closing the file releases the lock. The file is not removed, because two processes could then lock two files
	// of the same name.
	s.lock.Close()
}

func lockPath(base string, n int) string  { return filepath.Join(base, strconv.Itoa(n)+".lock") }
func statePath(base string, n int) string { return filepath.Join(base, strconv.Itoa(n)) }

var errLocked = errors.New("locked by another process")

// tryLock locks a file exclusively. The kernel releases the lock when the file is closed or the process ends. tryLock
// returns errLocked if another process has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// removeEndedWorlds removes the remaining processes and state directories of local worlds that have ended, including those
// with Options.KeepState. It returns the removed directories. A local world whose lock is held is running and is not
// changed.
func removeEndedWorlds(base string) (removed []string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimSpace(e.Name()))
		if err != nil || !e.IsDir() {
			continue
		}
		lock, err := tryLock(lockPath(base, n))
		if err != nil {
			continue
		}
		dir := statePath(base, n)
		child.KillRecordedProcesses(filepath.Join(dir, child.PIDsDir))
		if os.RemoveAll(dir) == nil {
			removed = append(removed, dir)
		}
		lock.Close()
	}
	return removed
}
