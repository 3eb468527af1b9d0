package explain

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestPortInHostHeaderIsNoted checks that a note is added if the port is not the default port of the scheme. Clients send
// this port in the Host header, and a rule for the host may not match such a header.
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

// TestMatchingHostExpressionIsShown checks that matchingHostPattern returns the host, host pattern or regular expression of
// a rule that matches the host of a request, and "" if none matches.
func TestMatchingHostExpressionIsShown(t *testing.T) {
	rule := model.Rule{Conditions: []model.Condition{model.HostHeader{
		Values: []string{"a.example.com", "*.example.org"},
		Regex:  []string{model.HostPattern("shop.example.com"), model.HostPattern("*.shop.example.com"), `^(red|blue)\.example\.net$`},
	}}}
	for host, want := range map[string]string{
		"a.example.com": "a.example.com", "x.example.org": "*.example.org", "shop.example.com": "shop.example.com",
		"eu.shop.example.com": "*.shop.example.com", "blue.example.net": `^(red|blue)\.example\.net$`, "none.example.com": "",
	} {
		if got := matchingHostPattern(rule, model.Request{Host: host}); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestDefaultActionOfMissingNLBListenerIsNotShown checks that the default action of a listener that is not created is shown
// for an ALB, but not for an NLB.
func TestDefaultActionOfMissingNLBListenerIsNotShown(t *testing.T) {
	for protocol, want := range map[string]bool{"TCP": false, "TLS": false, "HTTP": true} {
		var out strings.Builder
		showExplainedListener(&out, explainedListener{Protocol: protocol, Port: 80, Default: "answer 404"})
		if strings.Contains(out.String(), "answer 404") != want {
			t.Errorf("%s: %s", protocol, out.String())
		}
	}
}

// TestEndpointWithASmallShareMayAnswer checks that an endpoint whose share is below 1% may answer a request, in contrast to an
// endpoint that is not healthy. If no endpoint is healthy, all may answer.
func TestEndpointWithASmallShareMayAnswer(t *testing.T) {
	newEndpoint := func(health string, weight int32) requestEndpoint {
		return requestEndpoint{Endpoint: tree.Endpoint{LoadBalancer: &tree.EndpointLoadBalancer{}, Health: health, Weight: weight}}
	}
	small, large, unhealthy := newEndpoint(observed.EndpointHealthy, 1), newEndpoint(observed.EndpointHealthy, 128), newEndpoint("UNHEALTHY", 128)
	for name, c := range map[string]struct {
		endpoint requestEndpoint
		others   []requestEndpoint
		want     bool
	}{
		"small share":          {small, []requestEndpoint{large, unhealthy}, true},
		"unhealthy":            {unhealthy, []requestEndpoint{small}, false},
		"all are unhealthy":    {unhealthy, []requestEndpoint{unhealthy}, true},
		"not of this cluster":  {requestEndpoint{Endpoint: tree.Endpoint{Health: observed.EndpointHealthy, Weight: 1}}, nil, false},
		"weight 0 beside some": {newEndpoint(observed.EndpointHealthy, 0), []requestEndpoint{small}, false},
	} {
		g := requestEndpointGroup{Endpoints: append(c.others, c.endpoint)}
		if got := g.mayAnswer(c.endpoint); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if got := small.shareText(); got != "less than 1%" {
		t.Errorf("share of a small endpoint: %q", got)
	}
}

// TestHostHeaderHasTheFormOfTheURL checks that the host of a Host header is without a port and without brackets, as that of
// a URL.
func TestHostHeaderHasTheFormOfTheURL(t *testing.T) {
	for value, want := range map[string]string{"shop.example": "shop.example", "shop.example:8080": "shop.example", "[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:8080": "2001:db8::1"} {
		byHeader, err := (&requestCommand{headers: []string{"Host: " + value}}).parseRequest("http://75.2.1.2/")
		byURL, errOfURL := (&requestCommand{}).parseRequest("http://" + value + "/")
		if err != nil || errOfURL != nil || byHeader.Host != want || byURL.Host != want {
			t.Errorf("%s: host %q by header, %q by URL, want %q (%v, %v)", value, byHeader.Host, byURL.Host, want, err, errOfURL)
		}
	}
}
