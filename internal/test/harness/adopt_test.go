package harness

import (
	"context"
	"fmt"
	"net/http"
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
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// adoptedMember returns an Ingress of IngressGroup "g" with one path. more has further annotations and begins with a
// comma.
func adoptedMember(namespace, name, path, more string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: %s
  annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/group.name: g%s}
spec:
  ingressClassName: alb
  rules: [{host: shop.example.com, http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
`, name, namespace, more, path)
}

const consentToEdge = `, fulcrum.dev/adopted-by: shop/edge`

// adoptedIngressGroup is IngressGroup "g" with two members, both of which consent to the adoption by Gateway "shop/edge".
var adoptedIngressGroup = adoptedMember("shop", "a", "/a", consentToEdge) +
	strings.ReplaceAll(adoptedMember("shop", "b", "/b", consentToEdge), "name: web,", "name: api,")

const gatewayClassALB = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
`

// gatewayOf returns a Gateway of class "alb" with an HTTP listener and annotations.
func gatewayOf(namespace, name, annotations string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[2]s, namespace: %[1]s, uid: uid-%[1]s-%[2]s, annotations: {%[3]s}}
spec:
  gatewayClassName: alb
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
`, namespace, name, annotations)
}

// routeTo returns an HTTPRoute that sends one path to a Service. The Gateway, the route and the Service are in the
// same namespace.
func routeTo(namespace, name, gateway, path, service string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: %s}]
  hostnames: [shop.example.com]
  rules: [{matches: [{path: {type: PathPrefix, value: %s}}], backendRefs: [{name: %s, port: 80}]}]
---
`, name, namespace, gateway, path, service)
}

const (
	adoptAnnotation  = "fulcrum.dev/adopt: ingress-group/g"
	dryRunAnnotation = `, gateway.k8s.aws/dry-run: "true"`
)

var adoptingRoutes = routeTo("shop", "a", "edge", "/a", "web") + routeTo("shop", "b", "edge", "/b", "api")

// adoptionHarness is a harness for the adoption and the return of load balancers.
type adoptionHarness struct{ *Harness }

// newAdoptionHarness returns a harness with Services "web" and "api" and GatewayClass "alb". The target groups of
// Gateways have target type "ip", as those of the Ingresses in these tests.
func newAdoptionHarness(t *testing.T, opt Options) *adoptionHarness {
	t.Helper()
	opt.Gateway = func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }
	r := &adoptionHarness{shopWith(t, opt)}
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), gatewayClassALB)
	return r
}

// newWatchedAdoption returns a harness with an adoptionWatch, which is off.
func newWatchedAdoption(t *testing.T, opt Options) (*adoptionHarness, *adoptionWatch) {
	t.Helper()
	watch := &adoptionWatch{}
	opt.Transport = watch.wrap
	watch.r = newAdoptionHarness(t, opt)
	return watch.r, watch
}

// annotateGateway sets annotations of a Gateway ("key=value"), or removes them ("key-").
func annotateGateway(r *Harness, namespace, name string, annotations ...string) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: name})
	if err != nil || obj == nil {
		r.T.Fatal(err, obj)
	}
	gw := obj.(*gwv1.Gateway).DeepCopy()
	for _, a := range annotations {
		if key, off := strings.CutSuffix(a, "-"); off {
			delete(gw.Annotations, key)
			continue
		}
		key, value, _ := strings.Cut(a, "=")
		if gw.Annotations == nil {
			gw.Annotations = map[string]string{}
		}
		gw.Annotations[key] = value
	}
	if _, err := r.Store.Update(gw, cluster.MainPart); err != nil {
		r.T.Fatal(err)
	}
}

func (r *adoptionHarness) arns() (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for arn := range w.Partition(Account, Region).ELB.LoadBalancers {
		out = append(out, arn)
	}
	slices.Sort(out)
	return out
}

// stateWithTag returns the lines of State that contain tag.
func (r *adoptionHarness) stateWithTag(tag string) (out []string) {
	for _, line := range r.State() {
		if strings.Contains(line, tag) {
			out = append(out, line)
		}
	}
	return out
}

