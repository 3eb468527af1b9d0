package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

type requestAccelerator struct {
	Object output.Object `json:"object"`
	Name   string        `json:"name"`
	Status string        `json:"status"` // AWS's word: IN_PROGRESS or DEPLOYED
	// Listener is protocol and ports of the one that accepts the request, such as TCP:80; it is missing if none does.
	Listener string `json:"listener,omitempty"`
	// Owner is the owner of the accelerator, as CLUSTER/NAMESPACE/NAME where its tags say that; it is not set for the
	// object's own.
	Owner          string                 `json:"owner,omitempty"`
	ClientAffinity string                 `json:"clientAffinity,omitempty"`
	EndpointGroups []requestEndpointGroup `json:"endpointGroups"`
}

type requestEndpointGroup struct {
	Region string `json:"region"`
	// Owner is the owner, if it is not the object of the stack. Commands do not know what its load balancers answer.
	Owner string `json:"owner,omitempty"`
	// Dial is the percentage of the clients of the region that stay there.
	Dial int32 `json:"dial"`
	// Port is the port of the endpoints.
	Port      int32             `json:"port"`
	Endpoints []requestEndpoint `json:"endpoints"`
}

type requestEndpoint struct {
	tree.Endpoint
	// Share is the percentage of the requests of the endpoint group that it gets.
	Share int32 `json:"share"`
}

// documentOf asks all load balancers, or those that the accelerator leads to which the request goes to.
func (a *answering) documentOf(ctx context.Context) (RequestDocument, error) {
	var drafts []engine.Draft
	if err := a.Each(ctx, a.store, func(d engine.Draft) error {
		drafts = append(drafts, d)
		return nil
	}); err != nil {
		return RequestDocument{}, err
	}
	drafts, err := a.draftsBehind(ctx, drafts)
	if err != nil {
		return RequestDocument{}, err
	}
	doc, err := a.throughAccelerator(ctx, drafts)
	switch {
	case err != nil:
		return RequestDocument{}, err
	case doc != nil:
		return *doc, nil
	}
	a.drafts = drafts
	for _, d := range drafts {
		if err := a.ask(ctx, d); err != nil {
			return RequestDocument{}, err
		}
	}
	out := a.document()
	if out.Unserved = a.unserved(); out.Unserved != nil {
		out.Notes = slices.DeleteFunc(out.Notes, func(n string) bool { return n == noRuleMatches })
	}
	return out, nil
}

// throughAccelerator finds the accelerator whose name or address the request goes to, and what the load balancers
// answer that it leads to. It looks at what AWS has: what is not there has no address yet. It reports whether there is
// one.
func (a *answering) throughAccelerator(ctx context.Context, drafts []engine.Draft) (*RequestDocument, error) {
	for _, d := range drafts {
		for _, live := range acceleratorsOf(d) {
			if !a.isAddressOf(live) {
				continue
			}
			doc := &RequestDocument{Request: a.text, Answers: []requestAnswer{}, Notes: []string{}}
			via := a.accelerator(d, live)
			doc.Accelerator = via
			doc.addNotes(a, d, live)
			return doc, a.answerBehindAccelerator(ctx, doc, drafts)
		}
	}
	return nil, nil
}

// acceleratorsOf returns the accelerators in AWS that a stack has, or has endpoint groups of.
func acceleratorsOf(d engine.Draft) []observed.Accelerator {
	if x := d.Have.Shared; x != nil && x.DNSName != "" {
		return append(slices.Clone(d.Have.Accelerators), *x)
	}
	return d.Have.Accelerators
}

func (a *answering) isAddressOf(x observed.Accelerator) bool {
	name := strings.TrimSuffix(a.address, ".")
	if name != "" && (strings.EqualFold(name, x.DNSName) || strings.EqualFold(name, x.DualStackDNSName)) {
		return true
	}
	return slices.ContainsFunc(x.Addresses, func(s observed.AddressSet) bool { return slices.Contains(s.Addresses, name) })
}

