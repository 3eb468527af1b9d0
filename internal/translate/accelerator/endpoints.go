package accelerator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

func (t *translation) namespaceOf(e aga.Endpoint) string {
	if e.Namespace == "" {
		return t.ga.Namespace
	}
	return e.Namespace
}

// resolveEndpoint returns the endpoints for an entry e of the spec in endpoint group g, with the settings of x. An entry
// has several endpoints while its load balancer is being replaced, and none if it is left out.
func (t endpointBuilder) resolveEndpoint(g *model.EndpointGroup, e aga.Endpoint, x model.Endpoint) []model.Endpoint {
	if e.Type == aga.EndpointTypeEndpointID {
		return t.endpointByID(g, e.EndpointID, x)
	}
	group, kind, known := endpointObjectKind(e.Type)
	if !known {
		t.reportLeftOut(x, finding.SpecInvalid, fmt.Sprintf("type %q is not valid (valid types are %s, %s, %s and %s)", finding.TruncateValue(string(e.Type)), aga.EndpointTypeService, aga.EndpointTypeIngress, aga.EndpointTypeGateway, aga.EndpointTypeEndpointID), "change the type")
		return nil
	}
	if e.Name == "" {
		t.reportLeftOut(x, finding.SpecInvalid, fmt.Sprintf("the endpoint of type %s has no name", kind), "set the name of the "+kind)
		return nil
	}
	namespace, rights := t.namespaceOf(e), rightsChecker(t)
	if rights.grantsUnknown(namespace) {
		t.view.SubscribeList(cluster.Query{Kind: cluster.KindReferenceGrant, Namespace: namespace})
		t.retainEndpointsOf(g, finding.Ref{Kind: kind, Namespace: namespace, Name: e.Name})
		t.reportFault(x.Origin.Field, finding.ReferenceNotPermitted, finding.Warning, fmt.Sprintf("the ReferenceGrants of namespace %q are not known, because the controller watches only one namespace or the API server does not serve them; endpoints in AWS stay, and the endpoint is not added", finding.TruncateValue(namespace)),
			"use an object of namespace "+t.ga.Namespace+", or "+readGrantsFix)
		return nil
	}
	if !rights.permits(attach.Referent{Group: group, Kind: kind, Namespace: namespace, Name: e.Name}) {
		t.reportLeftOut(x, finding.ReferenceNotPermitted, fmt.Sprintf("no ReferenceGrant of namespace %q permits a GlobalAccelerator of namespace %q to use %s %q", finding.TruncateValue(namespace), t.ga.Namespace, kind, finding.TruncateValue(e.Name)),
			fmt.Sprintf("create a ReferenceGrant in that namespace, from group %s and kind GlobalAccelerator to kind %s", aga.GroupVersion.Group, kind))
		return nil
	}
	if !t.view.Installed(kind) { // it is not known whether the object exists
		t.view.Subscribe(kind, namespace, e.Name)
		t.retainEndpointsOf(g, finding.Ref{Kind: kind, Namespace: namespace, Name: e.Name})
		t.reportFault(x.Origin.Field, finding.EndpointNotReady, finding.Warning, fmt.Sprintf("%s %q cannot be read, because the API server does not serve the kind or does not let the controller list it; endpoints in AWS stay, and the endpoint is not added", kind, finding.TruncateValue(namespace+"/"+e.Name)),
			"install the CustomResourceDefinition of the kind, and let the controller list it")
		return nil
	}
	obj, exists := cluster.GetReferenced[cluster.Object](t.view, t.ga, kind, namespace, e.Name)
	switch {
	case !exists:
		t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("%s %q does not exist", kind, finding.TruncateValue(namespace+"/"+e.Name)), "create the object, or remove the endpoint")
		return nil
	case obj.GetDeletionTimestamp() != nil:
		t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("%s %q is being deleted", kind, namespace+"/"+e.Name), "remove the endpoint")
		return nil
	}
	if region := t.region(); region != "" && g.Region != region {
		t.reportLeftOut(x, finding.EndpointElsewhere, fmt.Sprintf("the load balancer of the %s is in region %q, but the endpoint group is for %q", kind, region, finding.TruncateValue(g.Region)), "move the endpoint to an endpoint group of its region")
		return nil
	}
	if stacks := t.opt.Frontends.Stacks(t.view, obj); len(stacks) > 0 {
		return t.servingEndpoints(g, obj, stacks, x)
	}
	return t.endpointByHostname(obj, x)
}

