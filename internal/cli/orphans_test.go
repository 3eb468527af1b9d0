package cli

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
)

// Of a part of the cluster everything else would seem to be an orphan, and people delete orphans.
func TestOrphansAreNotLookedForInFiles(t *testing.T) {
	_, flags := aws(t)
	for _, more := range []string{"--filename=testdata/none", "--observed=testdata/none"} {
		var out, errs strings.Builder
		code := Run(t.Context(), output.Environment{Args: append([]string{"orphans", more}, flags...), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
		if code == 0 || !strings.Contains(errs.String(), "would seem to be orphans") || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", more, code, out.String(), errs.String())
		}
	}
}
