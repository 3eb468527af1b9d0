package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// TestOutputsForPagesAreUpToDate compares the outputs of doctor, orphans and migrate --check with a golden file. The pages
// of the documentation show these outputs; package reference compares the pages with the golden file.
func TestOutputsForPagesAreUpToDate(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/pages/*.txtar", func(t *testing.T, _ goldentest.Case) []goldentest.File {
		var out strings.Builder
		for _, name := range []string{"shop.yaml", "frontend.yaml"} {
			fmt.Fprintf(&out, "$ fulcrum migrate -f %s --check\n%s\n", name, migrateOutput(t, name))
		}
		fmt.Fprintf(&out, "$ fulcrum doctor\n%s\n", doctorOutput(t))
		fmt.Fprintf(&out, "$ fulcrum orphans\n%s\n", orphansOutput(t))
		return []goldentest.File{{Name: "output.txt", Text: out.String()}}
	})
}

// doctorOutput returns the output of doctor for a healthy cluster.
func doctorOutput(t *testing.T) string {
	t.Helper()
	_, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	server.addWebhooks(t, time.Now().Add(365*24*time.Hour), true)
	_, out := runDoctor(t, config, flags)
	return regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(out, "https://10.0.0.1:443")
}

// orphansOutput returns the output of orphans for a load balancer whose Ingress was deleted.
func orphansOutput(t *testing.T) (out string) {
	t.Helper()
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, _ := runCase(t, c)
		_, config := serveCluster(t, classYAML)
		var code int
		code, out, _ = runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append([]string{"orphans"}, emulatorFlags(t, em, vpc)...)...)
		if code != 0 {
			t.Errorf("exit %d", code)
		}
		return nil
	})
	return out
}

// migrateOutput returns the output of migrate --check for a file of testdata/migrate.
func migrateOutput(t *testing.T, name string) string {
	t.Helper()
	text, err := testdata.ReadFile("testdata/migrate/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir := writeTempFiles(t, map[string]string{name: string(text)})
	_, out, _ := run(t, "migrate", "-f", filepath.Join(dir, name), "--check")
	return strings.ReplaceAll(out, dir+string(filepath.Separator), "")
}