// readGrantsFix is the advice to users if the controller cannot read ReferenceGrants.
const readGrantsFix = "remove --watch-namespace, or install the CustomResourceDefinition of ReferenceGrants"

// retainEndpointsOf keeps the endpoints in AWS that may belong to an object that cannot be read: load balancers that serve
// the object, and permitted load balancers that the cluster does not manage.
func (t endpointBuilder) retainEndpointsOf(g *model.EndpointGroup, ref finding.Ref) {
	for _, id := range t.liveEndpoints() {
		lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: id})
		if lb != nil && (servesObject(*lb, ref) || !lb.Cluster && rightsChecker(t).admitsUnmanaged(id)) {
			g.RetainedEndpoints = append(g.RetainedEndpoints, id)
		}
	}
}

// reportLeftOut reports why an endpoint is left out. Other endpoints are still used.
func (t endpointBuilder) reportLeftOut(x model.Endpoint, reason finding.Reason, message, fix string) {
	t.reportFault(x.Origin.Field, reason, finding.Warning, message+"; the endpoint is left out", fix)
}

func endpointObjectKind(of aga.EndpointType) (group string, kind cluster.Kind, known bool) {
	switch of {
	case aga.EndpointTypeService:
		return "", cluster.KindService, true
	case aga.EndpointTypeIngress:
		return networkingv1.GroupName, cluster.KindIngress, true
	case aga.EndpointTypeGateway:
		return gwv1.GroupName, cluster.KindGateway, true
	}
	return "", "", false
}

// statusHostname returns the hostname of the load balancer in the status of an object, or "" if there is none.
func statusHostname(obj cluster.Object) string {
	ing, ok := obj.(*networkingv1.Ingress)
	if !ok {
		return cluster.StatusHostname(obj)
	}
	if e := albStatusEntry(ing); e != nil {
		return e.Hostname
	}
	return ""
}

// servingEndpoints returns an endpoint for each load balancer in stacks that serves obj, with the settings of x. A load
// balancer serves obj if its tags, or the tags of a target group to which it forwards, name obj, or if obj is an accepted
// member of its stack. The status and the finalizers of obj do not prove this, because users can write them.
func (t endpointBuilder) servingEndpoints(g *model.EndpointGroup, obj cluster.Object, stacks []model.StackID, x model.Endpoint) []model.Endpoint {
	shown := statusHostname(obj)
	if t.live == nil {
		// The engine detects changes of the desired state from a digest of the result without observed state. So this
		// result must include all values that the translation uses later.
		if x.Weight > 0 {
			dialBuilder(t).countTargets(g.ID, obj, stacks)
		}
		x.ID = fmt.Sprintf("%v %s", stacks, strings.ToLower(shown))
		for _, id := range stacks {
			t.ask(model.AskLoadBalancers{Of: id})
		}
		return []model.Endpoint{x}
	}
	var all []observed.EndpointLoadBalancer
	for _, id := range stacks {
		q := model.AskLoadBalancers{Of: id}
		t.ask(q)
		for _, lb := range t.live.Facts.Endpoints[q.Key()] {
			switch {
			case lb.ResourceID != model.LoadBalancerID || !servesObject(lb, cluster.RefOf(obj)) && !t.isAcceptedMember(lb.Stack, obj):
			case rightsChecker(t).isIsolated(lb) && !rightsChecker(t).mayUseLoadBalancer(lb):
				t.reportLeftOut(x, finding.ReferenceNotPermitted, fmt.Sprintf("the load balancer of %s also serves other namespaces, and some of them do not permit its use", cluster.RefOf(obj)),
					"create a ReferenceGrant in each namespace of the IngressGroup, from group "+aga.GroupVersion.Group+" and kind GlobalAccelerator to kind Ingress")
				return nil
			default:
				all = append(all, lb)
			}
		}
	}
	at := slices.IndexFunc(all, func(lb observed.EndpointLoadBalancer) bool { return strings.EqualFold(lb.DNSName, shown) })
	var out []model.Endpoint
	for i, lb := range all {
		made := x
		switch {
		case lb.Tags[naming.SuccessorTag] != "" && i != at:
			continue // lb replaces another load balancer, and the status of obj does not name lb yet
		case at >= 0 && i != at:
			since, err := time.Parse(time.RFC3339, lb.Tags[naming.ReplacedTag])
			if err != nil {
				continue // obj moves from lb to the load balancer that its status names
			}
			made.ReplacedAt = since
		}
		out = t.appendUsable(out, made, lb)
	}
	switch {
	case len(all) == 0:
		t.retainPendingEndpoints(g, obj, stacks, x)
	case x.Weight > 0:
		dialBuilder(t).countTargets(g.ID, obj, stacks)
	}
	return out
}

