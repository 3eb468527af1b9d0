package accelerators

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// listenerPair has a desired listener and the observed listener that is changed to it. live is nil if the listener must be
// created.
type listenerPair struct {
	want *model.AcceleratorListener
	live *observed.AcceleratorListener
}

func (p listenerPair) address() plan.Address {
	return plan.Address{Kind: plan.AcceleratorListener, ID: p.want.ID}
}

// liveEndpointGroup returns the observed endpoint group in a region; nil if there is none.
func (p listenerPair) liveEndpointGroup(region string) *observed.EndpointGroup {
	if p.live == nil {
		return nil
	}
	i := slices.IndexFunc(p.live.Groups, func(g observed.EndpointGroup) bool { return g.Region == region })
	if i < 0 {
		return nil
	}
	return &p.live.Groups[i]
}

// desiredEndpointGroup returns the desired endpoint group in a region; nil if there is none.
func (p listenerPair) desiredEndpointGroup(region string) *model.EndpointGroup {
	i := slices.IndexFunc(p.want.Groups, func(g model.EndpointGroup) bool { return g.Region == region })
	if i < 0 {
		return nil
	}
	return &p.want.Groups[i]
}

// needsChange reports whether the observed listener differs from the desired listener. live must not be nil.
func (p listenerPair) needsChange() bool {
	return p.live.Protocol != p.want.Protocol || !slices.Equal(p.live.Ports, p.want.Ports) || p.live.SourceIP != p.want.SourceIP
}

// minSimilarity is the minimum similarity at which an observed listener is changed to a desired listener. Below it, the
// observed listener is deleted and a new listener is created.
const minSimilarity = 15

// similarity returns a score for how similar the desired and the observed listener are: up to 100 for common ports, 40 for
// the same protocol and 10 for the same client affinity. The AWS Load Balancer Controller computes the same score.
func similarity(want model.AcceleratorListener, live observed.AcceleratorListener) int {
	common, all := countOverlap(want.Ports, live.Ports)
	score := 100 * common / max(all, 1)
	if want.Protocol == live.Protocol {
		score += 40
	}
	if want.SourceIP == live.SourceIP {
		score += 10
	}
	return score
}

// countOverlap returns the number of ports that are in both lists, and the number of ports that are in at least one list.
func countOverlap(a, b []model.PortRange) (common, all int) {
	for _, x := range a {
		all += int(x.To-x.From) + 1
		for _, y := range b {
			common += max(0, int(min(x.To, y.To)-max(x.From, y.From))+1)
		}
	}
	for _, y := range b {
		all += int(y.To-y.From) + 1
	}
	return common, all - common
}

// matchListeners finds the observed listener for each desired listener. Listeners with the same protocol and ports are
// matched first, then the most similar listeners.
func (m *acceleratorPlanner) matchListeners() {
	var live []observed.AcceleratorListener
	if m.live != nil {
		live = m.live.Listeners
	}
	taken := make([]bool, len(live))
	m.listenerPairs = make([]listenerPair, len(m.want.Listeners))
	take := func(i, j int) { m.listenerPairs[i].live, taken[j] = &live[j], true }
	for i := range m.want.Listeners {
		w := copyOfListener(m.want.Listeners[i])
		m.listenerPairs[i].want = w
		j := slices.IndexFunc(live, func(l observed.AcceleratorListener) bool {
			return l.Protocol == w.Protocol && slices.Equal(l.Ports, w.Ports)
		})
		if j >= 0 && !taken[j] {
			take(i, j)
		}
	}
	type candidate struct{ i, j, score int }
	var all []candidate
	for i, p := range m.listenerPairs {
		for j, l := range live {
			if score := similarity(*p.want, l); p.live == nil && !taken[j] && score >= minSimilarity {
				all = append(all, candidate{i, j, score})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(b.score-a.score, a.i-b.i, cmp.Compare(live[a.j].ARN, live[b.j].ARN))
	})
	for _, c := range all {
		if m.listenerPairs[c.i].live == nil && !taken[c.j] {
			take(c.i, c.j)
		}
	}
	for _, p := range m.listenerPairs {
		if p.live != nil {
			m.KnownIDs[p.address()] = p.live.ARN
		}
	}
	for j, l := range live {
		if !taken[j] {
			m.surplusListeners = append(m.surplusListeners, l)
		}
	}
}

// copyOfListener returns a copy of a desired listener. In the copy, the planner may replace desired settings by observed
// settings that are retained.
func copyOfListener(l model.AcceleratorListener) *model.AcceleratorListener {
	l.Groups = slices.Clone(l.Groups)
	return &l
}

// portsOverlap reports whether two listeners have the same protocol and at least one common port.
func portsOverlap(p model.BaseProtocol, a []model.PortRange, q model.BaseProtocol, b []model.PortRange) bool {
	return p == q && slices.ContainsFunc(a, func(r model.PortRange) bool { return slices.ContainsFunc(b, r.Overlaps) })
}

// withoutPorts returns the ports of a that are not in b.
func withoutPorts(a, b []model.PortRange) []model.PortRange {
	for _, y := range b {
		var rest []model.PortRange
		for _, x := range a {
			if !x.Overlaps(y) {
				rest = append(rest, x)
				continue
			}
			if x.From < y.From {
				rest = append(rest, model.PortRange{From: x.From, To: y.From - 1})
			}
			if x.To > y.To {
				rest = append(rest, model.PortRange{From: y.To + 1, To: x.To})
			}
		}
		a = rest
	}
	return a
}
