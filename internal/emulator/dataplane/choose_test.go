package dataplane

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// countByBackend sends n requests with the given cookies. It returns the number of responses by name of the backend, and the
// number of failures by status.
func countByBackend(t *testing.T, p *Plane, n int, cookies ...*http.Cookie) map[string]int {
	t.Helper()
	out := map[string]int{}
	for range n {
		r := getWithCookies(t, p, cookies...)
		if r.StatusCode != 200 {
			out[r.Status]++
			continue
		}
		out[r.parseEcho(t).Name]++
	}
	return out
}

func getWithCookies(t *testing.T, p *Plane, cookies ...*http.Cookie) reply {
	t.Helper()
	req := newTestRequest(t, http.MethodGet, "http://"+firstListenerAddress(t, p)+"/", nil)
	for _, c := range cookies {
		req.AddCookie(c)
	}
	return send(t, client, req)
}

// requireCookie returns the cookie with this name in a response. It fails the test if there is none.
func requireCookie(t *testing.T, r reply, name string) *http.Cookie {
	t.Helper()
	for _, c := range r.Cookies() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no cookie %s in %v", name, r.Header["Set-Cookie"])
	return nil
}

func TestTargetGroupsAreChosenByWeight(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	weighted := func(x, y int) Config {
		return albConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{"a", x}, {"b", y}}}}}, targetGroupOf("a", a), targetGroupOf("b", b))
	}
	apply(t, p, weighted(0, 5))
	if diff := cmp.Diff(map[string]int{"b": 10}, countByBackend(t, p, 10)); diff != "" {
		t.Errorf("weight 0 (-want +got):\n%s", diff)
	}
	apply(t, p, weighted(0, 0))
	if diff := cmp.Diff(map[string]int{"503 Service Unavailable": 2}, countByBackend(t, p, 2)); diff != "" {
		t.Errorf("all weights 0 (-want +got):\n%s", diff)
	}
	counts := map[string]int{}
	for range 10000 {
		counts[chooseTargetGroup([]WeightedTargetGroup{{"a", 1}, {"b", 3}})]++
	}
	if counts["a"] < 2000 || counts["a"] > 3000 {
		t.Errorf("weights 1 and 3: %v", counts)
	}
	if got := chooseTargetGroup([]WeightedTargetGroup{{"a", 0}}); got != "a" {
		t.Errorf("a single target group has no weight, got %q", got)
	}
}

func TestEmptyTargetGroupKeepsItsWeight(t *testing.T) {
	b := startBackend(t, "b")
	p := startPlane(t)
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{"empty", 1}, {"b", 1}}}}}, targetGroupOf("empty"), targetGroupOf("b", b)))
	counts := map[int]int{}
	for range 100 {
		counts[getWithCookies(t, p).StatusCode]++
	}
	if counts[200] < 20 || counts[503] < 20 || counts[200]+counts[503] != 100 {
		t.Errorf("want the status 200 and 503 for about half of the requests each, got %v", counts)
	}
}

