package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exampleBlock matches a code block of a page that has a command of fulcrum and its output.
var exampleBlock = regexp.MustCompile("(?s)```\n\\$ (?:fulcrum|kubectl fulcrum) [^`]*?```")

// tableCount matches counts in the output of doctor that depend on the tables in the program.
var tableCount = regexp.MustCompile(`(?m)^(ok +(?:permissions|definitions) +)\d+(?: of \d+)?`)

// withoutCounts replaces the counts that tableCount matches by "<count>", so that pages need no edit if a count changes.
func withoutCounts(text string) string { return tableCount.ReplaceAllString(text, "${1}<count>") }

// goldenOutputs are the golden files with the command outputs that pages show. Tests of package cli compare these files with
// the real output of the commands.
var goldenOutputs = []string{"commands/readme.txtar", "accelerators/page.txtar", "pages/outputs.txtar"}

// TestExamplesInPagesMatchOutput checks that each example in the pages is in one of the goldenOutputs, and that README.md
// has an example of each important command.
func TestExamplesInPagesMatchOutput(t *testing.T) {
	var golden strings.Builder
	for _, name := range goldenOutputs {
		text, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		golden.Write(text)
	}
	known := withoutCounts(golden.String())
	all := pages(t)
	shown := map[string]bool{}
	for _, page := range []string{"README.md", "docs/commands.md", "docs/accelerators.md", "docs/migration.md"} {
		for _, block := range exampleBlock.FindAllString(all[filepath.FromSlash(page)], -1) {
			body := strings.TrimSuffix(strings.TrimPrefix(block, "```\n"), "```")
			command, _, _ := strings.Cut(strings.TrimPrefix(body, "$ fulcrum "), "\n")
			if !strings.Contains(known, withoutCounts(body)) {
				t.Errorf("%s: the output of %q is not in internal/cli/testdata; see %s", page, command, strings.Join(goldenOutputs, ", "))
			}
			word, _, _ := strings.Cut(command, " ")
			if strings.HasPrefix(command, "explain request") {
				word = "explain request"
			}
			if page == "README.md" {
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

// TestCountsOfExamplesAreIgnored checks that withoutCounts replaces only the counts that depend on the tables in the
// program.
func TestCountsOfExamplesAreIgnored(t *testing.T) {
	for text, want := range map[string]string{
		"ok      permissions  27 of 80 actions were tried":     "ok      permissions  <count> actions were tried",
		"ok      definitions  7 custom resource definitions":   "ok      definitions  <count> custom resource definitions",
		"ok      definitions  defaults: weight 128":            "ok      definitions  defaults: weight 128",
		"ok      quotas       target-groups: 2 of 3000 in use": "ok      quotas       target-groups: 2 of 3000 in use",
	} {
		if got := withoutCounts(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
