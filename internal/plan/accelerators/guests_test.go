package accelerators_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

const ownRegion, guestRegion = "us-west-2", "eu-west-1"

// endpointGroupsIn returns the endpoint groups in a region, by ARN.
func endpointGroupsIn(a observed.Accelerator, region string) map[string]observed.EndpointGroup {
	out := map[string]observed.EndpointGroup{}
	for _, l := range a.Listeners {
		for _, g := range l.Groups {
			if g.Region == region {
				out[g.ARN] = g
			}
		}
	}
	return out
}

// sharedAccelerator returns a random accelerator with the tag that permits a guest cluster to own the endpoint groups in
// guestRegion. The accelerator is in the state in which its owner created it.
func (r random) sharedAccelerator(t *testing.T) observed.Accelerator {
	t.Helper()
	have := converge(t, r.desiredAccelerator(), observed.Stack{Facts: observed.Facts{Region: ownRegion}}, nil)
	a := plantest.Clone(have).Accelerators[0]
	if a.Tags == nil {
		a.Tags = map[string]string{}
	}
	a.Tags[naming.GuestTag(guestRegion)] = naming.GuestTagValue(options.Cluster, stackID)
	return a
}

// TestOwnersDoNotChangeEndpointGroupsOfGuests changes or deletes the desired accelerator of the owner. It checks that no
// step changes an endpoint group of the guest, that each of these endpoint groups keeps its listener, and that AWS refuses
// no step because of them.
func TestOwnersDoNotChangeEndpointGroupsOfGuests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := random{rand.New(rand.NewPCG(seed, 3))}
		live := r.sharedAccelerator(t)
		have := withHealthyEndpoints(observed.Stack{Accelerators: []observed.Accelerator{live}, Facts: observed.Facts{Region: ownRegion, RecordedAccelerator: observed.RecordedOwn}})
		guests := endpointGroupsIn(have.Accelerators[0], guestRegion)
		want := r.desiredAccelerator()
		want.Guests = map[string]string{guestRegion: naming.GuestTagValue(options.Cluster, stackID)}
		for i := range want.Listeners {
			l := &want.Listeners[i]
			var own []model.EndpointGroup
			for _, g := range l.Groups {
				if g.Region == ownRegion {
					own = append(own, g)
				}
			}
			l.Groups = own
		}
		stack := desiredStack(want, live.ARN)
		if r.isOneIn(4) {
			stack.Members, stack.Leaving = nil, []model.Member{{Ref: member, Finalizer: "f", Claimed: true, Deleting: true, Recorded: live.ARN}}
		}
		for range 8 {
			p, _ := planner.Make(stack, have, options, plan.Memory{})
			known, done := p.KnownIDs, p.NewProgress()
			for _, s := range p.Steps {
				if s.Waits() || !done.CanStart(s) {
					continue
				}
				if _, released := s.Do.(plan.ReleaseFinalizer); released {
					if len(guests) > 0 {
						t.Fatalf("seed %d: the owner is released while a guest has endpoint groups", seed)
					}
					continue
				}
				have = plantest.Simulate(have, known, []plan.Step{s})
				if s.Verb == plan.Create {
					known[s.Address] = newestID(have, s.Address)
				}
				done.MarkDone(s.ID)
				now := map[string]observed.EndpointGroup{}
				if len(have.Accelerators) > 0 {
					now = endpointGroupsIn(have.Accelerators[0], guestRegion)
				}
				if !reflect.DeepEqual(now, guests) {
					t.Fatalf("seed %d: %s changes the guest's endpoint groups:\n%+v\nwant %+v", seed, s.ID, now, guests)
				}
			}
			have = withHealthyEndpoints(have)
		}
	}
}

// TestGuestsChangeOnlyTheirOwnEndpointGroups changes or deletes the desired state of a guest. It checks that each step
// changes only endpoint groups in the region of the guest, and that no step changes an endpoint group if the guest tag is
// missing.
func TestGuestsChangeOnlyTheirOwnEndpointGroups(t *testing.T) {
	t.Parallel()
	steps, held := 0, 0
	for seed := range uint64(2000) {
		r := random{rand.New(rand.NewPCG(seed, 4))}
		live := r.sharedAccelerator(t)
		consent := !r.isOneIn(4)
		if !consent {
			live.Tags = maps.Clone(live.Tags)
			delete(live.Tags, naming.GuestTag(guestRegion))
		}
		own := endpointGroupsIn(live, guestRegion)
		want := r.desiredAccelerator()
		want.Shared = live.ARN
		for i := range want.Listeners {
			l := &want.Listeners[i]
			if r.isOneIn(2) && i < len(live.Listeners) {
				l.Protocol, l.Ports = live.Listeners[i].Protocol, live.Listeners[i].Ports
			}
			l.Groups = nil
			g := model.EndpointGroup{ID: fmt.Sprintf("EndpointGroup-%d-0", i), Region: guestRegion, Dial: 100}
			g.Endpoints = []model.Endpoint{{ID: fmt.Sprint("arn:new:", r.IntN(3)), Weight: 128, ClientIP: new(bool)}}
			if r.isOneIn(2) {
				g.Overrides = []model.PortOverride{{Listener: l.Ports[0].From, Endpoint: []int32{443 + 7000*int32(i), 7000 + int32(i)}[r.IntN(2)]}}
			}
			l.Groups = append(l.Groups, g)
		}
		stack := desiredStack(want, "")
		if r.isOneIn(4) {
			stack.Members, stack.Leaving = nil, []model.Member{{Ref: member, Finalizer: "f", Claimed: true, Deleting: true}}
		}
		p, found := planner.Make(stack, observed.Stack{SharedAccelerator: &live, Facts: observed.Facts{Region: guestRegion}}, options, plan.Memory{})
		have, done := observed.Stack{Accelerators: []observed.Accelerator{plantest.Clone(observed.Stack{Accelerators: []observed.Accelerator{live}}).Accelerators[0]}}, p.NewProgress()
		for _, f := range found {
			if f.Reason == finding.PortOverrideInvalid {
				held++
			}
		}
		for _, s := range p.Steps {
			if !s.Waits() && done.CanStart(s) {
				have = plantest.Simulate(have, p.KnownIDs, []plan.Step{s}) // fails the test if AWS would refuse the step
				if s.Verb == plan.Create {
					p.KnownIDs[s.Address] = newestID(have, s.Address)
				}
				done.MarkDone(s.ID)
			}
			if _, release := s.Do.(plan.ReleaseFinalizer); release {
				continue
			}
			if s.Address.Kind != plan.EndpointGroup {
				if plan.IsAcceleratorKind(s.Address.Kind) || s.Verb == plan.Delete {
					t.Fatalf("seed %d: the guest plans %s", seed, s.ID)
				}
				continue
			}
			steps++
			if create, ok := s.Do.(plan.CreateEndpointGroup); ok {
				if create.Region != guestRegion || !consent {
					t.Fatalf("seed %d: the guest plans %s in %s", seed, s.ID, create.Region)
				}
				continue
			}
			if _, its := own[cmp.Or(p.KnownIDs[s.Address], s.Address.ID)]; !its || !consent {
				t.Fatalf("seed %d: the guest plans %s, of which it owns nothing", seed, s.ID)
			}
		}
	}
	if steps < 500 || held < 20 {
		t.Errorf("only %d steps and %d contradictions were seen", steps, held)
	}
}
