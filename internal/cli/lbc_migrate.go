package cli

import (
	"strings"
)

// lbcMigrate is the name of the tool of aws-load-balancer-controller that translates Ingresses to the Gateway API. If
// fulcrum is started under this name, it runs the command migrate, so that scripts for that tool continue to work.
const lbcMigrate = "lbc-migrate"

// lbcMigratePort is the default port of the console of lbc-migrate.
const lbcMigratePort = "8080"

// migrateArguments translates arguments of lbc-migrate to arguments of fulcrum. As in lbc-migrate, --port has an effect only
// with --console, and all other flags have an effect only without --console.
func migrateArguments(args []string) []string {
	port, console := lbcMigratePort, false
	var migrateFlags []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case name == "--console":
			console = !hasValue || value != "false"
		case name == "--port" && !hasValue && i+1 < len(args):
			i++
			port = args[i]
		case name == "--port":
			port = value
		default:
			migrateFlags = append(migrateFlags, args[i])
		}
	}
	if console {
		return []string{"migrate", "console", "--listen=127.0.0.1:" + port}
	}
	return append([]string{"migrate"}, migrateFlags...)
}
