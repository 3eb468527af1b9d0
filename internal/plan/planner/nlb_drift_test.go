package planner_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestDriftOfNetworkLoadBalancers checks which steps correct drift of an NLB, and which drift is ignored.
func TestDriftOfNetworkLoadBalancers(t *testing.T) {
	for name, c := range map[string]struct {
		desired func(*model.LoadBalancer)
		live    func(*observed.LoadBalancer)
		steps   string
		found   string
		options func(*plan.Options)
	}{
		"source NAT that AWS does not show is off": {live: func(lb *observed.LoadBalancer) { lb.SourceNAT = "" }, desired: func(lb *model.LoadBalancer) { lb.SourceNAT = "off" }},
		"source NAT": {
			desired: func(lb *model.LoadBalancer) { lb.SourceNAT = "on" }, steps: "subnets load-balancer/LoadBalancer",
		},
		"source NAT that is not managed": {live: func(lb *observed.LoadBalancer) { lb.SourceNAT = "on" }},
		"any prefix":                     {desired: setDualStackPrefixes(), live: setLivePrefixes("2001:db8:0:1:ffff::/80", "2001:db8:0:2:ffff::/80")},
		"prefixes that AWS assigns": {
			desired: setDualStackPrefixes("auto_assigned", "auto_assigned"), live: setLivePrefixes("2001:db8:0:1:ffff::/80", "2001:db8:0:2:ffff::/80"),
		},
		"one prefix of two": {
			desired: setDualStackPrefixes("2001:DB8:0:2::/80", "auto_assigned"), live: setLivePrefixes("2001:db8:0:1:ffff::/80", "2001:db8:0:2::/80"),
		},
		"another prefix": {
			desired: setDualStackPrefixes("2001:db8:0:1:1::/80", "2001:db8:0:2::/80"), live: setLivePrefixes("2001:db8:0:1:ffff::/80", "2001:db8:0:2::/80"),
			steps: "subnets load-balancer/LoadBalancer",
		},
		"dualstack with source NAT in one call": {
			desired: setDualStackPrefixes(), steps: "subnets load-balancer/LoadBalancer",
		},
		"dualstack": {desired: func(lb *model.LoadBalancer) { lb.AddressType = model.DualStack }, steps: "address-type load-balancer/LoadBalancer"},
		"dualstack with addresses": {
			desired: func(lb *model.LoadBalancer) {
				lb.AddressType, lb.IPv6 = model.DualStack, []string{"2001:db8:0:2::9", "2001:db8:0:1::9"}
			},
			steps: "subnets load-balancer/LoadBalancer",
		},
		"other IPv6 addresses": {
			desired: func(lb *model.LoadBalancer) {
				lb.AddressType, lb.IPv6 = model.DualStack, []string{"2001:db8:0:2::9", "2001:db8:0:1::9"}
			},
			live: func(lb *observed.LoadBalancer) {
				lb.AddressType, lb.Mappings[0].IPv6, lb.Mappings[1].IPv6 = model.DualStack, "2001:db8:0:1::9", "2001:db8:0:2::7"
			},
			found: "SettingFixed",
		},
		"other private addresses": {
			desired: func(lb *model.LoadBalancer) { lb.PrivateIPv4 = []string{"10.0.2.9", "10.0.1.9"} },
			live: func(lb *observed.LoadBalancer) {
				lb.Mappings[0].PrivateIPv4, lb.Mappings[1].PrivateIPv4 = "10.0.1.8", "10.0.2.9"
			},
			found: "SettingFixed",
		},
		"rules for PrivateLink as they are":      {desired: func(lb *model.LoadBalancer) { lb.PrivateLinkRules = "on" }},
		"rules for PrivateLink":                  {desired: func(lb *model.LoadBalancer) { lb.PrivateLinkRules = "off" }, steps: "security-groups load-balancer/LoadBalancer"},
		"rules for PrivateLink that are its own": {live: func(lb *observed.LoadBalancer) { lb.PrivateLinkRules = "off" }},
		"ALPN that is not asked for":             {live: func(lb *observed.LoadBalancer) { lb.Listeners[0].ALPN = "HTTP2Only" }, desired: func(lb *model.LoadBalancer) { lb.Listeners[0].TLS.ALPN = "" }},
		"ALPN that is not asked for with the gate": {
			live: func(lb *observed.LoadBalancer) { lb.Listeners[0].ALPN = "HTTP2Only" }, desired: func(lb *model.LoadBalancer) { lb.Listeners[0].TLS.ALPN = "" },
			options: func(o *plan.Options) { o.EnhancedDefaults = true }, steps: "modify listener/443",
		},
		"no ALPN with the gate": {
			live: func(lb *observed.LoadBalancer) { lb.Listeners[0].ALPN = "" }, desired: func(lb *model.LoadBalancer) { lb.Listeners[0].TLS.ALPN = "None" },
			options: func(o *plan.Options) { o.EnhancedDefaults = true },
		},
		"attributes of a TLS listener": {desired: func(lb *model.LoadBalancer) {
			lb.Listeners[0].Attributes = map[string]string{"tcp.idle_timeout.seconds": "60"}
		}},
		"the weight of a single target group": {desired: func(lb *model.LoadBalancer) {
			f, n := lb.Listeners[0].Default[0].(model.Forward), int32(7)
			lb.Listeners[0].Default = []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: f.Groups[0].Group, Weight: &n}}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := networkStack(model.Internal, map[int32]model.BaseProtocol{443: model.TCP}, "arn:one")
			have := converge(t, want, observed.Stack{Facts: serviceFacts()})
			if c.desired != nil {
				c.desired(want.LoadBalancer)
			}
			if c.live != nil {
				c.live(&have.LoadBalancers[0])
			}
			options := testOptions
			if c.options != nil {
				c.options(&options)
			}
			p, found := planner.Make(want, have, options, plan.Memory{})
			if got := stepIDsText(p); got != c.steps || reasonsText(found) != c.found {
				t.Errorf("want %q and finding %q, got %q and %q\n%s", c.steps, c.found, got, reasonsText(found), p.Text())
			}
			if c.found == "SettingFixed" && !strings.HasSuffix(found[0].Fix, "create a new load balancer with another Service") {
				t.Errorf("the fix for a Service is %q", found[0].Fix)
			}
		})
	}
}

