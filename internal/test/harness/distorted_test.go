package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// distortion is a change of one field in the responses to an operation.
type distortion struct {
	service, operation string
	fault.Distortion
}

func (d distortion) String() string {
	return fmt.Sprintf("%s:%s %s %s", d.service, d.operation, strings.ReplaceAll(d.Member, ".", "-"), d.Kind)
}

// richIngress returns an Ingress that uses most features of a load balancer.
func richIngress(r *Harness, paths ...string) string {
	return webIngress(ingressAnnotations(
		"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]+","+r.Seeded.Certs["app.test"],
		"tags", "team=shop,cost=7", "scheme", "internal", "wafv2-acl-arn", r.Seeded.WebACL, "inbound-cidrs", "10.0.0.0/8,192.0.2.0/24",
		"load-balancer-attributes", "idle_timeout.timeout_seconds=77", "target-group-attributes", "deregistration_delay.timeout_seconds=33",
		"conditions.api", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Kind","values":["b","a"]}}]`,
		"conditions.query", `[{"field":"query-string","queryStringConfig":{"values":[{"key":"z","value":"1"},{"key":"a","value":"2"}]}}]`,
		"actions.query", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80}]}}`,
		"conditions.split", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Split","regexValues":["^z[0-9]+$","^a[0-9]+$"]}}]`,
		"actions.split", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":20},{"serviceName":"api","servicePort":80,"weight":80}]}}`,
	), paths...)
}

func richDocument(r *Harness) string {
	doc := richIngress(r, "/=web", "/api=api", "/query=query", "/split=split")
	for _, action := range []string{"query", "split"} {
		doc = strings.Replace(doc, "{name: "+action+", port: {number: 80}}", "{name: "+action+", port: {name: use-annotation}}", 1)
	}
	return doc
}

func richShop(t *testing.T) *Harness {
	r := shopWith(t, Options{Resync: 10 * time.Minute})
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...), richDocument(r))
	return r
}

// distortions returns all distortions of the responses that the controller reads for the load balancer of richShop.
func distortions(t *testing.T) (out []distortion) {
	synctest.Test(t, func(t *testing.T) {
		r := richShop(t)
		r.advanceTime(20 * time.Minute)
		r.Start()
		r.advanceTime(20 * time.Minute)
		if w := warningsByObject(r); len(w) > 0 {
			t.Fatal(w)
		}
		for _, op := range slices.Sorted(maps.Keys(r.Emulator.Calls().Counts())) {
			service, operation, _ := strings.Cut(op, ":")
			for _, d := range fault.Distortions(r.Emulator.AnswerType(service, operation)) {
				out = append(out, distortion{service, operation, d})
			}
		}
	})
	return out
}

// countResources returns the number of resources in State by kind.
func (r *Harness) countResources() map[string]int {
	out := map[string]int{}
	for _, line := range r.State() {
		kind, _, _ := strings.Cut(line, " ")
		out[kind]++
	}
	return out
}

// newCompleteShop returns richShop after its load balancer is fully applied.
func newCompleteShop(t *testing.T) *Harness {
	t.Helper()
	r := richShop(t)
	r.advanceTime(20 * time.Minute)
	if w := warningsByObject(r); len(w) > 0 {
		t.Fatal(w)
	}
	return r
}

// TestReversedListsInAnswersCauseNoChange checks that the controller ignores the order of lists in responses: if AWS
// reverses every list, the controller makes no mutating call and reports no drift.
func TestReversedListsInAnswersCauseNoChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCompleteShop(t)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			all := fault.Distortions(r.Emulator.AnswerType(c.Service, c.Operation))
			return fault.Action{Distort: slices.DeleteFunc(all, func(d fault.Distortion) bool { return d.Kind != fault.Reorder })}
		})
		r.Emulator.Calls().Reset()
		r.advanceTime(40 * time.Minute)
		r.Start()
		r.advanceTime(40 * time.Minute)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d writes: %v", n, r.Emulator.Calls().Counts())
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Errorf("reported %q", w)
		}
		if n := r.Emulator.Calls().Count("DescribeRules"); n == 0 {
			t.Error("nothing was compared")
		}
	})
}

