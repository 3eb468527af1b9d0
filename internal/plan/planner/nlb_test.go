package planner_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

var networkStackID = model.StackID{Kind: model.Service, Namespace: "shop", Name: "web"}

// networkStack returns a stack with an NLB that has a listener and a target group for each port. If certificates are given,
// TCP ports use TLS.
func networkStack(scheme model.Scheme, ports map[int32]model.BaseProtocol, certificates ...string) model.Stack {
	s := model.Stack{
		ID:                   networkStackID,
		Members:              []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true}},
		BackendSecurityGroup: model.BackendSecurityGroupUse{Needed: true},
		LoadBalancer: &model.LoadBalancer{
			Type: model.Network, Name: "nlb-" + string(scheme), Scheme: scheme, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
			Origins: map[string]finding.Origin{"scheme": {Object: testMember, Field: "aws-load-balancer-scheme"}},
		},
	}
	managed := model.SecurityGroupsManaged{Backend: true, Group: model.SecurityGroup{Name: "sg"}}
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		base := ports[port]
		id := fmt.Sprintf("shop/web:%d", port)
		l := model.Listener{
			Port: port, BaseProtocol: base, Members: []finding.Ref{testMember}, DefaultOf: finding.Origin{Object: testMember},
			Default: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: id}}}}},
		}
		if base == model.TCP && len(certificates) > 0 {
			l.TLS = &model.TLS{Policy: "p", ALPN: "HTTP2Optional", Certificates: []model.CertChoice{model.CertARNs{Member: testMember, ARNs: certificates}}}
		}
		s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, l)
		s.TargetGroups = append(s.TargetGroups, model.TargetGroup{
			ID: id, Name: fmt.Sprintf("web-%d-%s", port, base), Type: model.IPTargets, Port: 8080, Protocol: base.String(), AddressType: model.IPv4,
			Binding: &model.Binding{Namespace: "shop", Name: fmt.Sprintf("web-%d", port), Service: "web"}, Members: []finding.Ref{testMember},
		})
		protocol := strings.ToLower(base.String())
		if base == model.TCPUDP {
			protocol = "tcp"
		}
		managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: protocol, From: port, To: port, CIDR: "0.0.0.0/0"})
	}
	s.LoadBalancer.SecurityGroups = managed
	return s
}

func randomNetworkStack(r *rand.Rand) model.Stack {
	ports := map[int32]model.BaseProtocol{}
	for _, port := range []int32{53, 80, 443} {
		if r.IntN(4) > 0 || port == 80 {
			ports[port] = []model.BaseProtocol{model.TCP, model.UDP, model.TCPUDP}[r.IntN(3)]
		}
	}
	certificates := []string{"arn:one", "arn:two", "arn:three"}[:r.IntN(4)]
	return networkStack([]model.Scheme{model.Internal, model.InternetFacing}[r.IntN(2)], ports, certificates...)
}

// forwardProtocols has, by protocol of an NLB listener, the protocols of the target groups that it may forward to.
var forwardProtocols = map[string][]string{"TCP": {"TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP", "TCP_UDP"}, "TCP_UDP": {"TCP_UDP"}}

// checkListenersAreValid fails the test if AWS would not accept the listeners of an NLB.
func checkListenersAreValid(t *testing.T, have observed.Stack, text string) {
	t.Helper()
	groups := map[string]observed.TargetGroup{}
	for _, g := range have.TargetGroups {
		groups[g.ARN] = g
	}
	for _, lb := range have.LoadBalancers {
		for _, l := range lb.Listeners {
			to := equal.ForwardOf(l.Default)
			if to == nil {
				t.Fatalf("port %d of a network load balancer does not forward:\n%s", l.Port, text)
			}
			for _, g := range to.Groups {
				is, first := groups[g.Group.ARN], groups[to.Groups[0].Group.ARN]
				if !slices.Contains(forwardProtocols[l.Protocol], is.Protocol) || is.Protocol != first.Protocol || is.AddressType != first.AddressType {
					t.Fatalf("port %d serves %s and forwards to %s besides %s:\n%s", l.Port, l.Protocol, is.Protocol, first.Protocol, text)
				}
			}
			if (l.Protocol == "TLS") != (l.Certificate != "") || l.Protocol != "TLS" && len(l.Certificates) > 0 {
				t.Fatalf("port %d serves %s with certificate %q and %q:\n%s", l.Port, l.Protocol, l.Certificate, l.Certificates, text)
			}
		}
	}
}

