// Command cert-manager runs the controllers of cert-manager that issue certificates of a CA for Ingresses. It imports the
// unmodified packages of cert-manager, because the module with the command of cert-manager is not published.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	shim "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	requests "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
)

// controllers are the names of the controllers of cert-manager that the command runs.
var controllers = []string{
	issuers.ControllerName, shim.ControllerName, trigger.ControllerName, keymanager.ControllerName, requestmanager.ControllerName,
	approver.ControllerName, requests.CRControllerName, issuing.ControllerName, readiness.ControllerName, revisionmanager.ControllerName,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: cert-manager KUBECONFIG")
	}
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: args[0], KubernetesAPIQPS: 100, KubernetesAPIBurst: 200,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: "kube-system"},
		IngressShimOptions: controller.IngressShimOptions{DefaultIssuerKind: "Issuer", DefaultIssuerGroup: "cert-manager.io"},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	})
	if err != nil {
		return err
	}
	root, err := factory.Build()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, name := range controllers {
		made, err := controller.Known()[name](factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all.Go(func() {
			if err := made.Run(2, ctx); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			}
		})
	}
	root.KubeSharedInformerFactory.Start(ctx.Done())
	root.SharedInformerFactory.Start(ctx.Done())
	root.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	all.Wait()
	return nil
}
