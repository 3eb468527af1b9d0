package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/fulcrum-lb/fulcrum/local/agent"
	"github.com/fulcrum-lb/fulcrum/local/awsrole"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// roles returns the main functions of the roles. Each reads os.Args, whose first element is the role's name, and
// returns an exit code.
func roles() map[string]func() int {
	return map[string]func() int{
		world.RoleEtcd: func() int {
			etcdmain.Main(os.Args)
			return 0
		},
		world.RoleAPIServer: func() int {
			return cli.Run(apiserver.NewAPIServerCommand())
		},
		world.RoleControllerManager: func() int {
			return cli.Run(controllermanager.NewControllerManagerCommand())
		},
		world.RoleScheduler: func() int {
			return cli.Run(scheduler.NewSchedulerCommand())
		},
		world.RoleKwok: runKwok,
		world.RoleAWS: func() int {
			return cli.Run(awsrole.NewCommand())
		},
		world.RoleAgent: func() int {
			return cli.Run(agent.NewCommand())
		},
	}
}

// runKwok does what the main function of kwok does: it reads the files of --config into the context before it creates
// the command.
func runKwok() int {
	// Packages of Kubernetes add flags such as --version to the global flag set, which conflict with those of kwok.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	cmd := kwok.NewCommand(ctx)
	cmd.PersistentFlags().AddFlagSet(flags)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}
