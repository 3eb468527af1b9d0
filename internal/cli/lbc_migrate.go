package cli

import "strings"

// lbcMigrate is the name of the tool of aws-load-balancer-controller that translates Ingresses to the Gateway API. If
// fulcrum is started under this name, it runs the command migrate, so that scripts for that tool continue to work.
const lbcMigrate = "lbc-migrate"

// lbcMigratePort is the default port of the console of lbc-migrate.
const lbcMigratePort = "8080"

// migrateArguments translates arguments of lbc-migrate to arguments of fulcrum. As in lbc-migrate, -f is --file, which takes a
// list, --port has an effect only with --console, and all other flags have an effect only without --console. The exception is
// --kubeconfig, because without it the console would show another cluster.
func migrateArguments(args []string) []string {
	port, console := lbcMigratePort, false
	var migrateFlags, consoleFlags []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		words := args[i : i+1]
		if (name == "--port" || name == "--kubeconfig") && !hasValue && i+1 < len(args) {
			i++
			value, words = args[i], args[i-1:i+1]
		}
		switch name {
		case "-f":
			migrateFlags = append(migrateFlags, "--file"+args[i][len(name):])
		case "--console":
			console = !hasValue || value != "false"
		case "--port":
			port = value
		case "--kubeconfig":
			consoleFlags = append(consoleFlags, "--kubeconfig="+value)
			fallthrough
		default:
			migrateFlags = append(migrateFlags, words...)
		}
	}
	if console {
		return append([]string{"migrate", "console", "--listen=127.0.0.1:" + port}, consoleFlags...)
	}
	return append([]string{"migrate"}, migrateFlags...)
}
