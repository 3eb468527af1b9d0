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

// An accelerator gives its endpoints public addresses: an internal load balancer can be reached from the internet
// through it. So each endpoint needs the consent of whose it is, in every run, and nothing of an object is read before.

// rights are the rights of the GlobalAccelerator to what it names.
type rights struct{ *translation }

// permits reports whether the object may use an object of a namespace.
func (t rights) permits(to attach.Referent) bool {
	return to.Namespace == t.ga.Namespace || to.Namespace != "" && t.grant(to) != ""
}

// grant returns the name of a ReferenceGrant that permits the use of an object of another namespace, "" if none does.
// Without the definition of ReferenceGrants none does.
func (t rights) grant(to attach.Referent) string {
	if t.grants == nil {
		t.grants = attach.NewGrants(t.view)
	}
	if !t.view.Installed(cluster.KindReferenceGrant) {
		return ""
	}
	return t.grants.PermittingGrant(attach.Referrer{Group: aga.GroupVersion.Group, Kind: string(cluster.KindGlobalAccelerator), Namespace: t.ga.Namespace}, to)
}

// mayUseLoadBalancer reports whether the object may have a load balancer of the cluster as an endpoint: it serves an
// object of the namespace, or a grant permits those that it serves. Of several namespaces any that it serves may add
// it; each has to permit it where members keep from each other.
func (t rights) mayUseLoadBalancer(lb observed.EndpointLoadBalancer) bool {
	of := owners(lb)
	if t.isIsolated(lb) {
		return len(of) > 0 && !slices.ContainsFunc(of, func(to attach.Referent) bool { return !t.permits(to) })
	}
	return slices.ContainsFunc(of, t.permits)
}

// owners returns the objects that have to permit the use of a load balancer of the cluster: its own, or any of each
// namespace that it serves.
func owners(lb observed.EndpointLoadBalancer) (out []attach.Referent) {
	if lb.Stack == (model.StackID{}) || lb.Stack.Kind.HasAccelerator() {
		return nil
	}
	kind := string(ownership.Root(lb.Stack.Kind))
	group, _, _ := kindOf(aga.EndpointType(kind))
	if !shared(lb.Stack) {
		return []attach.Referent{{Group: group, Kind: kind, Namespace: lb.Stack.Namespace, Name: lb.Stack.Name}}
	}
	for _, id := range lb.Backends {
		namespace, _, _ := strings.Cut(id, "/")
		out = append(out, attach.Referent{Group: group, Kind: kind, Namespace: namespace})
	}
	return out
}

// shared reports whether a load balancer may serve several namespaces.
func shared(id model.StackID) bool {
	_, ok := naming.SharedName(id)
	return ok || id.Namespace == ""
}

// grantsUnknown reports whether the grants of a namespace are not read. An IngressGroup may serve any.
func (t rights) grantsUnknown(namespace string) bool {
	return namespace != t.ga.Namespace && (t.opt.Watched != "" && namespace != t.opt.Watched || !t.view.Installed(cluster.KindReferenceGrant))
}

// isIsolated reports whether a load balancer is that of an IngressGroup whose members keep from each other.
func (t rights) isIsolated(lb observed.EndpointLoadBalancer) bool {
	return t.opt.Isolated && lb.Stack.Kind == model.Ingress && lb.Stack.Namespace == ""
}

// admits reports whether an operator lets objects name something that is not the cluster's.
func (t rights) admits(id string) bool { return len(t.opt.EndpointIDs) == 0 || t.isListed(id) }

// isListed reports whether an operator names it.
func (t rights) isListed(id string) bool {
	return slices.ContainsFunc(t.opt.EndpointIDs, func(pattern string) bool {
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(id, "/", "\x00"))
		return err == nil && ok
	})
}

// isNode reports whether an instance is a node of the cluster, whose ports are not the object's.
func (t rights) isNode(instance string) bool {
	return slices.ContainsFunc(cluster.List[*corev1.Node](t.view, cluster.Query{Kind: cluster.KindNode}), func(n *corev1.Node) bool {
		return strings.HasSuffix(n.Spec.ProviderID, "/"+instance)
	})
}

// liveAccelerators returns the accelerators of the object, or that of another owner of which it has endpoint
// groups.
func (t *translation) liveAccelerators() []observed.Accelerator {
	switch {
	case t.live == nil:
		return nil
	case t.acc.Shared == "":
		return t.live.Accelerators
	case sharing{t}.isAdmitted():
		return []observed.Accelerator{*t.live.Shared}
	}
	return nil
}

// hasGroup reports whether a live endpoint group of a region is the object's.
func (t *translation) hasGroup(region string) bool {
	if t.acc.Shared != "" {
		return region == t.region()
	}
	return t.acc.Guests[region] == ""
}

// liveEndpoints returns the ids of all endpoints that the object has, in order.
func (t *translation) liveEndpoints() []string {
	var out []string
	for _, a := range t.liveAccelerators() {
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				if !t.hasGroup(g.Region) {
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

// revoke finds the live endpoints that the object has no right to, whatever it asks for now. What it may have and does not
// ask for any more goes in order, after what takes its place.
func (t rights) revoke() {
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
		if wanted[id] || !of.loadBalancer || of.region != t.region() || t.live.Facts.Account != "" && of.account != t.live.Facts.Account {
			continue
		}
		lb := t.loadBalancer(model.AskLoadBalancers{ARN: id})
		switch {
		case lb != nil && (!lb.Cluster || t.mayUseLoadBalancer(*lb)):
		case lb != nil && t.grantsUnknown(lb.Stack.Namespace):
			t.acc.Held = true // which grants there are is not known
		default:
			t.acc.Revoked = append(t.acc.Revoked, id)
		}
	}
}
