package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// randomService returns the stack of a Service with random settings of an NLB. If withoutGroups is set, the NLB has no
// security groups. Callers must not change withoutGroups for the same NLB, because AWS does not permit it.
func randomService(r *rand.Rand, withoutGroups bool) model.Stack {
	s := randomNetworkStack(r)
	lb := s.LoadBalancer
	if r.IntN(3) == 0 {
		lb.AddressType, lb.SourceNAT = model.DualStack, []string{"on", "off"}[r.IntN(2)]
		if lb.SourceNAT == "on" && r.IntN(2) == 0 {
			lb.SourceNATPrefixes = [][]string{{"2001:db8:0:1::/80", "auto_assigned"}, {"2001:db8:0:1:1::/80", "2001:db8:0:2::/80"}}[r.IntN(2)]
		}
		if r.IntN(2) == 0 {
			lb.IPv6 = []string{"2001:db8:0:2::9", "2001:db8:0:1::9"}
		}
	}
	if lb.Scheme == model.InternetFacing && r.IntN(3) == 0 {
		lb.Addresses = []string{"eipalloc-1", "eipalloc-2"}
	}
	if lb.Scheme == model.Internal && r.IntN(3) == 0 {
		lb.PrivateIPv4 = []string{"10.0.2.9", "10.0.1.9"}
	}
	lb.PrivateLinkRules = []string{"", "on", "off"}[r.IntN(3)]
	if r.IntN(3) == 0 {
		lb.Attributes = map[string]string{"load_balancing.cross_zone.enabled": fmt.Sprint(r.IntN(2) == 0)}
	}
	managed := lb.SecurityGroups.(model.SecurityGroupsManaged)
	if r.IntN(3) == 0 {
		managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: "0.0.0.0/0"})
	}
	lb.SecurityGroups = managed
	port := intstr.FromInt32(8080)
	peers := []model.Peer{{BackendSecurityGroup: true}, {Subnets: true}, {VPC: true}, {CIDR: "10.1.0.0/16"}}
	var byAddress [][]model.BindingRule
	for i := range s.TargetGroups {
		g := &s.TargetGroups[i]
		if r.IntN(3) == 0 {
			g.Type = model.InstanceTargets
		}
		if r.IntN(4) == 0 {
			g.Attributes = map[string]string{"proxy_protocol_v2.enabled": "true"}
		}
		g.HealthCheck = model.HealthCheck{Protocol: []string{"TCP", "HTTP"}[r.IntN(2)], IntervalSeconds: 10}
		g.Name = fmt.Sprintf("%s-%s", g.Name, g.Type)
		g.Binding.Managed, g.Binding.Networking = true, []model.BindingRule{{From: []model.Peer{peers[0]}, Ports: []model.PeerPort{{Protocol: "TCP", Port: &port}}}}
		byAddress = append(byAddress, []model.BindingRule{{From: []model.Peer{peers[1+r.IntN(3)]}, Ports: []model.PeerPort{{Protocol: "TCP", Port: &port}}}})
	}
	if withoutGroups {
		lb.SecurityGroups, s.BackendSecurityGroup.Needed = nil, false
		for i, g := range s.TargetGroups {
			g.Binding.Networking = byAddress[i]
		}
	}
	for i := range lb.Listeners {
		randomizeListener(r, &s, &lb.Listeners[i])
	}
	return s
}

