package accelerator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// An accelerator has public addresses, so clients on the internet can reach an internal load balancer through it.
// Therefore, an endpoint in another namespace needs a ReferenceGrant of that namespace. The ReferenceGrant is checked in
// every run, before the object of the endpoint is read.

// rightsChecker decides whether a GlobalAccelerator may use the endpoints that it names.
type rightsChecker struct{ *translation }

// permits reports whether the GlobalAccelerator may use an object as an endpoint.
func (t rightsChecker) permits(to attach.Referent) bool {
	return to.Namespace == t.ga.Namespace || to.Namespace != "" && t.grantName(to) != ""
}

// grantName returns the name of a ReferenceGrant that permits the use of an object of another namespace. It returns ""
// if there is none, or if the API server does not serve ReferenceGrants.
func (t rightsChecker) grantName(to attach.Referent) string {
	if t.grants == nil {
		t.grants = attach.NewGrants(t.view)
	}
	if !t.view.Installed(cluster.KindReferenceGrant) {
		return ""
	}
	return t.grants.PermittingGrant(attach.Referrer{Group: aga.GroupVersion.Group, Kind: cluster.KindGlobalAccelerator, Namespace: t.ga.Namespace}, to)
}

// mayUseLoadBalancer reports whether the GlobalAccelerator may have a load balancer of the cluster as an endpoint. Either
// the load balancer serves the namespace of the GlobalAccelerator, or a ReferenceGrant permits the use of an object that the
// load balancer serves. In isolated tenancy, each namespace that the load balancer of an IngressGroup serves must permit the
// use.
func (t rightsChecker) mayUseLoadBalancer(lb observed.EndpointLoadBalancer) bool {
	of := permittingOwners(lb)
	if t.isIsolated(lb) {
		return len(of) > 0 && !slices.ContainsFunc(of, func(to attach.Referent) bool { return !t.permits(to) })
	}
	return slices.ContainsFunc(of, t.permits)
}

// setRights sets Rights, so that the engine compares the stack with AWS after a change of permissions. Rights is set only if
// the spec names a load balancer by ARN, or if tenancy is isolated. In these cases the permissions that are needed depend on
// the stack of the load balancer, which is not known without observed state. So Rights has all ReferenceGrants for
// GlobalAccelerators of the namespace. It also has the result of sharedOrDeleted for the namespace, and for each namespace
// with such a ReferenceGrant.
func (t rightsChecker) setRights() {
	if t.live != nil || !t.opt.IsolatedTenancy && !t.namesLoadBalancer() {
		return
	}
	namespaces := []string{t.ga.Namespace}
	of := []string{fmt.Sprintf("%q %q %t %t", t.opt.EndpointIDs, t.opt.WatchedNamespace, t.opt.IsolatedTenancy, t.view.Installed(cluster.KindReferenceGrant))}
	for _, g := range cluster.List[*gwv1beta1.ReferenceGrant](t.view, cluster.Query{Kind: cluster.KindReferenceGrant}) {
		if !slices.ContainsFunc(g.Spec.From, t.isReferrer) {
			continue
		}
		namespaces = append(namespaces, g.Namespace)
		for _, to := range g.Spec.To {
			name := ""
			if to.Name != nil {
				name = string(*to.Name)
			}
			of = append(of, fmt.Sprintf("%q", []string{g.Namespace, string(to.Group), string(to.Kind), name}))
		}
	}
	groups := map[model.StackID]bool{}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		of = append(of, t.sharedOrDeleted(namespace, groups)...)
	}
	for id := range groups { // each namespace of an IngressGroup must permit the use, also one that joins later
		for _, m := range cluster.List[cluster.Object](t.view, cluster.Query{Kind: cluster.KindIngress, Index: cluster.ByFinalizer, Value: naming.Finalizer(id)}) {
			of = append(of, fmt.Sprintf("%q %q", id.String(), m.GetNamespace()))
		}
	}
	slices.Sort(of[1:])
	t.accelerator.Rights = strings.Join(slices.Compact(of), "\n")
}

// sharedOrDeleted returns, as texts, the shared load balancers of the objects of a namespace, and the load balancers of its
// objects that are being deleted. In isolated tenancy, it adds the IngressGroups of the objects to groups.
func (t rightsChecker) sharedOrDeleted(namespace string, groups map[model.StackID]bool) (out []string) {
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindGateway} {
		for _, obj := range cluster.List[cluster.Object](t.view, cluster.Query{Kind: kind, Namespace: namespace}) {
			for _, id := range ownership.ClaimedStacks(t.view, obj) {
				if deleting := obj.GetDeletionTimestamp() != nil; deleting || isShared(id) {
					out = append(out, fmt.Sprintf("%s %q %t", id.Kind, id.String(), deleting))
				}
				if t.opt.IsolatedTenancy && id.Kind == model.Ingress && isShared(id) {
					groups[id] = true
				}
			}
		}
	}
	return out
}

// namesLoadBalancer reports whether an endpoint in the spec is the ARN of a load balancer.
func (t rightsChecker) namesLoadBalancer() bool {
	return slices.ContainsFunc(t.ga.Spec.Listeners, func(l aga.Listener) bool {
		return slices.ContainsFunc(l.EndpointGroups, func(g aga.EndpointGroup) bool {
			return slices.ContainsFunc(g.Endpoints, func(e aga.Endpoint) bool {
				return e.Type == aga.EndpointTypeEndpointID && parseEndpointID(e.EndpointID).isLoadBalancer
			})
		})
	})
}

// isReferrer reports whether the from entry of a ReferenceGrant is for GlobalAccelerators of the namespace.
func (t rightsChecker) isReferrer(f gwv1beta1.ReferenceGrantFrom) bool {
	return string(f.Group) == aga.GroupVersion.Group && string(f.Kind) == cluster.KindGlobalAccelerator && string(f.Namespace) == t.ga.Namespace
}