// accelerator returns the listener that accepts the request, with its endpoint groups.
func (a *answering) accelerator(d engine.Draft, live observed.Accelerator) *requestAccelerator {
	out := &requestAccelerator{
		Object: output.Object{Kind: string(d.Stack.ID.Kind), Namespace: d.Stack.ID.Namespace, Name: d.Stack.ID.Name}, Name: live.Name, Status: live.State,
		EndpointGroups: []requestEndpointGroup{},
	}
	c := tree.AcceleratorComparer{Comparer: tree.NewComparer(d, d.Have.Facts, tree.ClusterTargets{})}
	chosen := resolved.AcceleratorChoices{}
	if x := d.Choices().Accelerator; x != nil && x.Live != nil && x.Live.ARN == live.ARN {
		chosen = *x
	}
	out.Owner = chosen.Owner
	for _, l := range live.Listeners {
		if l.Protocol != model.TCP || !model.HasPort(l.Ports, a.port) || !live.Enabled {
			continue
		}
		out.Listener = listenerText(l)
		if l.SourceIP {
			out.ClientAffinity = "SOURCE_IP"
		}
		for _, g := range l.Groups {
			one := a.endpointGroup(c, g)
			one.Owner = chosen.Others[g.ARN]
			out.EndpointGroups = append(out.EndpointGroups, one)
		}
	}
	return out
}

// endpointGroup shares the requests of a region among the endpoints that serve, by their weights.
func (a *answering) endpointGroup(c tree.AcceleratorComparer, g observed.EndpointGroup) requestEndpointGroup {
	out := requestEndpointGroup{Region: g.Region, Dial: int32(g.Dial), Port: a.port, Endpoints: []requestEndpoint{}}
	for _, o := range g.Overrides {
		if o.Listener == a.port {
			out.Port = o.Endpoint
		}
	}
	all := int32(0)
	for _, e := range g.Endpoints {
		all += servingWeight(e)
	}
	for _, e := range g.Endpoints {
		out.Endpoints = append(out.Endpoints, requestEndpoint{c.Endpoint(e), 100 * servingWeight(e) / max(all, 1)})
	}
	return out
}

func servingWeight(e observed.Endpoint) int32 {
	if e.Health != observed.EndpointHealthy {
		return 0
	}
	return e.Weight
}

// addNotes reports what else decides.
func (doc *RequestDocument) addNotes(a *answering, d engine.Draft, live observed.Accelerator) {
	note := func(format string, args ...any) {
		doc.Notes = append(doc.Notes, finding.Printable(fmt.Sprintf(format, args...)))
	}
	via := doc.Accelerator
	serves := slices.ContainsFunc(via.EndpointGroups, func(g requestEndpointGroup) bool { return g.serves() })
	switch {
	case !live.Enabled:
		note("the accelerator is disabled, so that it accepts nothing")
	case via.Listener == "":
		note("no listener of the accelerator in AWS has TCP port %d, so that connections are refused", a.port)
	case !serves:
		note("no endpoint is healthy and has a weight, so that AWS takes any endpoint of the nearest endpoint group")
	case len(via.EndpointGroups) > 1:
		note("a client gets the nearest endpoint group; traffic beyond the dial, and of one in which no endpoint serves, goes to the next one")
	}
	if via.ClientAffinity != "" {
		note("all connections of a client go to one endpoint, as long as it serves")
	}
	if slices.ContainsFunc(via.EndpointGroups, func(g requestEndpointGroup) bool { return g.Owner != "" }) {
		note("what the load balancers behind the endpoint groups of others answer is not known here; ask in their clusters")
	}
	if len(d.Plan.Steps) > 0 {
		note("the plan changes this accelerator; \"fulcrum plan globalaccelerator/%s -n %s\" shows how", via.Object.Name, via.Object.Namespace)
	}
}

func (g requestEndpointGroup) serves() bool {
	return slices.ContainsFunc(g.Endpoints, func(e requestEndpoint) bool { return e.Health == observed.EndpointHealthy && e.Weight > 0 })
}

