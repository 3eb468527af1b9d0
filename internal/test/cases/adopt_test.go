package cases

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// notAdopted are cases, in addition to notMigrated, whose load balancer a Gateway does not adopt, with the reasons.
var notAdopted = map[string]string{
	"ingress-frontend-nlb": "a Gateway has no frontend NLB",
}

// adoption follows the load balancers of a case through adoption and return.
type adoption struct {
	t             *testing.T
	r             *harness.Harness
	ingressGroups []migrate.IngressGroup
	arns          []string // ARNs of the load balancers of the IngressGroups
	// servicesOfRecreatedBindings has, by the ARN of the target group, the Services of target groups whose bindings are
	// deleted and created again.
	servicesOfRecreatedBindings map[string]string

	mu sync.Mutex
	// wantAnswers are the expected answers to the requests that the Ingress rules distinguish, by load balancer and port;
	// nil while answers are not compared.
	wantAnswers     map[string]map[string]string
	comparisonCount int
	step            string
}

// compareAfterCalls compares all answers with wantAnswers after each call to AWS, and checks the order of tags.
func (a *adoption) compareAfterCalls(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.wantAnswers != nil && !a.t.Failed() {
			if diff := cmp.Diff(a.wantAnswers, a.currentAnswers()); diff != "" {
				a.t.Errorf("%s: answers differ after a call (-before +after):\n%s", a.step, diff)
			}
			a.comparisonCount++
			a.checkTagOrder()
		}
		return res, err
	})
}

// currentAnswers returns the current answers of the load balancers, by load balancer and port and by request. The answers
// show which target groups have no targets.
func (a *adoption) currentAnswers() map[string]map[string]string {
	services := servicesByTargetGroup(a.r)
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	for arn, service := range a.servicesOfRecreatedBindings {
		if services[arn] == "" {
			services[arn] = service
		}
	}
	for arn, g := range p.ELB.TargetGroups {
		if !slices.ContainsFunc(g.Targets, func(t *store.Target) bool { return !t.IsDraining() }) {
			services[arn] += " without targets"
		}
	}
	out := map[string]map[string]string{}
	for i, g := range a.ingressGroups {
		for _, l := range g.IngressStack.LoadBalancer.Listeners {
			answer := answersOf(a.t, p, a.arns[i], l.Port, services)
			of := map[string]string{}
			check.ForEachRequest(l.Rules, nil, func(req model.Request, _, _ []model.Rule) {
				f := dataplane.RequestFacts{Host: req.Host, Path: req.Path, Query: req.Query, Method: req.Method, Header: http.Header{}, Source: netip.MustParseAddr(req.Client)}
				for _, h := range req.Header {
					f.Header.Add(h.Name, h.Value)
				}
				of[fmt.Sprintf("%+v", req)] = answer(f)
			})
			out[fmt.Sprint(a.arns[i], " ", l.Port)] = of
		}
	}
	return out
}

// settle runs the controller, and starts it again if it was killed. step describes the current step in failures.
func (a *adoption) settle(step string) {
	a.mu.Lock()
	a.step = step
	a.mu.Unlock()
	a.r.Settle(controllerRunTime)
	for a.r.WasKilled() {
		a.r.Start()
		a.r.Settle(controllerRunTime)
	}
}

// editGateways edits the Gateway of each IngressGroup.
func (a *adoption) editGateways(edit func(gw *gwv1.Gateway, g migrate.IngressGroup)) {
	a.t.Helper()
	for _, g := range a.ingressGroups {
		obj, err := a.r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name})
		if err != nil || obj == nil {
			a.t.Fatal(err)
		}
		gw := obj.DeepCopyObject().(*gwv1.Gateway)
		if gw.Annotations == nil {
			gw.Annotations = map[string]string{}
		}
		edit(gw, g)
		if err := a.r.Store.Put(gw); err != nil {
			a.t.Fatal(err)
		}
	}
}

// warnings returns the texts of all warning events.
func (a *adoption) warnings() (out []string) {
	for _, o := range a.r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
			out = append(out, fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
		}
	}
	slices.Sort(out)
	return out
}

// resourcesTaggedWith returns the AWS resources with the stack tag of a kind of stack.
func (a *adoption) resourcesTaggedWith(kind model.Kind) (out []string) {
	for _, line := range a.r.State() {
		if strings.Contains(line, naming.StackTag(kind)) {
			out = append(out, line)
		}
	}
	return out
}

// TestCasesAreAdopted lets the Gateway of each case adopt the load balancer of the Ingresses, return it, adopt it
// again and keep it. No request may be answered differently after any call, and nothing may remain at the end.
func TestCasesAreAdopted(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, name := range Names(t) {
		if !strings.HasPrefix(name, "ingress-") || notMigrated[name] != "" || notAdopted[name] != "" {
			continue
		}
		cases++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if !checkAdoption(t, applyCaseFunc(t, name), nil) {
					t.Error("the load balancer was not adopted")
				}
			})
		})
	}
	if cases < 30 {
		t.Errorf("%d cases", cases)
	}
}

