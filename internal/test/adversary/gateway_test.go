package adversary

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// gatewayHistories is the default number of histories of attacks on Gateways.
const gatewayHistories = 9

// victimGateways are a Gateway with an ALB and one with an NLB. Some hostnames and ports are for trusted namespaces;
// every namespace may attach to the others and add ListenerSets. One route uses a Service of another namespace by a
// ReferenceGrant.
const victimGateways = `
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
metadata: {name: infra, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil, labels: {tenant: evil}}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: edge, namespace: infra}
spec: {scheme: internal, tags: {Owner: platform}, loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "120"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra, uid: uid-infra-edge, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  gatewayClassName: alb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: shop, port: 80, protocol: HTTP, hostname: shop.pay.com, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
  - {name: api, port: 80, protocol: HTTP, hostname: api.pay.com, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
  - {name: open, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: alt, port: 8080, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: closed, port: 8081, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: tcp, namespace: infra, uid: uid-infra-tcp, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  gatewayClassName: nlb
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: db, port: 9000, protocol: TCP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
  - {name: open, port: 9001, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
  - {name: secure, port: 9443, protocol: TLS, hostname: shop.pay.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
  - {name: theirs, port: 9443, protocol: TLS, hostname: evil.com, tls: {mode: Passthrough}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {tenant: evil}}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  hostnames: [shop.pay.com]
  rules:
  - {matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: web, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: edge, namespace: infra, sectionName: api}]
  rules:
  - {matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: blog, namespace: blog, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: pay, namespace: blog}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: pay}], to: [{group: "", kind: Service}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: db, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: tcp, namespace: infra, sectionName: db}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: secure, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: tcp, namespace: infra, sectionName: secure}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: closed, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: edge, namespace: infra, sectionName: closed}]
  hostnames: [closed.pay.com]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
`

// gatewayTestCluster is the cluster with the victims' Gateways and the attacker.
type gatewayTestCluster struct {
	*harness.Harness
	*rand.Rand
	rec            *recorder
	lbARNs         []string          // ARNs of the victims' load balancers
	facts          map[string]string // facts that must not change
	moveLog        []string
	runs           int
	isBlogGranted  bool // namespace "blog" permits routes of the attacker to use its Services
	isHostAssigned bool // assignedHost belongs to the listener for trusted namespaces
}

// TestGatewayHistories runs random histories of a tenant that may write all objects of its namespace: routes,
// ListenerSets, ReferenceGrants, Gateways and configurations. Requests to the victims' hosts must be answered as
// without the attacker, also after changes of the victims, and all resources of the attacker must be deleted with its
// objects.
func TestGatewayHistories(t *testing.T) {
	t.Parallel()
	first, n := seedRange(gatewayHistories)
	for seed := first; seed < first+n; seed++ {
		if w := runGatewayHistory(t, seed); w.rec.Failed() {
			t.Fatalf("FULCRUM_ADVERSARY_SEED=%d:\n%s\n\n%s", seed, strings.Join(w.rec.failures, "\n"), strings.Join(w.moveLog, "\n"))
		}
	}
}

// seedRange returns the first seed and the number of histories: all from seed 0 on by default, FULCRUM_ADVERSARY histories
// from FULCRUM_ADVERSARY_FROM on, or only FULCRUM_ADVERSARY_SEED.
func seedRange(all uint64) (first, n uint64) {
	if seed, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY_SEED"), 10, 64); err == nil {
		return seed, 1
	}
	if given, err := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY"), 10, 64); err == nil {
		from, _ := strconv.ParseUint(os.Getenv("FULCRUM_ADVERSARY_FROM"), 10, 64)
		return from, given
	}
	return 0, all
}

// recoverStop recovers from the panic with which the recorder ends a history. It must be deferred.
func recoverStop() {
	switch p := recover().(type) {
	case nil, historyStop:
	default:
		panic(p)
	}
}

func runGatewayHistory(t *testing.T, seed uint64) *gatewayTestCluster {
	t.Helper()
	return runInGatewayTestCluster(t, seed, func(w *gatewayTestCluster) {
		for range 25 {
			w.makeGatewayMove()
			w.Settle(time.Duration(1+w.IntN(90)) * time.Second)
			w.compareFacts("")
			if w.rec.Failed() {
				return
			}
		}
		w.Settle(5 * time.Minute)
		// A change of a victim takes effect in time, whatever objects the attacker has.
		w.moveLog = append(w.moveLog, "the victim moves shop to its other Service")
		w.Apply(strings.Replace(shopRouteDoc(), "{name: web, port: 80}", "{name: blog, namespace: blog, port: 80}", 1))
		w.Settle(2 * time.Minute)
		w.setExpectedShopAnswer("forward to blog/blog")
		w.compareFacts("after the victim's change: ")
		w.Apply(shopRouteDoc())
		w.Settle(10 * time.Minute)
		w.deleteAttackerAndCheck()
	})
}

