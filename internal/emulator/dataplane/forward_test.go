package dataplane

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForwardByRules(t *testing.T) {
	a, b, d := startBackend(t, "a"), startBackend(t, "b"), startBackend(t, "default")
	p := startPlane(t)
	apply(t, p, albConfig(Listener{
		DefaultRule: Rule{Action: forwardTo("default")},
		Rules: []Rule{
			{Priority: 20, Conditions: []Condition{HostHeader{Values: []string{"*.example.com"}}}, Action: forwardTo("b")},
			{Priority: 10, Conditions: []Condition{PathPattern{Values: []string{"/a/*"}}}, Action: forwardTo("a")},
			{Priority: 30, Conditions: []Condition{PathPattern{Values: []string{"/fixed"}}}, Action: FixedResponse{Status: 418, ContentType: "application/json", Body: "{}"}},
			{Priority: 40, Conditions: []Condition{PathPattern{Values: []string{"/empty"}}}, Action: forwardTo("empty")},
			{Priority: 50, Conditions: []Condition{PathPattern{Values: []string{"/unknown"}}}, Action: forwardTo("unknown")},
		},
	}, targetGroupOf("a", a), targetGroupOf("b", b), targetGroupOf("default", d), targetGroupOf("empty")))

	for _, c := range []struct{ host, target, want string }{
		{"x.org", "/a/1?q=2", "a"},
		{"www.example.com", "/a/1", "a"},
		{"www.example.com", "/b", "b"},
		{"x.org", "/", "default"},
	} {
		if got := get(t, p, c.host, c.target).parseEcho(t); got.Name != c.want || got.URI != c.target {
			t.Errorf("%s%s: want %s with the same target, got %s with %s", c.host, c.target, c.want, got.Name, got.URI)
		}
	}
	fixed := get(t, p, "x.org", "/fixed")
	if fixed.StatusCode != 418 || fixed.body != "{}" || fixed.Header.Get("Server") != "awselb/2.0" ||
		fixed.Header.Get("Content-Type") != "application/json" {
		t.Errorf("fixed response: %d %q %v", fixed.StatusCode, fixed.body, fixed.Header)
	}
	for _, target := range []string{"/empty", "/unknown"} {
		got := get(t, p, "x.org", target)
		if got.StatusCode != 503 || len(got.body) != 162 || got.Header.Get("Content-Type") != "text/html" {
			t.Errorf("%s: want AWS's page of 162 bytes with 503, got %d %q", target, got.StatusCode, got.body)
		}
	}
}

