package cli

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/version"
)

// runController runs the controller until the context ends. If it fails, it logs the error and returns output.ErrReported.
func runController(ctx context.Context, env output.Environment, cfg config.Config) error {
	log, level := newLogger(env.Stderr, cfg.LogLevel, cfg.LogFormat)
	setLibraryLoggers(log)
	setup := log.WithName("setup")
	b := version.Current()
	setup.Info("version", "GitVersion", b.Version, "GitCommit", b.Commit, "BuildDate", b.Date)
	fail := func(message string, err error) error {
		setup.Error(err, message)
		return output.ErrReported
	}
	if err := cfg.Validate(); err != nil {
		return fail("invalid configuration", err)
	}
	if _, err := input.CloudConfig(cfg, env); err != nil {
		return fail("invalid configuration", err)
	}
	for _, s := range cfg.UnsupportedFlags() {
		setup.Info("ignored unsupported setting", "setting", s)
	}
	for _, id := range sdk.UnknownServices(cfg.AWS.Endpoints) {
		setup.Info("ignored unknown AWS service ID", "setting", "--aws-api-endpoints="+id+"="+cfg.AWS.Endpoints[id])
	}
	restConfig, err := input.RESTConfig(cfg.Kubernetes.Kubeconfig, env)
	if err != nil {
		return fail("finding the API server failed", err)
	}
	if err := controller.Run(ctx, controller.Setup{Config: cfg, REST: restConfig, Log: log, AWS: input.Connector{Config: cfg, Env: env},
		LogLevel: levelHandler(level, setup)}); err != nil {
		return fail("controller failed", err)
	}
	setup.Info("stopped")
	return nil
}
