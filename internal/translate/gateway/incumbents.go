package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// observedRoutes finds out which of several conflicting routes the existing load balancer in AWS serves, because that
// route has precedence. It implements attach.LiveRoutes.
type observedRoutes struct{ *translation }

// Serves implements attach.LiveRoutes. It reports whether the existing listener on port number forwards to a target group of
// the route: on a network load balancer by its default action, on an application load balancer by a rule for one of the
// hosts. It sets Stack.Contested, because the result depends on the observed state.
func (t observedRoutes) Serves(number int32, route finding.Ref, hosts []string) bool {
	t.Stack.Contested = true
	l := t.LiveLoadBalancer().ListenerOnPort(number)
	if l == nil {
		return false
	}
	named := t.targetGroupNames(route)
	if t.Type == model.Network {
		return t.forwardsToRoute(l.Default, route, named)
	}
	return slices.ContainsFunc(l.Rules, func(r observed.Rule) bool {
		return matchHosts(r.Conditions, hosts) && t.forwardsToRoute(r.Actions, route, named)
	})
}

// forwardsToRoute reports whether actions in AWS forward to a target group that was created for a route, or to a target
// group outside the stack whose name is in named. For a target group of the stack, the name is not compared, because any
// route can name it.
func (t observedRoutes) forwardsToRoute(actions []model.Action, route finding.Ref, named []string) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(w model.WeightedTargetGroup) bool {
		arn := w.Group.ARN
		g, own := t.targetGroupsByARN()[arn]
		return own && t.isCreatedFor(g, route) ||
			!own && slices.ContainsFunc(named, func(name string) bool { return strings.Contains(arn, ":targetgroup/"+name+"/") })
	})
}

// isCreatedFor reports whether an existing target group of the stack was created for a route. The resource ID joins
// namespace and name of the route with a hyphen, so target groups of several routes can have the same ID. If the name of the
// target group was generated for some of these routes, it was created for one of them. Otherwise, the target group counts as
// created for the route, unless its TargetGroupBinding is in the namespace of another existing one of these routes.
func (t observedRoutes) isCreatedFor(g *observed.TargetGroup, route finding.Ref) bool {
	if !naming.IsTargetGroupOf(g.ResourceID, route) {
		return false
	}
	others := naming.RoutesWithSameIDs(route)
	if len(others) == 0 {
		return true
	}
	if named := t.routesOfName(g); len(named) > 0 {
		return slices.Contains(named, route)
	}
	bound := t.boundNamespace(g)
	return bound == route.Namespace || !slices.ContainsFunc(others, func(r finding.Ref) bool {
		_, exists := cluster.Get[cluster.Object](t.view, r.Kind, r.Namespace, r.Name)
		return exists && bound == r.Namespace
	})
}

// routesOfName returns the routes for which the name of an existing target group was generated. It compares the name with
// the generated name of each pair of a route and a backend that the resource ID of the target group can mean. The result is
// cached for each target group, because a tenant can choose an ID that can mean thousands of pairs.
func (t observedRoutes) routesOfName(g *observed.TargetGroup) (out []finding.Ref) {
	if known, ok := t.liveTargetGroupRoutes[g.ARN]; ok {
		return known
	}
	parts, _ := naming.GatewayTargetGroupPartsOf(g.ResourceID)
	name := naming.GatewayTargetGroup{
		Cluster: t.opt.Cluster, Gateway: finding.Ref{Namespace: t.ID.Namespace, Name: t.ID.Name}, Port: parts.Port,
		Type: g.Type, Protocol: g.Protocol, Version: g.ProtocolVersion, ControlPort: g.ControlPort,
	}
	if g.Type == model.InstanceTargets {
		name.Port = fmt.Sprint(g.Port)
	}
	for _, name.Route = range parts.Routes {
		if slices.ContainsFunc(parts.Backends, func(backend finding.Ref) bool {
			name.Backend = backend
			return name.IsNameOf(g.Name)
		}) {
			out = append(out, name.Route)
		}
	}
	if t.liveTargetGroupRoutes == nil {
		t.liveTargetGroupRoutes = map[string][]finding.Ref{}
	}
	t.liveTargetGroupRoutes[g.ARN] = out
	return out
}