func setDualStackPrefixes(prefixes ...string) func(*model.LoadBalancer) {
	return func(lb *model.LoadBalancer) {
		lb.AddressType, lb.SourceNAT, lb.SourceNATPrefixes = model.DualStack, "on", prefixes
	}
}

func setLivePrefixes(a, b string) func(*observed.LoadBalancer) {
	return func(lb *observed.LoadBalancer) {
		lb.AddressType, lb.SourceNAT = model.DualStack, "on"
		lb.Mappings[0].SourceNATPrefix, lb.Mappings[1].SourceNATPrefix = a, b
	}
}

// TestHealthCheckIntervalChangeReplacesTargetGroupWithoutFeatureGate checks that, with the feature gate off, a change of
// the health check that AWS did not permit in the past replaces the target group, and that other changes do not.
func TestHealthCheckIntervalChangeReplacesTargetGroupWithoutFeatureGate(t *testing.T) {
	for _, replace := range []bool{false, true} {
		want := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
		want.TargetGroups[0].HealthCheck = model.HealthCheck{Protocol: "TCP", IntervalSeconds: 10, HealthyThreshold: 3}
		have := converge(t, want, observed.Stack{Facts: serviceFacts()})
		options := testOptions
		options.ReplaceForHealthChecks = replace
		want.TargetGroups[0].HealthCheck.HealthyThreshold = 4
		if p, _ := planner.Make(want, have, options, plan.Memory{}); stepIDsText(p) != "health-check target-group/shop/web:80" {
			t.Errorf("replace %t: want the health check changed, got\n%s", replace, p.Text())
		}
		want.TargetGroups[0].HealthCheck.IntervalSeconds = 30
		p, _ := planner.Make(want, have, options, plan.Memory{})
		if got := hasStep(p, "create target-group/shop/web:80"); got != replace {
			t.Errorf("replace %t: got\n%s", replace, p.Text())
		}
	}
}

