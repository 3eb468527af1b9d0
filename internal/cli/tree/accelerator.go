package tree

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// The documents of accelerators.
type (
	Accelerator struct {
		compared
		Name        string            `json:"name"`
		AddressType model.AddressType `json:"addressType"`
		// Enabled is false of one that accepts no traffic.
		Enabled bool `json:"enabled"`
		// Status is AWS's word: IN_PROGRESS or DEPLOYED.
		Status           string `json:"status,omitempty"`
		DNSName          string `json:"dnsName,omitempty"`
		DualStackDNSName string `json:"dualStackDNSName,omitempty"`
		// Addresses are the static ones.
		Addresses []string `json:"addresses"`
		// Owner is the owner, as CLUSTER/NAMESPACE/NAME where its tags say that; it is not set for the object's own.
		// Only the endpoint groups without an owner are then the object's.
		Owner     string                `json:"owner,omitempty"`
		Listeners []AcceleratorListener `json:"listeners"`
	}
	AcceleratorListener struct {
		compared
		Protocol string `json:"protocol"`
		// Ports are ranges, such as 80,8000-8080.
		Ports          string          `json:"ports"`
		ClientAffinity string          `json:"clientAffinity"`
		From           string          `json:"from,omitempty"`
		EndpointGroups []EndpointGroup `json:"endpointGroups"`
	}
	EndpointGroup struct {
		compared
		Region string `json:"region"`
		// Owner is the owner, if it is not the object of the stack; it is left alone.
		Owner string `json:"owner,omitempty"`
		// Dial is the percentage of the traffic for the region that stays there.
		Dial int32 `json:"dial"`
		// DialOfReadyTargets is what the dial goes to, step by step, as the ready targets ask for; it is missing where it follows
		// none.
		DialOfReadyTargets int32 `json:"dialOfReadyTargets,omitempty"`
		// PortOverrides are pairs of a listener's port and the endpoints' port.
		PortOverrides string     `json:"portOverrides,omitempty"`
		From          string     `json:"from,omitempty"`
		Endpoints     []Endpoint `json:"endpoints"`
	}
	Endpoint struct {
		compared
		// ID is the ARN of a load balancer, or the id of an instance or Elastic IP address.
		ID     string `json:"id"`
		Weight int32  `json:"weight"`
		// ClientIP reports whether it sees the addresses of clients; null where AWS decides.
		ClientIP *bool `json:"clientIPPreservation"`
		// Health is AWS's word: INITIAL, HEALTHY or UNHEALTHY.
		Health string `json:"health,omitempty"`
		From   string `json:"from,omitempty"`
		// Objects are the objects that the GlobalAccelerator names and that the load balancer serves.
		Objects []output.Object `json:"objects,omitempty"`
		// LoadBalancer is the one that it leads to; null of what is none, or is in another region.
		LoadBalancer *EndpointLoadBalancer `json:"loadBalancer"`
	}
	EndpointLoadBalancer struct {
		Name    string       `json:"name"`
		Type    string       `json:"type"`
		Scheme  model.Scheme `json:"scheme"`
		Status  string       `json:"status,omitempty"`
		DNSName string       `json:"dnsName,omitempty"`
		// Kind and ID are those of the stack whose load balancer it is; they are not set for one of another cluster.
		Kind string `json:"kind,omitempty"`
		ID   string `json:"id,omitempty"`
	}
)

// AcceleratorComparer compares the accelerator of a stack.
type AcceleratorComparer struct{ *Comparer }

