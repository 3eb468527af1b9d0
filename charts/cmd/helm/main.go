// Command helm is Helm's own program, of the version that the chart is tested with, for tests that run its commands
// against an API server.
package main

import (
	"errors"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	kube.ManagedFieldsManager = "helm" // whatever the program is called
	root, err := cmd.NewRootCmd(os.Stdout, os.Args[1:], cmd.SetupLogging)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	if err := root.Execute(); err != nil {
		code := 1
		var failure cmd.CommandError
		if errors.As(err, &failure) {
			code = failure.ExitCode
		}
		os.Exit(code)
	}
}
