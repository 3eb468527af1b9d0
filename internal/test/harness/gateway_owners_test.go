package harness

import (
	"cmp"
	"crypto/elliptic"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// ownedGateways has an ALB Gateway and an NLB Gateway in namespace "infra". Both admit ListenerSets of all namespaces.
// Their listeners admit routes of namespace "shop". A second listener on port 443 of the NLB admits routes of namespace
// "evil".
const ownedGateways = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil, labels: {team: evil}}
---
apiVersion: v1
kind: Namespace
metadata: {name: bank, labels: {team: bank}}
---
` + ownedALBGateway + ownedNLBGateway

const ownedALBGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra, uid: 44444444-0000-4000-8000-000000000001, creationTimestamp: "2025-01-01T00:00:00Z"}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop}}}}}
---
`

const ownedNLBGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: net, namespace: infra, uid: 44444444-0000-4000-8000-000000000002, creationTimestamp: "2025-01-01T00:00:00Z"}
spec:
  gatewayClassName: nlb
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: db, port: 5432, protocol: TCP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop}}}}}
  - {name: shop, port: 443, protocol: TLS, hostname: shop.example.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop}}}}}
  - {name: evil, port: 443, protocol: TLS, hostname: evil.example.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: evil}}}}}
---
`

// webServiceOf returns YAML of Service "web" in the given namespace, with one pod that has the given address.
func webServiceOf(namespace, address string) string {
	return strings.ReplaceAll(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---%s---
`, readyPods("web", address)), "namespace: shop", "namespace: "+namespace)
}

// routeOfNamespace returns YAML of a route to Service "web" of the same namespace. year is the year of its creation.
// parent is its parent reference. hosts are its hostnames, separated by commas; "" means none.
func routeOfNamespace(kind, namespace, name string, year int, parent, hosts string) string {
	out := fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: %s, namespace: %s, creationTimestamp: "%d-01-01T00:00:00Z"}
spec:
  parentRefs: [%s]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`, kind, name, namespace, year, parent)
	if hosts != "" {
		out += "  hostnames: [" + hosts + "]\n"
	}
	return out + "---\n"
}

// listenerSet returns YAML of a ListenerSet with one listener that admits routes of the same namespace. year is the
// year of its creation. gateway is the name of its Gateway in namespace "infra". listener has the fields of the
// listener, such as "port: 80, protocol: HTTP".
func listenerSet(namespace, name string, year int, gateway, listener string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: %s, namespace: %s, creationTimestamp: "%d-01-01T00:00:00Z"}
spec:
  parentRef: {name: %s, namespace: infra}
  listeners: [{name: l, %s, allowedRoutes: {namespaces: {from: Same}}}]
---
`, name, namespace, year, gateway, listener)
}

// servingRoute returns the route that serves a request on a port of the load balancers of type kind ("application" or
// "network"), as "namespace-name". For an Ingress it returns the backend, for an action without target groups the Go
// type of the action, and "refused" if there is no rule.
func servingRoute(r *Harness, kind string, port int32, host, path string) string {
	r.T.Helper()
	s := r.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	p := s.Partition(Account, Region)
	var rules []*store.Rule
	for _, rule := range p.ELB.Rules {
		l := p.ELB.Listeners[rule.Listener]
		if lb := p.ELB.LoadBalancers[l.LoadBalancer]; l.Port == port && string(lb.Type) == kind {
			rules = append(rules, rule)
		}
	}
	last := func(x *store.Rule) int32 {
		if x.IsDefault() {
			return 1 << 20
		}
		return x.Priority
	}
	slices.SortFunc(rules, func(a, b *store.Rule) int { return cmp.Compare(last(a), last(b)) })
	for _, rule := range rules {
		then, err := serve.ConvertRule(rule)
		if err != nil {
			r.T.Fatal(err)
		}
		m, err := dataplane.Compile(then.Conditions)
		if err != nil {
			r.T.Fatal(err)
		}
		if !rule.IsDefault() && !m.Match(dataplane.RequestFacts{Host: host, Path: path, Method: "GET"}) {
			continue
		}
		f, ok := then.Action.(dataplane.Forward)
		if !ok {
			return fmt.Sprintf("%T", then.Action)
		}
		for k, v := range p.ELB.TargetGroups[f.TargetGroups[0].ARN].Tags {
			switch parts := strings.Split(v, ":"); {
			case !strings.HasSuffix(k, "/resource"):
			case len(parts) > 2:
				return parts[1]
			default:
				return v
			}
		}
	}
	return "refused"
}

