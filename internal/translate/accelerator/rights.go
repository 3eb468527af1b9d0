package accelerator

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// An accelerator has public addresses: through it, clients on the internet can reach an internal load balancer. So the owner
// of an endpoint in another namespace must consent by a ReferenceGrant. The ReferenceGrant is checked in every run, before
// the object of the endpoint is read.

// rightsChecker decides whether a GlobalAccelerator may use the endpoints that it names.
type rightsChecker struct{ *translation }

// permits reports whether the GlobalAccelerator may use an object as an endpoint.
func (t rightsChecker) permits(to attach.Referent) bool {
	return to.Namespace == t.ga.Namespace || to.Namespace != "" && t.grantName(to) != ""
}

// grantName returns the name of a ReferenceGrant that permits the use of an object of another namespace; "" if there is
// none, or if the API server does not serve ReferenceGrants.
func (t rightsChecker) grantName(to attach.Referent) string {
	if t.grants == nil {
		t.grants = attach.NewGrants(t.view)
	}
	if !t.view.Installed(cluster.KindReferenceGrant) {
		return ""
	}
	return t.grants.PermittingGrant(attach.Referrer{Group: aga.GroupVersion.Group, Kind: string(cluster.KindGlobalAccelerator), Namespace: t.ga.Namespace}, to)
}

// mayUseLoadBalancer reports whether the GlobalAccelerator may have a load balancer of the cluster as an endpoint: the load
// balancer serves an object of the same namespace, or a ReferenceGrant permits the use of the objects that it serves. If it
// serves several namespaces, the permission of one of them is sufficient; in isolated tenancy, all of them must permit it.
func (t rightsChecker) mayUseLoadBalancer(lb observed.EndpointLoadBalancer) bool {
	of := permittingOwners(lb)
	if t.isIsolated(lb) {
		return len(of) > 0 && !slices.ContainsFunc(of, func(to attach.Referent) bool { return !t.permits(to) })
	}
	return slices.ContainsFunc(of, t.permits)
}

// permittingOwners returns the objects whose owners can permit the use of a load balancer of the cluster: the object of its
// stack, or, for a shared load balancer, all objects of the kind in each namespace that it serves.
func permittingOwners(lb observed.EndpointLoadBalancer) (out []attach.Referent) {
	if lb.Stack == (model.StackID{}) || lb.Stack.Kind.HasAccelerator() {
		return nil
	}
	kind := string(ownership.RootKind(lb.Stack.Kind))
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

// grantsUnknown reports whether the ReferenceGrants of a namespace are not read. namespace is "" for an IngressGroup, which
// has several namespaces.
func (t rightsChecker) grantsUnknown(namespace string) bool {
	return namespace != t.ga.Namespace && (t.opt.WatchedNamespace != "" && namespace != t.opt.WatchedNamespace || !t.view.Installed(cluster.KindReferenceGrant))
}

// isIsolated reports whether a load balancer belongs to an IngressGroup with isolated tenancy.
func (t rightsChecker) isIsolated(lb observed.EndpointLoadBalancer) bool {
	return t.opt.IsolatedTenancy && lb.Stack.Kind == model.Ingress && lb.Stack.Namespace == ""
}

// admitsUnmanaged reports whether the operator permits an endpoint that the cluster does not manage.
func (t rightsChecker) admitsUnmanaged(id string) bool {
	return len(t.opt.EndpointIDs) == 0 || t.isListedEndpointID(id)
}

// isListedEndpointID reports whether an id matches a pattern of Options.EndpointIDs.
func (t rightsChecker) isListedEndpointID(id string) bool {
	return slices.ContainsFunc(t.opt.EndpointIDs, func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(id, "/", "\x00"))
		return err == nil && ok
	})
}

// isNode reports whether an instance is a node of the cluster. A node may be an endpoint only if EndpointIDs lists it,
// because other tenants have ports on it.
func (t rightsChecker) isNode(instance string) bool {
	return slices.ContainsFunc(cluster.List[*corev1.Node](t.view, cluster.Query{Kind: cluster.KindNode}), func(n *corev1.Node) bool {
		return strings.HasSuffix(n.Spec.ProviderID, "/"+instance)
	})
}

// liveAccelerators returns the accelerators of the object, or the accelerator of another owner in which the object is a
// guest.
func (t *translation) liveAccelerators() []observed.Accelerator {
	switch {
	case t.live == nil:
		return nil
	case t.acc.Shared == "":
		return t.live.Accelerators
	case sharingBuilder{t}.isAdmitted():
		return []observed.Accelerator{*t.live.SharedAccelerator}
	}
	return nil
}

// ownsRegion reports whether live endpoint groups of a region belong to the object.
func (t *translation) ownsRegion(region string) bool {
	if t.acc.Shared != "" {
		return region == t.region()
	}
	return t.acc.Guests[region] == ""
}

// liveEndpoints returns the ids of all live endpoints that belong to the object, sorted.
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

// setRevoked sets Revoked to the live endpoints that the object may not use. Endpoints that it may use but that are no
// longer desired are not revoked: the plan removes them after their replacements are added.
func (t rightsChecker) setRevoked() {
	wanted := map[string]bool{}
	for _, l := range t.acc.Listeners {
		for _, g := range l.Groups {
			for _, e := range g.Endpoints {
				wanted[e.ID] = true
			}
			for _, id := range g.Kept {
				wanted[id] = true
			}
		}
	}
	for _, id := range t.liveEndpoints() {
		of := parseEndpointID(id)
		if wanted[id] || !of.isLoadBalancer || of.region != t.region() || t.live.Facts.Account != "" && of.account != t.live.Facts.Account {
			continue
		}
		lb := t.askLoadBalancer(model.AskLoadBalancers{ARN: id})
		switch {
		case lb != nil && (!lb.Cluster || t.mayUseLoadBalancer(*lb)):
		case lb != nil && t.grantsUnknown(lb.Stack.Namespace):
			t.acc.Held = true // a ReferenceGrant that is not read may permit the endpoint
		default:
			t.acc.Revoked = append(t.acc.Revoked, id)
		}
	}
}