// TestUndesiredICMPRulesAreRevoked checks that ICMP rules need no listener, and that an ICMP rule that is no longer desired
// is recognized as a rule of the controller and revoked without a report.
func TestUndesiredICMPRulesAreRevoked(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{3: model.TCP})
	managed := want.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	plain := managed.Group.Ingress
	managed.Group.Ingress = append(slices.Clone(plain),
		model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: "10.0.0.0/8"}, model.IngressRule{Protocol: "icmpv6", From: 2, CIDR: "2001:db8::/32"})
	want.LoadBalancer.SecurityGroups = managed
	have := converge(t, want, observed.Stack{Facts: serviceFacts()})
	managed.Group.Ingress = plain
	want.LoadBalancer.SecurityGroups = managed
	p, found := planner.Make(want, have, testOptions, plan.Memory{})
	if stepIDsText(p) != "rules security-group/ManagedLBSecurityGroup" || reasonsText(found) != "" {
		t.Errorf("got %s and %v", stepIDsText(p), found)
	}
	if got := p.Steps[0].Do.(plan.ChangeIngress); len(got.Revoke) != 2 || len(got.Authorize) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestPeerRangesAreThoseOfSubnetsAndVPC checks that the peers Subnets and VPC of a binding become address ranges of the
// address family of the target group, and that the order of these ranges is ignored. Existing rules are retained while the
// ranges of the VPC are not known.
func TestPeerRangesAreThoseOfSubnetsAndVPC(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	want.LoadBalancer.SecurityGroups, want.LoadBalancer.AddressType = nil, model.DualStack
	port := intstr.FromInt32(8080)
	ports := []model.PeerPort{{Protocol: "TCP", Port: &port}}
	want.TargetGroups[0].Binding.Managed = true
	want.TargetGroups[0].Binding.Networking = []model.BindingRule{{From: []model.Peer{{VPC: true}}, Ports: ports}, {From: []model.Peer{{Subnets: true}}, Ports: ports}}
	for _, family := range []model.AddressType{model.IPv4, model.IPv6} {
		want.TargetGroups[0].AddressType = family
		have := converge(t, want, observed.Stack{Facts: serviceFacts()})
		vpc, subnets := []string{"10.0.0.0/16"}, []string{"10.0.1.0/24", "10.0.2.0/24"}
		if family == model.IPv6 {
			vpc, subnets = []string{"2001:db8::/56"}, []string{"2001:db8:0:1::/64", "2001:db8:0:2::/64"}
		}
		rules := have.Bindings[0].Networking
		if len(rules) != 2 || !slices.Equal(rules[0].CIDRs, vpc) || !slices.Equal(rules[1].CIDRs, subnets) {
			t.Fatalf("%s: got %+v", family, rules)
		}
		slices.Reverse(rules[1].CIDRs)
		if p, _ := planner.Make(want, have, testOptions, plan.Memory{}); !p.Empty() {
			t.Errorf("%s: want nothing to do, got\n%s", family, p.Text())
		}
		// The plan has a question for the unknown ranges of the VPC, and retains the existing rules until the answer.
		have.Facts.VPCRanges = nil
		if p, _ := planner.Make(want, have, testOptions, plan.Memory{}); !p.Empty() || len(p.Questions) != 1 || p.Questions[0] != (model.AskVPC{}) {
			t.Errorf("%s: asks %v\n%s", family, p.Questions, p.Text())
		}
		have.Facts.Faults = map[string]observed.Fault{model.AskVPC{}.Key(): {Reason: finding.AccessDenied, Message: "denied"}}
		if p, found := planner.Make(want, have, testOptions, plan.Memory{}); !p.Empty() || len(p.Questions) > 0 || reasonsText(found) != "AccessDenied" {
			t.Errorf("%s: asks %v, findings %v\n%s", family, p.Questions, found, p.Text())
		}
	}
}

