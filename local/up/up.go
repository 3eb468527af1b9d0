// Package up implements the command `fulcrum-local up`. It starts a local world, prints how to use it, and reports changes
// in it until it is interrupted. The roles of the local world are subcommands of the same program.
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// noController is the value of the flag --controller for a local world without a controller.
const noController = "none"

type flags struct {
	opts           world.Options
	controller     string
	controllerArgs []string
	restart        bool
	webhooks       bool
	console        bool
}

// NewCommand returns the command `fulcrum-local up`, which runs a local world until it is interrupted.
func NewCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "fulcrum-local up",
		Short: "start a world, print how to use it, and run until Ctrl-C",
		Example: `  fulcrum-local up -f examples/shop
  fulcrum-local up --controller ./my-controller --controller-args=--log-level=debug
  fulcrum-local up --controller none`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return f.runWorld(ctx, cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.opts.Manifests, "filename", "f", nil, "file or directory of YAML to apply; may be repeated")
	fl.StringVar(&f.controller, "controller", "", `path of the controller, or "none" (default: fulcrum beside this program)`)
	fl.StringArrayVar(&f.controllerArgs, "controller-args", nil, "argument for the controller; may be repeated")
	fl.BoolVar(&f.webhooks, "webhooks", true, "register the webhooks of Fulcrum in the API server; no effect with a controller other than Fulcrum")
	fl.BoolVar(&f.console, "console", false, "run fulcrum console, a page that shows the resources in AWS and their origin")
	fl.BoolVar(&f.restart, "restart", false, "restart the controller when it ends, with a back-off of at most 30 seconds")
	fl.StringVar(&f.opts.Cluster, "cluster-name", "local", "name of the cluster in tags")
	fl.StringVar(&f.opts.Region, "region", "us-west-2", "region of the emulated AWS")
	fl.IntVar(&f.opts.AWSOfWorld, "beside", 0, "use the AWS of running world N, whose VPC is 10.N.0.0/16, for a second cluster")
	fl.IntVar(&f.opts.Nodes, "nodes", 3, "number of nodes, in three zones")
	fl.StringArrayVar(&f.opts.Domains, "domain", nil, "domain with a certificate in ACM, for itself and its subdomains; may be repeated (default: example.com, app.test)")
	fl.StringVar(&f.opts.GatewayAPI, "gateway-api", "standard", "release channel of the Gateway API CRDs, standard or experimental; empty for none")
	fl.DurationVar(&f.opts.PropagationDelay, "propagation-delay", 0, "delay until load balancers apply changes that AWS has accepted")
	fl.BoolVar(&f.opts.WithoutAWS, "without-aws", false, "start only a cluster, without AWS and controller")
	fl.StringVar(&f.opts.BaseDir, "base", "", "directory of the state of all worlds (default: one in the temporary directory)")
	fl.BoolVar(&f.opts.KeepState, "keep", false, "keep the state directory with its logs after the end, until the next world starts")
	fl.DurationVar(&f.opts.Timeout, "timeout", world.StartTimeout, "timeout of the start")
	return cmd
}

func (f *flags) runWorld(ctx context.Context, out io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := f.controllerPath(binary)
	if err != nil {
		return err
	}
	// The commands of Fulcrum find the flags of the controller through its Lease.
	f.controllerArgs = append([]string{"--enable-leader-election=true", "--leader-election-namespace=" + metav1.NamespaceSystem}, f.controllerArgs...)
	began := time.Now()
	progress := func(s world.Step) { fmt.Fprintf(out, "%6.1fs  %s\n", s.SinceStart.Seconds(), s.Name) }
	f.opts.Binary, f.opts.AdminController = binary, f.controller != "" && f.controller != noController
	f.opts.Progress = progress
	w, err := world.Start(ctx, f.opts)
	if err != nil {
		return err
	}
	defer w.Close()
	f.webhooks = f.webhooks && path != "" && !f.opts.AdminController
	if f.webhooks {
		args, err := w.WebhookArgs()
		if err != nil {
			return err
		}
		f.controllerArgs = append(args, f.controllerArgs...)
	}
	if path != "" {
		if err := w.StartController(path, f.controllerArgs...); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, cmp.Or(f.opts.Timeout, time.Minute))
		defer cancel()
		if err := w.AwaitControllerReady(limit); err != nil {
			return err
		}
		progress(world.Step{Name: filepath.Base(path) + " is ready", SinceStart: time.Since(began)})
	}
	if f.webhooks {
		if err := w.InstallWebhooks(ctx); err != nil {
			return err
		}
		progress(world.Step{Name: "the webhooks are registered", SinceStart: time.Since(began)})
	}
	watch := newWatcher(out, w, controller{path: path, args: f.controllerArgs, restart: f.restart})
	printAccessCommands(out, w, cmp.Or(f.opts.AWSOfWorld, w.Number()), fulcrumPath(binary), binary)
	if f.controller == noController {
		fmt.Fprintf(out, "\nno controller runs; start one with:\n%s\n", w.ControllerCommand(fulcrumPath(binary), f.controllerArgs...))
	}
	if f.console {
		page, err := world.StartConsole(w, fulcrumPath(binary))
		if err != nil {
			return fmt.Errorf("start the console: %w", err)
		}
		fmt.Fprintf(out, "\nconsole: %s\n", page)
	}
	watch.run(ctx)
	fmt.Fprintln(out, "\nstopping")
	return w.Close()
}

// fulcrumPath returns the path of Fulcrum in the directory of this program. The file may not exist.
func fulcrumPath(self string) string { return filepath.Join(filepath.Dir(self), "fulcrum") }

// controllerPath returns the absolute path of the controller, or an empty string for a local world without a controller. It
// returns an error if the file does not exist. self is the path of this program.
func (f *flags) controllerPath(self string) (string, error) {
	if f.opts.WithoutAWS || f.controller == noController {
		return "", nil
	}
	path := cmp.Or(f.controller, fulcrumPath(self))
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) && f.controller == "" {
			return "", fmt.Errorf("no controller at %s; build it there, or use --controller PATH or --controller none", path)
		}
		return "", fmt.Errorf("controller: %w", err)
	}
	return filepath.Abs(path)
}