func TestStickyClientKeepsItsTargetGroup(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	f := Forward{TargetGroups: []WeightedTargetGroup{{"a", 1}, {"b", 1}}, StickinessDuration: time.Hour}
	cfg := albConfig(Listener{DefaultRule: Rule{Action: f}}, targetGroupOf("a", a), targetGroupOf("b", b))
	apply(t, p, cfg)
	first := getWithCookies(t, p)
	name := first.parseEcho(t).Name
	plain, cors := requireCookie(t, first, "AWSALBTG"), requireCookie(t, first, "AWSALBTGCORS")
	if plain.Value != cors.Value || plain.Path != "/" || !cors.Secure || cors.SameSite != http.SameSiteNoneMode {
		t.Errorf("cookies: %v and %v", plain, cors)
	}
	week := time.Now().Add(7 * 24 * time.Hour)
	if plain.Expires.Before(week.Add(-time.Minute)) || plain.Expires.After(week.Add(time.Minute)) {
		t.Errorf("expires %v", plain.Expires)
	}
	for _, c := range []*http.Cookie{plain, cors} {
		if diff := cmp.Diff(map[string]int{name: 12}, countByBackend(t, p, 12, c)); diff != "" {
			t.Errorf("with %s (-want +got):\n%s", c.Name, diff)
		}
	}
	other := "a"
	if name == "a" {
		other = "b"
	}
	cfg.LoadBalancers[0].Listeners[0].DefaultRule.Action = Forward{TargetGroups: []WeightedTargetGroup{{other, 1}}, StickinessDuration: time.Hour}
	apply(t, p, cfg)
	if got := getWithCookies(t, p, plain).parseEcho(t).Name; got != other {
		t.Errorf("a target group that the rule does not have any more got the request: %s", got)
	}
	if got := getWithCookies(t, p, &http.Cookie{Name: "AWSALBTG", Value: "forged"}); got.StatusCode != 200 {
		t.Errorf("forged cookie: %d", got.StatusCode)
	}
}

func TestLoadBalancerCookieKeepsTheTarget(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	g := targetGroupOf("g", a, b)
	g.Attributes = map[string]string{"stickiness.enabled": "true", "stickiness.type": "lb_cookie"}
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g)
	apply(t, p, cfg)
	first := getWithCookies(t, p)
	name, c := first.parseEcho(t).Name, requireCookie(t, first, "AWSALB")
	if got := requireCookie(t, first, "AWSALBCORS"); got.Value != c.Value || !got.Secure {
		t.Errorf("second cookie: %v", got)
	}
	if diff := cmp.Diff(map[string]int{name: 6}, countByBackend(t, p, 6, c)); diff != "" {
		t.Errorf("with cookie (-want +got):\n%s", diff)
	}
	requireCookie(t, getWithCookies(t, p, c), "AWSALB") // sent again with every response

	bound := cfg.TargetGroups[0].Targets
	for i := range bound {
		if (i == 0) == (name == "a") {
			bound[i].State = StateDraining
		}
	}
	apply(t, p, cfg)
	moved := getWithCookies(t, p, c)
	if moved.parseEcho(t).Name == name {
		t.Error("a draining target got a request")
	}
	if requireCookie(t, moved, "AWSALB").Value == c.Value {
		t.Error("the cookie should name the new target")
	}
}

func TestApplicationCookieKeepsTheTarget(t *testing.T) {
	withCookie := func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("SESSION"); err != nil {
				http.SetCookie(w, &http.Cookie{Name: "SESSION", Value: "s"})
			}
			b.echo(w, r)
		}
	}
	a, b := startBackend(t, "a", withCookie), startBackend(t, "b", withCookie)
	p := startPlane(t)
	g := targetGroupOf("g", a, b)
	g.Attributes = map[string]string{"stickiness.enabled": "true", "stickiness.type": "app_cookie", "stickiness.app_cookie.cookie_name": "SESSION"}
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	first := getWithCookies(t, p)
	name, app, lb := first.parseEcho(t).Name, requireCookie(t, first, "SESSION"), requireCookie(t, first, "AWSALBAPP-0")
	if diff := cmp.Diff(map[string]int{name: 6}, countByBackend(t, p, 6, app, lb)); diff != "" {
		t.Errorf("with both cookies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"a": 3, "b": 3}, countByBackend(t, p, 6, lb)); diff != "" {
		t.Errorf("without the application's cookie (-want +got):\n%s", diff)
	}
}