// applyCaseFunc returns a function that applies the objects of a case.
func applyCaseFunc(t *testing.T, name string) func(r *harness.Harness) {
	return func(r *harness.Harness) { NewLoader(t, r).Apply(t, name) }
}

// TestRandomIngressGroupsAreAdopted runs the test of TestCasesAreAdopted for random IngressGroups of two namespaces. At
// least a third of them must be adopted.
func TestRandomIngressGroupsAreAdopted(t *testing.T) {
	t.Parallel()
	n, whole := seeds.Amount(24, 60), 0
	switch {
	case testing.Short():
		n = 10
	case os.Getenv("FULCRUM_ADOPTIONS") == "all":
		n = 500
	}
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			if checkAdoption(t, func(r *harness.Harness) { applyRandomIngressGroup(r, uint64(seed)) }, nil) {
				whole++
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	t.Logf("%d groups", whole)
	if whole < n/3 {
		t.Errorf("only %d of %d IngressGroups are adopted", whole, n)
	}
}

// hasConsentOfMembers reports whether each member is in the namespace of the Gateway or of a route, so that it consents to
// the adoption. An Ingress has no route if all its rules are unreachable.
func hasConsentOfMembers(result migrate.Result, g migrate.IngressGroup) bool {
	of := map[string]bool{g.Gateway.Namespace: true}
	for _, o := range result.Objects() {
		if route, ok := o.Object.(*gwv1.HTTPRoute); ok {
			of[route.Namespace] = true
		}
	}
	return !slices.ContainsFunc(g.Members, func(m finding.Ref) bool { return !of[m.Namespace] })
}

// checkHostname checks that a hostname belongs to the load balancer that the Ingresses of an IngressGroup had.
func (a *adoption) checkHostname(group int, hostname string) {
	a.t.Helper()
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	if lb := loadBalancerByDNSName(all.Partition(harness.Account, harness.Region), hostname); lb == nil || lb.ARN != a.arns[group] {
		a.t.Errorf("%q is not the load balancer of %s", hostname, a.ingressGroups[group].ID)
	}
}

// checkAdoption lets Gateways adopt the load balancers of the objects that load applies, return them and adopt them again,
// and then deletes everything. i is a fault, or nil. It returns false if the load balancers cannot be adopted: the
// IngressGroups cannot be translated without loss, AWS refuses a rule, a member does not consent, or settings differ.
func checkAdoption(t *testing.T, load func(*harness.Harness), i *interruption) bool {
	a := &adoption{t: t}
	opt := harness.Options{Transport: a.compareAfterCalls}
	if i != nil && i.kind == killAtWrite {
		opt.API = func(api kube.API) kube.API { return killAtWriteAPI{api, a, i} }
	}
	a.r = NewHarness(t, opt)
	empty := a.r.State()
	load(a.r)
	a.settle("ingress")
	time.Sleep(controllerRunTime) // until all targets are healthy
	before := a.r.State()
	result := translateIngresses(t, a.r)
	a.ingressGroups = result.IngressGroups
	// A rule that AWS refuses is tried repeatedly, before and after the adoption.
	refused := slices.ContainsFunc(a.warnings(), func(e string) bool { return strings.Contains(e, string(finding.RejectedByAWS)) })
	if refused || slices.ContainsFunc(a.ingressGroups, func(g migrate.IngressGroup) bool {
		return g.WorstSeverity() == migrate.Lost || !hasConsentOfMembers(result, g)
	}) {
		return false
	}
	a.recordOriginalLoadBalancers()
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(a.warnings(), "\n"))
		}
	}()
	a.wantAnswers = a.currentAnswers()
	a.interrupt(i)
	a.applyDryRunGateways(result)
	if slices.ContainsFunc(a.warnings(), func(e string) bool { return strings.Contains(e, string(finding.AdoptionDiffers)) }) {
		return false
	}
	a.adopt()
	a.returnToIngresses(before)
	a.adopt()
	a.deleteIngresses()
	a.removeAdoptAnnotations()
	if i == nil {
		a.checkEqualsNewResources(load, result)
	}
	if a.comparisonCount < 20 {
		t.Errorf("%d comparisons", a.comparisonCount)
	}
	a.mu.Lock()
	a.wantAnswers = nil
	a.mu.Unlock()
	a.deleteGateways(result, empty)
	return true
}

// recordOriginalLoadBalancers stores the ARNs of the load balancers of the Ingresses.
func (a *adoption) recordOriginalLoadBalancers() {
	a.t.Helper()
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	for _, g := range a.ingressGroups {
		lb := loadBalancerByDNSName(all.Partition(harness.Account, harness.Region), hostnameOf(a.r, g.Members[0].Namespace, g.Members[0].Name))
		if lb == nil {
			a.t.Fatalf("%s has no load balancer", g.ID)
		}
		a.arns = append(a.arns, lb.ARN)
	}
}