// accelerators returns the accelerators that AWS has of a stack, and the one that it is to have.
func (c AcceleratorComparer) accelerators() (out []Accelerator) {
	if !c.Stack.ID.Kind.HasAccelerator() {
		return nil
	}
	chosen := resolved.AcceleratorChoices{}
	if x := c.Choices().Accelerator; x != nil {
		chosen = *x
	}
	all := c.Have.Accelerators
	if c.Have.Shared != nil && chosen.Owner != "" && chosen.Live != nil {
		all = append(slices.Clone(all), *c.Have.Shared)
	}
	for i := range all {
		a := &all[i]
		one := Accelerator{
			compared: c.compared(a.ARN), Name: a.Name, AddressType: a.AddressType, Enabled: a.Enabled, Status: a.State, DNSName: a.DNSName,
			DualStackDNSName: a.DualStackDNSName, Addresses: []string{}, Listeners: []AcceleratorListener{},
		}
		for _, s := range a.Addresses {
			one.Addresses = append(one.Addresses, s.Addresses...)
		}
		of := chosen.Listeners
		switch {
		case chosen.Live != nil && chosen.Live.ARN == a.ARN:
			one.Owner = chosen.Owner
		case chosen.Live != nil:
			of, one.Note = nil, "another accelerator of the object; it stays, and \"fulcrum orphans\" lists it"
		}
		one.Listeners = c.acceleratorListeners(of, a, one.compared)
		out = append(out, one)
	}
	if w := c.desired.Accelerator; w != nil && w.Shared == "" && chosen.Live == nil {
		out = append(out, Accelerator{
			compared: c.compareMissing(plan.AcceleratorAddress), Name: w.Name, AddressType: w.AddressType, Enabled: true, Addresses: append([]string{}, w.Addresses...),
			Listeners: c.acceleratorListeners(chosen.Listeners, nil, compared{}),
		})
	}
	return out
}

// compareMissing returns how something compares that AWS lacks.
func (c AcceleratorComparer) compareMissing(at plan.Address) compared {
	for _, s := range c.steps[at] {
		if s.Verb == plan.Create {
			return compareCreated(s)
		}
	}
	return c.compareNotPlanned()
}

// compareNested returns how a part compares: what it is part of may go with all that is in it.
func compareNested(of, is compared) compared {
	if of.State == surplus && is.State != surplus {
		is.State, is.Changes, is.Note = surplus, nil, ""
	}
	return is
}

// acceleratorListeners returns the accelerator listeners of a live accelerator, nil for one that is not there, and
// those that it is to have.
func (c AcceleratorComparer) acceleratorListeners(chosen []resolved.AcceleratorListenerChoices, a *observed.Accelerator, of compared) []AcceleratorListener {
	out := []AcceleratorListener{}
	add := func(is compared, protocol model.Base, ports []model.PortRange, affinity bool, w *model.AcceleratorListener, live []observed.EndpointGroup) {
		one := AcceleratorListener{compared: is, Protocol: string(protocol), Ports: model.PortRangesText(ports), ClientAffinity: plan.AffinityText(affinity)}
		var desired []model.EndpointGroup
		if w != nil {
			one.From, desired = OriginText(w.Origin), w.Groups
		}
		one.EndpointGroups = c.endpointGroups(desired, live, is)
		out = append(out, one)
	}
	if a != nil {
		for _, l := range a.Listeners {
			var w *model.AcceleratorListener
			for _, x := range chosen {
				if x.Live != nil && x.Live.ARN == l.ARN {
					w = x.Desired
				}
			}
			add(compareNested(of, c.compared(l.ARN)), l.Protocol, l.Ports, l.SourceIP, w, l.Groups)
		}
	}
	for _, x := range chosen {
		if w := x.Desired; x.Live == nil {
			add(c.compareMissing(plan.Address{Kind: plan.AcceleratorListener, ID: w.ID}), w.Protocol, w.Ports, w.SourceIP, w, nil)
		}
	}
	return out
}

