package network_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

func tcpRule(from, to int32, source string) model.IngressRule {
	return inboundRule("tcp", from, to, source)
}

func inboundRule(protocol string, from, to int32, source string) model.IngressRule {
	r := model.IngressRule{Protocol: protocol, From: from, To: to}
	switch {
	case source[:2] == "sg":
		r.Group = source
	case source[:2] == "pl":
		r.PrefixList = source
	default:
		r.CIDR = source
	}
	return r
}

func withDescription(r model.IngressRule, text string) model.IngressRule {
	r.Description = text
	return r
}

func TestDiffRules(t *testing.T) {
	tests := []struct {
		name              string
		want, have        []model.IngressRule
		authorize, revoke []model.IngressRule
	}{
		{"descriptions are ignored", []model.IngressRule{tcpRule(80, 80, "sg-b")}, []model.IngressRule{withDescription(tcpRule(80, 80, "sg-b"), "mine")}, nil, nil},
		{"host bits and case of ranges", []model.IngressRule{tcpRule(80, 80, "10.0.0.1/8"), tcpRule(80, 80, "2001:DB8::/32")}, []model.IngressRule{tcpRule(80, 80, "10.0.0.0/8"), tcpRule(80, 80, "2001:db8::/32")}, nil, nil},
		{"protocols by number", []model.IngressRule{tcpRule(80, 80, "sg-b")}, []model.IngressRule{inboundRule("6", 80, 80, "sg-b")}, nil, nil},
		{
			"an undesired rule is removed", []model.IngressRule{tcpRule(443, 443, "0.0.0.0/0")}, []model.IngressRule{tcpRule(22, 22, "0.0.0.0/0")},
			[]model.IngressRule{tcpRule(443, 443, "0.0.0.0/0")}, []model.IngressRule{tcpRule(22, 22, "0.0.0.0/0")},
		},
		{
			"results are sorted, without duplicates",
			[]model.IngressRule{tcpRule(80, 80, "sg-a"), tcpRule(443, 443, "pl-1"), tcpRule(443, 443, "::/0"), tcpRule(443, 443, "0.0.0.0/0"), tcpRule(80, 80, "sg-a")}, nil,
			[]model.IngressRule{tcpRule(443, 443, "0.0.0.0/0"), tcpRule(443, 443, "::/0"), tcpRule(443, 443, "pl-1"), tcpRule(80, 80, "sg-a")}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			authorize, revoke := network.DiffRules(tt.want, tt.have)
			if d := cmp.Diff(tt.authorize, authorize); d != "" {
				t.Errorf("authorize, -want +got\n%s", d)
			}
			if d := cmp.Diff(tt.revoke, revoke); d != "" {
				t.Errorf("revoke, -want +got\n%s", d)
			}
		})
	}
}

func TestDiffEndpointRules(t *testing.T) {
	ours := withDescription(tcpRule(80, 80, "sg-b"), network.SharedRuleDescription)
	mine := withDescription(tcpRule(80, 80, "sg-b"), "mine")
	wide := withDescription(tcpRule(80, 90, "sg-b"), network.SharedRuleDescription)
	type rules = []model.IngressRule
	tests := []struct {
		name              string
		want, have        rules
		complete          bool
		authorize, revoke rules
	}{
		{"there already", rules{ours}, rules{ours}, true, nil, nil},
		{"exists, made by another owner", rules{ours}, rules{mine}, true, nil, nil},
		{"another user's rule stays", nil, rules{mine}, true, nil, rules{}},
		{"an undesired rule of the controller is removed", nil, rules{ours}, true, nil, rules{ours}},
		{"wider", rules{wide}, rules{ours}, true, rules{wide}, rules{ours}},
		{"no rule is removed if want is incomplete", rules{wide}, rules{ours}, false, rules{wide}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			authorize, revoke := network.DiffEndpointRules(tt.want, tt.have, tt.complete)
			if d := cmp.Diff(tt.authorize, authorize); d != "" {
				t.Errorf("authorize, -want +got\n%s", d)
			}
			if d := cmp.Diff(tt.revoke, revoke); d != "" {
				t.Errorf("revoke, -want +got\n%s", d)
			}
		})
	}
}

