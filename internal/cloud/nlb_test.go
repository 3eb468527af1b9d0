package cloud_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

var nlbStack = model.StackID{Kind: model.Service, Namespace: "shop", Name: "nlb"}

// desiredNLB returns the desired state of an NLB that serves TCP on port 80 and UDP on port 53.
func desiredNLB(edit ...func(*model.Stack)) model.Stack {
	s := model.Stack{
		ID: nlbStack, Members: []model.Member{{Ref: serviceRef, Claimed: true, Finalizer: "service.k8s.aws/resources"}},
		LoadBalancer: &model.LoadBalancer{
			Type: model.Network, Name: "k8s-shop-nlb", Scheme: model.InternetFacing, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
			SecurityGroups: model.SecurityGroupsManaged{Group: model.SecurityGroup{Name: "k8s-shop-nlb-sg", Description: "managed"}},
			Tags:           map[string]string{"team": "blue"},
			Origins:        map[string]finding.Origin{"scheme": {Object: serviceRef}},
		},
	}
	withPort(53, model.UDP, nil)(&s)
	withPort(80, model.TCP, nil)(&s)
	for _, e := range edit {
		e(&s)
	}
	return s
}

var serviceRef = finding.Ref{Kind: "Service", Namespace: nlbStack.Namespace, Name: nlbStack.Name}

// withPort returns a function that adds a listener with its own target group, or replaces the listener on this port. base is
// the protocol of the target group.
func withPort(port int32, base model.BaseProtocol, tls *model.TLS) func(*model.Stack) {
	return func(s *model.Stack) {
		id := fmt.Sprintf("%s:%d", nlbStack, port)
		l := model.Listener{
			Port: port, BaseProtocol: base, TLS: tls, Members: []finding.Ref{serviceRef}, DefaultOf: finding.Origin{Object: serviceRef},
			Default: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: id}}}}},
		}
		g := model.TargetGroup{
			ID: id, Name: fmt.Sprintf("k8s-shop-%d-%s", port, string(base)[:1+len(base)/4]), Type: model.IPTargets, Port: 8080, Protocol: base.String(), AddressType: model.IPv4,
			Members:     []finding.Ref{serviceRef},
			HealthCheck: model.HealthCheck{Port: "traffic-port", Protocol: "TCP", IntervalSeconds: 10, TimeoutSeconds: 10, HealthyThreshold: 3, UnhealthyThreshold: 3},
		}
		managed := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
		protocols := map[model.BaseProtocol][]string{model.TCP: {"tcp"}, model.UDP: {"udp"}, model.TCPUDP: {"tcp", "udp"}}[base]
		for _, p := range protocols {
			managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: p, From: port, To: port, CIDR: "0.0.0.0/0"})
		}
		s.LoadBalancer.SecurityGroups = managed
		for i := range s.LoadBalancer.Listeners {
			if s.LoadBalancer.Listeners[i].Port == port {
				s.LoadBalancer.Listeners[i], s.TargetGroups[i] = l, g
				return
			}
		}
		s.LoadBalancer.Listeners, s.TargetGroups = append(s.LoadBalancer.Listeners, l), append(s.TargetGroups, g)
	}
}

