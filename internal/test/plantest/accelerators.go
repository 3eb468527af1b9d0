package plantest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// cloneAccelerators returns a deep copy of accelerators.
func cloneAccelerators(list []observed.Accelerator) []observed.Accelerator {
	list = slices.Clone(list)
	for i := range list {
		a := &list[i]
		a.Tags, a.Listeners = maps.Clone(a.Tags), slices.Clone(a.Listeners)
		for j := range a.Listeners {
			l := &a.Listeners[j]
			l.Ports, l.Groups = slices.Clone(l.Ports), slices.Clone(l.Groups)
			for k := range l.Groups {
				l.Groups[k].Overrides, l.Groups[k].Endpoints = slices.Clone(l.Groups[k].Overrides), slices.Clone(l.Groups[k].Endpoints)
			}
		}
	}
	return list
}

// acceleratorSteps simulates steps that change accelerators, their listeners and endpoint groups.
type acceleratorSteps struct{ *simulation }

// applyAcceleratorStep changes the observed state as AWS would for a step that changes an accelerator. It panics if AWS
// would reject the step. It returns false, without a change, for other steps.
func (s acceleratorSteps) applyAcceleratorStep(st plan.Step) bool {
	switch do := st.Do.(type) {
	case plan.RecordAccelerator:
		s.have.Facts.RecordedAccelerator = observed.RecordedOwn
	case plan.CreateAccelerator:
		id := st.Address.String()
		s.have.Accelerators = append(s.have.Accelerators, observed.Accelerator{
			ARN: id, Name: do.Name, AddressType: do.AddressType, Enabled: true, State: observed.AcceleratorInProgress, Tags: maps.Clone(do.Tags),
			DNSName: "a1.awsglobalaccelerator.com", Addresses: []observed.AddressSet{{Family: "IPv4", Addresses: []string{"192.0.2.1", "198.51.100.1"}}},
		})
		s.known[st.Address] = id
		return true
	case plan.ChangeAccelerator:
		a := s.acceleratorAt(do.Accelerator)
		a.Name, a.AddressType = cmp.Or(do.Name, a.Name), cmp.Or(do.AddressType, a.AddressType)
		if do.Enabled != nil {
			a.Enabled = *do.Enabled
		}
	case plan.DeleteAccelerator:
		a := s.acceleratorAt(plan.Address{Kind: plan.Accelerator, ID: do.ARN})
		if a.Enabled || len(a.Listeners) > 0 {
			panic("simulate: a step deletes an accelerator that is enabled or has listeners")
		}
		s.have.Accelerators = slices.DeleteFunc(s.have.Accelerators, func(o observed.Accelerator) bool { return o.ARN == do.ARN })
		return true
	case plan.CreateAcceleratorListener:
		a := s.acceleratorAt(do.Accelerator)
		arn := fmt.Sprintf("%s/listener/%s-%d", a.ARN, st.Address.ID, s.resourceCount())
		a.Listeners = append(a.Listeners, observed.AcceleratorListener{ARN: arn, Protocol: do.Settings.Protocol, Ports: do.Settings.Ports, SourceIP: do.Settings.SourceIPAffinity})
		s.known[st.Address] = arn
	case plan.ChangeAcceleratorListener:
		l := s.acceleratorListener(s.id(do.Listener))
		l.Protocol, l.Ports, l.SourceIP = do.Settings.Protocol, do.Settings.Ports, do.Settings.SourceIPAffinity
	case plan.DeleteAcceleratorListener:
		if len(s.acceleratorListener(do.ARN).Groups) > 0 {
			panic("simulate: a step deletes a listener that has endpoint groups")
		}
		a := &s.have.Accelerators[0]
		a.Listeners = slices.DeleteFunc(a.Listeners, func(l observed.AcceleratorListener) bool { return l.ARN == do.ARN })
	case plan.CreateEndpointGroup:
		l := s.acceleratorListener(s.id(do.Listener))
		if slices.ContainsFunc(l.Groups, func(g observed.EndpointGroup) bool { return g.Region == do.Region }) {
			panic("simulate: a step adds a second endpoint group of a region to a listener")
		}
		arn := fmt.Sprintf("%s/endpoint-group/%s-%d", l.ARN, st.Address.ID, s.resourceCount())
		g := observed.EndpointGroup{ARN: arn, Region: do.Region, Dial: float64(do.TrafficDial), Overrides: slices.Clone(do.Overrides)}
		putEndpoints(&g, do.Endpoints)
		l.Groups = append(l.Groups, g)
		slices.SortFunc(l.Groups, func(a, b observed.EndpointGroup) int { return cmp.Compare(a.Region, b.Region) })
		s.known[st.Address] = arn
	case plan.ChangeEndpointGroup:
		g := s.endpointGroup(s.id(do.Group))
		if do.TrafficDial != nil {
			g.Dial = float64(*do.TrafficDial)
		}
		if do.Overrides != nil {
			g.Overrides = slices.Clone(*do.Overrides)
		}
	case plan.AddEndpoints:
		putEndpoints(s.endpointGroup(s.id(do.Group)), do.Endpoints)
	case plan.SetEndpoints:
		putEndpoints(s.endpointGroup(s.id(do.Group)), do.Endpoints)
	case plan.RemoveEndpoints:
		g := s.endpointGroup(s.id(do.Group))
		for _, id := range do.IDs {
			if g.Endpoint(id) == nil {
				panic("simulate: a step removes an endpoint that is not in the endpoint group")
			}
		}
		g.Endpoints = slices.DeleteFunc(g.Endpoints, func(e observed.Endpoint) bool { return slices.Contains(do.IDs, e.ID) })
	case plan.DeleteEndpointGroup:
		for i := range s.have.Accelerators {
			for j := range s.have.Accelerators[i].Listeners {
				l := &s.have.Accelerators[i].Listeners[j]
				l.Groups = slices.DeleteFunc(l.Groups, func(g observed.EndpointGroup) bool { return g.ARN == do.ARN })
			}
		}
	default:
		return false
	}
	for i := range s.have.Accelerators {
		a := &s.have.Accelerators[i]
		slices.SortFunc(a.Listeners, func(x, y observed.AcceleratorListener) int { return cmp.Compare(x.ARN, y.ARN) })
		if _, records := st.Do.(plan.RecordAccelerator); !records {
			a.State = observed.AcceleratorInProgress
		}
		checkAccelerator(*a)
	}
	return true
}

