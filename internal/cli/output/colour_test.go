package output

import (
	"strings"
	"testing"
)

// TestContinuationLinesAreIndented checks that the continuation lines of a wrapped line are indented, and that an ARN is
// not broken.
func TestContinuationLinesAreIndented(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"+ create rule/80:1   # from spec.rules[0].http.paths[0] of", "+ create rule/80:1   # from\n      spec.rules[0].http.paths[0] of"},
		{"    tags: aaaaaaaaaaaaaa bbbbbbbbbbbbbbb cccccccccc ddd", "    tags: aaaaaaaaaaaaaa bbbbbbbbbbbbbbb\n        cccccccccc ddd"},
		{"    arn:aws:elasticloadbalancing:us-west-2:123456789012:x y", "    arn:aws:elasticloadbalancing:us-west-2:123456789012:x\n        y"},
	} {
		if got := strings.Join(wrap(tc.line, 40), "\n"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
