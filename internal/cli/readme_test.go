package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// example matches a block of a page with a command and its output.
var example = regexp.MustCompile("(?s)```\n\\$ (?:fulcrum|kubectl fulcrum) [^`]*?```")

// countLine matches lines of doctor with counts that change with the tables of the program.
var countLine = regexp.MustCompile(`(?m)^ok +(permissions|definitions) .*$`)

// withoutCounts removes the counts of such lines.
func withoutCounts(text string) string {
	return countLine.ReplaceAllStringFunc(text, func(line string) string {
		return regexp.MustCompile(`\d+( of [a-z0-9-]+,? ?)?`).ReplaceAllString(line, "")
	})
}

// orphansOutput returns the output of orphans for a load balancer whose Ingress was deleted.
func orphansOutput(t *testing.T) (out string) {
	t.Helper()
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, _ := runCase(t, c)
		_, config := serveCluster(t, classYAML)
		var code int
		code, out, _ = runWith(t, "", map[string]string{"KUBECONFIG": config}, append([]string{"orphans"}, emulatorFlags(t, em, vpc)...)...)
		if code != 0 {
			t.Errorf("exit %d", code)
		}
		return nil
	})
	return out
}

// The examples of the pages are outputs of the commands: those of golden files, and of doctor and orphans.
func TestExamplesOfThePagesAreOutput(t *testing.T) {
	golden, err := os.ReadFile("testdata/commands/readme.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	server.webhooks(t, time.Now().Add(365*24*time.Hour), true)
	_, doctor := runDoctor(t, config, flags)
	doctor = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(doctor, "https://10.0.0.1:443")
	accelerators, err := os.ReadFile("testdata/accelerators/page.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, migrated, _ := run(t, "migrate", "-f", "testdata/migrate/shop.yaml", "--check")
	_, inFront, _ := run(t, "migrate", "-f", "testdata/migrate/frontend.yaml", "--check")
	known := string(golden) + string(accelerators) + "\n$ fulcrum doctor\n" + doctor + "\n$ fulcrum orphans\n" + orphansOutput(t) + "\n$ fulcrum migrate -f shop.yaml --check\n" + migrated + "\n$ fulcrum migrate -f frontend.yaml --check\n" + inFront
	shown := map[string]bool{}
	for _, page := range []string{"../../README.md", "../../docs/commands.md", "../../docs/accelerators.md", "../../docs/migration.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range example.FindAllString(string(text), -1) {
			body := strings.TrimSuffix(strings.TrimPrefix(block, "```\n"), "```")
			command, _, _ := strings.Cut(strings.TrimPrefix(body, "$ fulcrum "), "\n")
			if !strings.Contains(withoutCounts(known), withoutCounts(body)) {
				t.Errorf("%s: the output of %q is another one; see testdata/commands/readme.txtar, or what doctor and orphans print:\n%s", page, command, known[len(golden)+len(accelerators):])
			}
			word, _, _ := strings.Cut(command, " ")
			if strings.HasPrefix(command, "explain request") {
				word = "explain request"
			}
			if strings.HasSuffix(page, "README.md") {
				shown[word] = true
			}
		}
	}
	for _, command := range []string{"plan", "tree", "explain", "explain request", "orphans", "doctor"} {
		if !shown[command] {
			t.Errorf("README.md has no example of %q", command)
		}
	}
}
