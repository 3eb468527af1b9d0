// Command fulcrum-local runs a local world: a Kubernetes control plane, nodes and pods, an emulated AWS, and Fulcrum.
//
// `fulcrum-local up` starts the local world and keeps it running until it is interrupted. Every other subcommand is
// one role of the local world. Roles are separate processes, so that tests can kill each of them; `up` starts them.
package main

import (
	"fmt"
	"os"

	"github.com/fulcrum-lb/fulcrum/local/up"
)

func main() {
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name := os.Args[1]
	// The roles read os.Args, as their original main functions do.
	os.Args = append([]string{name}, os.Args[2:]...)
	if run, ok := roles()[name]; ok {
		os.Exit(run())
	}
	switch name {
	case "up":
		if err := up.NewCommand().Execute(); err != nil {
			fmt.Fprintln(os.Stderr, "fulcrum-local:", err)
			os.Exit(1)
		}
	case "help", "-h", "--help":
		usage(os.Stdout)
	default:
		fmt.Fprintf(os.Stderr, "fulcrum-local: unknown subcommand %q\n\n", name)
		usage(os.Stderr)
		os.Exit(2)
	}
}

func usage(w *os.File) {
	fmt.Fprintln(w, `fulcrum-local: Kubernetes, an AWS and Fulcrum on the loopback interface

  fulcrum-local up [flags]   start a world, show how to reach it, run until Ctrl-C
  fulcrum-local up --help    flags of up

Roles, started by up, one process each:
  etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, agent, aws`)
}
