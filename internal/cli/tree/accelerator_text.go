package tree

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// mostEndpoints of an endpoint group are shown.
const mostEndpoints = 20

// Accelerator prints an accelerator with its parts.
func (t Text) Accelerator(a Accelerator) {
	text := fmt.Sprintf("accelerator %s (%s)", orDash(a.Name), a.AddressType)
	var more []string
	if !a.Enabled {
		more = append(more, "disabled")
	}
	for _, x := range append([]string{a.Status, a.DNSName, a.DualStackDNSName}, a.Addresses...) {
		if x != "" {
			more = append(more, x)
		}
	}
	t.compared(a.compared, 0, strings.Join(append([]string{text}, more...), ", "))
	if a.Owner != "" {
		t.line(live, 1, OwnerText(a.Owner)+"; only endpoint groups without an owner are those of this object")
	}
	for _, l := range a.Listeners {
		t.acceleratorListener(l)
	}
}

// OwnerText returns the owner of a resource as its tags name it. Others may have written these tags.
func OwnerText(owner string) string { return "of " + finding.Printable(finding.Cut(owner)) }

// orDash stands for a name that is made once the region is known.
func orDash(name string) string {
	if name == "" {
		return "-"
	}
	return name
}

func (t Text) acceleratorListener(l AcceleratorListener) {
	text := fmt.Sprintf("listener %s:%s", l.Protocol, l.Ports)
	if l.ClientAffinity != "NONE" {
		text += ", client affinity " + l.ClientAffinity
	}
	t.compared(l.compared, 1, withFrom(text, l.From))
	for _, g := range l.EndpointGroups {
		text := fmt.Sprintf("endpoint group %s, traffic dial %d%%", g.Region, g.Dial)
		if g.DialOfReadyTargets > 0 {
			text += fmt.Sprintf(" (%d%% by ready targets)", g.DialOfReadyTargets)
		}
		if g.PortOverrides != "" {
			text += ", port overrides " + g.PortOverrides
		}
		if g.Owner != "" {
			text += ", " + OwnerText(g.Owner) + ", left alone"
		}
		t.compared(g.compared, 2, withFrom(text, g.From))
		output.ShowFirst(g.Endpoints, mostEndpoints, t.endpoint, func(n int) { t.line(live, 3, fmt.Sprintf("… and %d more endpoints", n)) })
		if len(g.Endpoints) == 0 {
			t.line(live, 3, "no endpoints")
		}
	}
	if len(l.EndpointGroups) == 0 {
		t.line(live, 2, "no endpoint groups")
	}
}

// withFrom adds the field that something comes from. The object is that of the accelerator.
func withFrom(text, from string) string {
	if from == "" {
		return text
	}
	field, _, _ := strings.Cut(from, " of ")
	return text + "   from " + field
}

func (t Text) endpoint(e Endpoint) {
	text := "endpoint " + e.Text()
	if lb := e.LoadBalancer; lb != nil {
		text += " -> " + lb.Text(len(e.Objects) == 0)
	}
	t.compared(e.compared, 3, withFrom(finding.Printable(text), e.From))
}

// Text returns the endpoint in words.
func (e Endpoint) Text() string {
	text := e.ID
	if len(e.Objects) > 0 {
		var refs []string
		for _, o := range e.Objects {
			refs = append(refs, finding.Ref(o).String())
		}
		text = "of " + output.JoinFirst(refs)
	}
	text += ", " + plan.EndpointSettings{Weight: e.Weight, ClientIP: e.ClientIP}.Text()
	if e.Health != "" {
		text += ", " + e.Health
	}
	return text
}

// Text returns the load balancer in words, with whose it is or without.
func (lb EndpointLoadBalancer) Text(whose bool) string {
	text := fmt.Sprintf("%s load balancer %s (%s), %s", lb.Type, lb.Name, lb.Scheme, lb.Status)
	if lb.Kind != "" && whose {
		text += fmt.Sprintf(", of %s %s", model.Kind(lb.Kind).Object(), lb.ID)
	}
	return text
}

// accelerator draws an accelerator down to the load balancers that it leads to.
func (g *graph) accelerator(s Stack, a Accelerator) {
	at := g.node("", "accelerator\n"+a.Name, loadBalancerShape, a.State)
	for _, m := range s.Members {
		ref := finding.Ref(m).String()
		g.edge(g.node(ref, ref, object, live), at)
	}
	for _, l := range a.Listeners {
		listener := g.node("", fmt.Sprintf("listener %s:%s", l.Protocol, l.Ports), part, l.State)
		g.edge(at, listener)
		for _, eg := range l.EndpointGroups {
			text := fmt.Sprintf("endpoint group\n%s %d%%", eg.Region, eg.Dial)
			if eg.Owner != "" {
				text += "\n" + OwnerText(eg.Owner)
			}
			group := g.node("", text, part, eg.State)
			g.edge(listener, group)
			output.ShowFirst(eg.Endpoints, mostEndpoints, func(e Endpoint) { g.endpoint(group, e) }, func(n int) { g.edge(group, g.more(n, "endpoints")) })
		}
	}
}

func (g *graph) endpoint(group int, e Endpoint) {
	state := e.State
	if state == live && e.Health != "HEALTHY" {
		state = differs
	}
	at := g.node("", fmt.Sprintf("endpoint\nweight %d %s", e.Weight, e.Health), part, state)
	g.edge(group, at)
	lb := e.LoadBalancer
	if lb == nil {
		g.edge(at, g.node("endpoint|"+e.ID, e.ID, targetShape, live))
		return
	}
	g.edge(at, g.loadBalancer(lb.Kind+" "+lb.ID, lb.Type, e.ID, lb.Name))
}

// loadBalancer returns the node of a load balancer, whatever draws it first.
func (g *graph) loadBalancer(stack, kind, arn, name string) int {
	return g.node(stack+"|"+arn+name, fmt.Sprintf("%s load balancer\n%s", kind, name), loadBalancerShape, live)
}
