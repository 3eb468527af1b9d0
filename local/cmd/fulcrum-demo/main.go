// Command fulcrum-demo shows Fulcrum in a local world. An IngressGroup becomes a load balancer, and requests reach
// pods. Services become Network Load Balancers for TCP, UDP and TLS. Gateways become load balancers for HTTP, gRPC
// and TCP. An accelerator forwards to one load balancer of each kind and fails over to another region. A new pod
// gets requests. After all objects are deleted, AWS has no resources of the demo. The exit code is 0 only if all of
// this was observed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nfulcrum-demo: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	siblingPath := func(name string) string { return filepath.Join(filepath.Dir(self), name) }
	var d demo
	flag.StringVar(&d.localBinary, "local", siblingPath("fulcrum-local"), "path of fulcrum-local")
	flag.StringVar(&d.controller, "controller", siblingPath("fulcrum"), "path of the controller")
	flag.StringVar(&d.examplesDir, "examples", "", "directory of the example (default: examples/shop of the source tree)")
	flag.BoolVar(&d.keepWorld, "keep", false, "keep the state directory with its logs at the end")
	flag.Parse()
	d.examplesDir = cmp.Or(d.examplesDir, findInParents(filepath.Dir(self), filepath.Join("examples", "shop")))
	if d.examplesDir == "" {
		return errors.New("examples/shop is in no directory above this program; set --examples to its path")
	}
	d.out = os.Stdout
	return d.run(ctx)
}

// findInParents returns a path in a directory or the nearest directory above in which it exists, or an empty string.
func findInParents(dir, path string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
			return filepath.Join(dir, path)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
