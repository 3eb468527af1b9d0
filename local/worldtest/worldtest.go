// Package worldtest makes local worlds for tests. It is not for production
// code and asserts nothing itself, but that the policies of the controller suffice.
package worldtest

import (
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

// BinVariable names an environment variable with a directory of programs that
// are built already, as `make build` does. Without it, they are built when a
// test needs them.
const BinVariable = "FULCRUM_BIN"

// ControllerVariable names one with the path of a controller to test instead
// of Fulcrum.
const ControllerVariable = "FULCRUM_CONTROLLER"

// Binary returns the path of fulcrum-local. It is kept between runs, and rebuilt only
// if its sources have changed; the first build takes minutes.
func Binary(t testing.TB) string {
	t.Helper()
	return build(t, "local", "fulcrum-local")
}

// Foreign reports whether another controller than Fulcrum is tested. It is a cluster
// admin, as it may need other rights.
func Foreign() bool { return os.Getenv(ControllerVariable) != "" }

// Controller returns the path of Fulcrum itself, built in the same way, in its own
// module: with the versions of libraries that it is released with.
func Controller(t testing.TB) string {
	t.Helper()
	if p := os.Getenv(ControllerVariable); p != "" {
		return p
	}
	return build(t, ".", "fulcrum")
}

// Applier returns a function that applies manifests, as users do, and fails the test if that fails.
func Applier(t testing.TB, w *world.World) func(docs string) {
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

// Client returns the path of helm or kubectl, built in the same way, in the module of the chart.
func Client(t testing.TB, name string) string {
	t.Helper()
	return build(t, "charts", name)
}

// Program returns the path of another program, built in the same way in the module of its directory, "." or "local".
func Program(t testing.TB, module, name string) string {
	t.Helper()
	return build(t, module, name)
}

// Root is the directory of the source tree.
func Root(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fulcrum-lb/fulcrum").Output()
	if err != nil {
		t.Fatalf("find the source of fulcrum: %v", err)
	}
	return strings.TrimSpace(string(root))
}

// build makes a program as `make build` does, from a directory of the source tree with a module.
func build(t testing.TB, module, name string) string {
	t.Helper()
	if bin := os.Getenv(BinVariable); bin != "" {
		return filepath.Join(bin, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "fulcrum", name)
	// Packages are tested side by side: one builds, the others wait and find
	// it built.
	unlock, err := lock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cmd := exec.Command(filepath.Join(Root(t), "tools", "build.sh"), module, path, "./cmd/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

func lock(path string) (unlock func(), err error) {
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

// Start starts a world that ends with the test.
func Start(t testing.TB, opts world.Options) *world.World {
	t.Helper()
	if opts.Binary == "" {
		opts.Binary = Binary(t)
	}
	if opts.Progress == nil {
		opts.Progress = func(s world.Step) { t.Logf("%5.1fs %s", s.Took.Seconds(), s.Name) }
	}
	opts.AdminController = opts.AdminController || Foreign()
	w, err := world.Start(t.Context(), opts)
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

// reportDenials fails a test in which the policies of the controller did not suffice.
func reportDenials(t testing.TB, w *world.World) {
	if !w.Alive(world.RoleAWS) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	denied, err := w.DeniedByAWS(ctx)
	if err != nil {
		t.Errorf("ask AWS what it has denied the controller: %v", err)
	}
	for _, d := range denied {
		t.Errorf("config/iam lacks a permission: %s", d)
	}
}

// Eventually asks until check returns nil, and fails the test if that takes
// longer than limit.
func Eventually(t testing.TB, limit time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	if err := await.True(t.Context(), limit, check); err != nil {
		t.Fatal(err)
	}
}
