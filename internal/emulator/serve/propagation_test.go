package serve

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

var addresses = cmpopts.EquateComparable(netip.Addr{})

// forwarding returns a configuration with one listener that forwards to a target group.
func forwarding(group string, groups ...dataplane.TargetGroup) dataplane.Config {
	then := dataplane.Forward{Groups: []dataplane.WeightedGroup{{ARN: group, Weight: 1}}}
	return dataplane.Config{
		LoadBalancers: []dataplane.LoadBalancer{{ARN: "lb", Listeners: []dataplane.Listener{{ARN: "l", Default: dataplane.Rule{Then: then}}}}},
		TargetGroups:  groups,
	}
}

func group(arn string, targets ...dataplane.Target) dataplane.TargetGroup {
	return dataplane.TargetGroup{ARN: arn, Targets: targets}
}

func target(id string, state dataplane.State) dataplane.Target {
	return dataplane.Target{ID: id, State: state}
}

func TestAdditionsAreDelayedAndRemovalsAreImmediate(t *testing.T) {
	a, b := target("a", dataplane.StateHealthy), target("b", dataplane.StateHealthy)
	for name, c := range map[string]struct {
		latest buildResult
		want   dataplane.Config
	}{
		"a rule keeps its old target group, which no listener uses any more": {
			buildResult{config: forwarding("new", group("new", b)), idle: []dataplane.TargetGroup{group("old", target("a", dataplane.StateUnused))}},
			forwarding("old", group("old", a)),
		},
		"a deleted target group is removed from the old rule": {
			buildResult{config: forwarding("new", group("new", b))},
			forwarding("old"),
		},
		"a new target is not in use yet": {
			buildResult{config: forwarding("old", group("old", a, b))},
			forwarding("old", group("old", a)),
		},
		"a target that drains gets nothing more": {
			buildResult{config: forwarding("old", group("old", target("a", dataplane.StateDraining), b))},
			forwarding("old", group("old", target("a", dataplane.StateDraining))),
		},
		"a target whose health has changed is the checks' affair": {
			buildResult{config: forwarding("old", group("old", target("a", dataplane.StateUnhealthy)))},
			forwarding("old", group("old", a)),
		},
		"a deleted load balancer is gone": {
			buildResult{},
			dataplane.Config{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := propagation{delay: time.Second}
			start := time.Unix(1000, 0)
			first := buildResult{config: forwarding("old", group("old", a)), at: start}
			got, wait := p.apply(first)
			if diff := cmp.Diff(first.config, got, addresses); diff != "" || wait != 0 {
				t.Errorf("the first configuration is not in force at once (-want +got):\n%s", diff)
			}
			c.latest.at = start.Add(10 * time.Second)
			got, wait = p.apply(c.latest)
			if diff := cmp.Diff(c.want, got, addresses); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			c.latest.at = c.latest.at.Add(wait)
			got, wait = p.apply(c.latest)
			if diff := cmp.Diff(c.latest.config, got, addresses); diff != "" {
				t.Errorf("after the delay (-want +got):\n%s", diff)
			}
			if wait > time.Second+time.Millisecond {
				t.Errorf("more is to come after %v", wait)
			}
		})
	}
}

// anycast returns a configuration with an accelerator that has one listener.
func anycast(ports dataplane.PortRange, groups ...dataplane.EndpointGroup) dataplane.Config {
	return dataplane.Config{Accelerators: []dataplane.Accelerator{{ARN: "a", Listeners: []dataplane.AcceleratorListener{
		{ARN: "l", Ports: []dataplane.PortRange{ports}, Groups: groups},
	}}}}
}

func TestAcceleratorChangesAreDelayed(t *testing.T) {
	endpoint := func(id string, healthy bool) dataplane.AcceleratorEndpoint {
		return dataplane.AcceleratorEndpoint{ID: id, Weight: 1, Healthy: healthy}
	}
	x, y := endpoint("x", true), endpoint("y", true)
	regional := func(arn string, list ...dataplane.AcceleratorEndpoint) dataplane.EndpointGroup {
		return dataplane.EndpointGroup{ARN: arn, Endpoints: list}
	}
	ports := dataplane.PortRange{From: 80, To: 80}
	old := anycast(ports, regional("g", x, y), regional("h", x))
	none := anycast(ports)
	none.Accelerators[0].Listeners = nil
	for name, c := range map[string]struct{ latest, want dataplane.Config }{
		"other ports":                  {anycast(dataplane.PortRange{From: 81, To: 81}, regional("g", x, y), regional("h", x)), old},
		"a removed endpoint":           {anycast(ports, regional("g", y), regional("h", x)), anycast(ports, regional("g", y), regional("h", x))},
		"a new endpoint":               {anycast(ports, regional("g", x, y), regional("h", x, y)), old},
		"an endpoint of another group": {anycast(ports, regional("g", x), regional("h", x, y)), anycast(ports, regional("g", x), regional("h", x))},
		"a removed endpoint group":     {anycast(ports, regional("g", x, y)), anycast(ports, regional("g", x, y))},
		"health":                       {anycast(ports, regional("g", endpoint("x", false), y), regional("h", x)), anycast(ports, regional("g", endpoint("x", false), y), regional("h", x))},
		"a deleted listener":           {none, none},
		"a disabled accelerator":       {dataplane.Config{}, dataplane.Config{}},
	} {
		p := propagation{delay: time.Second}
		start := time.Unix(1000, 0)
		p.apply(buildResult{config: old, at: start})
		got, _ := p.apply(buildResult{config: c.latest, at: start.Add(10 * time.Second)})
		if diff := cmp.Diff(c.want, got, addresses); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDelayedChangesKeepTheirOrder(t *testing.T) {
	p := propagation{delay: time.Second}
	start := time.Unix(1000, 0)
	groups := []dataplane.TargetGroup{group("0"), group("1"), group("2")}
	for i, at := range []time.Duration{0, 10 * time.Second, 10*time.Second + 600*time.Millisecond} {
		p.apply(buildResult{config: forwarding(groups[i].ARN, groups...), at: start.Add(at)})
	}
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{10*time.Second + 900*time.Millisecond, "0"}, {11*time.Second + 100*time.Millisecond, "1"}, {12 * time.Second, "2"}} {
		got, _ := p.apply(buildResult{config: forwarding("2", groups...), at: start.Add(step.at)})
		if diff := cmp.Diff(forwarding(step.want, groups...), got, addresses); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.at, diff)
		}
	}
}
