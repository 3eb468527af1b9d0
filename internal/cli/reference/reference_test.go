package reference

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

//go:generate go test -run TestPagesAreUpToDate . -update

func TestPagesAreUpToDate(t *testing.T) {
	for name, want := range Pages() {
		goldentest.CompareFile(t, filepath.Join("..", "..", "..", "docs", name), want)
	}
}

func TestAnnotationRowsAreComplete(t *testing.T) {
	for _, r := range append(settings.IngressAnnotations.Rows(), settings.ServiceAnnotations.Rows()...) {
		if _, ok := mergeTexts[r.Merge]; !ok {
			t.Errorf("%s: merge rule %q has no description", r.Key, r.Merge)
		}
		if r.Doc == "" || r.Type == "" {
			t.Errorf("%s: the row has no type or no description", r.Key)
		}
	}
}

func TestReasonsAreSortedAndComplete(t *testing.T) {
	if !slices.IsSortedFunc(finding.Reasons, func(a, b finding.Explanation) int { return strings.Compare(string(a.Reason), string(b.Reason)) }) {
		t.Error("the reasons are not in alphabetical order")
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "finding", "reasons.go"))
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
