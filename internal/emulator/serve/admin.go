package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// accessLogSize is the number of requests in the access log.
const accessLogSize = 1000

// accessLog stores the last accessLogSize requests.
type accessLog struct {
	mu      sync.Mutex
	entries []dataplane.AccessEntry
}

func (l *accessLog) add(e dataplane.AccessEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == accessLogSize {
		l.entries = append(l.entries[:0], l.entries[1:]...)
	}
	l.entries = append(l.entries, e)
}

func (l *accessLog) list() []dataplane.AccessEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]dataplane.AccessEntry{}, l.entries...)
}

func (s *Server) recordAccess(e dataplane.AccessEntry) {
	s.requests.add(e)
	if s.opt.Plane.LogAccess != nil {
		s.opt.Plane.LogAccess(e)
	}
}

// servedLoadBalancer is a load balancer in the answers of the admin API.
type servedLoadBalancer struct {
	ARN, Name, DNSName string
	Scheme, State      string
	Endpoints          []servedEndpoint
	Rules              []servedRule // by port and priority, without default rules
}

// servedRule has the conditions and the action of a listener rule in the answers of the admin API.
type servedRule struct {
	Port         int32
	Hosts, Paths []string
	// Other is set if the rule has regular expressions, or conditions other than hosts and paths.
	Other bool
	// Action is the type of the last action, such as "forward". GRPC is set if this action forwards to a target group with
	// protocol version GRPC.
	Action string
	GRPC   bool
}

// servedRules returns the rules of a load balancer, except default rules, ordered by port and priority.
func servedRules(p *store.Partition, arn string) []servedRule {
	out := []servedRule{}
	var rules []*store.Rule
	port := map[string]int32{}
	p.ELB.EachRuleOfLoadBalancer(arn, func(r *store.Rule) {
		if !r.IsDefault() {
			rules, port[r.Listener] = append(rules, r), p.ELB.Listeners[r.Listener].Port
		}
	})
	slices.SortFunc(rules, func(a, b *store.Rule) int {
		return cmp.Or(cmp.Compare(port[a.Listener], port[b.Listener]), cmp.Compare(a.Priority, b.Priority))
	})
	for _, r := range rules {
		one := servedRule{Port: port[r.Listener]}
		for _, c := range r.Conditions {
			switch {
			case c.HostHeaderConfig != nil && len(c.HostHeaderConfig.RegexValues) == 0:
				one.Hosts = c.HostHeaderConfig.Values
			case c.PathPatternConfig != nil && len(c.PathPatternConfig.RegexValues) == 0:
				one.Paths = c.PathPatternConfig.Values
			default:
				one.Other = true
			}
		}
		if n := len(r.Actions); n > 0 {
			last := r.Actions[n-1]
			one.Action = string(last.Type)
			if last.ForwardConfig != nil {
				for _, to := range last.ForwardConfig.TargetGroups {
					g := p.ELB.TargetGroups[aws.ToString(to.TargetGroupArn)]
					one.GRPC = one.GRPC || g != nil && g.ProtocolVersion == "GRPC"
				}
			}
		}
		out = append(out, one)
	}
	return out
}

// servedEndpoint is a listener on one node of a load balancer in the answers of the admin API.
type servedEndpoint struct {
	Listener, Protocol string
	Zone               string
	Node               netip.AddrPort // in the emulated network
	Address            netip.AddrPort // on this machine
	UDP                bool           // the protocol is UDP instead of TCP
}

// registerAdmin registers the paths of the admin API for the data plane.
func (s *Server) registerAdmin() {
	s.em.HandleAdmin("loadbalancers", func(*http.Request, []byte) (any, error) { return s.servedLoadBalancers(), nil })
	s.em.HandleAdmin("accelerators", func(*http.Request, []byte) (any, error) { return s.servedAccelerators(), nil })
	s.em.HandleAdmin("requests", func(*http.Request, []byte) (any, error) { return s.requests.list(), nil })
	s.em.HandleAdmin("public-key", func(r *http.Request, _ []byte) (any, error) {
		id := r.URL.Query().Get("id")
		key, ok := s.plane.PublicKey(id)
		if !ok {
			return nil, fmt.Errorf("there is no key %q", id)
		}
		return map[string]string{"PEM": string(key)}, nil
	})
	s.em.HandleAdmin("resolver", func(*http.Request, []byte) (any, error) {
		return map[string]netip.AddrPort{"Address": s.Resolver()}, nil
	})
}

// servedLoadBalancers lists the load balancers of all accounts with their endpoints.
func (s *Server) servedLoadBalancers() []servedLoadBalancer {
	endpoints := map[string][]dataplane.Endpoint{}
	for _, e := range s.plane.Endpoints() {
		endpoints[e.LoadBalancer] = append(endpoints[e.LoadBalancer], e)
	}
	s.store.Lock()
	defer s.store.Unlock()
	now := s.store.Clock.Now()
	out := []servedLoadBalancer{}
	for _, p := range s.store.Partitions() {
		for _, arn := range store.SortedKeys(p.ELB.LoadBalancers) {
			lb := p.ELB.LoadBalancers[arn]
			state, _ := lb.State(now)
			item := servedLoadBalancer{
				ARN: arn, Name: lb.Name, DNSName: lb.DNSName, Scheme: string(lb.Scheme), State: string(state), Endpoints: []servedEndpoint{}, Rules: servedRules(p, arn),
			}
			for _, e := range endpoints[arn] {
				shown := servedEndpoint{Listener: e.Listener, Zone: e.Zone, Node: e.NodeAddress, Address: e.LocalAddress, UDP: e.UDP}
				if l := p.ELB.Listeners[e.Listener]; l != nil {
					shown.Protocol = string(l.Protocol)
				}
				item.Endpoints = append(item.Endpoints, shown)
			}
			out = append(out, item)
		}
	}
	return out
}