// distortedMembers are the response fields, by operation, for which the tests make AWS return another value than was
// written. Fields that identify resources, such as ARNs and names, are excluded.
var distortedMembers = map[string][]string{
	"DescribeRules":                  {"Rules.Conditions", "Rules.Actions", "Rules.Transforms"},
	"DescribeListeners":              {"Listeners.Protocol", "Listeners.Certificates", "Listeners.DefaultActions", "Listeners.SslPolicy", "Listeners.AlpnPolicy", "Listeners.MutualAuthentication"},
	"DescribeListenerCertificates":   {"Certificates."},
	"DescribeListenerAttributes":     {"Attributes"},
	"DescribeTargetGroups":           {"TargetGroups.HealthCheck", "TargetGroups.HealthyThreshold", "TargetGroups.UnhealthyThreshold", "TargetGroups.Matcher", "TargetGroups.Protocol", "TargetGroups.TargetType", "TargetGroups.IpAddressType"},
	"DescribeTargetGroupAttributes":  {"Attributes"},
	"DescribeLoadBalancers":          {"LoadBalancers.IpAddressType", "LoadBalancers.SecurityGroups", "LoadBalancers.Type", "LoadBalancers.Scheme"},
	"DescribeLoadBalancerAttributes": {"Attributes"},
	"DescribeTags":                   {"TagDescriptions"},
	"DescribeSecurityGroups":         {"SecurityGroups.IpPermissions", "SecurityGroups.Description", "SecurityGroups.VpcId"},
}

// TestDistortedAnswersCauseNoDuplicates checks what happens if AWS returns another value than was written. No resource
// is duplicated or missing, requests are answered correctly, writes are repeated with a back-off, and one event for
// each setting reports that AWS does not persist it.
func TestDistortedAnswersCauseNoDuplicates(t *testing.T) {
	t.Parallel()
	samples := map[string]bool{}
	for _, d := range distortions(t) {
		members, ok := distortedMembers[d.operation]
		if !ok || d.Kind == fault.Reorder || !slices.ContainsFunc(members, func(m string) bool { return d.Member == "Rules" || strings.HasPrefix(d.Member, m) }) {
			continue
		}
		kind := d.operation + string(d.Kind) // one case of each kind, except in long test runs
		if d.Member == "LoadBalancers.Type" || d.Member == "LoadBalancers.Scheme" {
			kind += d.Member // a change of type or scheme causes a replacement
		}
		if samples[kind] && !seeds.Long() {
			continue
		}
		samples[kind] = true
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { checkDistortedField(t, d) })
		})
	}
	if len(samples) < 2*len(distortedMembers) {
		t.Fatalf("%d distortions", len(samples))
	}
}

