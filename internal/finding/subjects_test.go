package finding

import "testing"

// TestEachReasonHasOneSubject checks that each Reason is in the list of exactly one Subject.
func TestEachReasonHasOneSubject(t *testing.T) {
	count := map[Reason]int{}
	for _, s := range Subjects {
		for _, r := range s.Reasons {
			count[r]++
			if SubjectOf(r) != s.Name {
				t.Errorf("%s: %q, want %q", r, SubjectOf(r), s.Name)
			}
		}
	}
	for _, x := range Reasons {
		if count[x.Reason] != 1 {
			t.Errorf("%s is in %d subjects", x.Reason, count[x.Reason])
		}
		delete(count, x.Reason)
	}
	if len(count) > 0 || SubjectOf("Nonsense") != "" {
		t.Errorf("unknown reasons: %v", count)
	}
}