// protocolOf returns the protocol of the NLB listener on a port, or "none" if there is no listener.
func protocolOf(r *Harness, port int32) string {
	s := r.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	for _, l := range s.Partition(Account, Region).ELB.Listeners {
		if l.Port == port && strings.Contains(l.LoadBalancer, "/net/") {
			return string(l.Protocol)
		}
	}
	return "none"
}

// listenerSetConflict returns two values of the first listener of a ListenerSet: the reason of condition Conflicted,
// and the status of condition Accepted. It returns "nothing" if the ListenerSet or its status does not exist.
func listenerSetConflict(r *Harness, namespace, name string) string {
	set, _ := cluster.Get[*gwv1.ListenerSet](cluster.NewView(r.Store), cluster.KindListenerSet, namespace, name)
	if set == nil || len(set.Status.Listeners) == 0 {
		return "nothing"
	}
	l := set.Status.Listeners[0]
	return conditionNamed(l.Conditions, "Conflicted").Reason + " " + string(conditionNamed(l.Conditions, "Accepted").Status)
}

func harnessWithOwnedGateways(t *testing.T, docs ...string) *Harness {
	r := New(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
	r.Apply(ownedGateways, webServiceOf("shop", podAddresses[0]), webServiceOf("evil", podAddresses[1]), webServiceOf("bank", podAddresses[2]))
	r.Apply(docs...)
	r.advanceTime(10 * time.Minute)
	return r
}

const (
	edgeParentRef        = "{name: edge, namespace: infra}"
	dbParentRef          = "{name: net, namespace: infra, sectionName: db}"
	listenerSetParentRef = "{kind: ListenerSet, group: gateway.networking.k8s.io, name: more}"
)

// TestListenerSetDoesNotWidenAllowedRoutesOfHTTPPort checks that a ListenerSet conflicts with the Gateway if it repeats
// a listener without hostname. Its allowedRoutes then do not admit other namespaces to the hosts of the Gateway's
// listener. An older ListenerSet does not take over a hostname that another ListenerSet serves.
func TestListenerSetDoesNotWidenAllowedRoutesOfHTTPPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harnessWithOwnedGateways(t, routeOfNamespace("HTTPRoute", "shop", "web", 2025, edgeParentRef, "shop.example.com"))
		expectEqual(t, "before", "shop-web", servingRoute(r, "application", 80, "shop.example.com", "/"))
		r.Apply(listenerSet("evil", "more", 2020, "edge", "port: 80, protocol: HTTP"), routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, "shop.example.com, free.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "the host of the Gateway's listener", "shop-web", servingRoute(r, "application", 80, "shop.example.com", "/"))
		expectEqual(t, "another host of the Gateway", "dataplane.FixedResponse", servingRoute(r, "application", 80, "free.example.com", "/"))
		expectEqual(t, "the ListenerSet", "HostnameConflict False", listenerSetConflict(r, "evil", "more"))
		// The Gateway API permits a ListenerSet to add another hostname to the port.
		r.Apply(listenerSet("bank", "more", 2024, "edge", "port: 80, protocol: HTTP, hostname: bank.example.com"), routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, ""))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "the hostname of a ListenerSet", "bank-web", servingRoute(r, "application", 80, "bank.example.com", "/"))
		r.Apply(listenerSet("evil", "more", 2020, "edge", "port: 80, protocol: HTTP, hostname: bank.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "a hostname that an older ListenerSet also names", "bank-web", servingRoute(r, "application", 80, "bank.example.com", "/"))
		expectEqual(t, "the older ListenerSet", "HostnameConflict False", listenerSetConflict(r, "evil", "more"))
		r.Apply(listenerSet("evil", "more", 2020, "edge", "port: 80, protocol: HTTPS, hostname: x.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "a hostname on a port where an older ListenerSet has HTTPS", "bank-web", servingRoute(r, "application", 80, "bank.example.com", "/"))
		expectEqual(t, "the ListenerSet of the bank", "NoConflicts True", listenerSetConflict(r, "bank", "more"))
	})
}

// TestListenerSetDoesNotTakeOverNLBPort checks that a ListenerSet does not change the protocol, the target group or the
// connections of an NLB port that a route of the Gateway uses.
func TestListenerSetDoesNotTakeOverNLBPort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ listener, kind, says string }{
		"TCP": {"port: 5432, protocol: TCP", "TCPRoute", "ProtocolConflict False"},
		"UDP": {"port: 5432, protocol: UDP", "UDPRoute", "ProtocolConflict False"},
		"TLS": {"port: 5432, protocol: TLS, hostname: evil.example.com, tls: {mode: Passthrough}", "TLSRoute", "ProtocolConflict False"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := harnessWithOwnedGateways(t, routeOfNamespace("TCPRoute", "shop", "db", 2025, dbParentRef, ""))
				before := r.State()
				r.Apply(listenerSet("evil", "more", 2020, "net", c.listener), routeOfNamespace(c.kind, "evil", "all", 2020, listenerSetParentRef, ""))
				r.advanceTime(10 * time.Minute)
				expectEqual(t, "connections", "shop-db", servingRoute(r, "network", 5432, "", ""))
				expectEqual(t, "protocol", "TCP", protocolOf(r, 5432))
				expectEqual(t, "the ListenerSet", c.says, listenerSetConflict(r, "evil", "more"))
				expectEqual(t, "AWS", strings.Join(before, "\n"), strings.Join(r.State(), "\n"))
			})
		})
	}
}