// checkDistortedField lets AWS return another value of a field for an hour, and checks resources, answers, number of
// writes and events.
func checkDistortedField(t *testing.T, d distortion) {
	r := shopWith(t, Options{Workers: 2, Checkpoints: true, Drift: true})
	defer func() {
		r.stop()
		r.stop = func() {}
	}()
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...), richDocument(r))
	time.Sleep(20 * time.Minute)
	answers := func() (out []string) {
		for _, path := range []string{"/", "/other"} {
			for _, port := range []int32{80, 443} {
				out = append(out, servingRoute(r, "application", port, "shop.example.com", path))
			}
		}
		return out
	}
	want, answered := r.countResources(), answers()
	if !slices.Contains(answered, "shop/web-web:80") || len(warningsByObject(r)) > 0 {
		t.Fatal(answered, warningsByObject(r))
	}
	r.Emulator.Faults().Add(fault.Rule{Service: d.service, Operation: d.operation, Action: fault.Action{Distort: []fault.Distortion{d.Distortion}}})
	r.Emulator.Calls().Reset()
	writes := 0
	for n := range 60 {
		time.Sleep(time.Minute)
		got := r.countResources()
		// A target group with another protocol replaces the first one, which is deleted minutes later.
		if got["target-group"] > want["target-group"] && got["target-group"] <= 2*want["target-group"] {
			got["target-group"] = want["target-group"]
		}
		if !maps.Equal(got, want) {
			t.Fatalf("after %d minutes there are %v, want %v", n+1, got, want)
		}
		if now := answers(); !slices.Equal(now, answered) {
			t.Fatalf("after %d minutes requests are answered by %v, want %v", n+1, now, answered)
		}
		// Rules are the most frequent resource. Each rule may be created, moved and deleted a few times, or refused
		// because its priority is in use.
		writes = r.Emulator.Calls().CountMutating()
		if most := 15 * want["rule"]; writes > most {
			t.Fatalf("%d writes in an hour, more than %d: %v", writes, most, r.Emulator.Calls().Counts())
		}
	}
	told := map[string]int{}
	for _, text := range warningsByObject(r)["web"] {
		if strings.HasPrefix(text, "ChangeNotKept: ") {
			told[text]++
		}
	}
	switch d.operation {
	case "DescribeTags", "DescribeSecurityGroups":
		// If AWS does not show the tags of a resource, it seems to belong to another owner. AWS also refuses security
		// group rules that exist already.
		for _, text := range warningsByObject(r)["web"] {
			if strings.Contains(text, "NameTaken: ") || strings.Contains(text, "already exists") || strings.Contains(text, "belongs to another owner") {
				return
			}
		}
	}
	for text, n := range told {
		if n > 1 || !strings.Contains(text, ": desired ") && !strings.Contains(text, " should be ") && !strings.Contains(text, "AWS still shows it") {
			t.Errorf("%d events: %s", n, text)
		}
	}
	switch {
	case d.operation == "DescribeRules" && d.Member == "Rules":
		// Rules that AWS does not show occupy the priorities of the desired rules, so AWS refuses to create them.
		if !slices.ContainsFunc(warningsByObject(r)["web"], func(text string) bool { return strings.Contains(text, "PriorityInUse") }) {
			t.Errorf("no event says that priorities are in use: %v", warningsByObject(r))
		}
	case d.operation == "DescribeSecurityGroups" && writes == 1 && r.Emulator.Calls().Count("AuthorizeSecurityGroupIngress") == 1:
		// A security group rule for nodes and pods is requested once, and AWS answers that it exists.
	case writes > 0 && len(told) == 0:
		t.Errorf("%d writes, and no event names the setting that AWS does not persist: %v, %v", writes, r.Emulator.Calls().Counts(), warningsByObject(r))
	}
}

// TestDroppedRegexConditionsCauseNoDuplicateRules checks a region in which AWS drops the regular expressions of
// conditions. No rule is duplicated, and requests for other rules are answered.
func TestDroppedRegexConditionsCauseNoDuplicateRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 2, Checkpoints: true, Drift: true})
		defer func() {
			r.stop()
			r.stop = func() {}
		}()
		for _, operation := range []string{"CreateRule", "ModifyRule", "DescribeRules"} {
			var drop []fault.Distortion
			for _, kind := range []string{"HttpHeaderConfig", "PathPatternConfig", "HostHeaderConfig"} {
				drop = append(drop, fault.Distortion{Member: "Rules.Conditions." + kind + ".RegexValues", Kind: fault.Drop})
			}
			r.Emulator.Faults().Add(fault.Rule{Operation: operation, Action: fault.Action{Distort: drop}})
		}
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...), richDocument(r))
		most := 0
		for n := range 2 * 60 * 6 {
			time.Sleep(10 * time.Second)
			most = max(most, r.countResources()["rule"])
			if n == 60 {
				if got := servingRoute(r, "application", 443, "shop.example.com", "/"); got != "shop/web-web:80" {
					t.Errorf("a request for a rule without regular expressions is answered by %q", got)
				}
			}
		}
		if most != 10 {
			t.Errorf("there were %d rules, want 10", most)
		}
		if n := r.Emulator.Calls().Count("CreateRule"); n > 8+2*2*8 {
			t.Errorf("%d rules were made in two hours", n)
		}
		var told []string
		for _, text := range warningsByObject(r)["web"] {
			if strings.HasPrefix(text, "ChangeNotKept: ") {
				told = append(told, text)
			}
		}
		if len(told) != 2 || !strings.Contains(told[0], `conditions: desired "header X-Split ^z[0-9]+$ or ^a[0-9]+$", AWS returns "header X-Split "`) {
			t.Errorf("events %q", told)
		}
	})
}
