package model

import "testing"

// TestSubnetTagsAreTextWithoutGoSyntax checks the text of subnet tags in messages. Neither the order of the keys nor the order
// of the values of a key changes the text, because it is compared to find differences.
func TestSubnetTagsAreTextWithoutGoSyntax(t *testing.T) {
	t.Parallel()
	for _, values := range [][]string{{"a", "b"}, {"b", "a"}} {
		if got, want := (SubnetsTagged{Tags: map[string][]string{"zone": {"x"}, "team": values}}).Text(), "team=a or b, zone=x"; got != want {
			t.Errorf("%q: text %q, want %q", values, got, want)
		}
	}
}
