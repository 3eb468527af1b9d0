// Command fulcrum-acceptance tests Fulcrum in an AWS account and a cluster, for "make acceptance".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fulcrum-lb/fulcrum/local/acceptance"
)

// Exit codes.
const (
	exitPassed    = 0
	exitFailed    = 1 // a part failed, or the run could not start
	exitUsage     = 2
	exitDeclined  = 3
	exitResumable = 4 // interrupted; the same command continues the run
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fulcrum-acceptance:", err)
		return exitFailed
	}
	bin := filepath.Dir(self)
	o := acceptance.Options{In: os.Stdin, Out: os.Stdout}
	var parts string
	flags := flag.NewFlagSet("fulcrum-acceptance", flag.ContinueOnError)
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of a kubeconfig (default: KUBECONFIG, then ~/.kube/config)")
	flags.StringVar(&o.Context, "context", "", "context of the cluster in the kubeconfig")
	flags.StringVar(&o.Region, "region", "", "region of the cluster")
	flags.StringVar(&parts, "parts", "", "parts to run, separated by commas: "+strings.Join(acceptance.PartNames(), ", ")+" (default: all)")
	flags.StringVar(&o.Dir, "dir", filepath.Join(bin, "acceptance"), "directory for states, reports and recordings")
	flags.StringVar(&o.Controller, "controller", filepath.Join(bin, "fulcrum"), "path of the controller")
	flags.StringVar(&o.Image, "image", "", "image of the pods, the echo server of Gateway API or a copy (default: registry.k8s.io/gateway-api/echo-basic)")
	flags.StringVar(&o.Resolver, "resolver", "", "HOST:PORT of the DNS server that resolves the names of load balancers (default: the system's)")
	flags.BoolVar(&o.AssumeYes, "yes", false, "do not ask for confirmation before resources are created")
	if err := flags.Parse(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitPassed
		}
		return exitUsage
	}
	if o.Context == "" || o.Region == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "fulcrum-acceptance: --context NAME and --region NAME are required; \"make acceptance CONTEXT=… REGION=…\" sets both")
		return exitUsage
	}
	if parts != "" {
		o.Parts = strings.Split(parts, ",")
	}
	err = acceptance.Run(ctx, o)
	switch {
	case err == nil:
		return exitPassed
	case errors.Is(err, acceptance.ErrDeclined):
		fmt.Println(err)
		return exitDeclined
	}
	fmt.Fprintln(os.Stderr, "fulcrum-acceptance:", err)
	if errors.Is(err, acceptance.ErrResumable) {
		return exitResumable
	}
	return exitFailed
}
