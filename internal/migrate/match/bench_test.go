package match_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
)

// BenchmarkArrangeExpressions arranges 1,500 regular expressions for one host. For each pair of them, it is unknown whether
// a request may match both.
func BenchmarkArrangeExpressions(b *testing.B) {
	var rules []match.Rule
	for i := range 50 {
		for p := range 30 {
			rules = append(rules, match.Rule{Match: match.Match{Host: "h.example.com", Path: match.Path{Kind: match.Regex, Value: fmt.Sprintf("^/%s%d[a-z]+%d", strings.Repeat("p", p%17), i, p)}}, Answer: fmt.Sprint(p % 10), RuleIndex: i*30 + p, Owner: fmt.Sprint(i)})
		}
	}
	rules = append(rules, match.Rule{Match: match.AnyRequest, Answer: "default", RuleIndex: len(rules), IsDefault: true})
	for b.Loop() {
		out := match.Arrange(rules)
		b.ReportMetric(float64(len(out.Conflicts)), "conflicts")
	}
}
