package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// notAdopted are cases besides notMigrated whose load balancer a Gateway does not take over.
var notAdopted = map[string]string{
	"ingress-frontend-nlb": "a Gateway has no frontend NLB",
}

// adoption follows the load balancers of a case while Gateways take them over and give them back.
type adoption struct {
	t      *testing.T
	r      *harness.Harness
	groups []migrate.Group
	arns   []string // of the load balancers of the groups

	mu sync.Mutex
	// want are the answers to the requests that the rules of the Ingresses tell apart, by load balancer and port; nil while
	// nothing is compared.
	want     map[string]map[string]string
	compared int
	step     string
}

// watch compares all answers after each call of AWS.
func (a *adoption) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.want != nil && !a.t.Failed() {
			if diff := cmp.Diff(a.want, a.answers()); diff != "" {
				a.t.Errorf("%s: answers differ after a call (-before +after):\n%s", a.step, diff)
			}
			a.compared++
			a.ordered()
		}
		return res, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// ordered checks the order in which tags come and go. By it a controller that knows nothing of adoptions and takes over in
// between finds all of a stack, or stops at the security group, which it cannot make under a name that is taken, before it
// changes anything.
func (a *adoption) ordered() {
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	for i, g := range a.groups {
		gateway := model.StackID{Kind: model.ALBGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}
		has := func(tags map[string]string, id model.StackID) bool {
			return tags[naming.StackTag(id.Kind)] == naming.StackTagValue(id)
		}
		var lb map[string]string
		for _, x := range p.ELB.LoadBalancers {
			if x.ARN == a.arns[i] {
				lb = x.Tags
			}
		}
		both := has(lb, g.ID) && has(lb, gateway)
		group, handed, kept := false, false, false
		for id := range p.SecurityGroups {
			handed = handed || has(p.Tags[id], gateway)
			kept = kept || has(p.Tags[id], g.ID)
			group = group || has(p.Tags[id], g.ID)
		}
		var rest bool
		for _, x := range p.ELB.TargetGroups {
			handed, kept = handed || has(x.Tags, gateway), kept || has(x.Tags, g.ID)
			rest = rest || has(x.Tags, gateway) && !has(x.Tags, g.ID)
		}
		switch {
		case handed && kept && !both:
			a.t.Errorf("%s: resources carry tags of both, the load balancer %v", a.step, lb)
		case a.step == "adopt" && group && rest:
			a.t.Errorf("%s: target groups are handed over before the security group", a.step)
		case both && lb[naming.AdoptedTag] == "":
			a.t.Errorf("%s: the load balancer is not marked", a.step)
		}
	}
}

