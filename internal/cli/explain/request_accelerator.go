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

// requestAccelerator is the accelerator that receives a request.
type requestAccelerator struct {
	// Object is the GlobalAccelerator.
	Object output.Object `json:"object"`
	Name   string        `json:"name"`
	// Status is the status that AWS shows: IN_PROGRESS or DEPLOYED.
	Status string `json:"status"`
	// Listener is the protocol and ports of the listener that accepts the request, such as TCP:80. It is missing if no
	// listener accepts it.
	Listener string `json:"listener,omitempty"`
	// Owner is CLUSTER/NAMESPACE/NAME of the owner of the accelerator, as far as tags name it. It is missing if the object
	// owns the accelerator.
	Owner string `json:"owner,omitempty"`
	// ClientAffinity is SOURCE_IP, or missing if there is none.
	ClientAffinity string                 `json:"clientAffinity,omitempty"`
	EndpointGroups []requestEndpointGroup `json:"endpointGroups"`
}

// requestEndpointGroup is an endpoint group of the listener that accepts a request.
type requestEndpointGroup struct {
	Region string `json:"region"`
	// Owner is the owner of the endpoint group. It is missing if the object owns the endpoint group. The answers of the load
	// balancers of other owners are not known.
	Owner string `json:"owner,omitempty"`
	// Dial is the traffic dial: the percentage of the traffic for the region that the endpoint group receives.
	Dial int32 `json:"dial"`
	// Port is the port of the endpoints.
	Port      int32             `json:"port"`
	Endpoints []requestEndpoint `json:"endpoints"`
}

// requestEndpoint is an endpoint that may receive a request.
type requestEndpoint struct {
	tree.Endpoint
	// Share is the percentage of the requests of the endpoint group that the endpoint receives.
	Share int32 `json:"share"`
}

// collectAnswers returns the answers of all load balancers. If the request goes to an accelerator, it returns only the
// answers of the load balancers behind the accelerator.
func (a *answerCollector) collectAnswers(ctx context.Context) (RequestDocument, error) {
	var drafts []engine.Draft
	if err := a.EachDraft(ctx, a.store, func(d engine.Draft) error {
		drafts = append(drafts, d)
		return nil
	}); err != nil {
		return RequestDocument{}, err
	}
	for _, d := range drafts {
		if i := slices.IndexFunc(acceleratorsOf(d), a.isAddressOf); i >= 0 {
			return a.collectBehindAccelerator(ctx, drafts, d, acceleratorsOf(d)[i])
		}
	}
	a.drafts = drafts
	for _, d := range drafts {
		if err := a.addAnswers(ctx, d); err != nil {
			return RequestDocument{}, err
		}
	}
	out := a.buildDocument()
	if out.Unserved = a.explainUnservedHost(); out.Unserved != nil {
		out.Notes = slices.DeleteFunc(out.Notes, func(n string) bool { return n == noRuleMatchesNote })
	}
	return out, nil
}

// collectBehindAccelerator returns the answers of the load balancers behind accelerator live, which belongs to draft d.
// The host of the URL is a DNS name or an address of this accelerator, so the accelerator exists in AWS.
func (a *answerCollector) collectBehindAccelerator(ctx context.Context, drafts []engine.Draft, d engine.Draft, live observed.Accelerator) (RequestDocument, error) {
	endpointStacks := map[model.StackID]bool{}
	for _, answer := range d.Have.Facts.Endpoints {
		for _, lb := range answer {
			endpointStacks[lb.Stack] = true
		}
	}
	err := input.EachDraftOutsideScope(ctx, a.Source, a.store, func(id model.StackID) bool { return endpointStacks[id] }, func(d engine.Draft) error {
		drafts = append(drafts, d)
		return nil
	})
	if err != nil {
		return RequestDocument{}, err
	}
	doc := RequestDocument{Request: a.methodAndURL, Answers: []requestAnswer{}, Notes: []string{}, Accelerator: a.explainAccelerator(d, live)}
	doc.addNotes(a, d, live)
	return doc, a.addEndpointAnswers(ctx, &doc, drafts)
}

