package explain

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestPortInHostHeaderIsNoted checks that a note is added for a port other than the default of the scheme: clients send this
// port in the Host header, and a rule for the host may not match the header.
func TestPortInHostHeaderIsNoted(t *testing.T) {
	for port, want := range map[int32]int{80: 0, 8080: 1} {
		a := answerCollector{
			webRequest: webRequest{Request: model.Request{Host: "shop.example.com"}, scheme: "http", port: port},
			answers:    []requestAnswer{{Type: string(model.Application), Rule: &explainedRule{}}},
		}
		notes := a.buildDocument().Notes
		if len(notes) != want || want > 0 && !strings.Contains(notes[0], `"shop.example.com:8080"`) {
			t.Errorf("port %d: %q", port, notes)
		}
	}
}

// TestMatchingHostExpressionIsShown checks that the host or host pattern of a rule that matches the requested host is shown,
// and not the others.
func TestMatchingHostExpressionIsShown(t *testing.T) {
	rule := model.Rule{Conditions: []model.Condition{model.HostHeader{
		Values: []string{"a.example.com", "*.example.org"},
		Regex:  []string{model.HostPattern("shop.example.com"), model.HostPattern("*.shop.example.com"), `^(red|blue)\.example\.net$`},
	}}}
	for host, want := range map[string]string{
		"a.example.com": "a.example.com", "x.example.org": "*.example.org", "shop.example.com": "shop.example.com",
		"eu.shop.example.com": "*.shop.example.com", "blue.example.net": `^(red|blue)\.example\.net$`, "none.example.com": "",
	} {
		if got := hostOf(rule, model.Request{Host: host}); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestListenerThatIsNotCreatedAnswersNothing checks that the default action of a listener that is not created is shown for
// an ALB and not for an NLB.
func TestListenerThatIsNotCreatedAnswersNothing(t *testing.T) {
	for protocol, want := range map[string]bool{"TCP": false, "TLS": false, "HTTP": true} {
		var out strings.Builder
		showExplainedListener(&out, explainedListener{Protocol: protocol, Port: 80, Default: "answer 404"})
		if strings.Contains(out.String(), "answer 404") != want {
			t.Errorf("%s: %s", protocol, out.String())
		}
	}
}
