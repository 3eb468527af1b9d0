package cli

import (
	"path/filepath"
	"strings"
)

// migrator is the name of the tool of aws-load-balancer-controller that translates Ingresses. Under it the program is the
// command migrate, so that scripts go on to work.
const migrator = "lbc-migrate"

// migratorPort is where that tool serves its console.
const migratorPort = "8080"

// isMigrator reports whether the program was started under that name.
func isMigrator(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == migrator
}

// asMigrator returns the command line of this program for one of that tool. With --console all flags but --port are
// ignored, as there, and without it --port is.
func asMigrator(args []string) []string {
	port, served := migratorPort, false
	var others []string
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		switch {
		case name == "--console":
			served = !given || value != "false"
		case name == "--port" && !given && i+1 < len(args):
			i++
			port = args[i]
		case name == "--port":
			port = value
		default:
			others = append(others, args[i])
		}
	}
	if served {
		return []string{"migrate", "console", "--listen=127.0.0.1:" + port}
	}
	return append([]string{"migrate"}, others...)
}
