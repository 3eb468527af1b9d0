package cli

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
)

// runController is the controller. Failures are logged.
func runController(ctx context.Context, env Environment, cfg config.Config) error {
	log := newLogger(env.Stderr, cfg.LogLevel)
	shareLogger(log)
	setup := log.WithName("setup")
	b := thisBuild()
	setup.Info("version", "GitVersion", b.version, "GitCommit", b.commit, "BuildDate", b.date)
	fail := func(what string, err error) error {
		setup.Error(err, what)
		return errReported
	}
	if err := cfg.Validate(); err != nil {
		return fail("the configuration is not valid", err)
	}
	if _, err := cloudConfig(cfg, env); err != nil {
		return fail("the configuration is not valid", err)
	}
	for _, s := range cfg.Unsupported() {
		setup.Info("warning: not supported yet, no effect", "setting", s)
	}
	for _, id := range cloud.UnknownServices(cfg.AWS.Endpoints) {
		setup.Info("warning: no AWS service that is called has this id, no effect", "setting", "--aws-api-endpoints="+id+"="+cfg.AWS.Endpoints[id])
	}
	restConfig, err := restConfig(cfg.Kubernetes.Kubeconfig)
	if err != nil {
		return fail("no way to the API server", err)
	}
	if err := controller.Run(ctx, controller.Setup{Config: cfg, REST: restConfig, Log: log, Connect: connect(cfg, env)}); err != nil {
		return fail("the controller has stopped", err)
	}
	setup.Info("stopped")
	return nil
}

// restConfig reads a kubeconfig; without one the process is taken to run in a pod.
func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		c, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("outside a cluster --kubeconfig is needed: %w", err)
		}
		return c, nil
	}
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	return c, nil
}
