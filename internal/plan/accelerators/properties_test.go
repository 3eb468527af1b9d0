package accelerators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

var (
	stackID = model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "edge"}
	member  = finding.Ref{Kind: "GlobalAccelerator", Namespace: "shop", Name: "edge"}
)

type random struct{ *rand.Rand }

func (r random) isOneIn(n int) bool { return r.IntN(n) == 0 }

// desiredAccelerator returns a random desired state that AWS accepts.
func (r random) desiredAccelerator() *model.Accelerator {
	a := &model.Accelerator{Name: fmt.Sprint("edge", r.IntN(2)), AddressType: model.IPv4, UID: "u", Tags: map[string]string{fmt.Sprint("t", r.IntN(3)): fmt.Sprint(r.IntN(2))}}
	if r.isOneIn(4) {
		a.AddressType = model.DualStack
	}
	overrides := r.Perm(4)
	for i := range r.IntN(4) {
		l := model.AcceleratorListener{ID: fmt.Sprintf("Listener-%d", i), Protocol: []model.BaseProtocol{model.TCP, model.UDP}[r.IntN(2)], SourceIP: r.isOneIn(3)}
		for _, first := range []int32{80, 443, 8000, 9000} {
			p := model.PortRange{From: first + r.Int32N(2), To: first + 1 + r.Int32N(2)}
			taken := slices.ContainsFunc(a.Listeners, func(o model.AcceleratorListener) bool {
				return o.Protocol == l.Protocol && slices.ContainsFunc(o.Ports, p.Overlaps)
			})
			if r.isOneIn(2) && !taken {
				l.Ports = append(l.Ports, p)
			}
		}
		if len(l.Ports) == 0 {
			continue
		}
		for j, region := range []string{"eu-west-1", "us-west-2"} {
			if r.isOneIn(3) {
				continue
			}
			g := model.EndpointGroup{ID: fmt.Sprintf("EndpointGroup-%d-%d", i, j), Region: region, Dial: []int32{100, 50}[r.IntN(2)]}
			if r.isOneIn(3) && len(overrides) > 0 {
				g.Overrides = []model.PortOverride{{Listener: l.Ports[0].From, Endpoint: 7000 + int32(overrides[0])}}
				overrides = overrides[1:]
			}
			for e := range 4 {
				if r.isOneIn(2) {
					g.Endpoints = append(g.Endpoints, model.Endpoint{ID: fmt.Sprintf("arn:%s:%d", region, e), Weight: []int32{0, 1, 128}[r.IntN(3)], ClientIP: new(r.isOneIn(2))})
				}
			}
			l.Groups = append(l.Groups, g)
		}
		a.Listeners = append(a.Listeners, l)
	}
	return a
}

func desiredStack(a *model.Accelerator, recorded string) model.Stack {
	return model.Stack{ID: stackID, Accelerator: a, Members: []model.Member{{Ref: member, Finalizer: "f", Claimed: true, Recorded: recorded}}}
}

var options = plan.Options{Cluster: "rig", DeletionDelay: time.Minute}

// protocolPort is a port number with its protocol.
type protocolPort struct {
	protocol model.BaseProtocol
	port     int32
}

// listenerAt returns the listener with the protocol and port; nil if there is none.
func listenerAt(have observed.Stack, at protocolPort) *observed.AcceleratorListener {
	for i := range have.Accelerators {
		for j := range have.Accelerators[i].Listeners {
			if l := &have.Accelerators[i].Listeners[j]; l.Protocol == at.protocol && model.HasPort(l.Ports, at.port) {
				return l
			}
		}
	}
	return nil
}

func liveEndpointGroup(l *observed.AcceleratorListener, region string) *observed.EndpointGroup {
	if l == nil {
		return nil
	}
	for i := range l.Groups {
		if l.Groups[i].Region == region {
			return &l.Groups[i]
		}
	}
	return nil
}

func hasServingEndpoint(g *observed.EndpointGroup) bool {
	return g != nil && slices.ContainsFunc(g.Endpoints, func(e observed.Endpoint) bool { return e.Weight > 0 && e.Health == observed.EndpointHealthy })
}

