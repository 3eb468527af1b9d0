package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

type upFlags struct {
	opts world.Options
}

// newUpCommand starts a world and keeps it until it is interrupted.
func newUpCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:          "up",
		Short:        "start a world, show how to reach it, run until Ctrl-C",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return f.up(ctx, cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.opts.Manifests, "filename", "f", nil, "file or directory of YAML to apply; may be repeated")
	fl.StringVar(&f.opts.Cluster, "cluster-name", "local", "name of the cluster in tags")
	fl.StringVar(&f.opts.Region, "region", "us-west-2", "region that the world pretends to be in")
	fl.IntVar(&f.opts.Nodes, "nodes", 3, "count of nodes, over three zones")
	fl.BoolVar(&f.opts.WithoutAWS, "without-aws", false, "a cluster alone, without AWS and controller")
	fl.BoolVar(&f.opts.Keep, "keep", false, "leave the state directory with its logs when done")
	fl.DurationVar(&f.opts.Timeout, "timeout", 2*time.Minute, "how long starting may take")
	return cmd
}

func (f *upFlags) up(ctx context.Context, out io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	f.opts.Binary = binary
	f.opts.Progress = func(s world.Step) {
		fmt.Fprintf(out, "%6.1fs  %s\n", s.Took.Seconds(), s.Name)
	}
	w, err := world.Start(ctx, f.opts)
	if err != nil {
		return err
	}
	defer w.Close()
	fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", w.Kubeconfig())
	<-ctx.Done()
	fmt.Fprintln(out, "\nstopping")
	return w.Close()
}
