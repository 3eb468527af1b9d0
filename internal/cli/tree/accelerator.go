package tree

import (
	"fmt"
	"io"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// The accelerators in AWS with their listeners, endpoint groups and endpoints, and the desired accelerators that are
// missing in AWS, for JSON and YAML.
type (
	// Accelerator is a standard accelerator of AWS Global Accelerator.
	Accelerator struct {
		comparison
		Name        string            `json:"name"`
		AddressType model.AddressType `json:"addressType"`
		// Enabled is false if the accelerator is disabled and accepts no traffic.
		Enabled bool `json:"enabled"`
		// Status is the status that AWS shows: IN_PROGRESS or DEPLOYED.
		Status           string `json:"status,omitempty"`
		DNSName          string `json:"dnsName,omitempty"`
		DualStackDNSName string `json:"dualStackDNSName,omitempty"`
		// Addresses are the static IP addresses of the accelerator.
		Addresses []string `json:"addresses"`
		// Owner is CLUSTER/NAMESPACE/NAME of the owner of the accelerator, or "another owner" if no tag names it. It is
		// missing if the object of the stack owns the accelerator. Otherwise the object owns only the endpoint groups whose
		// Owner is missing.
		Owner     string                `json:"owner,omitempty"`
		Listeners []AcceleratorListener `json:"listeners"`
	}
	// AcceleratorListener is a listener of an accelerator.
	AcceleratorListener struct {
		comparison
		Protocol string `json:"protocol"`
		// Ports are the ports and port ranges, such as 80,8000-8080.
		Ports string `json:"ports"`
		// ClientAffinity is NONE or SOURCE_IP.
		ClientAffinity string `json:"clientAffinity"`
		// From is the object and field that the listener comes from.
		From           string          `json:"from,omitempty"`
		EndpointGroups []EndpointGroup `json:"endpointGroups"`
	}
	// EndpointGroup is an endpoint group of a listener of an accelerator.
	EndpointGroup struct {
		comparison
		Region string `json:"region"`
		// Owner is the owner of the endpoint group. It is missing if the object of the stack owns the endpoint group. The
		// controller does not change endpoint groups of other owners.
		Owner string `json:"owner,omitempty"`
		// Dial is the traffic dial: the percentage of the traffic for the region that the endpoint group receives.
		Dial int32 `json:"dial"`
		// DialOfReadyTargets is the traffic dial that the controller computes from the number of ready targets. Dial
		// approaches it in several steps. It is missing if the traffic dial does not depend on targets.
		DialOfReadyTargets int32 `json:"dialOfReadyTargets,omitempty"`
		// PortOverrides are the port overrides: pairs of a listener port and an endpoint port.
		PortOverrides string `json:"portOverrides,omitempty"`
		// From is the object and field that the endpoint group comes from.
		From      string     `json:"from,omitempty"`
		Endpoints []Endpoint `json:"endpoints"`
	}
	// Endpoint is an endpoint of an endpoint group.
	Endpoint struct {
		comparison
		// ID is the ARN of a load balancer, or the id of an instance or Elastic IP address.
		ID     string `json:"id"`
		Weight int32  `json:"weight"`
		// ClientIP reports whether AWS preserves the IP addresses of clients. It is null if AWS chooses its default.
		ClientIP *bool `json:"clientIPPreservation"`
		// Health is the health state that AWS shows: INITIAL, HEALTHY or UNHEALTHY.
		Health string `json:"health,omitempty"`
		// From is the object and field that the endpoint comes from.
		From string `json:"from,omitempty"`
		// Objects are the objects that the GlobalAccelerator names as endpoints and that the load balancer serves.
		Objects []output.Object `json:"objects,omitempty"`
		// LoadBalancer is the load balancer of the endpoint. It is null if the endpoint is not a load balancer, or is in
		// another region.
		LoadBalancer *EndpointLoadBalancer `json:"loadBalancer"`
	}
	// EndpointLoadBalancer is a load balancer that is an endpoint of an accelerator.
	EndpointLoadBalancer struct {
		Name    string       `json:"name"`
		Type    string       `json:"type"`
		Scheme  model.Scheme `json:"scheme"`
		Status  string       `json:"status,omitempty"`
		DNSName string       `json:"dnsName,omitempty"`
		// Kind is the kind of the stack that the load balancer belongs to. It is missing if the load balancer does not
		// belong to this cluster.
		Kind string `json:"kind,omitempty"`
		// ID is the ID of the stack that the load balancer belongs to. It is missing if Kind is missing.
		ID string `json:"id,omitempty"`
		// Stack is the stack that Kind and ID name. It is zero if they are missing.
		Stack model.StackID `json:"-"`
	}
)

// AcceleratorComparer compares the accelerators of a stack in AWS with its desired accelerator.
type AcceleratorComparer struct{ *Comparer }

// accelerators returns the accelerators of the stack in AWS, and the desired accelerator if it does not exist. It returns
// nil for a kind of stack without accelerators.
func (c AcceleratorComparer) accelerators() (out []Accelerator) {
	if !c.Stack.ID.Kind.HasAccelerator() {
		return nil
	}
	chosen := resolved.AcceleratorChoices{}
	if x := c.Choices().Accelerator; x != nil {
		chosen = *x
	}
	all := c.Have.Accelerators
	if c.Have.SharedAccelerator != nil && chosen.Owner != "" && chosen.Live != nil {
		all = append(slices.Clone(all), *c.Have.SharedAccelerator)
	}
	for i := range all {
		a := &all[i]
		accelerator := Accelerator{
			comparison: c.comparisonOf(a.ARN), Name: a.Name, AddressType: a.AddressType, Enabled: a.Enabled, Status: a.State, DNSName: a.DNSName,
			DualStackDNSName: a.DualStackDNSName, Addresses: []string{}, Listeners: []AcceleratorListener{},
		}
		for _, s := range a.Addresses {
			accelerator.Addresses = append(accelerator.Addresses, s.Addresses...)
		}
		listeners := chosen.Listeners
		switch {
		case chosen.Live != nil && chosen.Live.ARN == a.ARN:
			accelerator.Owner = chosen.Owner
		case chosen.Live != nil:
			listeners, accelerator.Note = nil, "another accelerator of the object; it is not deleted, and \"fulcrum orphans\" lists it"
		}
		accelerator.Listeners = c.acceleratorListeners(listeners, a, accelerator.comparison)
		out = append(out, accelerator)
	}
	if want := c.desired.Accelerator; want != nil && want.Shared == "" && chosen.Live == nil {
		out = append(out, Accelerator{
			comparison: c.comparisonOfMissing(plan.AcceleratorAddress), Name: want.Name, AddressType: want.AddressType, Enabled: true, Addresses: append([]string{}, want.Addresses...),
			Listeners: c.acceleratorListeners(chosen.Listeners, nil, comparison{}),
		})
	}
	return out
}

// comparisonOfMissing returns the comparison of a desired resource that does not exist in AWS. at is the address of the
// resource in the plan.
func (c AcceleratorComparer) comparisonOfMissing(at plan.Address) comparison {
	for _, s := range c.steps[at] {
		if s.Verb == plan.Create {
			return comparisonOfCreated(s)
		}
	}
	return c.comparisonOfUnplanned()
}

// nestedComparison returns the comparison of a nested resource. If the state of parent is surplus, the nested resource is
// also surplus. In any other case, nestedComparison returns part.
func nestedComparison(parent, part comparison) comparison {
	if parent.State == stateSurplus && part.State != stateSurplus {
		part.State, part.Changes, part.Note = stateSurplus, nil, ""
	}
	return part
}

// acceleratorListeners returns the listeners of an accelerator in AWS, and the desired listeners that do not exist. a is nil
// if the accelerator does not exist. parent is the comparison of the accelerator.
func (c AcceleratorComparer) acceleratorListeners(chosen []resolved.AcceleratorListenerChoices, a *observed.Accelerator, parent comparison) []AcceleratorListener {
	out := []AcceleratorListener{}
	add := func(compared comparison, protocol model.BaseProtocol, ports []model.PortRange, affinity bool, want *model.AcceleratorListener, live []observed.EndpointGroup) {
		listener := AcceleratorListener{comparison: compared, Protocol: string(protocol), Ports: model.PortRangesText(ports), ClientAffinity: plan.AffinityText(affinity)}
		var desired []model.EndpointGroup
		if want != nil {
			listener.From, desired = OriginText(want.Origin), want.Groups
		}
		listener.EndpointGroups = c.endpointGroups(desired, live, compared)
		out = append(out, listener)
	}
	if a != nil {
		for _, l := range a.Listeners {
			var want *model.AcceleratorListener
			for _, x := range chosen {
				if x.Live != nil && x.Live.ARN == l.ARN {
					want = x.Desired
				}
			}
			add(nestedComparison(parent, c.comparisonOf(l.ARN)), l.Protocol, l.Ports, l.SourceIP, want, l.Groups)
		}
	}
	for _, x := range chosen {
		if want := x.Desired; x.Live == nil {
			add(c.comparisonOfMissing(plan.Address{Kind: plan.AcceleratorListener, ID: want.ID}), want.Protocol, want.Ports, want.SourceIP, want, nil)
		}
	}
	return out
}

// endpointGroups returns the endpoint groups of a listener in AWS, and the desired endpoint groups that do not exist. parent
// is the comparison of the listener.
func (c AcceleratorComparer) endpointGroups(desired []model.EndpointGroup, live []observed.EndpointGroup, parent comparison) []EndpointGroup {
	out := []EndpointGroup{}
	others := map[string]string{}
	if x := c.Choices().Accelerator; x != nil {
		others = x.OtherOwners
	}
	for _, g := range live {
		endpointGroup := EndpointGroup{comparison: nestedComparison(parent, c.comparisonOf(g.ARN)), Region: g.Region, Owner: others[g.ARN], Dial: int32(g.Dial), PortOverrides: plan.OverridesText(g.Overrides)}
		var want model.EndpointGroup
		if i := slices.IndexFunc(desired, func(want model.EndpointGroup) bool { return want.Region == g.Region }); i >= 0 {
			want = desired[i]
			endpointGroup.From = OriginText(want.Origin)
			if want.DialRule != nil {
				endpointGroup.DialOfReadyTargets = want.DialRule.Dial
			}
		}
		endpointGroup.Endpoints = c.endpoints(want.Endpoints, g, endpointGroup.comparison)
		out = append(out, endpointGroup)
	}
	for _, want := range desired {
		if slices.ContainsFunc(live, func(g observed.EndpointGroup) bool { return g.Region == want.Region }) {
			continue
		}
		compared := c.comparisonOfMissing(plan.Address{Kind: plan.EndpointGroup, ID: want.ID})
		endpointGroup := EndpointGroup{comparison: compared, Region: want.Region, Dial: want.Dial, PortOverrides: plan.OverridesText(want.Overrides), From: OriginText(want.Origin), Endpoints: []Endpoint{}}
		for _, e := range want.Endpoints {
			endpointGroup.Endpoints = append(endpointGroup.Endpoints, c.endpoint(comparison{State: stateMissing, Note: unreadyText(e)}, e))
		}
		out = append(out, endpointGroup)
	}
	return out
}

// unreadyText returns what must happen before an endpoint can be added, or "" if it can be added now.
func unreadyText(e model.Endpoint) string {
	if e.Unready == "" {
		return ""
	}
	return "waits for " + e.Unready
}

// endpoints returns the endpoints of an endpoint group in AWS, and the desired endpoints that do not exist. parent is the
// comparison of the endpoint group.
func (c AcceleratorComparer) endpoints(desired []model.Endpoint, g observed.EndpointGroup, parent comparison) []Endpoint {
	out := []Endpoint{}
	planned := map[string]comparison{} // by ID of the endpoint
	for _, s := range c.stepsOf(g.ARN) {
		switch do := s.Do.(type) {
		case plan.RemoveEndpoints:
			for _, id := range do.IDs {
				planned[id] = comparison{State: stateSurplus, Note: waitText(s)}
			}
		case plan.SetEndpoints:
			for _, e := range do.Endpoints {
				updated := comparison{State: stateDiffers, Note: waitText(s)}
				for _, x := range s.Changes {
					if x.Path == "endpoints."+e.ID {
						updated.Changes = []output.Field{{Field: "endpoint", From: x.From, To: x.To}}
					}
				}
				planned[e.ID] = updated
			}
		case plan.AddEndpoints:
			for _, e := range do.Endpoints {
				planned[e.ID] = comparisonOfCreated(s)
			}
		}
	}
	for _, e := range g.Endpoints {
		state, ok := planned[e.ID]
		if !ok {
			state = comparison{State: stateLive}
		}
		endpoint := c.Endpoint(e)
		endpoint.comparison = nestedComparison(parent, state)
		if i := slices.IndexFunc(desired, func(want model.Endpoint) bool { return want.ID == e.ID }); i >= 0 {
			endpoint.From = OriginText(desired[i].Origin)
		}
		out = append(out, endpoint)
	}
	for _, want := range desired {
		if g.Endpoint(want.ID) != nil {
			continue
		}
		state, ok := planned[want.ID]
		if !ok {
			state = c.comparisonOfUnplanned()
		}
		out = append(out, c.endpoint(state, want))
	}
	return out
}

// Endpoint converts an endpoint in AWS for a document, with its load balancer and the objects that it serves.
func (c AcceleratorComparer) Endpoint(e observed.Endpoint) Endpoint {
	out := c.endpoint(comparison{State: stateLive}, model.Endpoint{ID: e.ID, Weight: e.Weight, ClientIP: &e.ClientIP})
	out.Health = e.Health
	return out
}

// endpoint converts an endpoint for a document, with its load balancer and the objects that it serves.
func (c AcceleratorComparer) endpoint(compared comparison, e model.Endpoint) Endpoint {
	out := Endpoint{comparison: compared, ID: e.ID, Weight: e.Weight, ClientIP: e.ClientIP, From: OriginText(e.Origin), LoadBalancer: c.LoadBalancerOf(e.ID)}
	if a := c.desired.Accelerator; a != nil {
		for _, entry := range a.Entries {
			if !entry.Object.IsZero() && slices.Contains(entry.Endpoints, e.ID) && !slices.Contains(out.Objects, output.Object(entry.Object)) {
				out.Objects = append(out.Objects, output.Object(entry.Object))
			}
		}
	}
	return out
}

// LoadBalancerOf returns the load balancer that is the endpoint with the given ID, or nil if no load balancer is known for
// it.
func (c AcceleratorComparer) LoadBalancerOf(id string) *EndpointLoadBalancer {
	for _, answer := range c.Facts.Endpoints {
		for _, lb := range answer {
			if lb.ARN != id {
				continue
			}
			out := &EndpointLoadBalancer{Name: lb.Name, Type: lb.Type, Scheme: lb.Scheme, Status: lb.State, DNSName: lb.DNSName}
			if lb.Cluster && lb.Stack != (model.StackID{}) {
				out.Kind, out.ID, out.Stack = string(lb.Stack.Kind), lb.Stack.String(), lb.Stack
			}
			return out
		}
	}
	return nil
}

// OtherEndpointGroup is an endpoint group that the object of the stack does not own, although it is in an accelerator of the
// stack.
type OtherEndpointGroup struct {
	// Listener is the protocol and the ports of the listener, such as TCP:80.
	Listener string `json:"listener"`
	Region   string `json:"region"`
	// Owner is CLUSTER/NAMESPACE/NAME of the owner, as far as the tags of the accelerator name it.
	Owner string `json:"owner"`
	// Dial is the traffic dial: the percentage of the traffic for the region that the endpoint group receives.
	Dial int32 `json:"dial"`
	// Endpoints counts the endpoints.
	Endpoints int `json:"endpoints"`
	// Serving counts the endpoints that are healthy and have a weight above 0.
	Serving int `json:"serving"`
}

// Text returns the endpoint group as one line of text.
func (o OtherEndpointGroup) Text() string {
	return fmt.Sprintf("endpoint group %s of listener %s, traffic dial %d%%, %d of %d endpoints serving, %s, not changed", o.Region, o.Listener, o.Dial, o.Serving, o.Endpoints, OwnerText(o.Owner))
}

// OtherEndpointGroupsOf returns the endpoint groups in the accelerators of a draft that the object of the stack does not
// own.
func OtherEndpointGroupsOf(d engine.Draft) (out []OtherEndpointGroup) {
	if !d.Stack.ID.Kind.HasAccelerator() {
		return nil
	}
	c := AcceleratorComparer{NewComparer(d, d.Have.Facts, ClusterTargets{})}
	for _, a := range c.accelerators() {
		for _, l := range a.Listeners {
			for _, g := range l.EndpointGroups {
				if g.Owner == "" {
					continue
				}
				other := OtherEndpointGroup{Listener: l.Protocol + ":" + l.Ports, Region: g.Region, Owner: g.Owner, Dial: g.Dial, Endpoints: len(g.Endpoints)}
				for _, e := range g.Endpoints {
					if e.IsServing() {
						other.Serving++
					}
				}
				out = append(out, other)
			}
		}
	}
	return out
}

// IsServing reports whether an endpoint receives traffic.
func (e Endpoint) IsServing() bool { return e.Health == observed.EndpointHealthy && e.Weight > 0 }

// maxOtherEndpointGroups is the maximum number of endpoint groups of other owners that are shown.
const maxOtherEndpointGroups = 50

// ShowOtherEndpointGroups prints the endpoint groups of other owners. Each line begins with prefix.
func ShowOtherEndpointGroups(w io.Writer, prefix string, groups []OtherEndpointGroup) {
	output.ShowFirst(groups, maxOtherEndpointGroups, func(o OtherEndpointGroup) { fmt.Fprintf(w, "%s%s\n", prefix, o.Text()) },
		output.ShowMore(w, prefix+"… and %d more endpoint groups of other owners"))
}

// endpoints returns the endpoints of the accelerators of a stack.
func (s Stack) endpoints() (out []Endpoint) {
	for _, a := range s.Accelerators {
		for _, l := range a.Listeners {
			for _, g := range l.EndpointGroups {
				out = append(out, g.Endpoints...)
			}
		}
	}
	return out
}

// addAcceleratorTo adds the GlobalAccelerator of a stack to the entry of accelerators for each endpoint of the
// GlobalAccelerator. The keys of accelerators are ARNs of load balancers.
func (s Stack) addAcceleratorTo(accelerators map[string][]output.Object) {
	accelerator := output.Object{Kind: s.Kind, Namespace: s.stack.Namespace, Name: s.stack.Name}
	for _, e := range s.endpoints() {
		if !slices.Contains(accelerators[e.ID], accelerator) {
			accelerators[e.ID] = append(accelerators[e.ID], accelerator)
		}
	}
}

// endpointStacks returns the stacks whose load balancers are endpoints of the accelerators of a stack.
func (s Stack) endpointStacks() map[model.StackID]bool {
	out := map[model.StackID]bool{}
	for _, e := range s.endpoints() {
		if e.LoadBalancer != nil {
			out[e.LoadBalancer.Stack] = true
		}
	}
	return out
}
