package plan

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestRuleTextIdentifiesPortAndConditions checks that a rule that AWS returns with its conditions and values in another order
// has the same text as the desired rule, and that conditions of different kinds with the same values have different texts.
func TestRuleTextIdentifiesPortAndConditions(t *testing.T) {
	host, path := model.HostHeader{Values: []string{"a.example.com", "b.example.com"}}, model.PathPattern{Values: []string{"/*"}}
	text := RuleText(443, []model.Condition{host, path})
	if got := RuleText(443, []model.Condition{path, model.HostHeader{Values: []string{"b.example.com", "a.example.com"}}}); got != text {
		t.Errorf("other order: %q, want %q", got, text)
	}
	for name, got := range map[string]string{
		"other port":      RuleText(80, []model.Condition{host, path}),
		"other condition": RuleText(443, []model.Condition{host}),
		"other value":     RuleText(443, []model.Condition{host, model.PathPattern{Values: []string{"/api"}}}),
	} {
		if got == text {
			t.Errorf("%s: same text %q", name, got)
		}
	}
	if got := RuleText(443, []model.Condition{model.HostHeader{Values: []string{"*"}}}); got == RuleText(443, []model.Condition{model.PathPattern{Values: []string{"*"}}}) {
		t.Errorf("host and path have the same text %q", got)
	}
}
