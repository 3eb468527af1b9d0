package harness

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

const gatewayWalkBase = `
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
`

// gatewayWalker creates random objects of the Gateway API. Their creation times are fixed, because the order of the
// objects depends on them.
type gatewayWalker struct{ walker }

// walkedObjects are the objects that checkGatewayWalk changes.
var walkedObjects = []cluster.Ref{
	{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"},
	{Kind: cluster.KindGateway, Namespace: "shop", Name: "tcp"},
	{Kind: cluster.KindHTTPRoute, Namespace: "shop", Name: "h0"},
	{Kind: cluster.KindHTTPRoute, Namespace: "shop", Name: "h1"},
	{Kind: cluster.KindHTTPRoute, Namespace: "team", Name: "h2"},
	{Kind: cluster.KindGRPCRoute, Namespace: "shop", Name: "g0"},
	{Kind: cluster.KindTCPRoute, Namespace: "shop", Name: "t0"},
	{Kind: cluster.KindTCPRoute, Namespace: "team", Name: "t1"},
	{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "s0"},
	{Kind: cluster.KindListenerSet, Namespace: "team", Name: "s1"},
	{Kind: cluster.KindReferenceGrant, Namespace: "team", Name: "shop"},
	{Kind: cluster.KindLoadBalancerConfiguration, Namespace: "shop", Name: "edge"},
	{Kind: cluster.KindTargetGroupConfiguration, Namespace: "shop", Name: "web"},
}

// head returns the first lines of the YAML of an object, up to "spec:".
func (w gatewayWalker) head(ref cluster.Ref) string {
	group := "gateway.networking.k8s.io/v1"
	switch ref.Kind {
	case cluster.KindReferenceGrant:
		group = "gateway.networking.k8s.io/v1beta1"
	case cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration:
		group = "gateway.k8s.aws/v1"
	}
	n := slices.Index(walkedObjects, ref)
	return fmt.Sprintf("\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s, uid: 44444444-0000-4000-8000-0000000000%02d, creationTimestamp: \"1999-12-0%dT00:00:00Z\"}\nspec:\n", group, ref.Kind, ref.Name, ref.Namespace, n, 1+n%4)
}

// doc returns YAML of a random version of an object. With sound, the object has no invalid field, but it may refer to
// objects that do not exist.
func (w gatewayWalker) doc(ref cluster.Ref, sound bool) string {
	out := w.head(ref)
	switch ref.Kind {
	case cluster.KindGateway:
		return out + w.gatewaySpec(ref, sound)
	case cluster.KindHTTPRoute, cluster.KindGRPCRoute:
		return out + w.routeSpec(ref, sound)
	case cluster.KindTCPRoute:
		return out + fmt.Sprintf("  parentRefs: [%s]\n  rules: [{backendRefs: [%s]}]\n",
			w.pick("{name: tcp, namespace: shop}", "{name: tcp, namespace: shop, sectionName: db}", "{name: tcp, namespace: shop, port: 9001}"), w.backends(ref.Namespace, sound))
	case cluster.KindListenerSet:
		return out + fmt.Sprintf("  parentRef: {name: %s, namespace: shop}\n  listeners:\n  - {name: a, port: %s, protocol: HTTP%s, allowedRoutes: {namespaces: {from: All}}}\n",
			w.pick("edge", "edge", "edge", "tcp"), w.pick("80", "8080", "8081"), w.pick("", ", hostname: a.example.com", ", hostname: set.example.com"))
	case cluster.KindReferenceGrant:
		return out + fmt.Sprintf("  from: [{group: gateway.networking.k8s.io, kind: %s, namespace: shop}]\n  to: [{group: \"\", kind: Service%s}]\n", w.pick("HTTPRoute", "TCPRoute"), w.pick("", ", name: app", ", name: other"))
	case cluster.KindLoadBalancerConfiguration:
		return out + fmt.Sprintf("  scheme: %s\n  tags: {Team: %s}\n  loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: %q}]\n",
			w.pick("internal", "internet-facing"), w.pick("a", "b"), w.timeout(sound))
	case cluster.KindTargetGroupConfiguration:
		return out + fmt.Sprintf("  targetReference: {name: web}\n  defaultConfiguration: {targetType: %s, healthCheckConfig: {healthCheckInterval: %s}}\n", w.pick("ip", "instance"), w.pick("10", "15"))
	}
	panic(ref.Kind)
}

// finalDoc returns a sound version of an object for the end of a walk. A host or port stays with the namespace that got
// it first. To make the result independent of the history, routes of namespaces "shop" and "team" use different hosts
// and ports.
func (w gatewayWalker) finalDoc(ref cluster.Ref) string {
	out := w.doc(ref, true)
	switch {
	case ref.Kind == cluster.KindTCPRoute && ref.Namespace == "shop":
		return anyParent.ReplaceAllString(out, "parentRefs: [{name: tcp, namespace: shop, port: 9000}]")
	case ref.Kind == cluster.KindTCPRoute:
		return anyParent.ReplaceAllString(out, "parentRefs: [{name: tcp, namespace: shop, port: 9001}]")
	case ref.Namespace == "team":
		return exampleHosts.ReplaceAllString(out, "$1.team.org")
	}
	return out
}

var (
	anyParent    = regexp.MustCompile(`parentRefs: .*`)
	exampleHosts = regexp.MustCompile(`(a|b|set|\*)\.example\.com`)
)

func (w gatewayWalker) timeout(sound bool) string {
	if !sound && w.chance(30) {
		return "often"
	}
	return w.pick("60", "90")
}

func (w gatewayWalker) gatewaySpec(ref cluster.Ref, sound bool) string {
	if ref.Name == "tcp" {
		return "  gatewayClassName: nlb\n  allowedListeners: {namespaces: {from: " + w.pick("All", "Same") + "}}\n  listeners:\n" +
			"  - {name: db, port: 9000, protocol: TCP, allowedRoutes: {namespaces: {from: " + w.pick("All", "Same") + "}}}\n" +
			w.pick("", "  - {name: more, port: 9001, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}\n", "  - {name: more, port: 9001, protocol: UDP}\n")
	}
	out := "  gatewayClassName: alb\n  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}\n" +
		"  allowedListeners: {namespaces: {from: " + w.pick("All", "Same") + "}}\n  listeners:\n" +
		"  - {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: " + w.pick("All", "Same") + "}}}\n" +
		"  - {name: safe, port: 443, protocol: HTTPS, hostname: \"*.example.com\", allowedRoutes: {namespaces: {from: All}}}\n" +
		w.pick("", "  - {name: api, port: 80, protocol: HTTP, hostname: a.example.com}\n", "  - {name: alt, port: 8080, protocol: HTTP}\n")
	if !sound {
		out += w.pick("  - {name: odd, port: 81, protocol: ODD}\n", "  - {name: web2, port: 80, protocol: HTTP}\n", "  - {name: zero, port: 0, protocol: HTTP}\n", "  - {name: safe2, port: 8443, protocol: HTTPS, hostname: nowhere.org}\n")
	}
	return out
}

func (w gatewayWalker) backends(namespace string, sound bool) string {
	of := []string{"{name: app, port: 80}"}
	if namespace == "shop" {
		of = []string{"{name: web, port: 80}", "{name: api, port: 80}", "{name: web, port: 80, weight: 3}, {name: api, port: 80, weight: 0}", "{name: app, namespace: team, port: 80}"}
	}
	if !sound {
		of = append(of, "{name: missing, port: 80}", "{name: web, namespace: none, port: 80}", "{kind: Odd, name: x}")
	}
	return w.pick(of...)
}

func (w gatewayWalker) routeSpec(ref cluster.Ref, sound bool) string {
	parents := []string{w.pick("{name: edge, namespace: shop}", "{name: edge, namespace: shop, sectionName: web}", "{name: edge, namespace: shop, port: 443}")}
	if w.chance(30) {
		parents = append(parents, w.pick("{name: edge, namespace: shop, sectionName: safe}", "{kind: ListenerSet, name: s0, namespace: shop}", "{name: tcp, namespace: shop, sectionName: db}", "{name: edge, namespace: shop, sectionName: web}"))
	}
	if ref.Kind == cluster.KindGRPCRoute {
		parents = []string{"{name: edge, namespace: shop, sectionName: safe}"}
	}
	out := "  parentRefs: [" + strings.Join(parents, ", ") + "]\n"
	if hosts := w.pick("", "a.example.com", "b.example.com", `a.example.com, "*.example.com"`, "elsewhere.org"); hosts != "" {
		out += "  hostnames: [" + hosts + "]\n"
	}
	out += "  rules:\n"
	for range 1 + w.IntN(2) {
		if ref.Kind == cluster.KindGRPCRoute {
			out += fmt.Sprintf("  - {matches: [{method: {service: %s}}], backendRefs: [%s]}\n", w.pick("a.B", "c.D"), w.backends(ref.Namespace, sound))
			continue
		}
		filters := ""
		if w.chance(20) {
			filters = ", filters: [{type: RequestRedirect, requestRedirect: {scheme: https, statusCode: 301}}]"
		} else {
			filters = ", backendRefs: [" + w.backends(ref.Namespace, sound) + "]"
			if !sound && w.chance(20) {
				filters += ", filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [x]}}]"
			}
		}
		out += fmt.Sprintf("  - {matches: [{path: {type: %s, value: %s}%s}]%s}\n", w.pick("PathPrefix", "Exact"), w.pick("/", "/a", "/a/b"), w.pick("", ", method: GET", ", headers: [{name: X, value: one}]"), filters)
	}
	return out
}

func newGatewayWalk(t *testing.T, seed uint64, writes *statusCountingAPI) (gatewayWalker, *Harness) {
	t.Helper()
	r := shopWith(t, Options{
		Checkpoints: seed%2 == 1,
		Gateway:     func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
		API:         func(api kube.API) kube.API { writes.API = api; return writes },
	})
	r.Apply(walkBase, gatewayWalkBase)
	w := gatewayWalker{walker{rand.New(rand.NewPCG(seed, 5)), r.Seeded}}
	for _, ref := range walkedObjects {
		if isConfiguration(ref) {
			r.Apply(w.doc(ref, true))
		}
	}
	for n, s := range walkServices {
		r.Apply(w.service(s[0], s[1], n), walker{rand.New(rand.NewPCG(1, 1)), r.Seeded}.endpoints(s[0], s[1], n))
	}
	return w, r
}

// gatewayStep creates, changes or deletes one random object of walkedObjects, in the cluster and in docs. It returns a
// description of the step.
func (w gatewayWalker) gatewayStep(r *Harness, docs walkDocs) string {
	ref := walkedObjects[w.IntN(len(walkedObjects))]
	name := ref.String()
	obj, _ := r.Store.Get(ref)
	switch {
	case obj != nil && obj.GetDeletionTimestamp() != nil:
		return name + " is still being deleted"
	case obj != nil && w.chance(25) && !isConfiguration(ref):
		if err := r.Store.Delete(ref); err != nil {
			r.T.Fatal(err)
		}
		delete(docs, name)
		return "delete " + name
	}
	doc := w.doc(ref, w.chance(70))
	r.Apply(doc)
	docs[name] = doc
	return "put " + doc
}

// isConfiguration reports whether an object is a LoadBalancerConfiguration or a TargetGroupConfiguration. A walk does
// not delete these, because their finalizers keep them as long as a Gateway or a Service uses them.
func isConfiguration(ref cluster.Ref) bool {
	return ref.Kind == cluster.KindLoadBalancerConfiguration || ref.Kind == cluster.KindTargetGroupConfiguration
}

// generatedAWSName matches ARNs and DNS names, which have random parts.
var generatedAWSName = regexp.MustCompile(`arn:aws[^" ]*|[a-z0-9.-]+\.elb\.[a-z0-9-]*\.?amazonaws\.com`)

// walkStatuses returns the finalizers and statuses of the objects in walkedObjects, without ARNs, DNS names, times and
// generations.
func walkStatuses(r *Harness) []string {
	var out []string
	for _, ref := range walkedObjects {
		obj, err := r.Store.Get(ref)
		if err != nil {
			r.T.Fatal(err)
		}
		if obj == nil || isConfiguration(ref) { // configurations keep their finalizers after use
			continue
		}
		text, err := json.Marshal(obj)
		if err != nil {
			r.T.Fatal(err)
		}
		var has struct {
			Status   map[string]json.RawMessage
			Metadata struct{ Finalizers []string }
		}
		if err := json.Unmarshal(text, &has); err != nil {
			r.T.Fatal(err)
		}
		var parents []json.RawMessage // their order has no meaning
		if of := has.Status["parents"]; of != nil {
			if err := json.Unmarshal(of, &parents); err != nil {
				r.T.Fatal(err)
			}
			delete(has.Status, "parents")
		}
		var shown []string
		for _, p := range parents {
			shown = append(shown, string(p))
		}
		for key, field := range has.Status {
			shown = append(shown, key+": "+string(field))
		}
		slices.Sort(shown)
		status := timesOfConditions.ReplaceAllString(generatedAWSName.ReplaceAllString(strings.Join(shown, "\n"), "<aws>"), "")
		out = append(out, fmt.Sprint(ref, " ", has.Metadata.Finalizers, " ", status))
	}
	return out
}

// timesOfConditions matches the fields of a condition that depend on the history of its object.
var timesOfConditions = regexp.MustCompile(`"lastTransitionTime":"[^"]*",?|"observedGeneration":[0-9]+,?`)

// TestResultForGatewaysDependsOnlyOnLastObjects checks that the final state and statuses depend only on the last
// versions of the objects of the Gateway API, not on their history with failing calls, lost responses and killed
// processes. Afterwards, a reconciliation and a restart write nothing, and a deletion leaves nothing.
func TestResultForGatewaysDependsOnlyOnLastObjects(t *testing.T) {
	t.Parallel()
	seeds.Each(t, seeds.Amount(7, 12), checkGatewayWalk)
}

func checkGatewayWalk(t *testing.T, seed uint64) {
	t.Helper()
	var log []string
	docs := walkDocs{}
	defer docs.logFailure(t, seed, &log)
	var got, shown, empty, before []string
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		w, r := newGatewayWalk(t, seed, writes)
		before = r.State()
		w.stepWithFaults(r, 12+w.IntN(14), &log, func() string { return w.gatewayStep(r, docs) })
		for _, ref := range walkedObjects {
			if _, there := docs[ref.String()]; there || isConfiguration(ref) {
				docs[ref.String()] = w.finalDoc(ref)
				r.Apply(docs[ref.String()])
			}
		}
		if failed := r.Settle(3 * time.Hour); len(failed) > 0 {
			t.Errorf("still failing: %v", failed)
		}
		got, shown = r.State(), walkStatuses(r)
		writes.n = 0
		for range 2 { // the first reconciliation may read expired facts again
			r.Emulator.Calls().Reset()
			r.process.enqueueExistingObjects()
			r.Settle(time.Second)
		}
		if n := r.Emulator.Calls().Total(); n > 0 || writes.n > 0 {
			t.Errorf("a pass without a change makes %d calls and %d writes of statuses: %v", n, writes.n, r.Emulator.Calls().Counts())
		}
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(2 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 || writes.n > 0 {
			t.Errorf("a restart makes %d mutating calls and %d writes of statuses: %v\n%s\n%s", n, writes.n, r.Emulator.Calls().Counts(), cmp.Diff(got, r.State()), cmp.Diff(shown, walkStatuses(r)))
		}
		for _, ref := range walkedObjects {
			if _, there := docs[ref.String()]; there {
				r.deleteObject(ref.Kind, ref.Namespace, ref.Name)
			}
		}
		failed := r.Settle(3 * time.Hour)
		empty = r.State()
		for _, k := range []cluster.Kind{cluster.KindBinding, cluster.KindGateway, cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration} {
			for _, o := range r.Store.All(k) {
				t.Errorf("%s %s/%s is left after deletion, finalizers %v; failing: %v", k, o.GetNamespace(), o.GetName(), o.GetFinalizers(), failed)
			}
		}
	})
	if diff := cmp.Diff(before, empty); diff != "" {
		t.Errorf("deletion does not restore the cluster (-before +after):\n%s", diff)
	}
	var want, wantShown []string
	synctest.Test(t, func(t *testing.T) {
		_, r := newGatewayWalk(t, seed, &statusCountingAPI{})
		for _, k := range sortedKeys(docs) {
			r.Apply(docs[k])
		}
		r.Settle(3 * time.Hour)
		want, wantShown = r.State(), walkStatuses(r)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the final state depends on the history (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(wantShown, shown); diff != "" {
		t.Errorf("the final statuses depend on the history (-without +with):\n%s", diff)
	}
}
