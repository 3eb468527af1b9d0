package cli

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// testdata has the golden files.
//
//go:embed testdata
var testdata embed.FS

// TestCommands compares the output of the commands in commands.txt with golden files. The objects are in cluster.yaml. If a
// case has a file live.txt, the controller first creates the load balancers, and then drift.txt and edit.yaml are applied.
func TestCommands(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/commands/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, flags := startEmulator(t)
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		if err := os.WriteFile(file, []byte(c.Text("cluster.yaml")), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Text("live.txt") != "" {
			var vpc string
			em, vpc, file = runCase(t, c)
			flags = emulatorFlags(t, em, vpc)
		}
		var out strings.Builder
		for line := range strings.Lines(c.Text("commands.txt")) {
			line = strings.TrimSpace(line)
			args := splitCommand(line)
			if args[0] != "explain" || len(args) != 2 || strings.Contains(args[1], "/") {
				args = slices.Concat(args, []string{"-f", file}, flags)
			}
			code, stdout, stderr := run(t, args...)
			fmt.Fprintf(&out, "$ fulcrum %s\n%s%s", line, strings.ReplaceAll(stdout, file, "cluster.yaml"), stderr)
			if code != 0 {
				fmt.Fprintf(&out, "exit code %d\n", code)
			}
			fmt.Fprintln(&out)
		}
		if n := em.Calls().CountMutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return []goldentest.File{{Name: "output.txt", Text: out.String()}}
	})
}

// splitCommand splits a command line at spaces, but not within single quotation marks.
func splitCommand(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}
