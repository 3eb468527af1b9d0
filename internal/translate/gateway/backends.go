package gateway

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// The supported kinds of backends.
const (
	serviceBackend     = "Service"
	gatewayBackend     = "Gateway"
	targetGroupBackend = "TargetGroupName"
)

// backendKind returns the kind of a backend. The default is Service.
func backendKind(ref gwv1.BackendRef) string {
	if ref.Kind == nil {
		return serviceBackend
	}
	return cmp.Or(string(*ref.Kind), serviceBackend)
}

// backendNamespace returns the namespace of a backend. The default is the namespace of the route.
func backendNamespace(route finding.Ref, ref gwv1.BackendRef) string {
	if ref.Namespace == nil {
		return route.Namespace
	}
	return cmp.Or(string(*ref.Namespace), route.Namespace)
}

// reportInvalidBackend reports a backend of a route that cannot be used. Requests are forwarded to the other backends.
func (t *translation) reportInvalidBackend(at finding.Origin, reason finding.Reason, message, fix string) {
	reportInvalidBackendOn(t, 0, at, reason, message, fix)
}

// reportInvalidBackendOn is like reportInvalidBackend, for a backend that cannot be used on the given port. Port 0 means all
// ports.
func reportInvalidBackendOn(t *translation, port int32, at finding.Origin, reason finding.Reason, message, fix string) {
	now := "; requests are forwarded to the other backends, or answered with 500 if there are none"
	if t.Type == model.Network {
		now = "; connections are forwarded to the other backends, and without any backend the port has no listener"
	}
	t.Found.Add(finding.Finding{Object: at.Object, Field: at.Field, Reason: reason, Severity: finding.Error, Message: message + now, Fix: fix, Port: port})
}

// mayReference reports whether the route obj may refer to an object, and adds a finding if it may not. If the object is in
// another namespace and the API server does not serve ReferenceGrants, ok is false, and the second result is the reason why
// the rule is held.
func (t *translation) mayReference(obj cluster.Object, at finding.Origin, group, kind, namespace, name string) (ok bool, _ model.Held) {
	route := at.Object
	if namespace != route.Namespace && !t.view.Installed(cluster.KindReferenceGrant) {
		t.Found.Add(finding.Finding{
			Object: route, Field: at.Field, Reason: finding.ReferenceNotPermitted, Severity: finding.Error, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("%s %q of namespace %q needs a ReferenceGrant, and the API server does not serve that kind; what exists in AWS stays unchanged, and a new rule or listener is not served", kind, finding.TruncateValue(name), namespace),
			Fix:     "install the CRD of ReferenceGrants of the Gateway API",
		})
		return false, model.HeldInvalid
	}
	if t.attached.Grants.Permits(attach.Referrer{Group: gwv1.GroupName, Kind: route.Kind, Namespace: route.Namespace}, attach.Referent{Group: group, Kind: kind, Namespace: namespace, Name: name}) {
		return true, 0
	}
	t.view.Confirm(obj)
	// The message does not reveal whether the object exists.
	t.reportInvalidBackend(at, finding.ReferenceNotPermitted, fmt.Sprintf("no ReferenceGrant in namespace %q permits %s %q", namespace, kind, finding.TruncateValue(name)), fmt.Sprintf("create a ReferenceGrant in that namespace, from kind %s of namespace %s to kind %s, or use a backend of the namespace of the route", route.Kind, route.Namespace, kind))
	return false, 0
}

// serviceTarget returns the Service port to which a backend of a route refers. If the backend cannot be used, it is reported
// and ok is false.
func (t *translation) serviceTarget(obj cluster.Object, ref gwv1.BackendRef, at finding.Origin) (_ target, ok bool, _ model.Held) {
	route, namespace, name := at.Object, backendNamespace(at.Object, ref), string(ref.Name)
	if ref.Port == nil {
		t.reportInvalidBackend(at, finding.RouteValueUnsupported, fmt.Sprintf("backend %q has no port", finding.TruncateValue(name)), "set port")
		return target{}, false, 0
	}
	if ok, held := t.mayReference(obj, at, "", serviceBackend, namespace, name); !ok {
		return target{}, false, held
	}
	svc, ok := cluster.GetReferenced[*corev1.Service](t.view, obj, cluster.KindService, namespace, name)
	if !ok {
		t.reportInvalidBackend(at, finding.BackendNotFound, fmt.Sprintf("Service %q does not exist", namespace+"/"+finding.TruncateValue(name)), "create the Service, or correct the name")
		return target{}, false, 0
	}
	for i := range svc.Spec.Ports {
		if p := &svc.Spec.Ports[i]; p.Port == int32(*ref.Port) {
			return target{route: route, svc: svc, port: p, at: at}, true, 0
		}
	}
	t.view.Confirm(svc, obj)
	t.reportInvalidBackend(at, finding.BackendPortNotFound, network.MissingPortMessage(svc, intstr.FromInt32(int32(*ref.Port))), "use the number of a port of the Service")
	return target{}, false, 0
}

