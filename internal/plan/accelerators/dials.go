package accelerators

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// planDials changes each traffic dial with a dial rule by one step towards the target value of the rule. A dial is lower
// than the value in the GlobalAccelerator only while another endpoint group of the listener takes all traffic of its region.
// If there is no such endpoint group, the dial returns to the value in the object at once. If there is one, no dial changes
// while AWS deploys a change of the accelerator, so that each change is based on the result of the previous change.
func (m endpointGroupPlanner) planDials() {
	for _, p := range m.listenerPairs {
		for j := range p.want.Groups {
			w := &p.want.Groups[j]
			if live := p.liveEndpointGroup(w.Region); w.DialRule != nil && live != nil {
				m.planDial(p, w, *live)
			}
		}
	}
}

// planDial sets the next traffic dial of an existing endpoint group.
func (m endpointGroupPlanner) planDial(p listenerPair, w *model.EndpointGroup, live observed.EndpointGroup) {
	to, is := float64(min(w.Dial, w.DialRule.Dial)), live.Dial
	others := slices.Clone(m.endpointGroupsOfOthers[p.live.ARN])
	for _, g := range p.live.Groups {
		if g.Region != w.Region {
			others = append(others, g)
		}
	}
	if to < is {
		m.Ask(model.AskAcceleratorState{ARN: p.live.ARN}) // other clusters may change these dials
		m.RetryWithin(durations.LongestTransientBackOff)
	}
	switch step := float64(w.DialRule.Step); {
	case !slices.ContainsFunc(others, hasFullDial) || is > float64(w.Dial):
		return // w.Dial has the value in the GlobalAccelerator, to which the dial returns
	case m.live.State != observed.AcceleratorDeployed:
		w.DialHeld = true
		m.RetryWithin(durations.MissingWait)
	case to < is:
		m.Ask(model.AskAcceleratorState{ARN: p.live.ARN, Now: true})
		w.Dial = int32(max(to, is-step))
		w.DialHeld = !slices.ContainsFunc(others, func(g observed.EndpointGroup) bool {
			return hasFullDial(g) && slices.ContainsFunc(g.Endpoints, isServing)
		})
	default:
		w.Dial = int32(min(to, is+step))
	}
}
