package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// shell runs commands as an operator does: with helm, kubectl and fulcrum in the PATH, the environment variables of a local
// world, and links to directories of the source tree in the working directory.
type shell struct {
	t        *testing.T
	dir, bin string // the working directory, and the directory of programs
	env      []string
}

// newShell returns a shell for local world w. The shell adds the flags in planning to each `fulcrum plan`. It has no program
// fulcrum if the local world has no AWS.
func newShell(t *testing.T, w *world.World, planning ...string) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), bin: t.TempDir()}
	for _, name := range []string{"charts", "config", "examples"} {
		s.requireNoError(os.Symlink(filepath.Join(worldtest.SourceRoot(t), name), filepath.Join(s.dir, name)))
	}
	s.requireNoError(os.Symlink(worldtest.ClientPath(t, "helm"), filepath.Join(s.bin, "helm")))
	s.requireNoError(os.Symlink(worldtest.ClientPath(t, "kubectl"), filepath.Join(s.bin, "kubectl")))
	if w.AWSEndpoint() != "" {
		flags := ""
		for _, f := range planning {
			flags += fmt.Sprintf(" %q", f)
		}
		text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != plan ] || set -- \"$@\"%s\nexec %q \"$@\"\n", flags, worldtest.ControllerPath(t))
		s.requireNoError(os.WriteFile(filepath.Join(s.bin, "fulcrum"), []byte(text), 0o700))
	}
	home := t.TempDir() // helm and kubectl cache discovery data here
	s.env = append(os.Environ(), w.Environment()...)
	plugins := s.t.TempDir() // plugins of kubectl
	s.env = append(s.env, "KREW_ROOT="+plugins, "KREW_NO_UPGRADE_CHECK=1", "PATH="+s.bin+":"+filepath.Join(plugins, "bin")+":"+os.Getenv("PATH"), "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	return s
}

// createRelease creates the files of a release in the working directory. Its program is a small one that compiles quickly;
// all other files are as in a real release. It also adds krew, the plugin manager of kubectl, to the PATH.
func (s *shell) createRelease() {
	s.t.Helper()
	out := filepath.Join(s.t.TempDir(), "release")
	cmd := exec.CommandContext(s.t.Context(), "go", "run", "./release", "--root=..", "--source=release/testdata/program", "--program=.", "--out="+out,
		"--version=v0.9.0", "--commit=c0ffee", "--date=2026-01-02T03:04:05Z", "--platforms="+runtime.GOOS+"/"+runtime.GOARCH)
	cmd.Dir = filepath.Join(worldtest.SourceRoot(s.t), "tools")
	if text, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("make a release: %v\n%s", err, text)
	}
	files, err := os.ReadDir(out)
	s.requireNoError(err)
	for _, f := range files {
		s.requireNoError(os.Symlink(filepath.Join(out, f.Name()), filepath.Join(s.dir, f.Name())))
	}
	s.requireNoError(os.Symlink(worldtest.ClientPath(s.t, "krew"), filepath.Join(s.bin, "kubectl-krew")))
}

func (s *shell) requireNoError(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// tryCommand runs a command and returns its output and its exit code.
func (s *shell) tryCommand(command string) (string, int) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%s: %v", command, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// mustRun runs a command and fails the test if the command fails.
func (s *shell) mustRun(command string) string {
	s.t.Helper()
	out, code := s.tryCommand(command)
	if code != 0 {
		s.t.Fatalf("exit code %d of\n%s\n%s", code, command, out)
	}
	return out
}