// servesObject reports whether a load balancer was created for an object, or forwards to a target group that was created
// for the object.
func servesObject(lb observed.EndpointLoadBalancer, ref finding.Ref) bool {
	if !lb.Cluster || ownership.RootKind(lb.Stack.Kind) != ref.Kind {
		return false
	}
	own := lb.Stack.Namespace == ref.Namespace && lb.Stack.Name == ref.Name
	return own || slices.ContainsFunc(lb.Backends, func(id string) bool { return naming.IsTargetGroupOf(id, ref) })
}

// isAcceptedMember reports whether obj is an Ingress that is accepted in the IngressGroup of a stack. An accepted Ingress
// has no target group if all of its rules are redirects or fixed responses.
func (t endpointBuilder) isAcceptedMember(id model.StackID, obj cluster.Object) bool {
	return id.Kind == model.Ingress && isShared(id) && slices.Contains(obj.GetFinalizers(), naming.Finalizer(id)) &&
		slices.ContainsFunc(t.acceptedMembers(id), func(m model.Member) bool { return m.Ref == cluster.RefOf(obj) })
}

// acceptedMembers returns the members of a stack that are accepted. If they are not known now, the accelerator is held.
func (t endpointBuilder) acceptedMembers(id model.StackID) []model.Member {
	members, known := t.membersOf[id]
	if frontend := t.opt.Frontends[id.Kind]; !known && frontend != nil {
		v := t.view.CacheOnly() // changes of other objects of the stack need not enqueue the GlobalAccelerator
		stack, _ := frontend.Translate(v, id, nil)
		t.accelerator.Held = t.accelerator.Held || v.Err() != nil
		members = stack.Members
		if t.membersOf == nil {
			t.membersOf = map[model.StackID][]model.Member{}
		}
		t.membersOf[id] = members
	}
	return members
}

// retainPendingEndpoints reports that an object has no load balancer yet. Until it has one, endpoints in AWS that serve
// the object are kept.
func (t endpointBuilder) retainPendingEndpoints(g *model.EndpointGroup, obj cluster.Object, stacks []model.StackID, x model.Endpoint) {
	t.accelerator.Pending = true
	if len(obj.GetFinalizers()) == 0 && t.reportOtherServiceType(obj, x) {
		return
	}
	ref := cluster.RefOf(obj)
	adopter := model.StackID{}
	for _, id := range t.liveEndpoints() {
		lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: id})
		if lb == nil || !lb.Cluster {
			continue
		}
		// After a Gateway has taken over the load balancer, the target groups of the load balancer name routes of the
		// Gateway.
		from, adopted := naming.ParseAdoptedTag(lb.Tags[naming.AdoptedTag])
		if adopted = adopted && slices.Contains(stacks, from); adopted {
			adopter = lb.Stack
		}
		if adopted || servesObject(*lb, ref) {
			g.RetainedEndpoints = append(g.RetainedEndpoints, id)
		}
	}
	if adopter != (model.StackID{}) {
		t.reportFault(x.Origin.Field, finding.EndpointNotReady, finding.Warning, fmt.Sprintf("%s has taken over the load balancer of %s; the endpoint in AWS stays until %[2]s is deleted", adopter.Title(), ref),
			"add the Gateway as an endpoint")
		return
	}
	t.reportLeftOut(x, finding.EndpointNotReady, fmt.Sprintf("%s has no load balancer yet", ref), "see the events of that object")
}