func TestCandidatesDependOnHealthAndZone(t *testing.T) {
	one := func(name, zone string, declared, health TargetState) member {
		return member{target: &target{key: targetKey{id: name}, state: health}, zone: zone, configuredState: declared}
	}
	here := receivingNode{zone: "a", crossZone: true}
	for name, c := range map[string]struct {
		attr    tgAttributes
		at      receivingNode
		members []member
		want    string
	}{
		"healthy ones": {tgAttributes{}, here, []member{one("1", "a", StateHealthy, StateHealthy), one("2", "a", StateHealthy, StateUnhealthy)}, "1"},
		"fail open to unhealthy but not initial ones": {tgAttributes{}, here,
			[]member{one("1", "a", StateInitial, StateInitial), one("2", "a", StateHealthy, StateUnhealthy)}, "2"},
		"only initial ones":                    {tgAttributes{}, here, []member{one("1", "a", StateInitial, StateInitial)}, ""},
		"draining and unused ones get nothing": {tgAttributes{}, here, []member{one("1", "a", StateDraining, StateHealthy), one("2", "a", StateUnused, StateHealthy)}, ""},
		"other zones with cross-zone":          {tgAttributes{}, here, []member{one("1", "b", StateHealthy, StateHealthy)}, "1"},
		"other zones without cross-zone": {tgAttributes{crossZone: "false"}, here,
			[]member{one("1", "b", StateHealthy, StateHealthy), one("2", "a", StateHealthy, StateHealthy), one("3", "all", StateHealthy, StateHealthy)}, "2 3"},
		"the setting of the target group wins": {tgAttributes{crossZone: "true"}, receivingNode{zone: "a"}, []member{one("1", "b", StateHealthy, StateHealthy)}, "1"},
		"too few by count": {tgAttributes{minHealthy: 2}, here,
			[]member{one("1", "a", StateHealthy, StateHealthy), one("2", "a", StateHealthy, StateUnhealthy)}, "1 2"},
		"too few by percentage": {tgAttributes{minHealthyPercent: 60}, here,
			[]member{one("1", "a", StateHealthy, StateHealthy), one("2", "a", StateHealthy, StateUnhealthy)}, "1 2"},
		"enough by percentage": {tgAttributes{minHealthyPercent: 50}, here,
			[]member{one("1", "a", StateHealthy, StateHealthy), one("2", "a", StateHealthy, StateUnhealthy)}, "1"},
	} {
		v := &targetGroupView{attr: c.attr, members: c.members}
		var got []string
		for _, m := range v.candidates(c.at) {
			got = append(got, m.key.id)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLeastOutstandingRequests(t *testing.T) {
	busy, idle := &target{}, &target{}
	busy.inflightRequests.Store(2)
	for range 5 {
		if leastLoadedTarget([]member{{target: busy}, {target: idle}}) != idle {
			t.Fatal("the busy target was chosen")
		}
	}
}

func TestSlowStart(t *testing.T) {
	now := time.Now()
	since := func(d time.Duration) member {
		return member{target: &target{state: StateHealthy, stateSince: now.Add(-d)}}
	}
	got, uneven := slowStartWeights([]member{since(15 * time.Second), since(time.Hour)}, 30*time.Second, now)
	if diff := cmp.Diff([]float64{0.5, 1}, got); diff != "" || !uneven {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, uneven := slowStartWeights([]member{since(time.Second), since(2 * time.Second)}, 30*time.Second, now); uneven {
		t.Error("when all are new no other target can take the rest")
	}
}

func TestApplyReportsInvalidAttributeValue(t *testing.T) {
	p := startPlane(t)
	g := targetGroupOf("g")
	g.Attributes = map[string]string{"slow_start.duration_seconds": "soon"}
	err := p.Apply(albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if err == nil || !strings.Contains(err.Error(), "slow_start.duration_seconds") {
		t.Errorf("got %v", err)
	}
}

func TestLoopbackReplacesVPCAddresses(t *testing.T) {
	for in, want := range map[string]string{"10.77.1.5": "127.77.1.5", "127.0.0.1": "127.0.0.1", "192.168.1.1": "192.168.1.1", "::1": "::1", "::ffff:10.1.2.3": "127.1.2.3"} {
		if got := Loopback(netip.MustParseAddr(in)); got.String() != want {
			t.Errorf("%s: want %s, got %s", in, want, got)
		}
	}
}