// TestOptionalRuleIsNotAddedToAnExistingBinding checks that a new binding gets an optional rule, that an existing binding
// keeps it, and that it is added to an existing binding without it only together with a change of the other rules.
func TestOptionalRuleIsNotAddedToAnExistingBinding(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	want.LoadBalancer.SecurityGroups = nil
	ports := []model.PeerPort{{Protocol: "TCP", Port: new(intstr.FromInt32(30080))}}
	setRange := func(cidr string) {
		binding := *want.TargetGroups[0].Binding
		binding.Managed = true
		binding.Networking = []model.BindingRule{{From: []model.Peer{{CIDR: cidr}, {CIDR: "::/0"}}, Ports: ports}, {From: []model.Peer{{Subnets: true}}, Ports: ports, Optional: true}}
		want.TargetGroups[0].Binding = &binding
	}
	check := func(when string, have observed.Stack, rules int) {
		t.Helper()
		if n := len(have.Bindings[0].Networking); n != rules {
			t.Errorf("%s: %d rules, want %d", when, n, rules)
		}
		document := planner.Describe(want, have, testOptions, plan.Memory{}).JSON()
		if has := strings.Contains(document, `"cidr":"10.0.1.0/24"`); has != (rules == 2) {
			t.Errorf("%s: the document has the optional rule: %v\n%s", when, has, document)
		}
	}
	setRange("203.0.113.0/24")
	have := converge(t, want, observed.Stack{Facts: serviceFacts()})
	check("new", have, 2)
	have = converge(t, want, have)
	check("existing with the rule", have, 2)

	have.Bindings[0].Networking = have.Bindings[0].Networking[:1]
	if p, _ := planner.Make(want, have, testOptions, plan.Memory{}); !p.Empty() {
		t.Errorf("existing without the rule: want nothing to do, got\n%s", p.Text())
	}
	check("existing without the rule", have, 1)
	want.TargetGroups[0].Binding.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "a"}}
	have = converge(t, want, have)
	check("another field changes", have, 1)
	if have.Bindings[0].Service.NodeSelector == nil {
		t.Error("the node selector was not changed")
	}

	setRange("198.51.100.0/24")
	have = converge(t, want, have)
	check("another rule changes", have, 2)
}