// reportOtherServiceType reports whether obj is a Service of another type than LoadBalancer. For such a Service, it adds
// the finding that the endpoint is left out.
func (t endpointBuilder) reportOtherServiceType(obj cluster.Object, x model.Endpoint) bool {
	svc, ok := obj.(*corev1.Service)
	if !ok || svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		return false
	}
	t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("Service %q is not of type LoadBalancer", svc.Namespace+"/"+svc.Name), "change the type of the Service, or remove the endpoint")
	return true
}

// endpointByHostname returns the endpoint for an object without a stack of this controller. It finds the load balancer
// by the hostname in the status of the object. Users can write the status. So a load balancer of the cluster must serve
// the object, and any other load balancer must be permitted by Options.EndpointIDs.
func (t endpointBuilder) endpointByHostname(obj cluster.Object, x model.Endpoint) []model.Endpoint {
	ref, shown := cluster.RefOf(obj), statusHostname(obj)
	if t.reportOtherServiceType(obj, x) {
		return nil
	}
	if shown == "" {
		t.accelerator.Pending = true
		t.reportLeftOut(x, finding.EndpointNotReady, fmt.Sprintf("the status of %s has no hostname of an AWS load balancer", ref), "see the events of that object")
		return nil
	}
	q := model.AskLoadBalancers{DNSName: shown}
	lb := t.requestLoadBalancer(q)
	switch {
	case t.live == nil:
		x.ID = q.Key()
		return []model.Endpoint{x}
	case lb == nil, lb.Cluster && !servesObject(*lb, ref), !lb.Cluster && !rightsChecker(t).admitsUnmanaged(lb.ARN):
		t.accelerator.LoadBalancerMissing = t.accelerator.LoadBalancerMissing || lb == nil
		// The message does not reveal whether there is such a load balancer.
		t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("the hostname %q in the status of %s does not belong to a load balancer that may be an endpoint", finding.TruncateValue(shown), ref), "check which controller writes the status of that object")
		return nil
	}
	return t.appendUsable(nil, x, *lb)
}

