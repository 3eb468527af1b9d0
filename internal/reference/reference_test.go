package reference

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

//go:generate go test -run TestPagesAreUpToDate . -update

var update = flag.Bool("update", false, "rewrite the pages")

func TestPagesAreUpToDate(t *testing.T) {
	for name, want := range Pages() {
		path := filepath.Join("..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), want); diff != "" {
			t.Errorf("docs/%s differs from the tables of the program; run make generate (-page +program):\n%s", name, diff)
		}
	}
}

func TestEveryRowSaysHowMembersAgree(t *testing.T) {
	for _, r := range append(settings.Rows(), settings.ServiceAnnotations.Rows()...) {
		if _, ok := merges[r.Merge]; !ok {
			t.Errorf("%s: merge rule %q has no description", r.Key, r.Merge)
		}
		if r.Doc == "" || r.Type == "" {
			t.Errorf("%s: the description of the row is too short", r.Key)
		}
	}
}

func TestReasonsAreSortedAndComplete(t *testing.T) {
	if !slices.IsSortedFunc(finding.Reasons, func(a, b finding.Explanation) int { return strings.Compare(string(a.Reason), string(b.Reason)) }) {
		t.Error("the reasons are not in alphabetical order")
	}
	source, err := os.ReadFile(filepath.Join("..", "finding", "reasons.go"))
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	for line := range strings.Lines(string(source)) {
		if strings.Contains(line, "Reason = \"") {
			constants++
		}
	}
	if constants != len(finding.Reasons) {
		t.Errorf("%d reasons, but %d explanations", constants, len(finding.Reasons))
	}
}