func (c AcceleratorComparer) endpointGroups(desired []model.EndpointGroup, live []observed.EndpointGroup, of compared) []EndpointGroup {
	out := []EndpointGroup{}
	others := map[string]string{}
	if x := c.Choices().Accelerator; x != nil {
		others = x.OtherOwners
	}
	for _, g := range live {
		one := EndpointGroup{compared: compareNested(of, c.compared(g.ARN)), Region: g.Region, Owner: others[g.ARN], Dial: int32(g.Dial), PortOverrides: plan.OverridesText(g.Overrides)}
		var w model.EndpointGroup
		if i := slices.IndexFunc(desired, func(w model.EndpointGroup) bool { return w.Region == g.Region }); i >= 0 {
			w = desired[i]
			one.From = OriginText(w.Origin)
			if w.Follows != nil {
				one.DialOfReadyTargets = w.Follows.Dial
			}
		}
		one.Endpoints = c.endpoints(w.Endpoints, g, one.compared)
		out = append(out, one)
	}
	for _, w := range desired {
		if slices.ContainsFunc(live, func(g observed.EndpointGroup) bool { return g.Region == w.Region }) {
			continue
		}
		is := c.compareMissing(plan.Address{Kind: plan.EndpointGroup, ID: w.ID})
		one := EndpointGroup{compared: is, Region: w.Region, Dial: w.Dial, PortOverrides: plan.OverridesText(w.Overrides), From: OriginText(w.Origin), Endpoints: []Endpoint{}}
		for _, e := range w.Endpoints {
			one.Endpoints = append(one.Endpoints, c.endpoint(compared{State: missing, Note: unready(e)}, e))
		}
		out = append(out, one)
	}
	return out
}

func unready(e model.Endpoint) string {
	if e.Unready == "" {
		return ""
	}
	return "waits for " + e.Unready
}

// endpoints returns the endpoints of a live endpoint group, and those that it is to have.
func (c AcceleratorComparer) endpoints(desired []model.Endpoint, g observed.EndpointGroup, of compared) []Endpoint {
	out := []Endpoint{}
	is := map[string]compared{}
	for _, s := range c.stepsOf(g.ARN) {
		switch do := s.Do.(type) {
		case plan.RemoveEndpoints:
			for _, id := range do.IDs {
				is[id] = compared{State: surplus, Note: waiting(s)}
			}
		case plan.SetEndpoints:
			for _, e := range do.Endpoints {
				one := compared{State: differs, Note: waiting(s)}
				for _, x := range s.Changes {
					if x.Path == "endpoints."+e.ID {
						one.Changes = []output.Field{{Field: "endpoint", From: x.From, To: x.To}}
					}
				}
				is[e.ID] = one
			}
		case plan.AddEndpoints:
			for _, e := range do.Endpoints {
				is[e.ID] = compareCreated(s)
			}
		}
	}
	for _, e := range g.Endpoints {
		state, ok := is[e.ID]
		if !ok {
			state = compared{State: live}
		}
		one := c.Endpoint(e)
		one.compared = compareNested(of, state)
		if i := slices.IndexFunc(desired, func(w model.Endpoint) bool { return w.ID == e.ID }); i >= 0 {
			one.From = OriginText(desired[i].Origin)
		}
		out = append(out, one)
	}
	for _, w := range desired {
		if g.Endpoint(w.ID) != nil {
			continue
		}
		state, ok := is[w.ID]
		if !ok {
			state = c.compareNotPlanned()
		}
		out = append(out, c.endpoint(state, w))
	}
	return out
}

// Endpoint returns an endpoint as AWS has it, with the load balancer that it leads to.
func (c AcceleratorComparer) Endpoint(e observed.Endpoint) Endpoint {
	out := c.endpoint(compared{State: live}, model.Endpoint{ID: e.ID, Weight: e.Weight, ClientIP: &e.ClientIP})
	out.Health = e.Health
	return out
}

// endpoint returns an endpoint with the load balancer that it leads to.
func (c AcceleratorComparer) endpoint(is compared, e model.Endpoint) Endpoint {
	out := Endpoint{compared: is, ID: e.ID, Weight: e.Weight, ClientIP: e.ClientIP, From: OriginText(e.Origin), LoadBalancer: c.EndpointOf(e.ID)}
	if a := c.desired.Accelerator; a != nil {
		for _, n := range a.Entries {
			if !n.Object.IsZero() && slices.Contains(n.Endpoints, e.ID) && !slices.Contains(out.Objects, output.Object(n.Object)) {
				out.Objects = append(out.Objects, output.Object(n.Object))
			}
		}
	}
	return out
}