// randomizeListener adds random settings to a listener, such as a second target group.
func randomizeListener(r *rand.Rand, s *model.Stack, l *model.Listener) {
	if r.IntN(3) == 0 {
		l.Attributes = map[string]string{"tcp.idle_timeout.seconds": fmt.Sprint(60 + r.IntN(3))}
	}
	at := slices.IndexFunc(s.TargetGroups, func(g model.TargetGroup) bool { return g.ID == l.DefaultTargetGroupID() })
	own := &s.TargetGroups[at]
	if l.TLS != nil && r.IntN(3) == 0 {
		own.Protocol, own.Name = "TLS", own.Name+"-tls"
	}
	if r.IntN(3) > 0 {
		return
	}
	canary := *own
	b := *own.Binding
	canary.ID, canary.Name, b.Name, b.Service = fmt.Sprintf("shop/next:%d", l.Port), "next-"+own.Name, "next-"+b.Name, "next"
	canary.Binding = &b
	s.TargetGroups = append(s.TargetGroups, canary)
	slices.SortFunc(s.TargetGroups, func(x, y model.TargetGroup) int { return strings.Compare(x.ID, y.ID) })
	one, two := int32(r.IntN(3)), int32(1+r.IntN(3))
	on := r.IntN(2) == 0
	l.Default = []model.Action{model.Forward{
		Groups:     []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: l.DefaultTargetGroupID()}, Weight: &one}, {Group: model.TargetGroupRef{ID: canary.ID}, Weight: &two}},
		Stickiness: &model.TargetGroupStickiness{Enabled: &on},
	}}
}

// serviceFacts returns the facts of an account with two subnets that have IPv4 and IPv6 ranges.
func serviceFacts() observed.Facts {
	f := frontendFacts()
	both := []observed.Subnet{
		{ID: "subnet-a", Zone: "a", ZoneType: "availability-zone", FreeIPs: 100, CIDR: "10.0.1.0/24", IPv6CIDRs: []string{"2001:db8:0:1::/64"}},
		{ID: "subnet-b", Zone: "b", ZoneType: "availability-zone", FreeIPs: 100, CIDR: "10.0.2.0/24", IPv6CIDRs: []string{"2001:db8:0:2::/64"}},
	}
	for k := range f.Subnets {
		f.Subnets[k] = observed.SubnetAnswer{Candidates: both}
	}
	q := model.SubnetQuestion(model.SubnetsNamed{Refs: []string{"subnet-a", "subnet-b"}}, "", true)
	f.Subnets[q.Key()] = observed.SubnetAnswer{Candidates: both}
	f.VPCRanges = []string{"10.0.0.0/16", "2001:db8::/56"}
	return f
}

// simulatedTargets simulates the health of targets. The targets of a target group appear in the second call of updateHealth
// after its creation. They are healthy from the third call on in which a load balancer forwards to the target group. The map
// counts these calls, by the ARN of the target group.
type simulatedTargets map[string]int

func (r simulatedTargets) updateHealth(have *observed.Stack) {
	have.Facts.Health = map[string]observed.Health{}
	for _, g := range have.TargetGroups {
		attached := slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool {
			return slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool {
				return slices.ContainsFunc(equal.ForwardOf(l.Default).Groups, func(w model.WeightedTargetGroup) bool { return w.Group.ARN == g.ARN })
			})
		})
		var targets []*observed.Target
		if _, known := r[g.ARN]; known {
			state := "unused"
			if attached {
				r[g.ARN]++
				state = "initial"
			}
			if r[g.ARN] > 2 {
				state = "healthy"
			}
			targets = []*observed.Target{{ID: "10.0.1.7", Port: 8080, State: state}}
		} else {
			r[g.ARN] = 0
		}
		have.Facts.Health[g.ARN] = observed.Health{Targets: targets}
	}
}

// targetGroupsServingPort returns the target groups that receive new connections on a port.
func targetGroupsServingPort(have observed.Stack, port int32) (out []string) {
	lb := have.LiveLoadBalancer(model.LoadBalancerID)
	if lb == nil {
		return nil
	}
	for _, l := range lb.Listeners {
		if l.Port != port {
			continue
		}
		to := equal.ForwardOf(l.Default)
		for _, g := range to.Groups {
			if g.Weight == nil || *g.Weight > 0 || len(to.Groups) == 1 {
				out = append(out, g.Group.ARN)
			}
		}
	}
	return out
}