// answers are what the load balancers answer now.
func (a *adoption) answers() map[string]map[string]string {
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	out := map[string]map[string]string{}
	for i, g := range a.groups {
		for _, l := range g.From.LoadBalancer.Listeners {
			answer := answersOf(a.t, a.r, p, a.arns[i], l.Port)
			of := map[string]string{}
			check.Requests(l.Rules, nil, func(req model.Request, _, _ []model.Rule) {
				f := dataplane.Facts{Host: req.Host, Path: req.Path, Query: req.Query, Method: req.Method, Header: http.Header{}, Source: netip.MustParseAddr(req.Client)}
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

// settle lets the controller run, and says what it is about where an answer differs.
func (a *adoption) settle(step string) {
	a.mu.Lock()
	a.step = step
	a.mu.Unlock()
	a.r.Settle(horizon)
	for a.r.Dead() {
		a.r.Start()
		a.r.Settle(horizon)
	}
}

// interruption is something that happens once while load balancers are taken over and given back.
type interruption struct {
	what string
	at   int // the call or write, from 1
	n    int
	done bool
}

// due counts a call or a write, and reports whether it is the one.
func (i *interruption) due() bool {
	i.n++
	due := i.n == i.at
	i.done = i.done || due
	return due
}

// The interruptions.
const (
	killBefore = "killed before a call"
	killAfter  = "killed after a call"
	loseAnswer = "the answer to a call is lost"
	killWrite  = "killed at a write to Kubernetes"
)

// interrupt lets it happen.
func (a *adoption) interrupt(i *interruption) {
	if i == nil || i.what == killWrite {
		return
	}
	last := 0
	a.r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if c.Mutation == 0 || c.Mutation == last {
			return fault.Action{}
		}
		if last = c.Mutation; !i.due() {
			return fault.Action{}
		}
		switch i.what {
		case loseAnswer:
			return fault.Action{Lose: true}
		case killBefore:
			a.r.Kill()
			return fault.Action{Reset: true}
		}
		a.r.Kill()
		return fault.Action{}
	})
}

// killing ends the process at a write to Kubernetes, before it takes effect.
type killing struct {
	kube.API
	a *adoption
	i *interruption
}

func (k killing) dies() error {
	if k.a.want == nil || !k.i.due() {
		return nil
	}
	k.a.r.Kill()
	return errors.New("the process is dead")
}

func (k killing) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if err := k.dies(); err != nil {
		return err
	}
	return k.API.Patch(ctx, obj, part, kind, data)
}

func (k killing) Create(ctx context.Context, obj cluster.Object) error {
	if err := k.dies(); err != nil {
		return err
	}
	return k.API.Create(ctx, obj)
}

func (k killing) Update(ctx context.Context, obj cluster.Object) error {
	if err := k.dies(); err != nil {
		return err
	}
	return k.API.Update(ctx, obj)
}

func (k killing) Delete(ctx context.Context, obj cluster.Object) error {
	if err := k.dies(); err != nil {
		return err
	}
	return k.API.Delete(ctx, obj)
}

// gateway edits the Gateway of each group.
func (a *adoption) gateway(edit func(gw *gwv1.Gateway, g migrate.Group)) {
	a.t.Helper()
	for _, g := range a.groups {
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

// events are the warnings there are.
func (a *adoption) events() (out []string) {
	for _, o := range a.r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
			out = append(out, fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
		}
	}
	slices.Sort(out)
	return out
}

// tagged are the resources that carry a tag of a kind of stack.
func (a *adoption) tagged(kind model.Kind) (out []string) {
	for _, line := range a.r.State() {
		if strings.Contains(line, naming.StackTag(kind)) {
			out = append(out, line)
		}
	}
	return out
}

// TestCasesAreAdopted lets the Gateway of each case take over the load balancer of the Ingresses, give it back, take it over
// again and keep it. No request is answered otherwise after any call, and nothing is left over.
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
				if !adopted(t, ofCase(t, name), nil) {
					t.Error("it was not taken over")
				}
			})
		})
	}
	if cases < 30 {
		t.Errorf("%d cases", cases)
	}
}

// TestInterruptedAdoptions interrupts the same at each seventh call of AWS that changes something, and at each seventh write to
// Kubernetes; at each one with FULCRUM_ADOPTIONS=all. What is begun is continued from what is there.
func TestInterruptedAdoptions(t *testing.T) {
	t.Parallel()
	stride := 7
	if os.Getenv("FULCRUM_ADOPTIONS") == "all" {
		stride = 1
	}
	runs := 0
	for c, name := range []string{"ingress-hosts", "ingress-group-namespaces", "ingress-ssl-redirect", "ingress-default-backend-rules"} {
		for k, what := range []string{killBefore, killAfter, loseAnswer, killWrite} {
			for at := 1 + (c+2*k)%stride; ; at += stride {
				i := &interruption{what: what, at: at}
				t.Run(fmt.Sprintf("%s/%s/%d", name, what, at), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { adopted(t, ofCase(t, name), i) })
				})
				if !i.done || t.Failed() {
					break
				}
				runs++
			}
		}
	}
	if runs < 60 && !t.Failed() {
		t.Errorf("%d interruptions", runs)
	}
	t.Logf("%d interruptions", runs)
}

// ofCase puts the objects of a case into a world.
func ofCase(t *testing.T, name string) func(r *harness.Harness) {
	return func(r *harness.Harness) { NewLoader(t, r).Apply(t, name) }
}

