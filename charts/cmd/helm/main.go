// Command helm is the Helm CLI, in the version with which the tests render the chart. Tests run it against an API server.
package main

import (
	"errors"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
)

func main() {
	kube.ManagedFieldsManager = "helm" // independent of the name of the executable
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