// applyDryRunGateways applies the Gateways in dry-run mode, and checks that this makes no mutating calls.
func (a *adoption) applyDryRunGateways(result migrate.Result) {
	a.t.Helper()
	a.r.Emulator.Calls().Reset()
	for _, o := range result.Objects() {
		if gw, ok := o.Object.(*gwv1.Gateway); ok {
			for _, g := range a.ingressGroups {
				if g.Gateway.Name == gw.Name && g.Gateway.Namespace == gw.Namespace {
					gw.Annotations = map[string]string{naming.DryRunAnnotation: "true", naming.AdoptAnnotation: naming.AdoptAnnotationValue(g.ID)}
				}
			}
		}
		if err := a.r.Store.Apply(o.Object); err != nil {
			a.t.Fatal(err)
		}
	}
	a.settle("shadow")
	if n := a.r.Emulator.Calls().CountMutating(); n > 0 {
		a.t.Fatalf("the dry run makes %d mutating calls: %v", n, a.r.Emulator.Calls().Counts())
	}
}

// adopt lets the Gateways adopt the load balancers.
func (a *adoption) adopt() {
	a.t.Helper()
	a.editGateways(func(gw *gwv1.Gateway, _ migrate.IngressGroup) { delete(gw.Annotations, naming.DryRunAnnotation) })
	a.settle("adopt")
	a.settle("adopt") // waits for targets, and for nodes to apply rules, take some minutes
	if left := a.resourcesTaggedWith(model.Ingress); len(left) > 0 {
		a.t.Fatalf("resources still have tags of the Ingresses:\n%s", strings.Join(left, "\n"))
	}
	for i, g := range a.ingressGroups {
		if got, want := addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name), hostnameOf(a.r, g.Members[0].Namespace, g.Members[0].Name); got != want || got == "" {
			a.t.Errorf("the Gateway shows %q, its Ingress %q", got, want)
		}
		a.checkHostname(i, addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name))
	}
}

// returnToIngresses returns the load balancers to the Ingresses and checks that the previous state is restored.
func (a *adoption) returnToIngresses(before []string) {
	a.t.Helper()
	a.editGateways(func(gw *gwv1.Gateway, _ migrate.IngressGroup) { gw.Annotations[naming.DryRunAnnotation] = "true" })
	a.settle("give back")
	a.settle("give back")
	if left := a.resourcesTaggedWith(model.ALBGateway); len(left) > 0 {
		a.t.Fatalf("resources still have tags of the Gateways:\n%s", strings.Join(left, "\n"))
	}
	if diff := cmp.Diff(before, a.r.State()); diff != "" {
		a.t.Errorf("the state differs after the return (-before +after):\n%s", diff)
	}
	for _, g := range a.ingressGroups {
		if obj, _ := a.r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}); len(obj.GetFinalizers()) > 0 {
			a.t.Errorf("the Gateway has the finalizers %v", obj.GetFinalizers())
		}
	}
}

// deleteIngresses deletes the Ingresses and checks that no finalizer keeps them.
func (a *adoption) deleteIngresses() {
	a.t.Helper()
	each := func(do func(cluster.Ref)) {
		for _, g := range a.ingressGroups {
			for _, m := range g.Members {
				do(cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name})
			}
		}
	}
	each(func(ref cluster.Ref) {
		if err := a.r.Store.Delete(ref); err != nil {
			a.t.Fatal(err)
		}
	})
	a.settle("release")
	each(func(ref cluster.Ref) {
		if obj, _ := a.r.Store.Get(ref); obj != nil {
			a.t.Errorf("%s is not deleted", ref)
		}
	})
}

// removeAdoptAnnotations removes the adopt annotation from the Gateways, and checks that no tag of the adoption remains.
func (a *adoption) removeAdoptAnnotations() {
	a.t.Helper()
	a.editGateways(func(gw *gwv1.Gateway, _ migrate.IngressGroup) { delete(gw.Annotations, naming.AdoptAnnotation) })
	a.settle("remove the annotation")
	for _, line := range a.r.State() {
		if strings.Contains(line, naming.AdoptedTag) || strings.Contains(line, naming.AdoptedNamespacesTag) {
			a.t.Errorf("a tag is left: %s", line)
		}
	}
	for i, g := range a.ingressGroups {
		a.checkHostname(i, addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name))
	}
}

// deleteGateways deletes the Gateways and checks that nothing remains.
func (a *adoption) deleteGateways(result migrate.Result, empty []string) {
	a.t.Helper()
	for _, o := range result.Objects() {
		if gw, ok := o.Object.(*gwv1.Gateway); ok {
			if err := a.r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: gw.Namespace, Name: gw.Name}); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	a.settle("delete")
	a.r.Settle(time.Hour) // refused calls are tried again
	if diff := cmp.Diff(empty, a.r.State()); diff != "" {
		a.t.Errorf("resources differ after deletion (-before +after):\n%s", diff)
	}
}
