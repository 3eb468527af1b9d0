package cli

import (
	"strings"
	"testing"
)

func TestLBCMigrateRunsCommandMigrate(t *testing.T) {
	for program, want := range map[string]bool{"/usr/bin/lbc-migrate": true, "lbc-migrate.exe": true, "fulcrum": false, "lbc-migrate-old": false} {
		if isNamed(program, lbcMigrate) != want {
			t.Errorf("%s: %t", program, !want)
		}
	}
	for line, want := range map[string]string{
		"":                               "migrate",
		"--from-cluster --namespaces a":  "migrate --from-cluster --namespaces a",
		"--console":                      "migrate console --listen=127.0.0.1:8080",
		"--console --port 9000 --split=": "migrate console --listen=127.0.0.1:9000",
		"--port=9001 --console=true":     "migrate console --listen=127.0.0.1:9001",
		"--console=false -f a.yaml":      "migrate --file a.yaml",
		"--port 1 -f a.yaml,b.yaml":      "migrate --file a.yaml,b.yaml",
		"-f=a.yaml --split=":             "migrate --file=a.yaml --split=",
		"--kubeconfig a --console":       "migrate console --listen=127.0.0.1:8080 --kubeconfig=a",
		"--console --kubeconfig=a -f b":  "migrate console --listen=127.0.0.1:8080 --kubeconfig=a",
		"--from-cluster --kubeconfig a":  "migrate --from-cluster --kubeconfig a",
	} {
		if got := strings.Join(migrateArguments(strings.Fields(line)), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
