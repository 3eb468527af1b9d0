package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// NewCommand returns the command "agent", which runs the agent until it is interrupted.
func NewCommand() *cobra.Command {
	var kubeconfig, layoutFile, certFile, keyFile string
	cmd := &cobra.Command{
		Use:           "agent",
		Short:         "the nodes of a local world: pods' servers, addresses, node ports",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: false,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, kubeconfig, layoutFile, certFile, keyFile)
		},
	}
	f := cmd.Flags()
	f.StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	f.StringVar(&layoutFile, "layout", "", "path of the world's layout")
	f.StringVar(&certFile, "certificate", "", "path of the certificate that pods serve")
	f.StringVar(&keyFile, "key", "", "path of the key of the certificate")
	return cmd
}

func run(ctx context.Context, kubeconfig, layoutFile, certFile, keyFile string) error {
	l, err := layout.Read(layoutFile)
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("load certificate of pods: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 200, 400
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	return newAgent(kube, l, cert, newAddressAssigner(l)).run(ctx)
}