// namedTargetGroup returns the target group that a backend of a route references by name. If the routes of the namespace
// name more than assemble.MaxNamedTargetGroups target groups, it adds a finding and returns false.
func (t targetGroupBuilder) namedTargetGroup(ref gwv1.BackendRef, at finding.Origin) (model.TargetGroupRef, bool) {
	if t.namedTargetGroups.Add(at.Object.Namespace, string(ref.Name)) {
		return model.TargetGroupRef{Name: string(ref.Name)}, true
	}
	t.Found.Add(finding.Finding{
		Object: at.Object, Field: at.Field, Reason: finding.GatewayTooLarge, Blocks: finding.BlocksRule,
		Message: fmt.Sprintf("the routes of namespace %q name more than %d target groups, which is the limit for a namespace; what exists in AWS stays unchanged, and a new rule or listener is not served", at.Object.Namespace, assemble.MaxNamedTargetGroups),
		Fix:     "name fewer target groups, or use several Gateways",
	})
	return model.TargetGroupRef{}, false
}

// weightedGroups returns the target groups of backends with their weights, and reports whether a weight is above 0. groups
// has, by index of the backend, its target group; the element is the zero TargetGroupRef if the backend cannot be used. A
// backend without a weight has weight 1. The weights of backends with the same target group add up, because AWS refuses an
// action that names a target group twice. The maximum of AWS is 999. If a weight exceeds it, all weights are scaled down
// in proportion, but no positive weight becomes 0.
func weightedGroups(backends []gwv1.BackendRef, groups []model.TargetGroupRef) (out []model.WeightedTargetGroup, serving bool) {
	const most = 999
	weights := make([]int64, len(backends))
	first := map[model.TargetGroupRef]int{} // index of the first backend with the target group
	greatest := int64(0)
	for i, b := range backends {
		if groups[i] == (model.TargetGroupRef{}) {
			continue
		}
		at, known := first[groups[i]]
		if !known {
			at, first[groups[i]] = i, i
		}
		weights[at] += int64(max(0, valueOr(b.Weight, 1)))
		greatest = max(greatest, weights[at])
	}
	for i, w := range weights {
		if at, usable := first[groups[i]]; !usable || at != i {
			continue
		}
		if w > 0 && greatest > most {
			w = max(1, w*most/greatest)
		}
		out = append(out, model.WeightedTargetGroup{Group: groups[i], Weight: new(int32(w))})
		serving = serving || w > 0
	}
	return out, serving
}

// maxTargetGroups is the maximum number of target groups in one forward action.
const maxTargetGroups = 5

// clients returns the clients of a target group behind a network load balancer without security groups. The security group
// rules of the targets must admit these clients.
func (t *translation) clients(g assemble.TargetGroup) *assemble.Clients {
	ranges := t.set.InboundCIDRs.Value
	if t.config.LoadBalancer.SourceRanges == nil {
		ranges = nil // without sourceRanges, InboundCIDRs has only the default of a managed security group
	}
	return &assemble.Clients{Ranges: ranges, Internal: t.EffectiveScheme(t.Stack.LoadBalancer) == model.Internal, PreservesClientIP: preservesClientIP(g), SeparateHealthCheckRule: true}
}

// preservesClientIP reports whether the targets of a target group see the IP address of the client.
func preservesClientIP(g assemble.TargetGroup) bool {
	switch v, set := g.Attributes[settings.PreserveClientIPAttribute]; {
	case g.Protocol != "TCP" && g.Protocol != "TLS":
		return true
	case set:
		preserved, _ := strconv.ParseBool(v) // false if AWS does not accept the value
		return preserved
	}
	return g.Type == model.InstanceTargets
}