// maxEndpoints is the quota of endpoints in an endpoint group.
const maxEndpoints = 10

func putEndpoints(g *observed.EndpointGroup, list []plan.EndpointSettings) {
	for _, e := range list {
		x := observed.Endpoint{ID: e.ID, Weight: e.Weight, Health: "INITIAL"}
		if e.PreserveClientIP != nil {
			x.ClientIP = *e.PreserveClientIP
		}
		if old := g.Endpoint(e.ID); old != nil {
			x.Health = old.Health
			*old = x
			continue
		}
		g.Endpoints = append(g.Endpoints, x)
	}
	slices.SortFunc(g.Endpoints, func(a, b observed.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
	if len(g.Endpoints) > maxEndpoints {
		panic("simulate: an endpoint group has too many endpoints")
	}
}

// resourceCount returns the number of listeners, endpoint groups and known IDs. New ARNs end with this number, so they
// are unique.
func (s acceleratorSteps) resourceCount() (n int) {
	for _, a := range s.have.Accelerators {
		n += len(a.Listeners)
		for _, l := range a.Listeners {
			n += len(l.Groups)
		}
	}
	for range s.known {
		n++
	}
	return n
}

func (s acceleratorSteps) acceleratorAt(a plan.Address) *observed.Accelerator {
	id := cmp.Or(s.known[a], a.ID)
	for i := range s.have.Accelerators {
		if s.have.Accelerators[i].ARN == id {
			return &s.have.Accelerators[i]
		}
	}
	panic("simulate: no accelerator " + id)
}

func (s acceleratorSteps) acceleratorListener(arn string) *observed.AcceleratorListener {
	for i := range s.have.Accelerators {
		for j := range s.have.Accelerators[i].Listeners {
			if l := &s.have.Accelerators[i].Listeners[j]; l.ARN == arn {
				return l
			}
		}
	}
	panic("simulate: no listener " + arn)
}

func (s acceleratorSteps) endpointGroup(arn string) *observed.EndpointGroup {
	for i := range s.have.Accelerators {
		for j := range s.have.Accelerators[i].Listeners {
			for k := range s.have.Accelerators[i].Listeners[j].Groups {
				if g := &s.have.Accelerators[i].Listeners[j].Groups[k]; g.ARN == arn {
					return g
				}
			}
		}
	}
	panic("simulate: no endpoint group " + arn)
}

// checkAccelerator panics if AWS would reject the listener ports or the port overrides of an accelerator.
func checkAccelerator(a observed.Accelerator) {
	taken := map[int32]string{} // listener ARN by endpoint port of an override
	for i, l := range a.Listeners {
		for _, o := range a.Listeners[:i] {
			if o.Protocol == l.Protocol && slices.ContainsFunc(o.Ports, func(r model.PortRange) bool { return slices.ContainsFunc(l.Ports, r.Overlaps) }) {
				panic(fmt.Sprintf("simulate: two listeners have a port of %s: %v and %v", l.Protocol, o.Ports, l.Ports))
			}
		}
		for _, g := range l.Groups {
			for _, o := range g.Overrides {
				if !model.HasPort(l.Ports, o.Listener) {
					panic("simulate: an override is for a port that the listener does not have")
				}
				if by, used := taken[o.Endpoint]; used && by != l.ARN {
					panic("simulate: an endpoint port is used under two listeners")
				}
				taken[o.Endpoint] = l.ARN
				if slices.ContainsFunc(a.Listeners, func(x observed.AcceleratorListener) bool { return model.HasPort(x.Ports, o.Endpoint) }) {
					panic("simulate: an endpoint port is a port of a listener")
				}
			}
		}
	}
}