// TestListenerSetKeepsItsPort checks that a ListenerSet keeps its NLB port when an older ListenerSet names the same
// port. The older ListenerSet gets the port when the first one is deleted.
func TestListenerSetKeepsItsPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harnessWithOwnedGateways(t, listenerSet("bank", "more", 2024, "net", "port: 7000, protocol: TCP"), routeOfNamespace("TCPRoute", "bank", "db", 2024, listenerSetParentRef, ""))
		expectEqual(t, "before", "bank-db", servingRoute(r, "network", 7000, "", ""))
		r.Apply(listenerSet("evil", "more", 2020, "net", "port: 7000, protocol: TCP"), routeOfNamespace("TCPRoute", "evil", "all", 2020, listenerSetParentRef, ""))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "an older ListenerSet names the port", "bank-db", servingRoute(r, "network", 7000, "", ""))
		expectEqual(t, "the ListenerSet that serves the port", "NoConflicts True", listenerSetConflict(r, "bank", "more"))
		expectEqual(t, "the older ListenerSet", "ProtocolConflict False", listenerSetConflict(r, "evil", "more"))
		r.deleteObject(cluster.KindTCPRoute, "bank", "db")
		r.deleteObject(cluster.KindListenerSet, "bank", "more")
		r.advanceTime(30 * time.Minute)
		expectEqual(t, "after the first ListenerSet is deleted", "evil-all", servingRoute(r, "network", 7000, "", ""))
		expectEqual(t, "the remaining ListenerSet", "NoConflicts True", listenerSetConflict(r, "evil", "more"))
	})
}

// TestPortOfNLBHasRoutesOfOneListener checks that an NLB port serves the routes of only one listener if its listeners
// admit different namespaces, because an NLB cannot distinguish hostnames. This is the first listener, or the listener
// that the port already serves.
func TestPortOfNLBHasRoutesOfOneListener(t *testing.T) {
	t.Parallel()
	toPort := "{name: net, namespace: infra, port: 443}"
	accepted := func(r *Harness, namespace, name string) string {
		route, _ := cluster.Get[*gwv1.TLSRoute](cluster.NewView(r.Store), cluster.KindTLSRoute, namespace, name)
		c := conditionNamed(route.Status.Parents[0].Conditions, "Accepted")
		return string(c.Status) + " " + c.Reason
	}
	t.Run("new", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := harnessWithOwnedGateways(t, routeOfNamespace("TLSRoute", "evil", "all", 2020, toPort, "evil.example.com"))
			expectEqual(t, "connections for a listener without routes", "refused", servingRoute(r, "network", 443, "", ""))
			expectEqual(t, "the route of the second listener", "False UnsupportedValue", accepted(r, "evil", "all"))
			r.Apply(routeOfNamespace("TLSRoute", "shop", "web", 2025, toPort, "shop.example.com"))
			r.advanceTime(10 * time.Minute)
			expectEqual(t, "connections", "shop-web", servingRoute(r, "network", 443, "", ""))
			expectEqual(t, "the route of the first listener", "True Accepted", accepted(r, "shop", "web"))
			expectEqual(t, "the route of the second listener", "False UnsupportedValue", accepted(r, "evil", "all"))
		})
	})
	t.Run("served", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := harnessWithOwnedGateways(t)
			r.Apply(strings.Replace(ownedNLBGateway, "  - {name: evil,", "  - {name: bank, port: 6000, protocol: TCP}\n  - {name: evil,", 1))
			r.Apply(strings.Replace(ownedNLBGateway, "shop.example.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop}}}}", "shop.example.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: evil}}}}", 1),
				routeOfNamespace("TLSRoute", "evil", "all", 2020, toPort, "evil.example.com"))
			r.advanceTime(10 * time.Minute)
			expectEqual(t, "listeners that admit the same namespaces", "evil-all", servingRoute(r, "network", 443, "", ""))
			r.Apply(ownedNLBGateway, routeOfNamespace("TLSRoute", "shop", "web", 2019, toPort, "shop.example.com"))
			r.advanceTime(10 * time.Minute)
			expectEqual(t, "after the first listener admits another namespace", "evil-all", servingRoute(r, "network", 443, "", ""))
			expectEqual(t, "the later route", "False UnsupportedValue", accepted(r, "shop", "web"))
			r.deleteObject(cluster.KindTLSRoute, "evil", "all")
			r.advanceTime(10 * time.Minute)
			expectEqual(t, "after the first route is deleted", "shop-web", servingRoute(r, "network", 443, "", ""))
		})
	})
}