// TestSharedAddressDeletesThePreviousLoadBalancerFirst checks that, if the new load balancer needs an address, prefix or
// name of the previous load balancer, the previous one is deleted first, and that this is reported.
func TestSharedAddressDeletesThePreviousLoadBalancerFirst(t *testing.T) {
	options := testOptions
	options.CreateFirst = true
	for name, c := range map[string]struct {
		scheme  model.Scheme
		desired func(*model.LoadBalancer)
		live    func(*observed.LoadBalancer)
		gap     bool
	}{
		"elastic":         {model.InternetFacing, func(lb *model.LoadBalancer) { lb.Addresses = []string{"eip-1", "eip-2"} }, func(lb *observed.LoadBalancer) { lb.Addresses = []string{"eip-2"} }, true},
		"elastic, others": {model.InternetFacing, func(lb *model.LoadBalancer) { lb.Addresses = []string{"eip-1", "eip-2"} }, func(lb *observed.LoadBalancer) { lb.Addresses = []string{"eip-3"} }, false},
		"private":         {model.Internal, func(lb *model.LoadBalancer) { lb.PrivateIPv4 = []string{"10.0.1.9", "10.0.2.9"} }, func(lb *observed.LoadBalancer) { lb.Mappings[1].PrivateIPv4 = "10.0.2.9" }, true},
		"private, others": {model.Internal, func(lb *model.LoadBalancer) { lb.PrivateIPv4 = []string{"10.0.1.9", "10.0.2.9"} }, func(lb *observed.LoadBalancer) { lb.Mappings[1].PrivateIPv4 = "10.0.2.8" }, false},
		"IPv6": {model.Internal, func(lb *model.LoadBalancer) {
			lb.AddressType, lb.IPv6 = model.DualStack, []string{"2001:db8:0:1::9", "2001:db8:0:2::9"}
		}, func(lb *observed.LoadBalancer) { lb.Mappings[0].IPv6 = "2001:db8:0:1::9" }, true},
		"prefix": {model.Internal, setDualStackPrefixes("2001:db8:0:1::/80", "auto_assigned"), func(lb *observed.LoadBalancer) { lb.Mappings[0].SourceNATPrefix = "2001:db8:0:1::/80" }, true},
		"name": {model.Internal, func(lb *model.LoadBalancer) {
			lb.Name, lb.Origins["name"] = "mine", finding.Origin{Object: testMember}
		}, func(lb *observed.LoadBalancer) { lb.Name = "mine" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := model.Internal
			if c.scheme == model.Internal {
				before = model.InternetFacing
			}
			have := converge(t, networkStack(before, map[int32]model.BaseProtocol{80: model.TCP}), observed.Stack{Facts: serviceFacts()})
			have.LoadBalancers[0].Attributes = map[string]string{}
			c.live(&have.LoadBalancers[0])
			want := networkStack(c.scheme, map[int32]model.BaseProtocol{80: model.TCP})
			c.desired(want.LoadBalancer)
			have.Facts.Health = map[string]observed.Health{}
			targets := simulatedTargets{}
			targets.updateHealth(&have)
			p, found := planner.Make(want, have, options, plan.Memory{})
			first := plan.Verb("")
			for _, s := range p.Steps {
				if s.Address.Kind == plan.LoadBalancer && s.Verb != plan.Update && first == "" && !s.Waits() {
					first = s.Verb
				}
			}
			reason, wantFirst := "LoadBalancerReplaced", plan.Create
			if c.gap {
				reason, wantFirst = "ReplacedWithGap", plan.Delete
			}
			if first != wantFirst || !slices.ContainsFunc(found, func(f finding.Finding) bool { return string(f.Reason) == reason }) {
				t.Errorf("want %s first and %s, got %s and %v\n%s", wantFirst, reason, first, found, p.Text())
			}
			convergeService(t, name, want, &have, options, targets)
			if lb := have.LiveLoadBalancer(model.LoadBalancerID); lb == nil || lb.Scheme != c.scheme || len(have.LoadBalancers) != 1 {
				t.Errorf("got %+v", have.LoadBalancers)
			}
		})
	}
}

// TestProtectedLoadBalancerIsNotReplaced checks that a load balancer whose desired state has deletion protection is not
// replaced, even while the protection is not yet set in AWS.
func TestProtectedLoadBalancerIsNotReplaced(t *testing.T) {
	options := testOptions
	options.CreateFirst = true
	have := converge(t, networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP}), observed.Stack{Facts: serviceFacts()})
	have.LoadBalancers[0].Attributes = map[string]string{"deletion_protection.enabled": "false"}
	want := networkStack(model.InternetFacing, map[int32]model.BaseProtocol{80: model.TCP})
	want.LoadBalancer.Attributes = map[string]string{"deletion_protection.enabled": "true"}
	p, found := planner.Make(want, have, options, plan.Memory{})
	if stepIDsText(p) != "attributes load-balancer/LoadBalancer" || reasonsText(found) != "ReplacementHeld" {
		t.Errorf("findings %q, steps\n%s", reasonsText(found), p.Text())
	}
}