// runInGatewayTestCluster calls run in a test cluster with victimGateways, when the victims are served.
func runInGatewayTestCluster(t *testing.T, seed uint64, run func(w *gatewayTestCluster)) *gatewayTestCluster {
	t.Helper()
	w := &gatewayTestCluster{Rand: rand.New(rand.NewPCG(seed, 9))}
	synctest.Test(t, func(t *testing.T) {
		w.rec = &recorder{TB: t}
		defer recoverStop()
		w.Harness = harness.New(w.rec, harness.Options{
			Addresses: addressesOfPods(),
			Gateway:   func(o *gateways.Options) { o.DefaultTargetType, o.MaxRules = model.IPTargets, 40 },
			AfterRun: func(what string, err error) {
				if w.runs++; w.runs > 20000 {
					w.rec.Fatalf("too many runs, the last one of %s", what)
				}
				if err != nil && strings.Contains(err.Error(), "panic") {
					w.rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
				}
			},
		})
		for _, o := range workloads() {
			w.Apply(o.docs())
		}
		w.Apply(victimGateways)
		w.Settle(10 * time.Minute)
		w.grantBlogServices()
		w.recordFacts()
		run(w)
	})
	return w
}

// setExpectedShopAnswer sets the expected answer to requests for shop.pay.com.
func (w *gatewayTestCluster) setExpectedShopAnswer(answer string) {
	w.facts["shop.pay.com/"], w.facts["shop.pay.com/x/y"] = answer, answer
}

// shopRouteDoc returns the victims' HTTPRoute "shop".
func shopRouteDoc() string {
	for doc := range strings.SplitSeq(victimGateways, "---\n") {
		if strings.Contains(doc, "name: shop, namespace: pay") {
			return doc
		}
	}
	panic("no route shop")
}

// recordFacts records the facts that must not change.
func (w *gatewayTestCluster) recordFacts() {
	p, unlock := w.partition()
	for arn := range p.ELB.LoadBalancers {
		w.lbARNs = append(w.lbARNs, arn)
	}
	unlock()
	slices.Sort(w.lbARNs) // so that the seed determines which load balancer a move names
	if len(w.lbARNs) != 2 {
		w.rec.Fatalf("the victims have %d load balancers", len(w.lbARNs))
	}
	w.facts = w.readFacts()
	for key, want := range map[string]string{"shop.pay.com/": "forward to pay/web", "shop.pay.com/x/y": "forward to pay/web", "api.pay.com/": "forward to blog/blog", "db": "pay/web", "secure": "pay/web", "closed.pay.com/": "forward to pay/web"} {
		if w.facts[key] != want {
			w.rec.Fatalf("at the beginning %s is %q", key, w.facts[key])
		}
	}
}

func (w *gatewayTestCluster) partition() (*emulated.Partition, func()) {
	s := w.Emulator.Store()
	s.Lock()
	return s.Partition(harness.Account, harness.Region), s.Unlock
}

