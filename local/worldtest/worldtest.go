// Package worldtest starts local worlds for tests. A test fails if AWS denies a call of the controller, because the IAM
// policies in config/iam must contain all permissions that the controller needs.
package worldtest

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// BinVariable is the environment variable with the directory of programs that `make build` has built. If it is empty, a test
// builds the programs that it needs.
const BinVariable = "FULCRUM_BIN"

// ControllerVariable is the environment variable with the path of a controller that is tested instead of Fulcrum.
const ControllerVariable = "FULCRUM_CONTROLLER"

// BinaryPath returns the path of fulcrum-local. It is built only if its sources have changed; the first build takes
// minutes.
func BinaryPath(t testing.TB) string {
	t.Helper()
	return buildProgram(t, "local", "fulcrum-local")
}

// IsOtherControllerTested reports whether ControllerVariable is set. Local worlds then have Options.AdminController, because
// the other controller may need other permissions.
func IsOtherControllerTested() bool { return os.Getenv(ControllerVariable) != "" }

// ControllerPath returns the path of the controller to test. It is the path in ControllerVariable, or Fulcrum, which is
// built in the root module, with the library versions of its release.
func ControllerPath(t testing.TB) string {
	t.Helper()
	if p := os.Getenv(ControllerVariable); p != "" {
		return p
	}
	return buildProgram(t, ".", "fulcrum")
}

// NewApplier returns a function that applies YAML manifests to the cluster of w. The function fails the test on an error.
func NewApplier(t testing.TB, w *world.World) func(docs string) {
	t.Helper()
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return func(docs string) {
		t.Helper()
		objects, err := manifest.Parse([]byte(docs))
		if err == nil {
			err = applier.Apply(t.Context(), objects)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ClientPath returns the path of a client program, "helm", "kubectl" or "krew", which is built in the module in directory
// charts.
func ClientPath(t testing.TB, name string) string {
	t.Helper()
	return buildProgram(t, "charts", name)
}

// ProgramPath returns the path of the program ./cmd/name of a module. module is the directory of the module, "." or "local".
func ProgramPath(t testing.TB, module, name string) string {
	t.Helper()
	return buildProgram(t, module, name)
}

// SourceRoot returns the directory of the source tree.
func SourceRoot(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fulcrum-lb/fulcrum").Output()
	if err != nil {
		t.Fatalf("find the source of fulcrum: %v", err)
	}
	return strings.TrimSpace(string(root))
}

// buildProgram returns the path of the program ./cmd/name of a module. If BinVariable is set, the program is in that
// directory; otherwise build builds it as `make build` does. module is the directory of the module in the source tree.
func buildProgram(t testing.TB, module, name string) string {
	t.Helper()
	if bin := os.Getenv(BinVariable); bin != "" {
		return filepath.Join(bin, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "fulcrum", name)
	// The tests of several packages run in parallel, so only one of them may build at a time.
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cmd := exec.Command(filepath.Join(SourceRoot(t), "tools", "build.sh"), module, path, "./cmd/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

func lockFile(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Start starts a local world for a test, and closes it when the test ends. By default, Options.ProcessorsPerRole is 1. The
// test fails if AWS has denied a call of the controller.
func Start(t testing.TB, opts world.Options) *world.World {
	t.Helper()
	if opts.Binary == "" {
		opts.Binary = BinaryPath(t)
	}
	if opts.Progress == nil {
		opts.Progress = func(s world.Step) { t.Logf("%5.1fs %s", s.SinceStart.Seconds(), s.Name) }
	}
	opts.AdminController = opts.AdminController || IsOtherControllerTested()
	opts.ProcessorsPerRole = cmp.Or(opts.ProcessorsPerRole, 1)
	w, err := startWorld(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		reportDenials(t, w)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// startSlots limits how many local worlds of a test program start at the same time. The start of an API server needs a
// processor for seconds. More starts at once made running local worlds miss the deadlines of leases on slow machines.
var startSlots = make(chan struct{}, 2)

func startWorld(ctx context.Context, opts world.Options) (*world.World, error) {
	select {
	case startSlots <- struct{}{}:
		defer func() { <-startSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return world.Start(ctx, opts)
}

// reportDenials fails the test if AWS has denied a call of the controller.
func reportDenials(t testing.TB, w *world.World) {
	if !w.IsAlive(world.RoleAWS) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	denied, err := w.AWSDenials(ctx)
	if err != nil {
		t.Errorf("read the calls of the controller that AWS has denied: %v", err)
	}
	for _, d := range denied {
		t.Errorf("config/iam lacks a permission: %s", d)
	}
}

// Eventually calls check until it returns nil. After limit, it fails the test with the last error of check.
func Eventually(t testing.TB, limit time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	if err := await.Success(t.Context(), limit, check); err != nil {
		t.Fatal(err)
	}
}