// portsServedThroughout returns the ports that belong to the same listener in both states. The value has the regions in
// which a healthy endpoint gets traffic before, and an endpoint has a weight above 0 after.
func portsServedThroughout(have observed.Stack, final observed.Stack) map[protocolPort]map[string]bool {
	out := map[protocolPort]map[string]bool{}
	for _, a := range have.Accelerators {
		for _, l := range a.Listeners {
			for _, r := range l.Ports {
				for port := r.From; port <= r.To; port++ {
					at := protocolPort{l.Protocol, port}
					last := listenerAt(final, at)
					if last == nil || last.ARN != l.ARN {
						continue
					}
					out[at] = map[string]bool{}
					for _, g := range l.Groups {
						end := liveEndpointGroup(last, g.Region)
						if hasServingEndpoint(&g) && end != nil && slices.ContainsFunc(end.Endpoints, func(e observed.Endpoint) bool { return e.Weight > 0 }) {
							out[at][g.Region] = true
						}
					}
				}
			}
		}
	}
	return out
}

// converge makes and applies plans until a plan is empty, and returns the resulting state. It calls see after each step, if
// see is not nil. Between plans, all endpoints become healthy.
func converge(t *testing.T, a *model.Accelerator, have observed.Stack, see func(plan.Step, observed.Stack)) observed.Stack {
	t.Helper()
	for range 12 {
		recorded := ""
		if len(have.Accelerators) > 0 {
			recorded = have.Accelerators[0].ARN
		}
		p, found := planner.Make(desiredStack(a, recorded), have, options, plan.Memory{})
		if len(found) > 0 {
			t.Fatalf("findings: %v", found)
		}
		if p.Empty() {
			return have
		}
		known, done := p.KnownIDs, p.NewProgress()
		for _, s := range p.Steps {
			if s.Waits() || !done.CanStart(s) {
				continue
			}
			have = plantest.Simulate(have, known, []plan.Step{s})
			if s.Verb == plan.Create {
				known[s.Address] = newestID(have, s.Address)
			}
			done.MarkDone(s.ID)
			if see != nil {
				see(s, have)
			}
		}
		have = withHealthyEndpoints(have)
	}
	p, _ := planner.Make(desiredStack(a, have.Accelerators[0].ARN), have, options, plan.Memory{})
	t.Fatalf("it does not come to rest:\n%s\n%+v", p.Text(), have.Accelerators)
	return have
}

// newestID returns the ARN of the newest resource that was created at an address.
func newestID(have observed.Stack, at plan.Address) string {
	out := ""
	for _, a := range have.Accelerators {
		if at.Kind == plan.Accelerator {
			out = a.ARN
		}
		for _, l := range a.Listeners {
			if at.Kind == plan.AcceleratorListener && endsWithID(l.ARN, at.ID) {
				out = newerID(l.ARN, out)
			}
			for _, g := range l.Groups {
				if at.Kind == plan.EndpointGroup && endsWithID(g.ARN, at.ID) {
					out = newerID(g.ARN, out)
				}
			}
		}
	}
	return out
}

func newerID(a, b string) string {
	if len(a) > len(b) || len(a) == len(b) && a > b {
		return a
	}
	return b
}

func endsWithID(arn, id string) bool {
	i := len(arn) - 1
	for i >= 0 && arn[i] != '/' {
		i--
	}
	return len(arn) > i+1+len(id) && arn[i+1:i+1+len(id)] == id && arn[i+1+len(id)] == '-'
}

func withHealthyEndpoints(have observed.Stack) observed.Stack {
	have = plantest.Clone(have)
	for i := range have.Accelerators {
		have.Accelerators[i].State = observed.AcceleratorDeployed
		for j := range have.Accelerators[i].Listeners {
			for k := range have.Accelerators[i].Listeners[j].Groups {
				for e := range have.Accelerators[i].Listeners[j].Groups[k].Endpoints {
					have.Accelerators[i].Listeners[j].Groups[k].Endpoints[e].Health = observed.EndpointHealthy
				}
			}
		}
	}
	return have
}