// readFacts returns the settings of the victims' load balancers, the answers to the victims' clients and the status of the
// victims' objects.
func (w *gatewayTestCluster) readFacts() map[string]string {
	out := map[string]string{}
	p, unlock := w.partition()
	for _, arn := range w.lbARNs {
		lb := p.ELB.LoadBalancers[arn]
		if lb == nil {
			out[arn] = "gone"
			continue
		}
		out["settings of "+lb.Name] = fmt.Sprint(lb.Type, lb.Scheme, lb.SecurityGroups, lb.Zones, lb.Attributes, lb.Tags)
	}
	for _, l := range p.ELB.Listeners {
		if name := map[int32]string{9000: "db", 9443: "secure"}[l.Port]; name != "" && slices.Contains(w.lbARNs, l.LoadBalancer) && strings.Contains(l.LoadBalancer, "/net/") {
			out["protocol of "+name] = string(l.Protocol)
			for _, r := range p.ELB.Rules {
				if r.Listener == l.ARN && r.IsDefault() {
					a := &awsReading{w: w.asTestCluster(), p: p}
					if rules := a.rules(func(arn string) bool { return arn == l.LoadBalancer })[loadBalancerPort{l.LoadBalancer, l.Port}]; len(rules) == 1 {
						out[name] = strings.TrimPrefix(a.textOf(rules[0].outcome), "forward to ")
					}
				}
			}
		}
	}
	unlock()
	for _, arn := range w.lbARNs {
		if !strings.Contains(arn, "/app/") {
			continue
		}
		for _, r := range []string{"shop.pay.com/", "shop.pay.com/x/y", "api.pay.com/", "api.pay.com/login"} {
			host, path, _ := strings.Cut(r, "/")
			out[r] = w.asTestCluster().answerTo(arn, 80, host, "/"+path).text
		}
		for _, host := range []string{"closed.pay.com", "none.pay.com"} {
			out[host+"/"] = w.asTestCluster().answerTo(arn, 8081, host, "/").text
		}
	}
	v := cluster.NewView(w.Store)
	for _, name := range []string{"edge", "tcp"} {
		gw, _ := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, "infra", name)
		for _, c := range gw.Status.Conditions {
			if c.Type == "Programmed" || c.Status == metav1.ConditionFalse {
				out["Gateway "+name+" "+c.Type] = fmt.Sprint(c.Status, c.Message)
			}
		}
		for _, l := range gw.Status.Listeners {
			for _, c := range l.Conditions {
				if c.Type != "ResolvedRefs" && l.Name != "open" && l.Name != "alt" && l.Name != "theirs" && l.Name != "new" {
					out[fmt.Sprintf("listener %s of %s: %s", l.Name, name, c.Type)] = string(c.Status)
				}
			}
		}
	}
	for kind, names := range map[cluster.Kind][]string{cluster.KindHTTPRoute: {"shop", "api", "closed"}, cluster.KindTCPRoute: {"db"}, cluster.KindTLSRoute: {"secure"}} {
		for _, name := range names {
			obj, err := w.Store.Get(cluster.Ref{Kind: kind, Namespace: "pay", Name: name})
			if err != nil {
				w.rec.Fatal(err)
			}
			_, parents := cluster.RouteParents(obj)
			for _, p := range parents {
				for _, c := range p.Conditions {
					out[fmt.Sprintf("route %s %s", name, c.Type)] += fmt.Sprint(c.Status)
				}
			}
		}
	}
	return out
}

func (w *gatewayTestCluster) asTestCluster() *testCluster {
	return &testCluster{Harness: w.Harness, rec: w.rec}
}

// compareFacts compares the facts with the recorded ones, and checks the rights of the attacker. when is the start of each
// failure.
func (w *gatewayTestCluster) compareFacts(when string) {
	got := w.readFacts()
	for key, want := range w.facts {
		if got[key] != want {
			w.rec.Errorf("%s%s: %q, want %q", when, key, got[key], want)
		}
	}
	for key, have := range got {
		if _, ok := w.facts[key]; !ok {
			w.rec.Errorf("%s%s: %q is new", when, key, have)
		}
	}
	w.checkServiceGrants(when)
	w.checkAssignedHost(when)
}

// deleteAttackerAndCheck deletes all objects of the attacker, and checks that nothing of it remains in AWS or in the status
// of Gateways.
func (w *gatewayTestCluster) deleteAttackerAndCheck() {
	w.moveLog = append(w.moveLog, "the attacker leaves")
	w.deleteAttackerNamespaceObjects()
	if failed := w.Settle(2 * time.Hour); len(failed) > 0 {
		w.rec.Errorf("after the attacker has left: %v", failed)
	}
	w.setExpectedShopAnswer("forward to pay/web")
	w.compareFacts("after the attacker has left: ")
	p, unlock := w.partition()
	defer unlock()
	for arn, lb := range p.ELB.LoadBalancers {
		if !slices.Contains(w.lbARNs, arn) {
			w.rec.Errorf("load balancer %s is not deleted", lb.Name)
		}
	}
	for _, g := range p.ELB.TargetGroups {
		if strings.Contains(fmt.Sprint(g.Tags), "evil") {
			w.rec.Errorf("target group %s is not deleted: %v", g.Name, g.Tags)
		}
	}
	for _, kind := range append(slices.Clone(cluster.RouteKinds), cluster.KindGateway, cluster.KindListenerSet) {
		for _, o := range w.Store.All(kind) {
			if o.GetNamespace() == attackerNamespace {
				w.rec.Errorf("%s is not deleted, finalizers %v", finding.Ref{Kind: string(kind), Namespace: o.GetNamespace(), Name: o.GetName()}, o.GetFinalizers())
			}
		}
	}
}

// deleteAttackerNamespaceObjects deletes all objects of the attacker.
func (w *gatewayTestCluster) deleteAttackerNamespaceObjects() {
	for _, typ := range cluster.Types() {
		for _, o := range w.Store.All(typ.Kind) {
			if o.GetNamespace() == attackerNamespace {
				if err := w.Store.Delete(cluster.RefOf(o)); err != nil {
					w.rec.Fatal(err)
				}
			}
		}
	}
}