// boundNamespace returns the namespace of the TargetGroupBinding of an existing target group; "" if there is none. The
// binding must refer to a Service that the resource ID of the target group can mean. If there are several bindings, the
// oldest one is used, because a tenant can create newer bindings with the labels of the stack.
func (t observedRoutes) boundNamespace(g *observed.TargetGroup) (out string) {
	parts, ok := naming.GatewayTargetGroupPartsOf(g.ResourceID)
	var oldest time.Time
	for _, b := range t.Live.Bindings {
		named := !ok || slices.Contains(parts.Backends, finding.Ref{Namespace: b.Namespace, Name: b.Service.Service})
		if b.ARN == g.ARN && named && (out == "" || b.Created.Before(oldest)) {
			out, oldest = b.Namespace, b.Created
		}
	}
	return out
}

// targetGroupsByARN returns the existing target groups of the stack by ARN.
func (t observedRoutes) targetGroupsByARN() map[string]*observed.TargetGroup {
	if t.liveTargetGroups == nil {
		t.liveTargetGroups = map[string]*observed.TargetGroup{}
		for i := range t.Live.TargetGroups {
			t.liveTargetGroups[t.Live.TargetGroups[i].ARN] = &t.Live.TargetGroups[i]
		}
	}
	return t.liveTargetGroups
}

// targetGroupNames returns the names in those backends of a route that have kind TargetGroupName.
func (t observedRoutes) targetGroupNames(route finding.Ref) (out []string) {
	obj, ok := cluster.Get[cluster.Object](t.view, route.Kind, route.Namespace, route.Name)
	if !ok {
		return nil
	}
	for _, b := range cluster.RouteBackends(obj) {
		if backendKind(b) == targetGroupBackend {
			out = append(out, string(b.Name))
		}
	}
	return out
}

// matchHosts reports whether the conditions of a rule match one of the hosts. The host "" matches conditions without a host.
func matchHosts(conditions []model.Condition, hosts []string) bool {
	any := true
	for _, c := range conditions {
		h, ok := c.(model.HostHeader)
		if !ok {
			continue
		}
		any = false
		for _, host := range hosts {
			if host != "" && (slices.Contains(h.Values, host) || slices.Contains(h.Regex, model.HostPattern(host))) {
				return true
			}
		}
	}
	return any && slices.Contains(hosts, "")
}

// desiredRoutes reports which routes the desired state of a stack serves, after that state was applied to AWS.
type desiredRoutes struct{ stack model.Stack }

// Serves implements attach.LiveRoutes. It reports whether the desired state serves a route on port number, for one of the
// hosts.
func (d desiredRoutes) Serves(number int32, route finding.Ref, hosts []string) bool {
	if d.stack.LoadBalancer == nil {
		return false
	}
	for _, l := range d.stack.LoadBalancer.Listeners {
		switch {
		case l.Port != number:
		case d.stack.ID.Kind == model.NLBGateway:
			return l.DefaultOf.Object == route
		default:
			return slices.ContainsFunc(l.Rules, func(r model.Rule) bool { return r.Origin.Object == route && matchHosts(r.Conditions, hosts) })
		}
	}
	return false
}

// holdRulesOfDuplicates holds the existing rules of routes that are attached on a port only to duplicates. Duplicates are
// listeners of ListenerSets that conflict with a listener without hostname. AWS Load Balancer Controller serves both
// listeners, so such rules exist. Rules for hosts of other routes are not held, and no rule is created.
func (t observedRoutes) holdRulesOfDuplicates() {
	if t.Type == model.Network {
		return
	}
	served, hosts := map[int32]map[int]bool{}, map[int32][]string{}
	for _, port := range t.attached.Ports() {
		served[port] = map[int]bool{}
		for _, r := range t.attached.RoutesOnPort(port) {
			served[port][r.Route] = true
			hosts[port] = append(hosts[port], r.Hostnames...)
		}
		slices.Sort(hosts[port])
		hosts[port] = slices.Compact(hosts[port])
	}
	for n, r := range t.attached.Routes {
		held := map[int32]bool{} // by port
		for _, p := range r.Parents {
			for _, a := range p.Attachments {
				l := &t.attached.Listeners[a.Listener]
				port := l.Spec.Port
				if !l.IsDuplicate || l.Hostname() != "" || held[port] || served[port][n] || slices.Contains(hosts[port], "") {
					continue
				}
				if t.Serves(port, t.routeRef(n), a.HostnamesOrAny()) {
					held[port] = true
					t.Stack.Held.Members = append(t.Stack.Held.Members, model.HeldMember{Member: t.routeRef(n), All: true, Port: port, ForeignHosts: hosts[port]})
				}
			}
		}
	}
}
