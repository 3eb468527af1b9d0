// Command krew is the plugin manager of kubectl, for tests that run the commands of the documentation.
package main

import "sigs.k8s.io/krew/cmd/krew/cmd"

func main() { cmd.Execute() }
