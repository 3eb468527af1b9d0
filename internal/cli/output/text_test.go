package output

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TestFindingsOfOneObjectAreBounded checks that at most maxShownFindings findings are shown for one object, with the number
// of the others. Findings about other objects are still shown.
func TestFindingsOfOneObjectAreBounded(t *testing.T) {
	var found finding.List
	for i := range 1000 {
		found.Add(finding.Finding{Object: finding.Ref{Kind: "Ingress", Namespace: "a", Name: "loud"}, Reason: finding.AnnotationInvalid, Message: strconv.Itoa(i)})
	}
	found.Add(finding.Finding{Object: finding.Ref{Kind: "Ingress", Namespace: "b", Name: "quiet"}, Reason: finding.AnnotationInvalid, Message: "once"})
	var out strings.Builder
	ShowFindings(&out, found)
	text := out.String()
	if n := strings.Count(text, "\n"); n != maxShownFindings+2 || !strings.Contains(text, "and 800 more findings about Ingress a/loud, which -o json shows") || !strings.Contains(text, "b/quiet: once") {
		t.Errorf("%d lines: %.300s", n, text)
	}
}
