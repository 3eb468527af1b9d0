package serve

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

var compareAddresses = cmpopts.EquateComparable(netip.Addr{})

// forwardingConfig returns a configuration with these target groups. It has one listener, which forwards to the target group
// with the ARN group.
func forwardingConfig(group string, groups ...dataplane.TargetGroup) dataplane.Config {
	then := dataplane.Forward{TargetGroups: []dataplane.WeightedTargetGroup{{ARN: group, Weight: 1}}}
	return dataplane.Config{
		LoadBalancers: []dataplane.LoadBalancer{{ARN: "lb", Listeners: []dataplane.Listener{{ARN: "l", DefaultRule: dataplane.Rule{Action: then}}}}},
		TargetGroups:  groups,
	}
}

func newTargetGroup(arn string, targets ...dataplane.Target) dataplane.TargetGroup {
	return dataplane.TargetGroup{ARN: arn, Targets: targets}
}

func newTarget(id string, state dataplane.TargetState) dataplane.Target {
	return dataplane.Target{ID: id, State: state}
}

func TestAdditionsAreDelayedAndRemovalsAreImmediate(t *testing.T) {
	a, b := newTarget("a", dataplane.StateHealthy), newTarget("b", dataplane.StateHealthy)
	for name, c := range map[string]struct {
		latest buildResult
		want   dataplane.Config
	}{
		"a rule keeps its old target group, which no listener uses any more": {
			buildResult{config: forwardingConfig("new", newTargetGroup("new", b)), unusedTargetGroups: []dataplane.TargetGroup{newTargetGroup("old", newTarget("a", dataplane.StateUnused))}},
			forwardingConfig("old", newTargetGroup("old", a)),
		},
		"a deleted target group is removed from the old rule": {
			buildResult{config: forwardingConfig("new", newTargetGroup("new", b))},
			forwardingConfig("old"),
		},
		"a new target is not in use yet": {
			buildResult{config: forwardingConfig("old", newTargetGroup("old", a, b))},
			forwardingConfig("old", newTargetGroup("old", a)),
		},
		"a draining target is draining immediately": {
			buildResult{config: forwardingConfig("old", newTargetGroup("old", newTarget("a", dataplane.StateDraining), b))},
			forwardingConfig("old", newTargetGroup("old", newTarget("a", dataplane.StateDraining))),
		},
		"a changed health of a target is not taken over": {
			buildResult{config: forwardingConfig("old", newTargetGroup("old", newTarget("a", dataplane.StateUnhealthy)))},
			forwardingConfig("old", newTargetGroup("old", a)),
		},
		"a deleted load balancer is removed immediately": {
			buildResult{},
			dataplane.Config{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := propagation{delay: time.Second}
			start := time.Unix(1000, 0)
			first := buildResult{config: forwardingConfig("old", newTargetGroup("old", a)), builtAt: start}
			got, wait := p.apply(first)
			if diff := cmp.Diff(first.config, got, compareAddresses); diff != "" || wait != 0 {
				t.Errorf("the first configuration does not apply immediately (-want +got):\n%s", diff)
			}
			c.latest.builtAt = start.Add(10 * time.Second)
			got, wait = p.apply(c.latest)
			if diff := cmp.Diff(c.want, got, compareAddresses); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			c.latest.builtAt = c.latest.builtAt.Add(wait)
			got, wait = p.apply(c.latest)
			if diff := cmp.Diff(c.latest.config, got, compareAddresses); diff != "" {
				t.Errorf("after the delay (-want +got):\n%s", diff)
			}
			if wait > time.Second+time.Millisecond {
				t.Errorf("another change applies after %v", wait)
			}
		})
	}
}

// acceleratorConfig returns a configuration with an accelerator. The accelerator has one listener with these ports and
// endpoint groups.
func acceleratorConfig(ports dataplane.PortRange, groups ...dataplane.EndpointGroup) dataplane.Config {
	return dataplane.Config{Accelerators: []dataplane.Accelerator{{ARN: "a", Listeners: []dataplane.AcceleratorListener{
		{ARN: "l", Ports: []dataplane.PortRange{ports}, EndpointGroups: groups},
	}}}}
}

func TestAcceleratorChangesAreDelayed(t *testing.T) {
	endpoint := func(id string, healthy bool) dataplane.AcceleratorEndpoint {
		return dataplane.AcceleratorEndpoint{ID: id, Weight: 1, IsHealthy: healthy}
	}
	x, y := endpoint("x", true), endpoint("y", true)
	regional := func(arn string, list ...dataplane.AcceleratorEndpoint) dataplane.EndpointGroup {
		return dataplane.EndpointGroup{ARN: arn, Endpoints: list}
	}
	ports := dataplane.PortRange{From: 80, To: 80}
	old := acceleratorConfig(ports, regional("g", x, y), regional("h", x))
	none := acceleratorConfig(ports)
	none.Accelerators[0].Listeners = nil
	for name, c := range map[string]struct{ latest, want dataplane.Config }{
		"other ports":                  {acceleratorConfig(dataplane.PortRange{From: 81, To: 81}, regional("g", x, y), regional("h", x)), old},
		"a removed endpoint":           {acceleratorConfig(ports, regional("g", y), regional("h", x)), acceleratorConfig(ports, regional("g", y), regional("h", x))},
		"a new endpoint":               {acceleratorConfig(ports, regional("g", x, y), regional("h", x, y)), old},
		"an endpoint of another group": {acceleratorConfig(ports, regional("g", x), regional("h", x, y)), acceleratorConfig(ports, regional("g", x), regional("h", x))},
		"a removed endpoint group":     {acceleratorConfig(ports, regional("g", x, y)), acceleratorConfig(ports, regional("g", x, y))},
		"health":                       {acceleratorConfig(ports, regional("g", endpoint("x", false), y), regional("h", x)), acceleratorConfig(ports, regional("g", endpoint("x", false), y), regional("h", x))},
		"a deleted listener":           {none, none},
		"a disabled accelerator":       {dataplane.Config{}, dataplane.Config{}},
	} {
		p := propagation{delay: time.Second}
		start := time.Unix(1000, 0)
		p.apply(buildResult{config: old, builtAt: start})
		got, _ := p.apply(buildResult{config: c.latest, builtAt: start.Add(10 * time.Second)})
		if diff := cmp.Diff(c.want, got, compareAddresses); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDelayedChangesKeepTheirOrder(t *testing.T) {
	p := propagation{delay: time.Second}
	start := time.Unix(1000, 0)
	groups := []dataplane.TargetGroup{newTargetGroup("0"), newTargetGroup("1"), newTargetGroup("2")}
	for i, at := range []time.Duration{0, 10 * time.Second, 10*time.Second + 600*time.Millisecond} {
		p.apply(buildResult{config: forwardingConfig(groups[i].ARN, groups...), builtAt: start.Add(at)})
	}
	for _, step := range []struct {
		at   time.Duration
		want string
	}{{10*time.Second + 900*time.Millisecond, "0"}, {11*time.Second + 100*time.Millisecond, "1"}, {12 * time.Second, "2"}} {
		got, _ := p.apply(buildResult{config: forwardingConfig("2", groups...), builtAt: start.Add(step.at)})
		if diff := cmp.Diff(forwardingConfig(step.want, groups...), got, compareAddresses); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.at, diff)
		}
	}
}