// EndpointOf returns the load balancer of an endpoint, nil if that is not known.
func (c AcceleratorComparer) EndpointOf(id string) *EndpointLoadBalancer {
	for _, answer := range c.Facts.Endpoints {
		for _, lb := range answer {
			if lb.ARN != id {
				continue
			}
			out := &EndpointLoadBalancer{Name: lb.Name, Type: lb.Type, Scheme: lb.Scheme, Status: lb.State, DNSName: lb.DNSName}
			if lb.Cluster && lb.Stack != (model.StackID{}) {
				out.Kind, out.ID = string(lb.Stack.Kind), lb.Stack.String()
			}
			return out
		}
	}
	return nil
}

// Other is an endpoint group under the listeners of an object that is not the object's.
type Other struct {
	// Listener is protocol and ports, such as TCP:80.
	Listener string `json:"listener"`
	Region   string `json:"region"`
	// Owner is the owner, as CLUSTER/NAMESPACE/NAME where tags of the accelerator say that.
	Owner string `json:"owner"`
	// Dial is the percentage of the traffic for the region that stays there.
	Dial      int32 `json:"dial"`
	Endpoints int   `json:"endpoints"`
	// Serving are the endpoints that are healthy and have a weight.
	Serving int `json:"serving"`
}

// Text returns the endpoint group in words.
func (o Other) Text() string {
	return fmt.Sprintf("endpoint group %s of listener %s, traffic dial %d%%, %d of %d endpoints serving, %s, left alone", o.Region, o.Listener, o.Dial, o.Serving, o.Endpoints, OwnerText(o.Owner))
}

// OthersOf returns the endpoint groups of the accelerator of a draft that are not its object's.
func OthersOf(d engine.Draft) (out []Other) {
	if !d.Stack.ID.Kind.HasAccelerator() {
		return nil
	}
	c := AcceleratorComparer{NewComparer(d, d.Have.Facts, Behind{})}
	for _, a := range c.accelerators() {
		for _, l := range a.Listeners {
			for _, g := range l.EndpointGroups {
				if g.Owner == "" {
					continue
				}
				one := Other{Listener: l.Protocol + ":" + l.Ports, Region: g.Region, Owner: g.Owner, Dial: g.Dial, Endpoints: len(g.Endpoints)}
				for _, e := range g.Endpoints {
					if e.serving() {
						one.Serving++
					}
				}
				out = append(out, one)
			}
		}
	}
	return out
}

func (e Endpoint) serving() bool { return e.Health == observed.EndpointHealthy && e.Weight > 0 }

// mostOthers is how many endpoint groups of others are shown.
const mostOthers = 50

// ShowOthers prints the endpoint groups of others, each on a line that begins with a text.
func ShowOthers(w io.Writer, before string, others []Other) {
	output.ShowFirst(others, mostOthers, func(o Other) { fmt.Fprintf(w, "%s%s\n", before, o.Text()) },
		func(n int) { fmt.Fprintf(w, "%s… and %d more endpoint groups of others\n", before, n) })
}

// endpoints returns the endpoints of all endpoint groups of the stack's accelerators.
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

// addAccelerators adds to which load balancers, by ARN, the GlobalAccelerator of a stack leads.
func (s Stack) addAccelerators(to map[string][]output.Object) {
	namespace, name, _ := strings.Cut(s.ID, "/")
	of := output.Object{Kind: s.Kind, Namespace: namespace, Name: name}
	for _, e := range s.endpoints() {
		if !slices.Contains(to[e.ID], of) {
			to[e.ID] = append(to[e.ID], of)
		}
	}
}

// stacks returns the stacks whose load balancers the accelerators of a stack lead to.
func (s Stack) stacks() map[string]bool {
	out := map[string]bool{}
	for _, e := range s.endpoints() {
		if e.LoadBalancer != nil && e.LoadBalancer.Kind != "" {
			out[e.LoadBalancer.Kind+" "+e.LoadBalancer.ID] = true
		}
	}
	return out
}