// TestRandomGroupsAreAdopted does the same with random IngressGroups of two namespaces, of which nothing is lost in the
// translation.
func TestRandomGroupsAreAdopted(t *testing.T) {
	t.Parallel()
	n, whole := 60, 0
	switch {
	case testing.Short():
		n = 20
	case os.Getenv("FULCRUM_ADOPTIONS") == "all":
		n = 500
	}
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			if adopted(t, func(r *harness.Harness) { randomGroup(r, uint64(seed)) }, nil) {
				whole++
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
	t.Logf("%d groups", whole)
	if whole < n/3 {
		t.Errorf("only %d of %d groups are taken over", whole, n)
	}
}

// consents reports whether each member is of the namespace of the Gateway or of one of a route: all rules of an Ingress may be
// unreachable, so that nothing is left of it.
func consents(result migrate.Result, g migrate.Group) bool {
	of := map[string]bool{g.Gateway.Namespace: true}
	for _, o := range result.Objects() {
		if route, ok := o.Object.(*gwv1.HTTPRoute); ok {
			of[route.Namespace] = true
		}
	}
	return !slices.ContainsFunc(g.Members, func(m finding.Ref) bool { return !of[m.Namespace] })
}

// adopted reports whether the load balancers of a world were taken over; those of which something is lost are not.
func adopted(t *testing.T, load func(*harness.Harness), i *interruption) bool {
	a := &adoption{t: t}
	opt := harness.Options{Transport: a.watch}
	if i != nil && i.what == killWrite {
		opt.API = func(api kube.API) kube.API { return killing{api, a, i} }
	}
	a.r = NewWorld(t, opt)
	empty := a.r.State()
	load(a.r)
	a.settle("ingress")
	before := a.r.State()
	result := translated(t, a.r)
	a.groups = result.Groups
	// A rule that AWS refuses is tried again and again, whoever has the load balancer.
	refused := slices.ContainsFunc(a.events(), func(e string) bool { return strings.Contains(e, string(finding.RejectedByAWS)) })
	if refused || slices.ContainsFunc(a.groups, func(g migrate.Group) bool { return g.Worst() == migrate.Lost || !consents(result, g) }) {
		return false
	}
	func() {
		all := a.r.Emulator.Store()
		all.Lock()
		defer all.Unlock()
		for _, g := range a.groups {
			lb := balancerOf(all.Partition(harness.Account, harness.Region), hostnameOf(a.r, g.Members[0].Namespace, g.Members[0].Name))
			if lb == nil {
				t.Fatalf("%s has no load balancer", g.ID)
			}
			a.arns = append(a.arns, lb.ARN)
		}
	}()
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(a.events(), "\n"))
		}
	}()
	a.want = a.answers()
	a.interrupt(i)

	// Shadow: nothing is changed.
	a.r.Emulator.Calls().Reset()
	for _, o := range result.Objects() {
		if gw, ok := o.Object.(*gwv1.Gateway); ok {
			for _, g := range a.groups {
				if g.Gateway.Name == gw.Name && g.Gateway.Namespace == gw.Namespace {
					gw.Annotations = map[string]string{cluster.DryRunAnnotation: "true", cluster.AdoptAnnotation: naming.AdoptValue(g.ID)}
				}
			}
		}
		if err := a.r.Store.Apply(o.Object); err != nil {
			t.Fatal(err)
		}
	}
	a.settle("shadow")
	if n := a.r.Emulator.Calls().Mutating(); n > 0 {
		t.Fatalf("the shadow makes %d changes: %v", n, a.r.Emulator.Calls().Counts())
	}
	if slices.ContainsFunc(a.events(), func(e string) bool { return strings.Contains(e, string(finding.AdoptionDiffers)) }) {
		return false
	}

	adopt := func() {
		a.gateway(func(gw *gwv1.Gateway, _ migrate.Group) { delete(gw.Annotations, cluster.DryRunAnnotation) })
		a.settle("adopt")
		a.settle("adopt") // what waits for targets, and for nodes to know the rules, takes some minutes
		if left := a.tagged(model.Ingress); len(left) > 0 {
			t.Fatalf("these are the Ingresses' still:\n%s", strings.Join(left, "\n"))
		}
		for i, g := range a.groups {
			if got, want := addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name), hostnameOf(a.r, g.Members[0].Namespace, g.Members[0].Name); got != want || got == "" {
				t.Errorf("the Gateway shows %q, its Ingress %q", got, want)
			}
			a.is(i, addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name))
		}
	}
	adopt()

	// Back.
	a.gateway(func(gw *gwv1.Gateway, _ migrate.Group) { gw.Annotations[cluster.DryRunAnnotation] = "true" })
	a.settle("give back")
	a.settle("give back")
	if left := a.tagged(model.ALBGateway); len(left) > 0 {
		t.Fatalf("these are the Gateways' still:\n%s", strings.Join(left, "\n"))
	}
	if diff := cmp.Diff(before, a.r.State()); diff != "" {
		t.Errorf("not as before (-before +after):\n%s", diff)
	}
	for _, g := range a.groups {
		if obj, _ := a.r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}); len(obj.GetFinalizers()) > 0 {
			t.Errorf("the Gateway has the finalizers %v", obj.GetFinalizers())
		}
	}

	adopt()
	for _, g := range a.groups {
		for _, m := range g.Members {
			if err := a.r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.settle("release")
	for _, g := range a.groups {
		for _, m := range g.Members {
			if obj, _ := a.r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name}); obj != nil {
				t.Errorf("Ingress %s is not gone", m)
			}
		}
	}
	a.gateway(func(gw *gwv1.Gateway, _ migrate.Group) { delete(gw.Annotations, cluster.AdoptAnnotation) })
	a.settle("remove the marks")
	for _, line := range a.r.State() {
		if strings.Contains(line, naming.AdoptedTag) {
			t.Errorf("a mark is left: %s", line)
		}
	}
	for i, g := range a.groups {
		a.is(i, addressOf(a.r, g.Gateway.Namespace, g.Gateway.Name))
	}
	if i == nil {
		a.isOrdinary(load, result)
	}
	if a.compared < 20 {
		t.Errorf("%d comparisons", a.compared)
	}
	a.mu.Lock()
	a.want = nil
	a.mu.Unlock()

	for _, o := range result.Objects() {
		if gw, ok := o.Object.(*gwv1.Gateway); ok {
			if err := a.r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: gw.Namespace, Name: gw.Name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.settle("delete")
	a.r.Settle(time.Hour) // what was refused is tried again
	if diff := cmp.Diff(empty, a.r.State()); diff != "" {
		t.Errorf("left over (-before +after):\n%s", diff)
	}
	return true
}

// is checks that a name is that of the load balancer which the Ingresses of a group had.
func (a *adoption) is(group int, hostname string) {
	a.t.Helper()
	all := a.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	if lb := balancerOf(all.Partition(harness.Account, harness.Region), hostname); lb == nil || lb.ARN != a.arns[group] {
		a.t.Errorf("%q is not the load balancer of %s", hostname, a.groups[group].ID)
	}
}

// nameInAWS is a name that AWS does not let anybody change.
var nameInAWS = regexp.MustCompile(`k8s-[a-z0-9-]+-[0-9a-f]{8,10}`)

// isOrdinary checks that what a Gateway has taken over is, but for names, what it would have made, so that a controller which
// knows nothing of adoptions finds nothing to change.
func (a *adoption) isOrdinary(load func(*harness.Harness), result migrate.Result) {
	a.t.Helper()
	fresh := NewWorld(a.t, harness.Options{})
	load(fresh)
	for _, o := range fresh.Store.All(cluster.KindIngress) {
		if err := fresh.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: o.GetNamespace(), Name: o.GetName()}); err != nil {
			a.t.Fatal(err)
		}
	}
	for _, o := range result.Objects() {
		obj := o.Object.DeepCopyObject().(cluster.Object)
		obj.SetAnnotations(nil)
		if err := fresh.Store.Apply(obj); err != nil {
			a.t.Fatal(err)
		}
	}
	fresh.Settle(horizon)
	state := func(r *harness.Harness) (out []string) {
		for _, line := range r.State() {
			out = append(out, nameInAWS.ReplaceAllString(inOrder(a.t, line), "k8s-name"))
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff(state(fresh), state(a.r)); diff != "" {
		a.t.Errorf("not as of an ordinary Gateway (-ordinary +taken over):\n%s", diff)
	}
}

// inOrder sorts the conditions of a rule by their fields, as others compare them.
func inOrder(t *testing.T, line string) string {
	text, rule := strings.CutPrefix(line, "rule ")
	if !rule {
		return line
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		t.Fatal(err)
	}
	var conditions []json.RawMessage
	if err := json.Unmarshal(parts[3], &conditions); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(conditions, func(a, b json.RawMessage) int { return strings.Compare(string(a), string(b)) })
	return fmt.Sprintf("rule %s %s %s", parts[:3], conditions, parts[4:])
}
