// Package awsrole implements the command that runs the AWS of a local world: the emulator of the parent module, and a data
// plane in which load balancers listen on this machine.
package awsrole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/imds"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

type flags struct {
	listenAddress, resolver, stateFile, region string
	seed                                       uint64
	enforceSecurityGroups, serveTraffic        bool
	acceleratorRange                           string
	propagationDelay, provisioningDelay        time.Duration
}

// NewCommand returns the command "aws", which runs the emulated AWS until it is interrupted.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:          "aws",
		Short:        "the AWS of a local world, with load balancers that forward",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f.run(ctx)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listenAddress, "listen", "127.0.0.1:4566", "address of the API")
	fl.StringVar(&f.resolver, "resolver", "", "address of the DNS server for load balancers")
	fl.StringVar(&f.stateFile, "state", "", "file that the state is read from at the start, if it exists, and written to at the end")
	fl.StringVar(&f.region, "region", "us-west-2", "region of the instance whose metadata is served; its partition is the emulated one")
	fl.Uint64Var(&f.seed, "seed", 0, "seed for generated ids and for the random order of lists")
	fl.BoolVar(&f.enforceSecurityGroups, "enforce-security-groups", true, "drop connections that security groups do not allow")
	fl.BoolVar(&f.serveTraffic, "traffic", true, "serve the listeners of load balancers and check targets; without it all targets are healthy")
	fl.StringVar(&f.acceleratorRange, "accelerators", "127.252.0.0/22", "loopback range (a /22) that replaces the static addresses of accelerators")
	fl.DurationVar(&f.propagationDelay, "propagation-delay", 0, "delay until load balancers apply changes that the API has accepted")
	fl.DurationVar(&f.provisioningDelay, "provisioning-delay", time.Second, "time until new load balancers are active")
	return cmd
}

func (f flags) run(ctx context.Context) error {
	em := emulator.New(emulator.Options{Seed: f.seed, Partition: store.AWSPartitionOfRegion(f.region).Name})
	em.IMDS().SetIdentity(imds.Identity{Region: f.region})
	if err := f.loadState(em); err != nil {
		return err
	}
	em.Store().Lock()
	em.Store().Config.ELB.ProvisioningDelay = f.provisioningDelay
	err := f.configureAccelerators(&em.Store().Config.Accelerator)
	em.Store().Unlock()
	if err != nil {
		return err
	}
	if f.serveTraffic {
		stop, err := f.startDataPlane(ctx, em)
		if err != nil {
			return err
		}
		defer stop()
	}
	l, err := net.Listen("tcp", f.listenAddress)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: em.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Wait until calls in progress have finished, so that the saved state includes them.
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(limit); err != nil {
		srv.Close()
	}
	return f.saveState(em)
}

// loadState restores the state that an earlier process of the same local world has saved.
func (f flags) loadState(em *emulator.Emulator) error {
	if f.stateFile == "" {
		return nil
	}
	b, err := os.ReadFile(f.stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	if err := w.Restore(b); err != nil {
		return fmt.Errorf("read state %s: %w", f.stateFile, err)
	}
	return nil
}

func (f flags) saveState(em *emulator.Emulator) error {
	if f.stateFile == "" {
		return nil
	}
	w := em.Store()
	w.Lock()
	b, err := w.Export()
	w.Unlock()
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return os.WriteFile(f.stateFile, b, 0o600)
}
