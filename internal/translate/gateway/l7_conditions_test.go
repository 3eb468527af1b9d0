package gateway

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// TestLengthOfAnExpressionIsCheckedFirst checks that a regular expression that is too long is reported as too long, even if
// it has a fault, because it is not parsed. The cost of parsing depends on the length.
func TestLengthOfAnExpressionIsCheckedFirst(t *testing.T) {
	for value, want := range map[string]finding.Reason{
		strings.Repeat(".{1000}", 18): "",
		"(?=x)":                       finding.RouteValueUnsupported,
		strings.Repeat("(?=x)", 800):  finding.RuleTooLarge,
	} {
		m := &match{path: anyPath, headers: []fieldMatch{{name: "x", value: value, regex: true}}}
		if c := (conditionBuilder{&translation{opt: Options{}.withDefaults()}}).conditionsOf("", m, false, nil); c.reason != want {
			t.Errorf("%d characters: reason %q, want %q: %s", len(value), c.reason, want, c.fault)
		}
	}
}