// acceleratorsOf returns the accelerators of a stack that exist in AWS, and the shared accelerator in which the stack owns
// endpoint groups, if there is one.
func acceleratorsOf(d engine.Draft) []observed.Accelerator {
	if x := d.Have.SharedAccelerator; x != nil && x.DNSName != "" {
		return append(slices.Clone(d.Have.Accelerators), *x)
	}
	return d.Have.Accelerators
}

// isAddressOf reports whether the host of the URL is a DNS name or a static IP address of an accelerator.
func (a *answerCollector) isAddressOf(x observed.Accelerator) bool {
	name := strings.TrimSuffix(a.urlHost, ".")
	if name != "" && (strings.EqualFold(name, x.DNSName) || strings.EqualFold(name, x.DualStackDNSName)) {
		return true
	}
	return slices.ContainsFunc(x.Addresses, func(s observed.AddressSet) bool { return slices.Contains(s.Addresses, name) })
}

// explainAccelerator returns an accelerator as it is in AWS, with the listener that accepts the request and its endpoint
// groups.
func (a *answerCollector) explainAccelerator(d engine.Draft, live observed.Accelerator) *requestAccelerator {
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
			endpointGroup := a.explainEndpointGroup(c, g)
			endpointGroup.Owner = chosen.OtherOwners[g.ARN]
			out.EndpointGroups = append(out.EndpointGroups, endpointGroup)
		}
	}
	return out
}

// explainEndpointGroup returns an endpoint group with the share of its requests that each endpoint receives. Only healthy
// endpoints have a share, in proportion to their weights.
func (a *answerCollector) explainEndpointGroup(c tree.AcceleratorComparer, g observed.EndpointGroup) requestEndpointGroup {
	out := requestEndpointGroup{Region: g.Region, Dial: int32(g.Dial), Port: a.port, Endpoints: []requestEndpoint{}}
	for _, o := range g.Overrides {
		if o.Listener == a.port {
			out.Port = o.Endpoint
		}
	}
	total := int32(0)
	for _, e := range g.Endpoints {
		total += servingWeight(e)
	}
	for _, e := range g.Endpoints {
		out.Endpoints = append(out.Endpoints, requestEndpoint{c.Endpoint(e), 100 * servingWeight(e) / max(total, 1)})
	}
	return out
}

// servingWeight returns the weight of an endpoint, or 0 if it is not healthy.
func servingWeight(e observed.Endpoint) int32 {
	if e.Health != observed.EndpointHealthy {
		return 0
	}
	return e.Weight
}

// addNotes adds notes about the settings that determine which endpoint a client reaches.
func (doc *RequestDocument) addNotes(a *answerCollector, d engine.Draft, live observed.Accelerator) {
	note := func(format string, args ...any) {
		doc.Notes = append(doc.Notes, finding.EscapeNonPrintable(fmt.Sprintf(format, args...)))
	}
	accelerator := doc.Accelerator
	anyServing := slices.ContainsFunc(accelerator.EndpointGroups, func(g requestEndpointGroup) bool { return g.isServing() })
	switch {
	case !live.Enabled:
		note("the accelerator is disabled, so it accepts no connections")
	case accelerator.Listener == "":
		note("no listener of the accelerator in AWS has TCP port %d, so connections are refused", a.port)
	case !anyServing:
		note("no endpoint is healthy with a weight above 0, so AWS uses any endpoint of the nearest endpoint group")
	case len(accelerator.EndpointGroups) > 1:
		note("a client reaches the nearest endpoint group; traffic above its traffic dial, and all traffic of an endpoint group without a serving endpoint, goes to the next endpoint group")
	}
	if accelerator.ClientAffinity != "" {
		note("all connections of a client go to the same endpoint while the endpoint serves")
	}
	if slices.ContainsFunc(accelerator.EndpointGroups, func(g requestEndpointGroup) bool { return g.Owner != "" }) {
		note("the answers of load balancers behind endpoint groups of other owners are not known here; run this command in their clusters")
	}
	if len(d.Plan.Steps) > 0 {
		note("the plan changes this accelerator; \"fulcrum plan globalaccelerator/%s -n %s\" shows how", accelerator.Object.Name, accelerator.Object.Namespace)
	}
}

