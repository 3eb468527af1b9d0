package accelerators

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// followDials moves the traffic dials of endpoint groups one step towards their goal. A dial is only reduced below
// the one of the object while another endpoint group of the listener takes all traffic of its region, and is restored
// at once if none does. No dial moves while AWS deploys a change of the accelerator, so that each change is made with
// knowledge of the previous one.
func (m endpointGroupPlanner) followDials() {
	for i, p := range m.pairs {
		for j := range p.want.Groups {
			w := &p.want.Groups[j]
			if w.Follows == nil || p.live == nil {
				continue
			}
			k := slices.IndexFunc(p.live.Groups, func(g observed.EndpointGroup) bool { return g.Region == w.Region })
			if k < 0 {
				continue
			}
			as := *m.pairs[i].want
			as.Groups = slices.Clone(as.Groups)
			m.followDial(p, &as.Groups[j], p.live.Groups[k])
			m.pairs[i].want = &as
		}
	}
}

// followDial sets the next traffic dial of a live endpoint group.
func (m endpointGroupPlanner) followDial(p listenerPair, w *model.EndpointGroup, live observed.EndpointGroup) {
	to, is := float64(min(w.Dial, w.Follows.Dial)), live.Dial
	others := slices.Clone(m.others[p.live.ARN])
	for _, g := range p.live.Groups {
		if g.Region != w.Region {
			others = append(others, g)
		}
	}
	if to < is {
		m.Ask(model.AskAcceleratorState{ARN: p.live.ARN}) // the others may be those of other clusters
		m.RetryWithin(durations.DeniedWait)
	}
	switch step := float64(w.Follows.Step); {
	case !slices.ContainsFunc(others, takesAllTraffic) || is > float64(w.Dial):
		return // it gets what the object gives
	case m.live.State != observed.Deployed:
		w.DialHeld = true
		m.RetryWithin(durations.MissingWait)
	case to < is:
		m.Ask(model.AskAcceleratorState{ARN: p.live.ARN, Now: true})
		w.Dial = int32(max(to, is-step))
		w.DialHeld = !slices.ContainsFunc(others, func(g observed.EndpointGroup) bool {
			return takesAllTraffic(g) && slices.ContainsFunc(g.Endpoints, serving)
		})
	default:
		w.Dial = int32(min(to, is+step))
	}
}
