package tree

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// maxEndpoints is the maximum number of endpoints of an endpoint group that are shown.
const maxEndpoints = 20

// WriteAccelerator prints an accelerator with its listeners and endpoint groups.
func (t TextWriter) WriteAccelerator(a Accelerator) {
	text := fmt.Sprintf("accelerator %s (%s)", cmp.Or(a.Name, "-"), a.AddressType)
	var more []string
	if !a.Enabled {
		more = append(more, "disabled")
	}
	for _, x := range append([]string{a.Status, a.DNSName, a.DualStackDNSName}, a.Addresses...) {
		if x != "" {
			more = append(more, x)
		}
	}
	t.writeComparedLine(a.comparison, 0, strings.Join(append([]string{text}, more...), ", "))
	if a.Owner != "" {
		t.writeLine(stateLive, 1, OwnerText(a.Owner)+"; this object owns only the endpoint groups that show no owner")
	}
	for _, l := range a.Listeners {
		t.writeAcceleratorListener(l)
	}
}

// OwnerText returns "of " followed by the owner of a resource. The owner is truncated and made printable, because it is read
// from tags, which other users can write.
func OwnerText(owner string) string {
	return "of " + finding.EscapeNonPrintable(finding.TruncateValue(owner))
}

// writeAcceleratorListener writes a listener with its endpoint groups.
func (t TextWriter) writeAcceleratorListener(l AcceleratorListener) {
	text := fmt.Sprintf("listener %s:%s", l.Protocol, l.Ports)
	if l.ClientAffinity != "NONE" {
		text += ", client affinity " + l.ClientAffinity
	}
	t.writeComparedLine(l.comparison, 1, withOrigin(text, l.From))
	for _, g := range l.EndpointGroups {
		text := fmt.Sprintf("endpoint group %s, traffic dial %d%%", g.Region, g.Dial)
		if g.DialOfReadyTargets > 0 {
			text += fmt.Sprintf(" (%d%% by ready targets)", g.DialOfReadyTargets)
		}
		if g.PortOverrides != "" {
			text += ", port overrides " + g.PortOverrides
		}
		if g.Owner != "" {
			text += ", " + OwnerText(g.Owner) + ", not changed"
		}
		t.writeComparedLine(g.comparison, 2, withOrigin(text, g.From))
		output.ShowFirst(g.Endpoints, maxEndpoints, t.writeEndpoint, t.writeMore(3, "endpoints"))
		if len(g.Endpoints) == 0 {
			t.writeLine(stateLive, 3, "no endpoints")
		}
	}
	if len(l.EndpointGroups) == 0 {
		t.writeLine(stateLive, 2, "no endpoint groups")
	}
}

// withOrigin appends to a text the field that defines a resource. It omits the object of the field, which is always the
// GlobalAccelerator. from has the form "FIELD of OBJECT", or is "".
func withOrigin(text, from string) string {
	if from == "" {
		return text
	}
	field, _, _ := strings.Cut(from, " of ")
	return text + "   from " + field
}

// writeEndpoint writes an endpoint with its load balancer.
func (t TextWriter) writeEndpoint(e Endpoint) {
	text := "endpoint " + e.Text()
	if lb := e.LoadBalancer; lb != nil {
		text += " -> " + lb.Text(len(e.Objects) == 0)
	}
	t.writeComparedLine(e.comparison, 3, withOrigin(finding.EscapeNonPrintable(text), e.From))
}

// Text returns the endpoint as one line of text. It names the objects of the endpoint, or else its ID.
func (e Endpoint) Text() string {
	text := e.ID
	if len(e.Objects) > 0 {
		var refs []string
		for _, o := range e.Objects {
			refs = append(refs, finding.Ref(o).String())
		}
		text = "of " + output.JoinFirst(refs)
	}
	text += ", " + plan.EndpointSettings{Weight: e.Weight, PreserveClientIP: e.ClientIP}.Text()
	if e.Health != "" {
		text += ", " + e.Health
	}
	return text
}

// Text returns the load balancer as one line of text. withStack adds the stack that it belongs to.
func (lb EndpointLoadBalancer) Text(withStack bool) string {
	text := fmt.Sprintf("%s load balancer %s (%s), %s", lb.Type, lb.Name, lb.Scheme, lb.Status)
	if lb.Kind != "" && withStack {
		text += fmt.Sprintf(", of %s %s", model.Kind(lb.Kind).ObjectKind(), lb.ID)
	}
	return text
}

// addAccelerator adds the nodes and edges of an accelerator, its members, listeners, endpoint groups, endpoints and their
// load balancers.
func (g *graph) addAccelerator(s Stack, a Accelerator) {
	at := g.addNode("", "accelerator\n"+a.Name, loadBalancerShape, a.State)
	for _, m := range s.Members {
		ref := finding.Ref(m).String()
		g.addEdge(g.addNode(ref, ref, objectShape, stateLive), at)
	}
	for _, l := range a.Listeners {
		listener := g.addNode("", fmt.Sprintf("listener %s:%s", l.Protocol, l.Ports), partShape, l.State)
		g.addEdge(at, listener)
		for _, eg := range l.EndpointGroups {
			text := fmt.Sprintf("endpoint group\n%s %d%%", eg.Region, eg.Dial)
			if eg.Owner != "" {
				text += "\n" + OwnerText(eg.Owner)
			}
			group := g.addNode("", text, partShape, eg.State)
			g.addEdge(listener, group)
			output.ShowFirst(eg.Endpoints, maxEndpoints, func(e Endpoint) { g.addEndpoint(group, e) }, func(n int) { g.addEdge(group, g.addMoreNode(n, "endpoints")) })
		}
	}
}

// addEndpoint adds an endpoint with its load balancer to the node of its endpoint group.
func (g *graph) addEndpoint(group int, e Endpoint) {
	state := e.State
	if state == stateLive && e.Health != "HEALTHY" {
		state = stateDiffers
	}
	at := g.addNode("", fmt.Sprintf("endpoint\nweight %d %s", e.Weight, e.Health), partShape, state)
	g.addEdge(group, at)
	lb := e.LoadBalancer
	if lb == nil {
		g.addEdge(at, g.addNode("endpoint|"+e.ID, e.ID, targetShape, stateLive))
		return
	}
	g.addEdge(at, g.addLoadBalancer(lb.Kind+" "+lb.ID, lb.Type, e.ID, lb.Name))
}

// addLoadBalancer returns the node of a load balancer, and adds it if it does not exist. A load balancer has one node,
// although both its stack and accelerators add it.
func (g *graph) addLoadBalancer(stack, kind, arn, name string) int {
	return g.addNode(stack+"|"+arn+name, fmt.Sprintf("%s load balancer\n%s", kind, name), loadBalancerShape, stateLive)
}
