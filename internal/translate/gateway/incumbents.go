package gateway

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// What several ask for belongs to the one that has it live.

// incumbentBuilder determines which of two equal matches is live.
type incumbentBuilder struct{ *translation }

// Serves reports whether a route has a part of what is live on a port: of its default action on a network load balancer,
// otherwise of a rule for one of the hostnames. Rules that forward to none of its target groups say nothing.
func (t incumbentBuilder) Serves(number int32, route finding.Ref, hosts []string) bool {
	t.Stack.Contested = true
	l := t.LiveLoadBalancer().OnPort(number)
	if l == nil {
		return false
	}
	named := t.groupsNamed(route)
	if t.Type == model.Network {
		return t.forwards(l.Default, route, named)
	}
	return slices.ContainsFunc(l.Rules, func(r observed.Rule) bool {
		return areOfHosts(r.Conditions, hosts) && t.forwards(r.Actions, route, named)
	})
}

// forwards reports whether live actions forward to a target group of a route, or to one that it names.
func (t incumbentBuilder) forwards(actions []model.Action, route finding.Ref, named []string) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		f, ok := a.(model.Forward)
		return ok && slices.ContainsFunc(f.Groups, func(w model.WeightedGroup) bool {
			arn := w.Group.ARN
			return naming.IsTargetGroupOf(t.resourceIDs()[arn], route) ||
				slices.ContainsFunc(named, func(name string) bool { return strings.Contains(arn, ":targetgroup/"+name+"/") })
		})
	})
}

// resourceIDs returns the ids of the live target groups of the stack by their ARNs.
func (t incumbentBuilder) resourceIDs() map[string]string {
	if t.liveGroups == nil {
		t.liveGroups = map[string]string{}
		for _, g := range t.Live.TargetGroups {
			t.liveGroups[g.ARN] = g.ResourceID
		}
	}
	return t.liveGroups
}

// groupsNamed returns the target groups of others that a route forwards to, by their names.
func (t incumbentBuilder) groupsNamed(route finding.Ref) (out []string) {
	obj, ok := cluster.Get[cluster.Object](t.view, cluster.Kind(route.Kind), route.Namespace, route.Name)
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

// areOfHosts reports whether conditions are those of one of some hostnames, of which "" is any.
func areOfHosts(conditions []model.Condition, hosts []string) bool {
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

// desiresRoute reports whether a route has a part of what a stack asks for on a port, as serves has it for what is live.
func desiresRoute(stack model.Stack, number int32, route finding.Ref, hosts []string) bool {
	if stack.LoadBalancer == nil {
		return false
	}
	for _, l := range stack.LoadBalancer.Listeners {
		switch {
		case l.Port != number:
		case stack.ID.Kind == model.NLBGateway:
			return l.DefaultOf.Object == route
		default:
			return slices.ContainsFunc(l.Rules, func(r model.Rule) bool { return r.Origin.Object == route && areOfHosts(r.Conditions, hosts) })
		}
	}
	return false
}

// holdRepeated holds live rules of routes that are attached to nothing but listeners of ListenerSets which repeat one
// without hostname. Older controllers served both, so that what is live of them stays, but for hosts of others, and
// nothing new is accepted.
func (t incumbentBuilder) holdRepeated() {
	if t.Type == model.Network {
		return
	}
	served, hosts := map[int]bool{}, map[int32][]string{}
	for _, port := range t.attached.Ports() {
		for _, r := range t.attached.RoutesOnPort(port) {
			served[r.Route] = true
			hosts[port] = append(hosts[port], r.Hostnames...)
		}
	}
	for n, r := range t.attached.Routes {
		if served[n] {
			continue
		}
		var foreign []string
		live := false
		for _, p := range r.Parents {
			for _, a := range p.Attachments {
				l := &t.attached.Listeners[a.Listener]
				if l.Duplicate && l.Hostname() == "" && t.Serves(l.Spec.Port, t.routeRef(n), hostnamesOrAny(a.Hostnames)) {
					live, foreign = true, append(foreign, hosts[l.Spec.Port]...)
				}
			}
		}
		if live && !slices.Contains(foreign, "") {
			slices.Sort(foreign)
			t.Stack.Held.Members = append(t.Stack.Held.Members, model.HeldMember{Member: t.routeRef(n), All: true, ForeignHosts: slices.Compact(foreign)})
		}
	}
}

// hostnamesOrAny returns hostnames, none for any hostname.
func hostnamesOrAny(hosts []string) []string {
	if len(hosts) == 0 {
		return []string{""}
	}
	return hosts
}
