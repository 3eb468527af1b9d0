package explain

import (
	"cmp"
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

// explainedAccelerator is the accelerator of a GlobalAccelerator, with what the plan chooses for it.
type explainedAccelerator struct {
	Name string `json:"name"`
	ARN  string `json:"arn,omitempty"`
	// Status is the status that AWS shows: IN_PROGRESS or DEPLOYED.
	Status  string `json:"status,omitempty"`
	DNSName string `json:"dnsName,omitempty"`
	// Addresses are the static IP addresses.
	Addresses []string `json:"addresses"`
	// Owner is CLUSTER/NAMESPACE/NAME of the object that owns the accelerator, as far as tags name that object. It is
	// missing if the explained object owns the accelerator.
	Owner string `json:"owner,omitempty"`

	Listeners []explainedAcceleratorListener `json:"listeners"`
	// Endpoints are the endpoints that the object lists, in the same order.
	Endpoints []explainedEndpoint `json:"endpoints"`
	// Others are the endpoint groups of the accelerator's listeners that the object does not own.
	Others []tree.OtherEndpointGroup `json:"others,omitempty"`
}

// explainedAcceleratorListener is a listener of an accelerator.
type explainedAcceleratorListener struct {
	// From is the field that defines the listener.
	From     string `json:"from"`
	Protocol string `json:"protocol"`
	// ProtocolFrom is the object and field that define the protocol. The object is the GlobalAccelerator, or an object that
	// it names.
	ProtocolFrom string `json:"protocolFrom"`
	Ports        string `json:"ports"`
	// PortsFrom is the object and field that define the ports. The object is the GlobalAccelerator, or an object that it
	// names.
	PortsFrom string `json:"portsFrom"`
	// Live is the listener in AWS that the plan changes to this listener, such as TCP:80. It is missing if the plan creates
	// the listener.
	Live string `json:"live,omitempty"`
	// Score is the similarity of Live and the desired listener, at most 150. From a score of 15, the plan changes the
	// listener in AWS instead of creating one.
	Score int `json:"score,omitempty"`
}

// explainedEndpoint is an endpoint that a GlobalAccelerator lists.
type explainedEndpoint struct {
	// Field is the field of the endpoint in the GlobalAccelerator.
	Field string `json:"field"`
	// Object is the object that the endpoint names. It is null if the endpoint has an ID instead.
	Object *output.Object `json:"object"`
	ID     string         `json:"id,omitempty"`
	// Grant is the ReferenceGrant that permits the endpoint. It is null if none is needed, or if none exists.
	Grant *output.Object `json:"grant"`
	// Endpoints are the endpoints in AWS. There are several while one load balancer replaces another, and none if the plan
	// omits the endpoint.
	Endpoints []explainedEndpointID `json:"endpoints"`
	// Findings are the findings about the endpoint.
	Findings []explainedFinding `json:"findings"`
}

// explainedEndpointID is an endpoint in AWS, with its load balancer if that is known.
type explainedEndpointID struct {
	ID           string                     `json:"id"`
	LoadBalancer *tree.EndpointLoadBalancer `json:"loadBalancer"`
}

// explainAccelerator returns what the plan of a stack chooses for its accelerator. It returns nil if the stack has none.
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
		out.setObservedValues(x.Live)
		for _, l := range x.Listeners {
			listener := explainedAcceleratorListener{
				From: l.Desired.Origin.Field, Protocol: string(l.Desired.Protocol), ProtocolFrom: tree.OriginText(l.Desired.ProtocolOf),
				Ports: model.PortRangesText(l.Desired.Ports), PortsFrom: tree.OriginText(l.Desired.PortsOf),
			}
			if l.Live != nil {
				listener.Live, listener.Score = listenerText(*l.Live), l.Score
			}
			out.Listeners = append(out.Listeners, listener)
		}
	}
	c := tree.AcceleratorComparer{Comparer: tree.NewComparer(d, d.Have.Facts, tree.ClusterTargets{})}
	for _, entry := range a.Entries {
		endpoint := explainedEndpoint{Field: entry.Origin.Field, ID: entry.ID, Endpoints: []explainedEndpointID{}}
		if !entry.Object.IsZero() {
			endpoint.Object = (*output.Object)(&entry.Object)
		}
		if !entry.Grant.IsZero() {
			endpoint.Grant = (*output.Object)(&entry.Grant)
		}
		for _, id := range entry.Endpoints {
			endpoint.Endpoints = append(endpoint.Endpoints, explainedEndpointID{id, c.LoadBalancerOf(id)})
		}
		endpoint.Findings = explainFindings(slices.DeleteFunc(slices.Clone(d.Findings), func(f finding.Finding) bool {
			return f.Object != entry.Origin.Object || f.Field != endpoint.Field && !strings.HasPrefix(f.Field, endpoint.Field+".")
		}))
		out.Endpoints = append(out.Endpoints, endpoint)
	}
	return out
}