// endpointByID returns the endpoint for an ARN or ID in the spec, with the settings of x, or none if it is left out.
func (t endpointBuilder) endpointByID(g *model.EndpointGroup, id string, x model.Endpoint) []model.Endpoint {
	if id == "" {
		t.reportLeftOut(x, finding.SpecInvalid, "the endpoint has no endpointID", "set endpointID")
		return nil
	}
	x.ID = id
	of, rights := parseEndpointID(id), rightsChecker(t)
	if of.region != "" && t.live != nil && of.region != g.Region {
		t.reportLeftOut(x, finding.EndpointElsewhere, fmt.Sprintf("%q is in region %q, and the endpoint group is for %q", finding.TruncateValue(id), finding.TruncateValue(of.region), finding.TruncateValue(g.Region)), "move the endpoint to an endpoint group of its region")
		return nil
	}
	if t.live == nil {
		if of.isLoadBalancer || of.isAddress {
			t.ask(model.AskLoadBalancers{ARN: id, Ports: t.asksForPorts && of.isLoadBalancer})
		}
		return []model.Endpoint{x}
	}
	notPermitted := func() []model.Endpoint {
		t.reportLeftOut(x, finding.ReferenceNotPermitted, fmt.Sprintf("no ReferenceGrant or flag permits a GlobalAccelerator of namespace %q to use %q", t.ga.Namespace, finding.TruncateValue(id)),
			"if it is a load balancer of the cluster, create a ReferenceGrant in the namespace of its object; otherwise ask the operator to add the endpoint ID to --accelerator-endpoint-ids")
		return nil
	}
	switch {
	case of.isLoadBalancer && of.region == t.region() && (t.live.Facts.Account == "" || of.account == t.live.Facts.Account):
		lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: id, Ports: t.asksForPorts})
		own := lb != nil && lb.Cluster
		switch {
		case own && rights.grantsUnknown(lb.Stack.Namespace) && !rights.mayUseLoadBalancer(*lb):
			g.RetainedEndpoints = append(g.RetainedEndpoints, id)
			t.reportFault(x.Origin.Field, finding.ReferenceNotPermitted, finding.Warning, fmt.Sprintf("it is not known whether a ReferenceGrant permits a GlobalAccelerator of namespace %q to use %q; endpoints in AWS stay, and the endpoint is not added", t.ga.Namespace, finding.TruncateValue(id)),
				readGrantsFix)
			return nil
		case own && !rights.mayUseLoadBalancer(*lb), !own && !rights.admitsUnmanaged(id):
			return notPermitted()
		case own && t.isBeingDeleted(*lb):
			t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("the objects of load balancer %q are being deleted", finding.TruncateValue(id)), "remove the endpoint")
			return nil
		case lb != nil:
			return t.appendUsable(nil, x, *lb)
		}
		t.accelerator.LoadBalancerMissing = true
		t.reportLeftOut(x, finding.EndpointNotFound, fmt.Sprintf("load balancer %q does not exist", finding.TruncateValue(id)), "correct the endpointID")
		return nil
	case !rights.admitsUnmanaged(id), (of.isInstance && rights.isNode(id) || of.isAddress && t.requestLoadBalancer(model.AskLoadBalancers{ARN: id}) != nil) && !rights.isListedEndpointID(id):
		return notPermitted()
	case of.isAddress, of.isInstance:
		x.ClientIP = nil // AWS always reports false for addresses, and instances always see the address of the client
	}
	return []model.Endpoint{x}
}

// isBeingDeleted reports whether the stack of a load balancer has objects, and all of them are being deleted. Then the load
// balancer is deleted as soon as it is no endpoint any more. The result is false in two exceptions: an accepted member
// without finalizer has joined the stack, or a Gateway takes over the load balancer, which has the tags of both stacks until
// then.
func (t endpointBuilder) isBeingDeleted(lb observed.EndpointLoadBalancer) bool {
	id := lb.Stack
	if slices.ContainsFunc(model.Kinds, func(k model.Kind) bool { return k != id.Kind && lb.Tags[naming.StackTag(k)] != "" }) {
		return false
	}
	var all []cluster.Object
	if kind := ownership.RootKind(id.Kind); isShared(id) {
		all = cluster.List[cluster.Object](t.view, cluster.Query{Kind: kind, Index: cluster.ByFinalizer, Value: naming.Finalizer(id)})
	} else if obj, ok := cluster.Get[cluster.Object](t.view, kind, id.Namespace, id.Name); ok {
		all = append(all, obj)
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(obj cluster.Object) bool { return obj.GetDeletionTimestamp() == nil }) &&
		!(isShared(id) && len(t.acceptedMembers(id)) > 0)
}

// withLoadBalancer returns x with the ID and other properties of its load balancer.
func (t endpointBuilder) withLoadBalancer(x model.Endpoint, lb observed.EndpointLoadBalancer) model.Endpoint {
	x.ID = lb.ARN
	if lb.State == observed.LoadBalancerProvisioning {
		t.ask(model.AskState{ARN: lb.ARN}) // the stack is translated again in this run with the current state
		x.Unready = fmt.Sprintf("load balancer %s to be active", lb.Name)
	}
	x.DualStack, x.SingleStack = lb.AddressType.HasIPv6(), !lb.AddressType.HasIPv6()
	x.ClientIP = t.clientIPPreservation(x, lb)
	return x
}