// isServing reports whether an endpoint of the endpoint group receives traffic.
func (g requestEndpointGroup) isServing() bool {
	return slices.ContainsFunc(g.Endpoints, func(e requestEndpoint) bool { return e.IsServing() })
}

// mayAnswer reports whether an endpoint of the endpoint group is a load balancer of the cluster that receives requests.
// If no endpoint is serving, all endpoints receive requests.
func (g requestEndpointGroup) mayAnswer(e requestEndpoint) bool {
	return e.LoadBalancer != nil && (e.IsServing() || !g.isServing())
}

// shareText returns the share of the requests of the endpoint group that the endpoint receives.
func (e requestEndpoint) shareText() string {
	if e.Share == 0 && e.IsServing() {
		return "less than 1%"
	}
	return fmt.Sprintf("%d%%", e.Share)
}

// addEndpointAnswers adds to doc the answers of the load balancers of the cluster that are endpoints of the accelerator.
func (a *answerCollector) addEndpointAnswers(ctx context.Context, doc *RequestDocument, drafts []engine.Draft) error {
	draftOf := map[model.StackID]engine.Draft{}
	for _, d := range drafts {
		draftOf[d.Stack.ID] = d
	}
	added := map[string]bool{}
	for _, g := range doc.Accelerator.EndpointGroups {
		for _, e := range g.Endpoints {
			key := fmt.Sprint(e.ID, g.Port)
			if !g.mayAnswer(e) || added[key] {
				continue
			}
			added[key] = true
			d, ok := draftOf[e.LoadBalancer.Stack]
			if !ok {
				continue
			}
			collector := answerCollector{webRequest: a.webRequest, Source: a.Source, ClusterTargets: a.ClusterTargets, store: a.store, onlyLoadBalancerARN: e.ID}
			collector.port = g.Port
			if err := collector.addAnswers(ctx, d); err != nil {
				return err
			}
			for _, answer := range collector.answers {
				answer.Named = finding.Ref(doc.Accelerator.Object).String()
				doc.Answers = append(doc.Answers, answer)
			}
			if len(collector.answers) == 0 {
				doc.Notes = append(doc.Notes, fmt.Sprintf("load balancer %s has no listener for %s on port %d", e.LoadBalancer.Name, a.scheme, g.Port))
			}
		}
	}
	return nil
}

// showAccelerator prints the accelerator that receives the request, if there is one.
func showAccelerator(w io.Writer, a *requestAccelerator) {
	if a == nil {
		return
	}
	fmt.Fprintf(w, "\n%s: accelerator %s, %s", finding.Ref(a.Object), a.Name, a.Status)
	if a.Owner != "" {
		fmt.Fprint(w, ", ", tree.OwnerText(a.Owner))
	}
	if a.Listener != "" {
		fmt.Fprintf(w, ", listener %s", a.Listener)
	}
	fmt.Fprintln(w)
	for _, g := range a.EndpointGroups {
		fmt.Fprintf(w, "  endpoint group %s, traffic dial %d%%, endpoint port %d", g.Region, g.Dial, g.Port)
		if g.Owner != "" {
			fmt.Fprint(w, ", ", tree.OwnerText(g.Owner))
		}
		fmt.Fprintln(w)
		output.ShowFirst(g.Endpoints, maxAnswers, func(e requestEndpoint) {
			text := fmt.Sprintf("    %s to endpoint %s", e.shareText(), e.Text())
			if e.LoadBalancer != nil {
				text += " -> " + e.LoadBalancer.Text(len(e.Objects) == 0)
			}
			fmt.Fprintln(w, finding.EscapeNonPrintable(text))
		}, output.ShowMore(w, "    … and %d more endpoints"))
		if !g.isServing() {
			fmt.Fprintln(w, "    no endpoint serves")
		}
	}
}