// permittingOwners returns the objects for which a ReferenceGrant can permit the use of a load balancer of the cluster.
// It returns the object of the stack. For a shared load balancer, it returns a Referent without a name, which means all
// objects of the kind, for each namespace that the load balancer serves.
func permittingOwners(lb observed.EndpointLoadBalancer) (out []attach.Referent) {
	if lb.Stack == (model.StackID{}) || lb.Stack.Kind.HasAccelerator() {
		return nil
	}
	kind := ownership.RootKind(lb.Stack.Kind)
	group, _, _ := endpointObjectKind(aga.EndpointType(kind))
	if !isShared(lb.Stack) {
		return []attach.Referent{{Group: group, Kind: kind, Namespace: lb.Stack.Namespace, Name: lb.Stack.Name}}
	}
	for _, id := range lb.Backends {
		namespace, _, _ := strings.Cut(id, "/")
		out = append(out, attach.Referent{Group: group, Kind: kind, Namespace: namespace})
	}
	return out
}

// isShared reports whether the load balancer of a stack may serve several namespaces.
func isShared(id model.StackID) bool {
	_, ok := naming.SharedName(id)
	return ok || id.Namespace == ""
}

// grantsUnknown reports whether the controller cannot read the ReferenceGrants of another namespace. namespace is "" for
// an IngressGroup, which has several namespaces.
func (t rightsChecker) grantsUnknown(namespace string) bool {
	return namespace != t.ga.Namespace && (t.opt.WatchedNamespace != "" && namespace != t.opt.WatchedNamespace || !t.view.Installed(cluster.KindReferenceGrant))
}

// isIsolated reports whether tenancy is isolated and a load balancer belongs to an IngressGroup.
func (t rightsChecker) isIsolated(lb observed.EndpointLoadBalancer) bool {
	return t.opt.IsolatedTenancy && lb.Stack.Kind == model.Ingress && lb.Stack.Namespace == ""
}

// admitsUnmanaged reports whether Options.EndpointIDs permits an endpoint that the cluster does not manage.
func (t rightsChecker) admitsUnmanaged(id string) bool {
	return len(t.opt.EndpointIDs) == 0 || t.isListedEndpointID(id)
}

// isListedEndpointID reports whether an ARN or ID matches a pattern of Options.EndpointIDs. In patterns, "*" also matches
// "/".
func (t rightsChecker) isListedEndpointID(id string) bool {
	return slices.ContainsFunc(t.opt.EndpointIDs, func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(id, "/", "\x00"))
		return err == nil && ok
	})
}

// isNode reports whether an instance is a node of the cluster. A node may be an endpoint only if it matches a pattern of
// Options.EndpointIDs, because Services of other tenants have node ports on the node.
func (t rightsChecker) isNode(instance string) bool {
	return slices.ContainsFunc(cluster.List[*corev1.Node](t.view, cluster.Query{Kind: cluster.KindNode}), func(n *corev1.Node) bool {
		return strings.HasSuffix(n.Spec.ProviderID, "/"+instance)
	})
}

// liveAccelerators returns the accelerators of the object in AWS, or the shared accelerator in which the object is a
// guest.
func (t *translation) liveAccelerators() []observed.Accelerator {
	switch {
	case t.live == nil:
		return nil
	case t.accelerator.Shared == "":
		return t.live.Accelerators
	case sharingBuilder{t}.isAdmitted():
		return []observed.Accelerator{*t.live.SharedAccelerator}
	}
	return nil
}

// ownsRegion reports whether endpoint groups of a region belong to the object, and not to another guest or the owner.
func (t *translation) ownsRegion(region string) bool {
	if t.accelerator.Shared != "" {
		return region == t.region()
	}
	return t.accelerator.Guests[region] == ""
}

// liveEndpoints returns the IDs of the endpoints in AWS that belong to the object, sorted and without duplicates.
func (t *translation) liveEndpoints() []string {
	var out []string
	for _, a := range t.liveAccelerators() {
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				if !t.ownsRegion(g.Region) {
					continue
				}
				for _, e := range g.Endpoints {
					out = append(out, e.ID)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// setRevoked sets Revoked to the load balancers that are endpoints in AWS but that the object may not use. Permitted
// endpoints that the spec no longer has are not revoked: the plan removes them after it has added their replacements.
func (t rightsChecker) setRevoked() {
	wanted := map[string]bool{}
	var groups []*model.EndpointGroup
	for _, l := range t.accelerator.Listeners {
		for i := range l.Groups {
			g := &l.Groups[i]
			groups = append(groups, g)
			for _, e := range g.Endpoints {
				wanted[e.ID] = true
			}
			for _, id := range g.RetainedEndpoints {
				wanted[id] = true
			}
		}
	}
	for _, id := range t.liveEndpoints() {
		of := parseEndpointID(id)
		if wanted[id] || !of.isLoadBalancer || of.region != t.region() || t.live.Facts.Account != "" && of.account != t.live.Facts.Account {
			continue
		}
		lb := t.requestLoadBalancer(model.AskLoadBalancers{ARN: id})
		switch {
		case lb != nil && (!lb.Cluster || t.mayUseLoadBalancer(*lb)):
		case lb != nil && t.grantsUnknown(lb.Stack.Namespace):
			for _, g := range groups {
				g.RetainedEndpoints = append(g.RetainedEndpoints, id) // a ReferenceGrant that the controller cannot read may permit the endpoint
			}
		default:
			t.accelerator.Revoked = append(t.accelerator.Revoked, id)
		}
	}
}
