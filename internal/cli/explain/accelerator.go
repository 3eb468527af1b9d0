package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

type explainedAccelerator struct {
	Name      string   `json:"name"`
	ARN       string   `json:"arn,omitempty"`
	Status    string   `json:"status,omitempty"` // AWS's word: IN_PROGRESS or DEPLOYED
	DNSName   string   `json:"dnsName,omitempty"`
	Addresses []string `json:"addresses"`
	// Owner is the owner, as CLUSTER/NAMESPACE/NAME where its tags say that; it is not set for the object's own.
	Owner string `json:"owner,omitempty"`

	Listeners []explainedAcceleratorListener `json:"listeners"`
	// Endpoints are the endpoints that the object lists, in its order.
	Endpoints []explainedEndpoint `json:"endpoints"`
	// Others are the endpoint groups under its listeners that are not the object's.
	Others []tree.OtherEndpointGroup `json:"others,omitempty"`
}

type explainedAcceleratorListener struct {
	// From is the field of the listener.
	From     string `json:"from"`
	Protocol string `json:"protocol"`
	// ProtocolFrom and PortsFrom are the object and field that these come from: those of the GlobalAccelerator, or those
	// that its endpoint shows.
	ProtocolFrom string `json:"protocolFrom"`
	Ports        string `json:"ports"`
	PortsFrom    string `json:"portsFrom"`
	// Live is the listener in AWS that becomes this one, such as TCP:80; it is not set for one that has to be made.
	Live string `json:"live,omitempty"`
	// Score is how similar both are, at most 150; from 15 on one becomes the other.
	Score int `json:"score,omitempty"`
}

type explainedEndpoint struct {
	Field string `json:"field"`
	// Object is what it names; null of an id.
	Object *output.Object `json:"object"`
	ID     string         `json:"id,omitempty"`
	// Grant is the ReferenceGrant that permits it; null where none is needed, or none does.
	Grant *output.Object `json:"grant"`
	// Endpoints are what it is in AWS: several while one load balancer takes the place of another, none if it is left out.
	Endpoints []explainedEndpointID `json:"endpoints"`
	// LeftOut are findings about it.
	LeftOut []explainedFinding `json:"findings"`
}

type explainedEndpointID struct {
	ID           string                     `json:"id"`
	LoadBalancer *tree.EndpointLoadBalancer `json:"loadBalancer"`
}

// explainAccelerator returns what was decided about an accelerator, as translation and plan have noted it.
func explainAccelerator(d engine.Draft) *explainedAccelerator {
	choices := d.Choices()
	a := choices.Desired.Accelerator
	if a == nil {
		return nil
	}
	out := &explainedAccelerator{Name: a.Name, Addresses: []string{}, Listeners: []explainedAcceleratorListener{}, Endpoints: []explainedEndpoint{}}
	out.Others = tree.OtherEndpointGroupsOf(d)
	if x := choices.Accelerator; x != nil {
		out.Owner = x.Owner
		out.addLive(x.Live)
		for _, l := range x.Listeners {
			one := explainedAcceleratorListener{
				From: l.Desired.Origin.Field, Protocol: string(l.Desired.Protocol), ProtocolFrom: tree.OriginText(l.Desired.ProtocolOf),
				Ports: model.PortRangesText(l.Desired.Ports), PortsFrom: tree.OriginText(l.Desired.PortsOf),
			}
			if l.Live != nil {
				one.Live, one.Score = listenerText(*l.Live), l.Score
			}
			out.Listeners = append(out.Listeners, one)
		}
	}
	c := tree.AcceleratorComparer{Comparer: tree.NewComparer(d, d.Have.Facts, tree.ClusterTargets{})}
	for _, n := range a.Entries {
		one := explainedEndpoint{Field: n.Origin.Field, ID: n.ID, Endpoints: []explainedEndpointID{}}
		if !n.Object.IsZero() {
			one.Object = (*output.Object)(&n.Object)
		}
		if !n.Grant.IsZero() {
			one.Grant = (*output.Object)(&n.Grant)
		}
		for _, id := range n.Endpoints {
			one.Endpoints = append(one.Endpoints, explainedEndpointID{id, c.LoadBalancerOf(id)})
		}
		one.LeftOut = explainFindings(slices.DeleteFunc(slices.Clone(d.Findings), func(f finding.Finding) bool {
			return f.Object != n.Origin.Object || f.Field != one.Field && !strings.HasPrefix(f.Field, one.Field+".")
		}))
		out.Endpoints = append(out.Endpoints, one)
	}
	return out
}

func (a *explainedAccelerator) addLive(live *observed.Accelerator) {
	if live == nil {
		return
	}
	a.Name, a.ARN, a.Status, a.DNSName = live.Name, live.ARN, live.State, live.DNSName
	for _, s := range live.Addresses {
		a.Addresses = append(a.Addresses, s.Addresses...)
	}
}

func listenerText(l observed.AcceleratorListener) string {
	return fmt.Sprintf("%s:%s", l.Protocol, model.PortRangesText(l.Ports))
}

func showExplainedAccelerator(w io.Writer, a *explainedAccelerator) {
	state := "not in AWS"
	if a.ARN != "" {
		state = strings.Join(append([]string{a.Status, a.DNSName}, a.Addresses...), ", ")
	}
	switch {
	case a.Owner == "":
		fmt.Fprintf(w, "  accelerator %s, %s\n", textOr(a.Name, "-"), state)
	case a.ARN == "":
		fmt.Fprintf(w, "  accelerator %s, which is not shared with this object\n", tree.OwnerText(a.Owner))
	default:
		fmt.Fprintf(w, "  accelerator %s, %s, %s\n", textOr(a.Name, "-"), state, tree.OwnerText(a.Owner))
	}
	output.ShowFirst(a.Listeners, tree.MaxListeners, func(l explainedAcceleratorListener) {
		live := "not in AWS yet"
		if l.Live != "" {
			live = fmt.Sprintf("listener %s in AWS, similarity %d", l.Live, l.Score)
		}
		fmt.Fprintf(w, "    listener %s:%s: %s\n      protocol from %s\n      ports from %s\n", l.Protocol, l.Ports, live, l.ProtocolFrom, l.PortsFrom)
	}, func(n int) { fmt.Fprintf(w, "    … and %d more listeners\n", n) })
	output.ShowFirst(a.Endpoints, mostEntries, func(e explainedEndpoint) { showExplainedEndpoint(w, e) },
		func(n int) { fmt.Fprintf(w, "    … and %d more endpoints\n", n) })
	tree.ShowOtherEndpointGroups(w, "    ", a.Others)
}

// mostEntries of a GlobalAccelerator are shown.
const mostEntries = 100

func showExplainedEndpoint(w io.Writer, e explainedEndpoint) {
	of := e.ID
	if e.Object != nil {
		of = finding.Ref(*e.Object).String()
	}
	if e.Grant != nil {
		of += ", permitted by " + finding.Ref(*e.Grant).String()
	}
	fmt.Fprintf(w, "    endpoint %s   from %s\n", finding.Printable(of), e.Field)
	for _, x := range e.Endpoints {
		if x.LoadBalancer == nil {
			fmt.Fprintf(w, "      %s\n", finding.Printable(x.ID))
			continue
		}
		fmt.Fprintf(w, "      %s\n        %s\n        %s\n", x.LoadBalancer.Text(true), x.LoadBalancer.DNSName, x.ID)
	}
	for _, f := range e.LeftOut {
		fmt.Fprintf(w, "      %s %s: %s\n", f.Severity, f.Reason, finding.Printable(f.Message))
	}
}
