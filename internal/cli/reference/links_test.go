package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// headingIDs returns the link IDs of the headings and of the explicit anchors of a page.
func headingIDs(page string) map[string]bool {
	out := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		id := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(h[1]), "")
		out[strings.ReplaceAll(id, " ", "-")] = true
	}
	for _, a := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(page, -1) {
		out[a[1]] = true
	}
	return out
}

// TestLinksWithinPagesHaveTargets checks that the target of each link within a page is a heading or an anchor of the page,
// and that each anchor is unique and has a link.
func TestLinksWithinPagesHaveTargets(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(err, len(pages))
	}
	within := 0
	for _, file := range pages {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := string(text)
		ids := headingIDs(page)
		for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(page, -1) {
			within++
			if !ids[link[1]] {
				t.Errorf("%s: no heading or anchor has the ID %q", file, link[1])
			}
		}
		for _, a := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, "](#"+a[1]+")") || strings.Count(page, a[0]) != 1 {
				t.Errorf("%s: anchor %q has no link, or exists twice", file, a[1])
			}
		}
	}
	if within < 30 {
		t.Errorf("only %d links were checked, want at least 30", within)
	}
}
