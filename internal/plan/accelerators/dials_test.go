package accelerators_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// fullTestDial is the traffic dial of an endpoint group if the GlobalAccelerator sets none.
const fullTestDial = 100

// dialTest has an accelerator with endpoint groups of two clusters, the owner and a guest. Their traffic dials follow the
// share of ready targets.
type dialTest struct {
	have       observed.Stack
	step       int32
	objectDial int32 // traffic dial that the GlobalAccelerator sets for each endpoint group
}

func newDialTest(t *testing.T, step int32) *dialTest {
	t.Helper()
	want := &model.Accelerator{Name: "edge", AddressType: model.IPv4, UID: "u", Listeners: []model.AcceleratorListener{{ID: "Listener-0", Protocol: model.TCP, Ports: []model.PortRange{{From: 443, To: 443}}}}}
	for _, region := range []string{ownRegion, guestRegion} {
		want.Listeners[0].Groups = append(want.Listeners[0].Groups, endpointGroupIn(region, nil))
	}
	have := withHealthyEndpoints(converge(t, want, observed.Stack{Facts: observed.Facts{Region: ownRegion}}, nil))
	a := &have.Accelerators[0]
	a.State, a.Tags[naming.GuestTag(guestRegion)] = observed.AcceleratorDeployed, naming.GuestTagValue(options.Cluster, stackID)
	return &dialTest{have: have, step: step, objectDial: fullTestDial}
}

func endpointGroupIn(region string, follows *model.DialRule) model.EndpointGroup {
	return model.EndpointGroup{ID: "EndpointGroup-0-" + region, Region: region, Dial: 100, DialRule: follows, Endpoints: []model.Endpoint{{ID: "arn:" + region, Weight: 128, ClientIP: new(bool)}}}
}

// changeDial makes a plan for the cluster in a region with a new target value of the dial, carries out its dial changes, and
// returns the plan.
func (d *dialTest) changeDial(region string, to int32) plan.Plan {
	acc := &model.Accelerator{Name: "edge", AddressType: model.IPv4, UID: "u", Listeners: []model.AcceleratorListener{{
		ID: "Listener-0", Protocol: model.TCP, Ports: []model.PortRange{{From: 443, To: 443}},
		Groups: []model.EndpointGroup{endpointGroupIn(region, &model.DialRule{Dial: to, Step: d.step})},
	}}}
	acc.Listeners[0].Groups[0].Dial = d.objectDial
	live := plantest.Clone(d.have)
	stack, have := desiredStack(acc, live.Accelerators[0].ARN), live
	if region == guestRegion {
		acc.Shared = live.Accelerators[0].ARN
		stack, have = desiredStack(acc, ""), observed.Stack{SharedAccelerator: &live.Accelerators[0]}
	} else {
		acc.Guests = map[string]string{guestRegion: naming.GuestTagValue(options.Cluster, stackID)}
	}
	have.Facts = observed.Facts{Region: region, RecordedAccelerator: observed.RecordedOwn}
	p, _ := planner.Make(stack, have, options, plan.Memory{})
	for _, s := range p.Steps {
		if _, ok := s.Do.(plan.ChangeEndpointGroup); ok {
			d.have = plantest.Simulate(d.have, p.KnownIDs, []plan.Step{s})
			d.have.Accelerators[0].State = "IN_PROGRESS"
		}
	}
	return p
}

func (d *dialTest) liveDial(region string) float64 {
	for _, g := range endpointGroupsIn(d.have.Accelerators[0], region) {
		return g.Dial
	}
	return math.NaN()
}

func (d *dialTest) finishDeployment() { d.have.Accelerators[0].State = observed.AcceleratorDeployed }

