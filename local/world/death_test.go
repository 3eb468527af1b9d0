package world_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// up runs `fulcrum-local up` until it reports that the local world is ready, and returns the command and the state
// directory.
func up(t *testing.T, base string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(worldtest.Binary(t), "up", "--without-aws", "--base="+base, "--nodes=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	kubeconfig := make(chan string, 1)
	go func() {
		defer close(kubeconfig)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if path, ok := strings.CutPrefix(lines.Text(), "export KUBECONFIG="); ok {
				kubeconfig <- path
			}
		}
	}()
	select {
	case path, ok := <-kubeconfig:
		if !ok {
			t.Fatal("up ended before it was ready")
		}
		return cmd, filepath.Dir(path)
	case <-time.After(2 * world.StartTimeout):
		t.Fatal("up is not ready")
		return nil, ""
	}
}

// processes returns the IDs of the processes whose working directory is in a state directory.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("processes are counted through /proc")
	}
	var out []string
	for _, e := range entries {
		if cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
			out = append(out, e.Name())
		}
	}
	return out
}

func checkRemoved(t *testing.T, dir string) {
	t.Helper()
	worldtest.Eventually(t, hangTimeout, func(context.Context) error {
		if left := processes(t, dir); len(left) > 0 {
			return fmt.Errorf("processes still run: %v", left)
		}
		return nil
	})
}

func TestInterruptLeavesNothing(t *testing.T) {
	cmd, dir := up(t, t.TempDir())
	if n := len(processes(t, dir)); n < 6 {
		t.Errorf("%d processes run in the world, want 6", n)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("up ended with %v", err)
	}
	checkRemoved(t, dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state directory is still there: %v", err)
	}
}

func TestCrashLeavesNoProcessAndNextWorldCleansUp(t *testing.T) {
	base := t.TempDir()
	cmd, dir := up(t, base)
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	checkRemoved(t, dir)
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the logs of a crashed world are kept until the next one: %v", err)
	}
	var steps []string
	w := worldtest.Start(t, world.Options{WithoutAWS: true, Base: base, Nodes: 1, Progress: func(s world.Step) { steps = append(steps, s.Name) }})
	if want := "removed " + dir + ", left by an earlier world"; !slices.Contains(steps, want) {
		t.Errorf("output lacks %q: %q", want, steps)
	}
	// A local world of another directory may be using this number now.
	if _, err := os.Stat(dir); w.Dir() != dir && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead world's %s is still there beside %s", dir, w.Dir())
	}
	// A local world that runs at the same time gets another number.
	beside := worldtest.Start(t, world.Options{WithoutAWS: true, Base: base, Nodes: 1})
	if beside.Number() == w.Number() {
		t.Errorf("two worlds have number %d", w.Number())
	}
}

func TestStartReportsWhyARoleEnded(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho cannot work like this >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	_, err := world.Start(t.Context(), world.Options{Binary: broken, Base: base, WithoutAWS: true})
	if err == nil || !strings.Contains(err.Error(), "cannot work like this") || !strings.Contains(err.Error(), world.RoleEtcd) {
		t.Errorf("error is %v; want the role and the end of its log", err)
	}
	left, err := filepath.Glob(filepath.Join(base, "[0-9]*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