// TestAcceleratorsConvergeToAnotherDesiredState changes accelerators from one random desired state to another. It checks
// that the final state in AWS is the desired state, that a second plan is empty, and that no step interrupts a port in a
// region in which both states serve it. The simulation refuses what AWS would refuse.
func TestAcceleratorsConvergeToAnotherDesiredState(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		first, second := r.desiredAccelerator(), r.desiredAccelerator()
		facts := observed.Facts{Region: "us-west-2"}
		have := converge(t, first, observed.Stack{Facts: facts}, nil)
		final := converge(t, second, have, nil)
		stays := portsServedThroughout(have, final)
		var steps []plan.StepID
		last := converge(t, second, have, func(s plan.Step, now observed.Stack) {
			steps = append(steps, s.ID)
			for at, regions := range stays {
				l := listenerAt(now, at)
				if l == nil {
					t.Fatalf("seed %d: no listener at %v after %v", seed, at, steps)
				}
				for region := range regions {
					if !hasServingEndpoint(liveEndpointGroup(l, region)) {
						t.Fatalf("seed %d: nothing serves %v in %s after %v", seed, at, region, steps)
					}
				}
			}
		})
		a := last.Accelerators[0]
		if n := len(a.Listeners); n != len(second.Listeners) || a.Name != second.Name || a.AddressType != second.AddressType || !a.Enabled {
			t.Fatalf("seed %d: %d listeners of %s, want %d of %s", seed, n, a.Name, len(second.Listeners), second.Name)
		}
		for _, w := range second.Listeners {
			l := listenerAt(last, protocolPort{w.Protocol, w.Ports[0].From})
			if l == nil || !slices.Equal(l.Ports, w.Ports) || l.SourceIP != w.SourceIP || len(l.Groups) != len(w.Groups) {
				t.Fatalf("seed %d: listener %+v, want %+v", seed, l, w)
			}
			for _, g := range w.Groups {
				is := liveEndpointGroup(l, g.Region)
				if is == nil || is.Dial != float64(g.Dial) || !slices.Equal(is.Overrides, g.Overrides) || len(is.Endpoints) != len(g.Endpoints) {
					t.Fatalf("seed %d: endpoint group %+v, want %+v", seed, is, g)
				}
				for _, e := range g.Endpoints {
					if x := is.Endpoint(e.ID); x == nil || x.Weight != e.Weight || x.ClientIP != *e.ClientIP {
						t.Fatalf("seed %d: endpoint %+v, want %+v", seed, x, e)
					}
				}
			}
		}
	}
}

// TestAcceleratorsAreDeletedBeforeTheirObject checks that, if the object is deleted, the accelerator is deleted and the
// finalizer of the object is removed after that.
func TestAcceleratorsAreDeletedBeforeTheirObject(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		have := converge(t, r.desiredAccelerator(), observed.Stack{Facts: observed.Facts{Region: "us-west-2"}}, nil)
		gone := model.Stack{ID: stackID, Leaving: []model.Member{{Ref: member, Finalizer: "f", Claimed: true, Deleting: true}}}
		released := false
		for range 5 {
			p, _ := planner.Make(gone, have, options, plan.Memory{})
			done := p.NewProgress()
			for _, s := range p.Steps {
				if s.Waits() || !done.CanStart(s) {
					continue
				}
				if _, ok := s.Do.(plan.ReleaseFinalizer); ok {
					if len(have.Accelerators) > 0 {
						t.Fatalf("seed %d: the finalizer is removed before the accelerator is deleted", seed)
					}
					released = true
					continue
				}
				have = plantest.Simulate(have, p.KnownIDs, []plan.Step{s})
				done.MarkDone(s.ID)
			}
			have = withHealthyEndpoints(have)
		}
		if !released {
			t.Fatalf("seed %d: the finalizer is kept, %d accelerators are left", seed, len(have.Accelerators))
		}
	}
}