func TestNetworkLoadBalancerIsCreatedChangedAndDeleted(t *testing.T) {
	secured := func(port int32, alpn string, certificates ...string) func(*model.Stack) {
		return withPort(port, model.TCP, &model.TLS{
			Policy: "ELBSecurityPolicy-2016-08", ALPN: alpn, Certificates: []model.CertChoice{model.CertARNs{Member: serviceRef, ARNs: certificates}},
		})
	}
	for name, edit := range map[string]func(r *harness) func(*model.Stack){
		"TLS": func(r *harness) func(*model.Stack) { return secured(80, "", r.importCertificate("a.example.com")) },
		"TLS in place of UDP": func(r *harness) func(*model.Stack) {
			return secured(53, "HTTP2Optional", r.importCertificate("a.example.com"), r.importCertificate("b.example.com"))
		},
		"TCP beside UDP":   func(*harness) func(*model.Stack) { return withPort(53, model.TCPUDP, nil) },
		"another listener": func(*harness) func(*model.Stack) { return withPort(443, model.TCP, nil) },
		"another scheme": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.Scheme, s.LoadBalancer.Name = model.Internal, "k8s-shop-nlb-internal"
			}
		},
		"addresses of its own": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.Scheme, s.LoadBalancer.Name = model.Internal, "k8s-shop-nlb-internal"
				s.LoadBalancer.PrivateIPv4 = []string{"10.0.144.9", "10.0.128.9"}
			}
		},
		"source NAT": func(r *harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.AddressType, s.LoadBalancer.SourceNAT = model.DualStack, "on"
			}
		},
		"traffic of PrivateLink": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) { s.LoadBalancer.PrivateLinkRules = "off" }
		},
		"PrivateLink and another scheme": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.Scheme, s.LoadBalancer.Name = model.Internal, "k8s-shop-nlb-internal"
				s.LoadBalancer.PrivateLinkRules, s.LoadBalancer.SourceNAT = "off", "off"
			}
		},
		"a rule for ICMP": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				managed := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
				managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: "0.0.0.0/0"},
					model.IngressRule{Protocol: "icmpv6", From: 2, CIDR: "::/0"})
				s.LoadBalancer.SecurityGroups = managed
			}
		},
		"attributes of a listener": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.Listeners[1].Attributes = map[string]string{"tcp.idle_timeout.seconds": "900"}
			}
		},
		"two target groups": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				next, on, one, nine := s.TargetGroups[1], true, int32(1), int32(9)
				next.ID, next.Name = "shop/next:80", "k8s-shop-next-80"
				s.TargetGroups = append(s.TargetGroups, next)
				s.LoadBalancer.Listeners[1].Default = []model.Action{model.Forward{
					Groups:     []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: s.TargetGroups[1].ID}, Weight: &one}, {Group: model.TargetGroupRef{ID: next.ID}, Weight: &nine}},
					Stickiness: &model.TargetGroupStickiness{Enabled: &on},
				}}
			}
		},
		"attributes": func(*harness) func(*model.Stack) {
			return func(s *model.Stack) {
				s.LoadBalancer.Attributes = map[string]string{"load_balancing.cross_zone.enabled": "true"}
				s.TargetGroups[1].Attributes = map[string]string{"proxy_protocol_v2.enabled": "true"}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			change := edit(r)
			r.checkConverges(desiredNLB())
			r.checkConverges(desiredNLB(change))
			if lb := r.observe(desiredNLB(change)).LiveLoadBalancer(model.LoadBalancerID); lb == nil || lb.Type != "network" {
				t.Fatalf("got %+v", lb)
			}
			r.checkConverges(desiredNLB())
			gone := deletedStack(nlbStack)
			for range 10 {
				p, _, _ := r.makePlan(gone)
				_ = r.apply(p) // fails with "in use" while ENIs still exist
				r.clock.Advance(10 * time.Second)
			}
			r.cloud.Forget()
			if have := r.observe(gone); len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups) > 0 {
				t.Fatalf("resources that still exist: %+v", have)
			}
		})
	}
}

func TestALPNPolicyIsChangedOnlyIfItDiffers(t *testing.T) {
	r := newHarness(t)
	certificate := r.importCertificate("a.example.com")
	with := func(alpn string) model.Stack {
		return desiredNLB(withPort(80, model.TCP, &model.TLS{Policy: "ELBSecurityPolicy-2016-08", ALPN: alpn, Certificates: []model.CertChoice{model.CertARNs{Member: serviceRef, ARNs: []string{certificate}}}}))
	}
	live := func() observed.Listener {
		return r.observe(with("")).LiveLoadBalancer(model.LoadBalancerID).Listeners[1]
	}
	for _, c := range []struct{ alpn, want string }{{"HTTP2Optional", "HTTP2Optional"}, {"", "HTTP2Optional"}, {"HTTP1Only", "HTTP1Only"}, {"None", "None"}} {
		r.checkConverges(with(c.alpn))
		if got := live().ALPN; got != c.want && (got != "" || c.want != "None") {
			t.Errorf("%q: want %s, got %s", c.alpn, c.want, got)
		}
	}
}