// checkKeepsServing fails the test if a port that was served forwards to another target group that has no targets, or
// that has no healthy targets although it has the same protocol.
func checkKeepsServing(t *testing.T, before, now observed.Stack, text string) {
	t.Helper()
	kind := func(s observed.Stack, arn string) string {
		for _, g := range s.TargetGroups {
			if g.ARN == arn {
				return g.Protocol
			}
		}
		return ""
	}
	lb, was := now.LiveLoadBalancer(model.LoadBalancerID), before.LiveLoadBalancer(model.LoadBalancerID)
	if lb == nil || was == nil || lb.ARN != was.ARN || lb.Scheme != was.Scheme {
		return
	}
	for _, l := range lb.Listeners {
		had := targetGroupsServingPort(before, l.Port)
		if !slices.ContainsFunc(had, func(arn string) bool { h := before.Facts.Health[arn]; return h.CountInStates("healthy") > 0 }) {
			continue
		}
		for _, arn := range targetGroupsServingPort(now, l.Port) {
			h := before.Facts.Health[arn]
			same := kind(now, arn) == kind(before, had[0])
			if !slices.Contains(had, arn) && (len(h.Targets) == 0 || same && h.CountInStates("healthy") == 0) {
				t.Fatalf("port %d goes from %v to %s with targets %v:\n%s", l.Port, had, arn, h.Targets, text)
			}
		}
	}
}

// TestServicesConvergeToAnotherDesiredState changes the desired state of a Service at random. It checks that AWS accepts the
// state after every step, that no port loses its targets, and that the last plan is empty.
func TestServicesConvergeToAnotherDesiredState(t *testing.T) {
	options := testOptions
	options.CreateFirst = true
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		have := observed.Stack{Facts: serviceFacts()}
		targets := simulatedTargets{}
		for range 4 {
			want := randomService(r, seed%4 == 0)
			convergeService(t, fmt.Sprintf("seed %d", seed), want, &have, options, targets)
			lb := have.LiveLoadBalancer(model.LoadBalancerID)
			if lb == nil || len(have.LoadBalancers) != 1 || len(have.TargetGroups) != len(want.TargetGroups) || len(have.Bindings) != len(want.TargetGroups) {
				t.Fatalf("seed %d: %d load balancers, %d target groups, %d bindings", seed, len(have.LoadBalancers), len(have.TargetGroups), len(have.Bindings))
			}
			if want.LoadBalancer.SourceNAT != "" && lb.SourceNAT != want.LoadBalancer.SourceNAT || lb.AddressType != want.LoadBalancer.AddressType {
				t.Fatalf("seed %d: source NAT %s, address type %s", seed, lb.SourceNAT, lb.AddressType)
			}
			for i, l := range lb.Listeners {
				if w := want.LoadBalancer.Listeners[i]; l.Port != w.Port || l.Protocol != w.Protocol() || l.Protocol == "TLS" && len(l.Attributes) > 0 {
					t.Fatalf("seed %d: want port %d with %s, got %+v", seed, w.Port, w.Protocol(), l)
				}
			}
		}
	}
}

// convergeService carries out plans until a plan is empty, stores the result in have, and checks the state after every step.
func convergeService(t *testing.T, name string, want model.Stack, have *observed.Stack, options plan.Options, targets simulatedTargets) {
	t.Helper()
	for range 40 {
		targets.updateHealth(have)
		p, found := planner.Make(want, *have, options, plan.Memory{})
		for _, q := range p.Questions {
			if h, ok := q.(model.AskHealth); !ok || h.ARN == "" {
				t.Fatalf("%s: asks %s", name, q.Key())
			}
		}
		if f := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Severity == finding.Error }); f >= 0 {
			t.Fatalf("%s: %v", name, found[f])
		}
		steps := stepsInOrder(p)
		if len(p.Steps) == 0 {
			return
		}
		for n := range steps {
			now := plantest.Simulate(*have, p.KnownIDs, steps[:n+1])
			checkListenersAreValid(t, now, name+"\n"+p.Text())
			checkKeepsServing(t, *have, now, name+"\n"+p.Text())
		}
		*have = plantest.Simulate(*have, p.KnownIDs, steps)
		have.Facts.Now = have.Facts.Now.Add(options.DeletionDelay + 1)
	}
	p, _ := planner.Make(want, *have, options, plan.Memory{})
	t.Fatalf("%s: no end of the plan:\n%s", name, p.Text())
}
