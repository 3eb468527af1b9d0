// Command krew is the plugin manager of kubectl. Tests run the documented commands with it.
package main

import "sigs.k8s.io/krew/cmd/krew/cmd"

func main() { cmd.Execute() }