// answerBehindAccelerator adds what the load balancers of the cluster answer that the accelerator leads to.
func (a *answering) answerBehindAccelerator(ctx context.Context, doc *RequestDocument, drafts []engine.Draft) error {
	known := map[string]engine.Draft{}
	for _, d := range drafts {
		known[string(d.Stack.ID.Kind)+" "+d.Stack.ID.String()] = d
	}
	done := map[string]bool{}
	for _, g := range doc.Accelerator.EndpointGroups {
		for _, e := range g.Endpoints {
			at := fmt.Sprint(e.ID, g.Port)
			if e.LoadBalancer == nil || done[at] || g.serves() && e.Share == 0 {
				continue
			}
			done[at] = true
			d, ok := known[e.LoadBalancer.Kind+" "+e.LoadBalancer.ID]
			if !ok {
				continue
			}
			behind := answering{webRequest: a.webRequest, Source: a.Source, ClusterTargets: a.ClusterTargets, store: a.store, only: e.ID}
			behind.port = g.Port
			if err := behind.ask(ctx, d); err != nil {
				return err
			}
			for _, one := range behind.answers {
				one.Named = finding.Ref(doc.Accelerator.Object).String()
				doc.Answers = append(doc.Answers, one)
			}
			if len(behind.answers) == 0 {
				doc.Notes = append(doc.Notes, fmt.Sprintf("load balancer %s has no listener for %s on port %d", e.LoadBalancer.Name, a.scheme, g.Port))
			}
		}
	}
	return nil
}

// draftsBehind adds the stacks whose load balancers the accelerator of the request leads to, which the command is not about.
func (a *answering) draftsBehind(ctx context.Context, drafts []engine.Draft) ([]engine.Draft, error) {
	led := map[string]bool{}
	for _, d := range drafts {
		for _, live := range acceleratorsOf(d) {
			if !a.isAddressOf(live) {
				continue
			}
			for _, answer := range d.Have.Facts.Endpoints {
				for _, lb := range answer {
					led[string(lb.Stack.Kind)+" "+lb.Stack.String()] = true
				}
			}
		}
	}
	if len(led) == 0 {
		return drafts, nil
	}
	return drafts, input.EachOutsideScope(ctx, a.Source, a.store, func(id model.StackID) bool { return led[string(id.Kind)+" "+id.String()] }, func(d engine.Draft) error {
		drafts = append(drafts, d)
		return nil
	})
}

func showAccelerator(w io.Writer, via *requestAccelerator) {
	if via == nil {
		return
	}
	fmt.Fprintf(w, "\n%s: accelerator %s, %s", finding.Ref(via.Object), via.Name, via.Status)
	if via.Owner != "" {
		fmt.Fprint(w, ", ", tree.OwnerText(via.Owner))
	}
	if via.Listener != "" {
		fmt.Fprintf(w, ", listener %s", via.Listener)
	}
	fmt.Fprintln(w)
	for _, g := range via.EndpointGroups {
		fmt.Fprintf(w, "  endpoint group %s, traffic dial %d%%, port %d of its endpoints", g.Region, g.Dial, g.Port)
		if g.Owner != "" {
			fmt.Fprint(w, ", ", tree.OwnerText(g.Owner))
		}
		fmt.Fprintln(w)
		output.ShowFirst(g.Endpoints, mostAnswers, func(e requestEndpoint) {
			text := fmt.Sprintf("    %d%% to endpoint %s", e.Share, e.Text())
			if e.LoadBalancer != nil {
				text += " -> " + e.LoadBalancer.Text(len(e.Objects) == 0)
			}
			fmt.Fprintln(w, finding.Printable(text))
		}, func(n int) { fmt.Fprintf(w, "    … and %d more endpoints\n", n) })
		if !g.serves() {
			fmt.Fprintln(w, "    no endpoint serves")
		}
	}
}
