package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// pages returns the texts of the documents for users. The keys are paths from the root of the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	paths := []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", filepath.Join("local", "README.md")}
	for _, dir := range []string{"docs", filepath.Join("docs", "decisions")} {
		docs, err := filepath.Glob(filepath.Join(root, dir, "*.md"))
		if err != nil || len(docs) == 0 {
			t.Fatalf("no pages in %s: %v", dir, err)
		}
		for _, p := range docs {
			paths = append(paths, filepath.Join(dir, filepath.Base(p)))
		}
	}
	out := map[string]string{}
	for _, p := range paths {
		raw, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		out[p] = string(raw)
	}
	return out
}

// TestLinksBetweenPagesHaveTargets checks that the target of each link to a file of the repository exists.
func TestLinksBetweenPagesHaveTargets(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inlineCode := regexp.MustCompile("`[^`\n]*`")
	for page, text := range pages(t) {
		text = inlineCode.ReplaceAllString(text, "") // inline code may contain text that looks like a link
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.Dir(page), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			}
		}
	}
}

// TestPathsInPagesExist checks that each file and directory that a page names as inline code exists.
func TestPathsInPagesExist(t *testing.T) {
	path := regexp.MustCompile("`((?:api|charts|cmd|config|internal|local|tools)/[\\w./-]+)`")
	found := 0
	for page, text := range pages(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			if strings.HasSuffix(m[1], "...") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page names a path")
	}
}

// TestIndexHasEveryPage checks that the index of the documentation has a link to each page in docs.
func TestIndexHasEveryPage(t *testing.T) {
	all := pages(t)
	index := all[filepath.Join("docs", "README.md")]
	for page := range all {
		if filepath.Dir(page) != "docs" || filepath.Base(page) == "README.md" {
			continue
		}
		if link := "](" + filepath.Base(page) + ")"; !strings.Contains(index, link) {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

// TestTroubleshootingNamesRealReasons checks that each reason that the troubleshooting page names exists.
func TestTroubleshootingNamesRealReasons(t *testing.T) {
	page := pages(t)[filepath.Join("docs", "troubleshooting.md")]
	reason := regexp.MustCompile("`([A-Z][a-z]+(?:[A-Z][A-Za-z]*)+)`( True| False)?|explain ([A-Z][a-z]\\w+)")
	found := reason.FindAllStringSubmatch(page, -1)
	if len(found) < 30 {
		t.Errorf("the page names %d reasons only", len(found))
	}
	for _, m := range found {
		name, isCondition := m[1]+m[3], m[2] != ""
		if !isCondition && !slices.ContainsFunc(finding.Reasons, func(e finding.Explanation) bool { return string(e.Reason) == name }) {
			t.Errorf("no reason is called %s", name)
		}
	}
}

// declaredTests returns the names of all tests, benchmarks and fuzz tests of the repository.
func declaredTests(t *testing.T) []string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z]\w*)\(`)
	var out []string
	for _, dir := range []string{"api", "charts", "cmd", "config", "internal", "local", "tools"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
				out = append(out, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(out)
	return out
}

// TestTestsNamedInPagesExist checks that each test that a page or the Makefile names exists. A name in the Makefile, or
// before "…" in a page, may be a prefix of test names, as in a pattern of -run. If a test was renamed, a page may name it as
// "`previous name`, now `present name`".
func TestTestsNamedInPagesExist(t *testing.T) {
	tests := declaredTests(t)
	text := pages(t)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	text["Makefile"] = string(makefile)
	found := 0
	for page, text := range text {
		for _, m := range regexp.MustCompile("\\b((?:Test|Benchmark|Fuzz)[A-Z]\\w*)(`, now `|…)?").FindAllStringSubmatch(text, -1) {
			i, exists := slices.BinarySearch(tests, m[1])
			switch {
			case exists, (page == "Makefile" || m[2] == "…") && i < len(tests) && strings.HasPrefix(tests[i], m[1]):
				found++
			case m[2] != "`, now `":
				t.Errorf("%s names the test %s, which does not exist", page, m[1])
			}
		}
	}
	if found < 200 {
		t.Errorf("the pages name %d tests, want at least 200", found)
	}
}