// TestRouteKeepsItsPortOfNLB checks that a route keeps its NLB port when an older route is attached to the same
// listener, also after a restart.
func TestRouteKeepsItsPortOfNLB(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := strings.Replace(ownedNLBGateway, "name: db, port: 5432, protocol: TCP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: shop}}}}", "name: db, port: 5432, protocol: TCP, allowedRoutes: {namespaces: {from: All}}", 1)
		r := harnessWithOwnedGateways(t, open, routeOfNamespace("TCPRoute", "shop", "db", 2025, dbParentRef, ""))
		r.Apply(routeOfNamespace("TCPRoute", "evil", "all", 2020, dbParentRef, ""))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "connections", "shop-db", servingRoute(r, "network", 5432, "", ""))
		r.Kill()
		r.Start()
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "connections after a restart", "shop-db", servingRoute(r, "network", 5432, "", ""))
		route, _ := cluster.Get[*gwv1.TCPRoute](cluster.NewView(r.Store), cluster.KindTCPRoute, "evil", "all")
		if c := conditionNamed(route.Status.Parents[0].Conditions, "Accepted"); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "port 5432") {
			t.Errorf("the older route: %+v", c)
		}
	})
}

// TestExistingRulesOfRepeatedListenerStay checks what happens to the rules of a ListenerSet when the Gateway adds a
// listener that repeats the listener of the ListenerSet. Existing rules stay, except for hosts that a route of the
// Gateway's listener has. The ListenerSet gets no new rules.
func TestExistingRulesOfRepeatedListenerStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		none := strings.Replace(ownedALBGateway, "port: 80,", "port: 81,", 1)
		r := harnessWithOwnedGateways(t, none, listenerSet("bank", "more", 2024, "edge", "port: 80, protocol: HTTP"), routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, "bank.example.com"),
			routeOfNamespace("HTTPRoute", "bank", "both", 2024, listenerSetParentRef, "shop.example.com"))
		expectEqual(t, "before", "bank-web bank-both", servingRoute(r, "application", 80, "bank.example.com", "/")+" "+servingRoute(r, "application", 80, "shop.example.com", "/"))
		r.Apply(ownedALBGateway, routeOfNamespace("HTTPRoute", "shop", "web", 2025, edgeParentRef, "shop.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "a host with an existing rule", "bank-web", servingRoute(r, "application", 80, "bank.example.com", "/"))
		expectEqual(t, "a host of a route of the Gateway's listener", "shop-web", servingRoute(r, "application", 80, "shop.example.com", "/"))
		expectEqual(t, "the ListenerSet", "HostnameConflict False", listenerSetConflict(r, "bank", "more"))
		r.Apply(routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, "bank.example.com, new.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "a new host", "dataplane.FixedResponse", servingRoute(r, "application", 80, "new.example.com", "/"))
		expectEqual(t, "a host with an existing rule", "bank-web", servingRoute(r, "application", 80, "bank.example.com", "/"))
		r.deleteObject(cluster.KindHTTPRoute, "bank", "web")
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "the host of a deleted route", "dataplane.FixedResponse", servingRoute(r, "application", 80, "bank.example.com", "/"))
	})
}