func TestNetworkLoadBalancerConvergesAndIsDeleted(t *testing.T) {
	healthy := func(string) string { return "healthy" }
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 6))
		have := observed.Stack{Facts: frontendFacts()}
		for range 4 {
			want := randomNetworkStack(r)
			p := planUntilNoQuestions(t, want, &have, healthy)
			for n, steps := 0, stepsInOrder(p); n <= len(steps); n++ {
				checkListenersAreValid(t, plantest.Simulate(have, p.KnownIDs, steps[:n]), p.Text())
			}
			have = converge(t, want, have)
			lb := have.LiveLoadBalancer(model.LoadBalancerID)
			if lb == nil || lb.Type != "network" || lb.Scheme != want.LoadBalancer.Scheme || len(have.LoadBalancers) != 1 || len(have.TargetGroups) != len(want.TargetGroups) {
				t.Fatalf("seed %d: want %s, got %+v", seed, want.LoadBalancer.Scheme, have.LoadBalancers)
			}
			for i, w := range want.LoadBalancer.Listeners {
				l := lb.Listeners[i]
				if l.Port != w.Port || l.Protocol != w.Protocol() || w.TLS != nil && (l.Certificate == "" || l.ALPN != w.TLS.ALPN) {
					t.Fatalf("seed %d: want port %d with %s, got %+v", seed, w.Port, w.Protocol(), l)
				}
			}
		}
		empty := model.Stack{ID: networkStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
		for range 4 {
			p := planUntilNoQuestions(t, empty, &have, healthy)
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
		}
		if len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups)+len(have.Bindings) > 0 {
			t.Fatalf("seed %d: deletion leaves %d load balancers, %d target groups", seed, len(have.LoadBalancers), len(have.TargetGroups))
		}
	}
}

func TestHeldPortOfNetworkLoadBalancerIsNotChanged(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{53: model.UDP, 80: model.TCP})
	want.LoadBalancer.SecurityGroups = nil
	want.LoadBalancer.Listeners[0].DefaultHeld = model.HeldInvalid
	have := converge(t, want, observed.Stack{Facts: frontendFacts()})
	lb := have.LiveLoadBalancer(model.LoadBalancerID)
	if len(lb.Listeners) != 1 || lb.Listeners[0].Port != 80 || len(lb.SecurityGroups)+len(have.SecurityGroups) > 0 {
		t.Fatalf("want port 80 alone and no security group, got %+v", lb)
	}
	want.LoadBalancer.Listeners[0].DefaultHeld = 0
	have = converge(t, want, have)
	served := have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Default
	want.LoadBalancer.Listeners[0].DefaultHeld = model.HeldInvalid
	want.LoadBalancer.Listeners[0].Default = []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "shop/web:80"}}}}}
	have = converge(t, want, have)
	if got := have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0]; got.Port != 53 || !reflect.DeepEqual(got.Default, served) {
		t.Fatalf("want port 53 as it was, got %+v", got)
	}
}

// TestHeldPortOfNetworkLoadBalancerKeepsItsProtocol checks that a held port keeps its current protocol, because the protocol
// has to match that of the target group.
func TestHeldPortOfNetworkLoadBalancerKeepsItsProtocol(t *testing.T) {
	have := converge(t, networkStack(model.Internal, map[int32]model.BaseProtocol{53: model.UDP, 80: model.TCP}), observed.Stack{Facts: frontendFacts()})
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{53: model.TCP, 80: model.TCP}, "arn:one")
	want.LoadBalancer.Listeners[0].DefaultHeld = model.HeldRefused
	have = converge(t, want, have)
	checkListenersAreValid(t, have, "")
	ports := have.LiveLoadBalancer(model.LoadBalancerID).Listeners
	if ports[0].Protocol != "UDP" || ports[1].Protocol != "TLS" || len(have.TargetGroups) != 2 {
		t.Errorf("got %+v and %d target groups", ports, len(have.TargetGroups))
	}
	for _, g := range have.SecurityGroups {
		if !slices.ContainsFunc(g.Ingress, func(r model.IngressRule) bool { return r.Protocol == "udp" && r.From == 53 }) {
			t.Errorf("UDP clients of port 53 are shut out: %v", g.Ingress)
		}
	}
}

func TestAddressesAreAssignedToSubnetsOfTheirRanges(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	facts := frontendFacts()
	key := want.LoadBalancer.SubnetQuestion().Key()
	answer := facts.Subnets[key]
	answer.Candidates = slices.Clone(answer.Candidates)
	answer.Candidates[0].CIDR, answer.Candidates[1].CIDR = "10.0.1.0/24", "10.0.2.0/24"
	facts.Subnets[key] = answer
	a, b := model.SubnetMapping{Subnet: "subnet-a", PrivateIPv4: "10.0.1.9"}, model.SubnetMapping{Subnet: "subnet-b", PrivateIPv4: "10.0.2.9"}
	for _, c := range []struct {
		addresses []string
		want      []model.SubnetMapping
	}{
		{nil, []model.SubnetMapping{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}}},
		{[]string{"10.0.2.9", "10.0.1.9"}, []model.SubnetMapping{a, b}},
		{[]string{"10.0.2.9"}, nil},
		{[]string{"10.0.2.9", "10.0.2.10"}, nil},
		{[]string{"10.0.2.9", "10.0.3.9"}, nil},
	} {
		want.LoadBalancer.PrivateIPv4 = c.addresses
		p, found := planner.Make(want, observed.Stack{Facts: facts}, testOptions, plan.Memory{})
		var got []model.SubnetMapping
		for _, s := range p.Steps {
			if do, ok := s.Do.(plan.CreateLoadBalancer); ok {
				got = do.Subnets
			}
		}
		if !slices.Equal(got, c.want) || (got == nil) != (reasonsText(found) == "SubnetsUnsuitable") {
			t.Errorf("%v: want %v, got %v and %v", c.addresses, c.want, got, found)
		}
	}
}