func TestForwardedRequest(t *testing.T) {
	b := startBackend(t, "b")
	p := startPlane(t)
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", b)))
	req := newTestRequest(t, http.MethodPost, "http://"+firstListenerAddress(t, p)+"/a%2Fb//c?x=%41;y&z", strings.NewReader("body"))
	req.Host = "Example.COM:1234"
	req.Header.Set("X-Forwarded-For", "1.2.3.4")
	req.Header.Set("X-Forwarded-Proto", "https")
	req.Header.Set("X-Forwarded-Host", "kept")
	req.Header.Set("X-Amzn-Oidc-Identity", "forged")
	req.Header.Set("X-Amzn-Trace-Id", "Self=1-1-1;Root=1-67891233-abcdef012345678912345678;CalledFrom=app")
	got := send(t, client, req).parseEcho(t)

	want := map[string]string{
		"X-Forwarded-For": "1.2.3.4, 127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "80",
		"X-Forwarded-Host": "kept", "X-Amzn-Oidc-Identity": "", "Connection": "",
	}
	have := map[string]string{}
	for name := range want {
		have[name] = got.Header.Get(name)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	trace := regexp.MustCompile(`^Self=1-[0-9a-f]{8}-[0-9a-f]{24};Root=1-67891233-abcdef012345678912345678;CalledFrom=app$`)
	if !trace.MatchString(got.Header.Get("X-Amzn-Trace-Id")) {
		t.Errorf("trace: %q", got.Header.Get("X-Amzn-Trace-Id"))
	}
	if got.URI != "/a%2Fb//c?x=%41;y&z" || got.Body != "body" || got.Host != "Example.COM" || got.Proto != "HTTP/1.1" {
		t.Errorf("request arrived as %+v", got)
	}
	if !strings.HasPrefix(got.Remote, "127.250.1.5:") {
		t.Errorf("the target should see the node's address, got %s", got.Remote)
	}
}

func TestTargetURLIsNotReencoded(t *testing.T) {
	for _, target := range []string{"/", "/a%2fb", "/%", "/a|b\"<", "//x/y", "/a/../b", "/?", "/?a", "/x?a=%zz&b=c d"} {
		u := targetURL("http", "10.0.0.1:80", target)
		if got := u.RequestURI(); got != target {
			t.Errorf("%s: got %s", target, got)
		}
	}
}

func TestTargetHost(t *testing.T) {
	for _, c := range []struct {
		host string
		port uint16
		want string
	}{
		{"Example.COM", 80, "Example.COM"},
		{"example.com:80", 80, "example.com"},
		{"example.com:8443", 443, "example.com"},
		{"example.com", 8443, "example.com:8443"},
		{"Example.COM:8443", 8443, "Example.COM:8443"},
		{"[::1]:80", 80, "[::1]"},
		{"[::1]", 8080, "[::1]:8080"},
	} {
		if got := targetHost(c.host, c.port); got != c.want {
			t.Errorf("%s on %d: want %s, got %s", c.host, c.port, c.want, got)
		}
	}
}

func TestForwardedForModes(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("9.8.7.6:1234"), netip.MustParseAddrPort("[2001:db8::1]:1234")
	for _, c := range []struct {
		mode     string
		port     bool
		existing []string
		client   netip.AddrPort
		want     string
	}{
		{"append", false, nil, v4, "9.8.7.6"},
		{"append", false, []string{"1.1.1.1", "2.2.2.2"}, v4, "1.1.1.1, 2.2.2.2, 9.8.7.6"},
		{"append", true, nil, v4, "9.8.7.6:1234"},
		{"append", false, nil, v6, "2001:db8::1"},
		{"append", true, nil, v6, "[2001:db8::1]:1234"},
		{"preserve", true, []string{"1.1.1.1"}, v4, "1.1.1.1"},
		{"preserve", false, nil, v4, ""},
		{"remove", false, []string{"1.1.1.1"}, v4, ""},
	} {
		if got := forwardedFor(c.mode, c.port, c.existing, c.client); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestRedirect(t *testing.T) {
	p := startPlane(t)
	apply(t, p, albConfig(Listener{
		DefaultRule: Rule{Action: Redirect{Protocol: "HTTPS", Port: "443", Host: "#{host}", Path: "/#{path}", Query: "#{query}", Status: 301}},
		Rules: []Rule{
			{Priority: 1, Conditions: []Condition{PathPattern{Values: []string{"/old/*"}}}, Action: Redirect{Host: "new.#{host}", Path: "/new/#{path}", Query: "from=#{host}&#{query}", Status: 302}},
			{Priority: 2, Conditions: []Condition{PathPattern{Values: []string{"/drop"}}}, Action: Redirect{Path: "/x", Status: 302}},
		},
	}))
	for _, c := range []struct {
		host, target, want string
		status             int
	}{
		{"x.org", "/a?b=1", "https://x.org:443/a?b=1", 301},
		{"x.org:8080", "/", "https://x.org:443/", 301},
		{"x.org", "/old/%20y?q", "http://new.x.org:80/new/old/%20y?from=x.org&q", 302},
		{"x.org", "/drop?a=b", "http://x.org:80/x", 302},
	} {
		got := get(t, p, c.host, c.target)
		if got.StatusCode != c.status || got.Header.Get("Location") != c.want || got.Header.Get("Server") != "awselb/2.0" {
			t.Errorf("%s%s: got %d %s", c.host, c.target, got.StatusCode, got.Header.Get("Location"))
		}
	}
	if got := get(t, p, "x.org", "/"); len(got.body) != 134 {
		t.Errorf("body of 301: %d bytes %q", len(got.body), got.body)
	}
}

func TestTransformsRewriteHostAndURL(t *testing.T) {
	b := startBackend(t, "b")
	p := startPlane(t)
	apply(t, p, albConfig(Listener{
		DefaultRule: Rule{Action: forwardTo("g"), Transforms: []Transform{
			URLRewrite{Regex: `^/api/v([0-9]+)/(.*)$`, Replace: "/$2x?version=$1"},
			HostRewrite{Regex: `^(.*)\.example\.com$`, Replace: "$1.internal"},
		}},
		Rules: []Rule{{
			Priority: 1, Conditions: []Condition{PathPattern{Values: []string{"/bad"}}}, Action: forwardTo("g"),
			Transforms: []Transform{URLRewrite{Regex: "^/bad", Replace: "bad"}},
		}},
	}, targetGroupOf("g", b)))
	if got := get(t, p, "www.example.com", "/api/v2/users").parseEcho(t); got.URI != "/usersx?version=2" || got.Host != "www.internal" {
		t.Errorf("rewritten: %s %s", got.Host, got.URI)
	}
	if got := get(t, p, "x.org", "/other?a").parseEcho(t); got.URI != "/other?a" || got.Host != "x.org" {
		t.Errorf("nothing matches: %s %s", got.Host, got.URI)
	}
	if got := get(t, p, "x.org", "/bad"); got.StatusCode != 500 {
		t.Errorf("invalid result: want 500, got %d", got.StatusCode)
	}
}