// appendUsable appends x, with the properties of its load balancer, to the endpoints. It reports why x is not appended: AWS
// could not create the load balancer, or the address type of the accelerator does not allow it. An existing endpoint stays
// if its load balancer fails.
func (t endpointBuilder) appendUsable(to []model.Endpoint, x model.Endpoint, lb observed.EndpointLoadBalancer) []model.Endpoint {
	if lb.State == observed.LoadBalancerFailed && !slices.Contains(t.liveEndpoints(), lb.ARN) {
		t.ask(model.AskState{ARN: lb.ARN})
		t.accelerator.LoadBalancerMissing = true
		t.reportLeftOut(x, finding.EndpointNotReady, fmt.Sprintf("AWS could not create load balancer %q", lb.Name), "see the events of its object")
		return to
	}
	x = t.withLoadBalancer(x, lb)
	if t.accelerator.AddressType == model.DualStack && x.SingleStack {
		t.reportLeftOut(x, finding.Unsupported, "the load balancer has only IPv4 addresses, but the accelerator is DUAL_STACK", "make the load balancer dual-stack, or the accelerator IPV4")
		return to
	}
	return append(to, x)
}

// clientIPPreservation reports whether client IP preservation is on for an endpoint. It returns nil if AWS decides. A
// value that AWS does not support is corrected with a warning, not an error, because it can be the default of the CRD
// schema.
func (t endpointBuilder) clientIPPreservation(x model.Endpoint, lb observed.EndpointLoadBalancer) *bool {
	if x.ClientIP == nil {
		return nil
	}
	internal, why := lb.Scheme == model.Internal, ""
	if lb.Ports == nil && lb.Type == model.Network.String() && len(lb.SecurityGroups) > 0 && !internal && *x.ClientIP {
		// The inventory lacks the listeners of load balancers that the cluster does not manage, and of load balancers that
		// the controller has not compared since it started.
		read := t.requestLoadBalancer(model.AskLoadBalancers{ARN: lb.ARN, Ports: true})
		if read == nil {
			return nil
		}
		lb.Ports = read.Ports
	}
	switch {
	case lb.Type != model.Network.String():
	case len(lb.SecurityGroups) == 0:
		why = "it has no security groups"
	case len(lb.Ports["TLS"]) > 0:
		why = "it has TLS listeners"
	case lb.AddressType.HasIPv6() && t.accelerator.AddressType == model.IPv4:
		why = "it has IPv6 addresses, and the accelerator has none"
	}
	field := x.Origin.Field + ".clientIPPreservationEnabled"
	switch {
	case internal && !*x.ClientIP:
		t.reportFault(field, finding.ClientIPUnsupported, finding.Warning, fmt.Sprintf("an internal load balancer gets traffic of an accelerator only with client IP preservation; client IP preservation is on for %q", lb.Name), "set the field to true")
		return new(true)
	case *x.ClientIP && why != "" && !internal:
		t.reportFault(field, finding.ClientIPUnsupported, finding.Warning, fmt.Sprintf("network load balancer %q cannot have client IP preservation, because %s; client IP preservation is off", lb.Name, why), "set the field to false")
		return new(false)
	}
	return x.ClientIP
}

// requestLoadBalancer adds question q and returns the load balancer in its answer. It returns nil if there is no answer yet,
// or if the answer does not have exactly one load balancer.
func (t *translation) requestLoadBalancer(q model.AskLoadBalancers) *observed.EndpointLoadBalancer {
	t.ask(q)
	if t.live == nil {
		return nil
	}
	if found := t.live.Facts.Endpoints[q.Key()]; len(found) == 1 {
		return &found[0]
	}
	return nil
}

// endpointID is a parsed ARN or ID of an endpoint. Only ARNs have a region and an account.
type endpointID struct {
	region, account                       string
	isLoadBalancer, isInstance, isAddress bool
}

// parseEndpointID parses the ARN or ID of an endpoint.
func parseEndpointID(id string) endpointID {
	parts := strings.SplitN(id, ":", 6)
	if len(parts) == 6 && parts[0] == "arn" {
		return endpointID{region: parts[3], account: parts[4], isLoadBalancer: parts[2] == "elasticloadbalancing"}
	}
	return endpointID{isInstance: strings.HasPrefix(id, "i-"), isAddress: strings.HasPrefix(id, "eipalloc-")}
}
