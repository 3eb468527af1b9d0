// Command fulcrum is the controller that creates AWS load balancers for Kubernetes objects. Its subcommands, such as plan
// and doctor, show what the controller would do and what it needs.
package main

import (
	"os"

	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/fulcrum-lb/fulcrum/internal/cli"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

func main() {
	// The first signal stops the process gracefully, the second signal at once.
	ctx := signals.SetupSignalHandler()
	os.Exit(cli.Run(ctx, output.Environment{
		Program: os.Args[0], IsTerminal: term.IsTerminal(int(os.Stdout.Fd())), Width: terminalWidth,
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
	}))
}

// terminalWidth returns the width of the terminal in columns, or 0 if it is unknown.
func terminalWidth() int {
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