// setObservedValues sets the fields of the accelerator to the values in AWS. It does nothing if live is nil.
func (a *explainedAccelerator) setObservedValues(live *observed.Accelerator) {
	if live == nil {
		return
	}
	a.Name, a.ARN, a.Status, a.DNSName = live.Name, live.ARN, live.State, live.DNSName
	for _, s := range live.Addresses {
		a.Addresses = append(a.Addresses, s.Addresses...)
	}
}

// listenerText returns the protocol and ports of a listener, such as TCP:80.
func listenerText(l observed.AcceleratorListener) string {
	return fmt.Sprintf("%s:%s", l.Protocol, model.PortRangesText(l.Ports))
}

// showExplainedAccelerator prints an accelerator with its listeners, endpoints and other endpoint groups.
func showExplainedAccelerator(w io.Writer, a *explainedAccelerator) {
	state := "not in AWS"
	if a.ARN != "" {
		state = strings.Join(append([]string{a.Status, a.DNSName}, a.Addresses...), ", ")
	}
	switch {
	case a.Owner == "":
		fmt.Fprintf(w, "  accelerator %s, %s\n", cmp.Or(a.Name, "-"), state)
	case a.ARN == "":
		fmt.Fprintf(w, "  accelerator %s, which is not shared with this object\n", tree.OwnerText(a.Owner))
	default:
		fmt.Fprintf(w, "  accelerator %s, %s, %s\n", cmp.Or(a.Name, "-"), state, tree.OwnerText(a.Owner))
	}
	output.ShowFirst(a.Listeners, tree.MaxListeners, func(l explainedAcceleratorListener) {
		live := "not in AWS yet"
		if l.Live != "" {
			live = fmt.Sprintf("listener %s in AWS, similarity %d", l.Live, l.Score)
		}
		fmt.Fprintf(w, "    listener %s:%s: %s\n      protocol from %s\n      ports from %s\n", l.Protocol, l.Ports, live, l.ProtocolFrom, l.PortsFrom)
	}, output.ShowMore(w, "    … and %d more listeners"))
	output.ShowFirst(a.Endpoints, maxShownEndpoints, func(e explainedEndpoint) { showExplainedEndpoint(w, e) }, output.ShowMore(w, "    … and %d more endpoints"))
	tree.ShowOtherEndpointGroups(w, "    ", a.Others)
}

// maxShownEndpoints is the maximum number of endpoints of a GlobalAccelerator that the text output shows.
const maxShownEndpoints = 100

// showExplainedEndpoint prints an endpoint with its load balancers and findings.
func showExplainedEndpoint(w io.Writer, e explainedEndpoint) {
	text := e.ID
	if e.Object != nil {
		text = finding.Ref(*e.Object).String()
	}
	if e.Grant != nil {
		text += ", permitted by " + finding.Ref(*e.Grant).String()
	}
	fmt.Fprintf(w, "    endpoint %s   from %s\n", finding.EscapeNonPrintable(text), e.Field)
	for _, x := range e.Endpoints {
		if x.LoadBalancer == nil {
			fmt.Fprintf(w, "      %s\n", finding.EscapeNonPrintable(x.ID))
			continue
		}
		fmt.Fprintf(w, "      %s\n        %s\n        %s\n", x.LoadBalancer.Text(true), x.LoadBalancer.DNSName, x.ID)
	}
	for _, f := range e.Findings {
		fmt.Fprintf(w, "      %s %s: %s\n", f.Severity, f.Reason, finding.EscapeNonPrintable(f.Message))
	}
}