func TestIsSharedRule(t *testing.T) {
	for text, want := range map[string]bool{
		"elbv2.k8s.aws/targetGroupBinding=shared":           true,
		"node rule elbv2.k8s.aws/targetGroupBinding=shared": true,
		"a=b,elbv2.k8s.aws/targetGroupBinding=shared,c=d":   true,
		"elbv2.k8s.aws/targetGroupBinding=shared x":         false,
		"xelbv2.k8s.aws/targetGroupBinding=shared":          false,
		"elbv2.k8s.aws/targetGroupBinding=mine":             false,
		"":                                                  false,
	} {
		if got := network.IsSharedRule(model.IngressRule{Description: text}); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestAggregateRules(t *testing.T) {
	shared := func(rules ...model.IngressRule) []model.IngressRule {
		for i := range rules {
			rules[i].Description = network.SharedRuleDescription
		}
		return rules
	}
	asked := []model.IngressRule{tcpRule(8080, 8080, "sg-b"), tcpRule(30080, 30080, "sg-b"), inboundRule("udp", 53, 53, "sg-b"), tcpRule(443, 443, "10.0.0.0/16"), tcpRule(443, 443, "10.0.0.0/16")}
	tests := []struct {
		name  string
		asked []model.IngressRule
		merge bool
		want  []model.IngressRule
	}{
		{"ports of one peer become a range", asked, true, shared(tcpRule(443, 443, "10.0.0.0/16"), tcpRule(8080, 30080, "sg-b"), inboundRule("udp", 53, 53, "sg-b"))},
		{"kept apart", asked, false, shared(tcpRule(30080, 30080, "sg-b"), tcpRule(443, 443, "10.0.0.0/16"), tcpRule(8080, 8080, "sg-b"), inboundRule("udp", 53, 53, "sg-b"))},
		{"port 0 means all", []model.IngressRule{tcpRule(0, 0, "sg-b"), tcpRule(80, 80, "sg-b")}, true, shared(tcpRule(0, 65535, "sg-b"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, network.AggregateRules(tt.asked, tt.merge)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestChooseSecurityGroup(t *testing.T) {
	g := func(id string, tags ...string) network.ENISecurityGroup {
		out := network.ENISecurityGroup{ID: id, Tags: map[string]string{}}
		for i := 0; i < len(tags); i += 2 {
			out.Tags[tags[i]] = tags[i+1]
		}
		return out
	}
	const key = "kubernetes.io/cluster/c"
	role := map[string]string{"role": "node"}
	tests := []struct {
		name   string
		groups []network.ENISecurityGroup
		extra  map[string]string
		want   string
	}{
		{"the only one", []network.ENISecurityGroup{g("a")}, role, "a"},
		{"the tagged one", []network.ENISecurityGroup{g("a", key, "owned"), g("b")}, nil, "a"},
		{"two tagged", []network.ENISecurityGroup{g("a", key, ""), g("b", key, "")}, nil, ""},
		{"distinguished by the extra tag", []network.ENISecurityGroup{g("a", key, ""), g("b", key, "", "role", "node")}, role, "b"},
		{"none tagged", []network.ENISecurityGroup{g("a"), g("b")}, nil, ""},
		{"none at all", nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := network.ChooseSecurityGroup("c", "eni-1", tt.groups, tt.extra)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestENIWithAddress(t *testing.T) {
	all := []network.ENI{
		{ID: "eni-0", Addresses: []string{"10.0.0.1", "2001:db8:0::1"}},
		{ID: "eni-1", DeviceIndex: 1, Prefixes: []string{"10.0.1.0/28", "2001:db8:1::/80"}},
	}
	for ip, want := range map[string]string{"10.0.0.1": "eni-0", "2001:db8::1": "eni-0", "10.0.1.5": "eni-1", "2001:db8:1::9": "eni-1", "10.0.2.1": ""} {
		if got, ok := network.ENIWithAddress(ip, all); got.ID != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", ip, got.ID, ok)
		}
	}
}

func TestCanonicalCIDR(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.1/8": "10.0.0.0/8", "2001:DB8:0::1/32": "2001:db8::/32", "0.0.0.0/0": "0.0.0.0/0", "10.0.0.1": "", "x": ""} {
		got, err := network.CanonicalCIDR(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}