// TestDialsFollowReadyTargets checks the traffic dials of two clusters while their numbers of ready targets change. A dial
// changes by at most one step, is not lowered while a change is being deployed, and at least one region always has a dial of
// 100.
func TestDialsFollowReadyTargets(t *testing.T) {
	t.Parallel()
	lowered := 0
	for seed := range uint64(300) {
		r := random{rand.New(rand.NewPCG(seed, 7))}
		d := newDialTest(t, []int32{5, 20, 30, 100}[r.IntN(4)])
		to := map[string]int32{ownRegion: 100, guestRegion: 100}
		for range 60 {
			region := []string{ownRegion, guestRegion}[r.IntN(2)]
			if r.isOneIn(4) {
				to[region] = 10 * (1 + r.Int32N(10))
			}
			was, moved := d.liveDial(region), d.have.Accelerators[0].State != observed.AcceleratorDeployed
			d.changeDial(region, to[region])
			is := d.liveDial(region)
			switch {
			case math.Abs(is-was) > float64(d.step), moved && is < was:
				t.Fatalf("seed %d: the dial of %s goes from %v to %v, with steps of %d (spreading: %v)", seed, region, was, is, d.step, moved)
			case d.liveDial(ownRegion) < 100 && d.liveDial(guestRegion) < 100:
				t.Fatalf("seed %d: no region is at 100", seed)
			case is < was:
				lowered++
			}
			if r.isOneIn(2) {
				d.finishDeployment()
			}
		}
		// In the end the dial equals the share of ready targets, while the dial of the other region is 100.
		to = map[string]int32{ownRegion: 100, guestRegion: 40}
		for range 50 {
			d.changeDial(ownRegion, to[ownRegion])
			d.finishDeployment()
			d.changeDial(guestRegion, to[guestRegion])
			d.finishDeployment()
		}
		if d.liveDial(ownRegion) != 100 || d.liveDial(guestRegion) != 40 {
			t.Fatalf("seed %d: the dials end at %v and %v", seed, d.liveDial(ownRegion), d.liveDial(guestRegion))
		}
	}
	if lowered < 300 {
		t.Errorf("dials were lowered only %d times", lowered)
	}
}

// TestDialIsNotLoweredWithoutAnotherServingRegion checks that a dial is not lowered if the other region has no healthy
// endpoint. It also checks that a lowered dial returns to 100 at once if no region has a dial of 100.
func TestDialIsNotLoweredWithoutAnotherServingRegion(t *testing.T) {
	t.Parallel()
	d := newDialTest(t, 20)
	setHealth := func(region, health string) {
		for i := range d.have.Accelerators[0].Listeners[0].Groups {
			if g := &d.have.Accelerators[0].Listeners[0].Groups[i]; g.Region == region {
				g.Endpoints[0].Health = health
			}
		}
	}
	setHealth(ownRegion, "UNHEALTHY")
	d.changeDial(guestRegion, 40)
	if d.liveDial(guestRegion) != 100 {
		t.Errorf("beside an unhealthy region the dial becomes %v", d.liveDial(guestRegion))
	}
	setHealth(ownRegion, observed.EndpointHealthy)
	for range 5 {
		d.changeDial(guestRegion, 40)
		d.finishDeployment()
	}
	if d.liveDial(guestRegion) != 40 {
		t.Errorf("beside a healthy region the dial becomes %v", d.liveDial(guestRegion))
	}
	for i := range d.have.Accelerators[0].Listeners[0].Groups {
		if g := &d.have.Accelerators[0].Listeners[0].Groups[i]; g.Region == ownRegion {
			g.Dial = 50 // a change by a user in AWS
		}
	}
	d.changeDial(guestRegion, 40)
	if d.liveDial(guestRegion) != 100 {
		t.Errorf("where no region is at 100 the dial becomes %v", d.liveDial(guestRegion))
	}
}

// TestDialsDoNotExceedTheDialOfTheObject checks that a dial that follows ready targets never exceeds the dial in the
// GlobalAccelerator, and that a dial above this value is lowered to it at once, not step by step.
func TestDialsDoNotExceedTheDialOfTheObject(t *testing.T) {
	t.Parallel()
	d := newDialTest(t, 20)
	d.objectDial = 50
	for _, to := range []int32{100, 50, 100} {
		d.changeDial(guestRegion, to)
		d.finishDeployment()
		if d.liveDial(guestRegion) != 50 {
			t.Fatalf("with %d%% of the targets ready the dial becomes %v", to, d.liveDial(guestRegion))
		}
	}
	d.changeDial(guestRegion, 40)
	if d.liveDial(guestRegion) != 40 {
		t.Errorf("below what the object gives the dial becomes %v", d.liveDial(guestRegion))
	}
}

// TestDialIsLoweredOnlyAfterOtherDialsAreRead checks that the dials of the other regions are read from AWS before a dial is
// lowered, because another cluster may have just lowered its dial. Before a dial is raised, they are not read.
func TestDialIsLoweredOnlyAfterOtherDialsAreRead(t *testing.T) {
	t.Parallel()
	d := newDialTest(t, 20)
	asks := func(p plan.Plan) bool {
		return slices.ContainsFunc(p.Questions, func(q model.Question) bool {
			x, ok := q.(model.AskAcceleratorState)
			return ok && x.Now
		})
	}
	if !asks(d.changeDial(guestRegion, 40)) {
		t.Error("a dial is lowered without a look at what others have now")
	}
	d.finishDeployment()
	if asks(d.changeDial(guestRegion, 100)) {
		t.Error("a dial is raised after a look that nothing needs")
	}
}