// TestExistingRulesOfRepeatedListenerStayWhileItsRouteIsServedElsewhere checks that the existing rules of a repeated listener
// stay, too, if their route is attached to a valid listener of another port. After an edit of its hostnames, the route is
// served on the other port alone.
func TestExistingRulesOfRepeatedListenerStayWhileItsRouteIsServedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const own = "{name: own, port: 81, protocol: HTTP, allowedRoutes: {namespaces: {from: Same}}}, "
		set := strings.Replace(listenerSet("bank", "more", 2024, "edge", "port: 80, protocol: HTTP"), "listeners: [", "listeners: ["+own, 1)
		r := harnessWithOwnedGateways(t, strings.Replace(ownedALBGateway, "port: 80,", "port: 90,", 1), set, routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, "bank.example.com"))
		serving := func(host string) string {
			return servingRoute(r, "application", 80, host, "/") + " " + servingRoute(r, "application", 81, host, "/")
		}
		expectEqual(t, "before", "bank-web bank-web", serving("bank.example.com"))
		r.Apply(ownedALBGateway, routeOfNamespace("HTTPRoute", "shop", "web", 2025, edgeParentRef, "shop.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "once the Gateway has the port", "bank-web bank-web", serving("bank.example.com"))
		r.Apply(routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, "new.example.com"))
		r.advanceTime(10 * time.Minute)
		expectEqual(t, "the new host", "dataplane.FixedResponse bank-web", serving("new.example.com"))
		expectEqual(t, "the old host", "dataplane.FixedResponse dataplane.FixedResponse", serving("bank.example.com"))
	})
}

// TestListenerConflictsStayDuringOutage checks that the listener that serves a port stays without conflict if
// DescribeListeners fails after a restart. The new process then cannot read which listener exists in AWS.
func TestListenerConflictsStayDuringOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := harnessWithOwnedGateways(t, listenerSet("bank", "more", 2024, "net", "port: 7000, protocol: TCP"), routeOfNamespace("TCPRoute", "bank", "db", 2024, listenerSetParentRef, ""))
		r.Apply(listenerSet("evil", "more", 2020, "net", "port: 7000, protocol: TCP"), routeOfNamespace("TCPRoute", "evil", "all", 2020, listenerSetParentRef, ""))
		r.advanceTime(10 * time.Minute)
		r.Kill()
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			return fault.Action{Reset: c.Operation == "DescribeListeners"}
		})
		r.Start()
		r.Apply(routeOfNamespace("TCPRoute", "evil", "all", 2020, listenerSetParentRef, "")+"# edited\n", strings.Replace(listenerSet("evil", "more", 2020, "net", "port: 7000, protocol: TCP"), "name: l,", "name: other,", 1))
		r.Settle(20 * time.Minute)
		expectEqual(t, "the ListenerSet that serves the port", "NoConflicts True", listenerSetConflict(r, "bank", "more"))
		r.Emulator.Faults().SetHook(nil)
		r.advanceTime(30 * time.Minute)
		expectEqual(t, "the ListenerSet that serves the port, after the outage", "NoConflicts True", listenerSetConflict(r, "bank", "more"))
		expectEqual(t, "the older ListenerSet, after the outage", "ProtocolConflict False", listenerSetConflict(r, "evil", "more"))
	})
}

// TestCertificateOfRepeatedListenerIsNotImported checks that the certificate of a ListenerSet is not imported if its
// listener repeats the HTTPS listener of the Gateway.
func TestCertificateOfRepeatedListenerIsNotImported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		opt := importOptions(Options{})
		opt.Ingress = nil
		opt.Gateway = func(o *gateways.Options) { o.ImportCertificates, o.DefaultTargetType = true, model.IPTargets }
		r := New(t, opt)
		in := func(namespace, doc string) string {
			return strings.ReplaceAll(doc, "namespace: shop", "namespace: "+namespace)
		}
		https := strings.Replace(ownedALBGateway, "{name: http, port: 80, protocol: HTTP,", "{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: own}]},", 1)
		r.Apply(ownedGateways, https, webServiceOf("shop", podAddresses[0]), webServiceOf("evil", podAddresses[1]),
			in("infra", i.issue("own", elliptic.P256(), "own.example.com")), in("evil", i.issue("shop", elliptic.P256(), "shop.example.com")),
			routeOfNamespace("HTTPRoute", "shop", "web", 2025, edgeParentRef, "own.example.com, shop.example.com"))
		r.advanceTime(10 * time.Minute)
		r.Apply(listenerSet("evil", "more", 2020, "edge", "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}"), routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, "shop.example.com"))
		r.advanceTime(time.Hour)
		if got := gatewayImports(r); len(got) != 1 || !strings.HasPrefix(got[0], "imported/infra/own ") {
			t.Errorf("imported: %q", got)
		}
		expectEqual(t, "the ListenerSet", "HostnameConflict False", listenerSetConflict(r, "evil", "more"))
	})
}