// eventTexts returns all events, sorted, one on each line.
func (r *adoptionHarness) eventTexts() string {
	var out []string
	for _, o := range r.Store.All("Event") {
		e := o.(*corev1.Event)
		out = append(out, fmt.Sprintf("%s %s/%s: %s %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// expectOwner checks that there is one load balancer, that no resource belongs to a stack of the other kind, and that
// paths /a and /b are answered by the right Services.
func (r *adoptionHarness) expectOwner(kind model.Kind, step string) {
	r.T.Helper()
	other := model.Ingress
	if kind == model.Ingress {
		other = model.ALBGateway
	}
	if left := r.stateWithTag(naming.StackTag(other)); len(left) > 0 {
		r.T.Fatalf("%s: these resources still belong to %s:\n%s\n%s", step, other, strings.Join(left, "\n"), r.eventTexts())
	}
	if a, b := r.servicesOfPath("/a"), r.servicesOfPath("/b"); a != "web" || b != "api" || len(r.arns()) != 1 {
		r.T.Fatalf("%s: /a is answered by %q, /b by %q, load balancers %v\n%s", step, a, b, r.arns(), r.eventTexts())
	}
}

// adoptionWatch wraps the connection to AWS. While isOn is set, it checks after each call that paths /a and /b are
// still answered.
type adoptionWatch struct {
	r    *adoptionHarness
	mu   sync.Mutex
	isOn bool
}

func (a *adoptionWatch) wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.isOn {
			if x, y := a.r.servicesOfPath("/a"), a.r.servicesOfPath("/b"); (x != "web" || y != "api") && !a.r.T.Failed() {
				a.r.T.Errorf("after %s: /a is answered by %q, /b by %q", req.Header.Get("X-Amz-Target"), x, y)
			}
		}
		return res, err
	})
}

func (a *adoptionWatch) setOn(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isOn = on
}

// apiHook calls a hook before and after each write to Kubernetes.
type apiHook struct {
	kube.API
	hook func(after bool)
}

func (h apiHook) runBetweenHooks(f func() error) error {
	h.hook(false)
	err := f()
	h.hook(true)
	return err
}

func (h apiHook) Create(ctx context.Context, obj cluster.Object) error {
	return h.runBetweenHooks(func() error { return h.API.Create(ctx, obj) })
}

func (h apiHook) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	return h.runBetweenHooks(func() error { return h.API.Patch(ctx, obj, part, kind, data) })
}

func (h apiHook) Update(ctx context.Context, obj cluster.Object) error {
	return h.runBetweenHooks(func() error { return h.API.Update(ctx, obj) })
}

func (h apiHook) Delete(ctx context.Context, obj cluster.Object) error {
	return h.runBetweenHooks(func() error { return h.API.Delete(ctx, obj) })
}

// checkAdoptionRound checks each stage of a load balancer: dry run of the adoption, adopted, returned, adopted again,
// released and deleted.
func checkAdoptionRound(t *testing.T, r *adoptionHarness, watch *adoptionWatch) {
	t.Helper()
	empty := r.State()
	r.Apply(adoptedIngressGroup, adoptingRoutes)
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.Ingress, "ingress")
	arn := r.arns()[0]
	before := r.State()
	watch.setOn(true)
	r.Apply(gatewayOf("shop", "edge", adoptAnnotation+dryRunAnnotation))
	r.settleWithRestarts(time.Hour)
	if d := cmp.Diff(before, r.State()); d != "" {
		t.Fatalf("the dry run changes AWS:\n%s", d)
	}
	annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.ALBGateway, "adopt")
	annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.Ingress, "give back")
	if d := cmp.Diff(before, r.State()); d != "" {
		t.Fatalf("not as before:\n%s", d)
	}
	annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.ALBGateway, "adopt again")
	r.deleteObject(cluster.KindIngress, "shop", "a")
	r.deleteObject(cluster.KindIngress, "shop", "b")
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.ALBGateway, "release")
	annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt-")
	r.settleWithRestarts(time.Hour)
	r.expectOwner(model.ALBGateway, "marks")
	if left := r.stateWithTag(naming.AdoptedTag); len(left) > 0 || r.arns()[0] != arn {
		t.Fatalf("adoption tags left: %v, or another load balancer: %v, was %s", left, r.arns(), arn)
	}
	watch.setOn(false)
	r.deleteObject(cluster.KindGateway, "shop", "edge")
	r.settleWithRestarts(time.Hour)
	r.expectNothingLeft(empty)
}

// deleteAllAndCheck deletes all Gateways and Ingresses, and checks that only the state empty remains.
func (r *adoptionHarness) deleteAllAndCheck(empty []string) {
	r.T.Helper()
	r.deleteAll(cluster.KindGateway)
	r.deleteAll(cluster.KindIngress)
	r.Settle(time.Hour)
	r.expectNothingLeft(empty)
}

// expectNothingLeft checks that AWS has the state empty, that no TargetGroupBinding is left, and that no Ingress or
// Gateway is being deleted.
func (r *adoptionHarness) expectNothingLeft(empty []string) {
	r.T.Helper()
	if d := cmp.Diff(empty, r.State()); d != "" {
		r.T.Fatalf("left after the deletion:\n%s\n%s", d, r.eventTexts())
	}
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindGateway, cluster.KindBinding} {
		for _, o := range r.Store.All(kind) {
			if kind == cluster.KindBinding || o.GetDeletionTimestamp() != nil {
				r.T.Fatalf("%s %s/%s is not deleted, finalizers %v\n%s", kind, o.GetNamespace(), o.GetName(), o.GetFinalizers(), r.eventTexts())
			}
		}
	}
}

// TestAdoptionAndReturn checks all stages of an adoption and a return, without checkpoints and with checkpoints as in
// production.
func TestAdoptionAndReturn(t *testing.T) {
	t.Parallel()
	for _, checkpoints := range []bool{false, true} {
		t.Run(fmt.Sprint(checkpoints), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, watch := newWatchedAdoption(t, Options{Checkpoints: checkpoints})
				checkAdoptionRound(t, r, watch)
			})
		})
	}
}
