package migrate_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	recorded "github.com/fulcrum-lb/fulcrum/internal/test/cases/testdata"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// TestRecordedIngressCases translates all recorded Ingress cases, and compares the notes about each translation, and its
// differences from the Ingresses, with testdata/cases.txt.
func TestRecordedIngressCases(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(recorded.Files, "ingress-*.yaml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	var out strings.Builder
	for _, file := range files {
		text, err := recorded.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		store := enginetest.LoadObjects(t, string(text))
		opt := defaultOptions(assemble.Options{}, "alb")
		r, err := migrate.Translate(store, opt)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(file, ".yaml"))
		for _, ref := range r.ServedByOthers {
			fmt.Fprintf(&out, "  not ours: %s\n", ref)
		}
		for _, g := range r.IngressGroups {
			if g.Gateway.IsZero() {
				fmt.Fprintf(&out, "  %s is not translated\n", g.ID)
			}
			for _, n := range g.Notes {
				fmt.Fprintf(&out, "  %s %s %s: %s; %s\n", n.Severity, n.Object, n.Field, n.Message, n.Fix)
			}
		}
		for line := range strings.Lines(differences(t, store, r, opt)) {
			out.WriteString("  differs: " + line)
		}
	}
	const path = "testdata/cases.txt"
	embedded, err := testdata.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	goldentest.CompareEmbeddedFile(t, string(embedded), path, out.String())
}
