package harness

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// ingressWithClass returns YAML of an Ingress with the given name. class is the YAML line with its ingressClassName, or
// "" for none.
func ingressWithClass(name, class string) string {
	return strings.NewReplacer("name: web\n", "name: "+name+"\n", "  ingressClassName: alb\n", class).Replace(webIngress("", "/=web"))
}

const ingressClassLine = "  ingressClassName: alb\n"

func (r *Harness) deleteObject(kind cluster.Kind, namespace, name string) {
	r.T.Helper()
	if err := r.Store.Delete(cluster.Ref{Kind: kind, Namespace: namespace, Name: name}); err != nil {
		r.T.Fatal(err)
	}
}

// editIngress applies change to an Ingress of namespace "shop", and stores it.
func (r *Harness) editIngress(name string, change func(*networkingv1.Ingress)) {
	r.T.Helper()
	editIngressIn(r, "shop", name, change)
}

// editIngressIn applies change to an Ingress of a namespace, and stores it.
func editIngressIn(r *Harness, namespace, name string, change func(*networkingv1.Ingress)) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	ing := obj.(*networkingv1.Ingress).DeepCopy()
	change(ing)
	if _, err := r.Store.Update(ing, cluster.MainPart); err != nil {
		r.T.Fatal(err)
	}
}

// TestMissingObjectsDoNotChangeAWS checks cases in which all members would be removed although no Ingress is deleted,
// because an object that they need is missing or belongs to another controller. AWS is not changed, and an event
// reports why.
func TestMissingObjectsDoNotChangeAWS(t *testing.T) {
	t.Parallel()
	const three = 3
	class := func(controller, more string) string {
		return "\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb" + more + "}\nspec: {controller: " + controller + "}\n"
	}
	const standard = `, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}`
	cases := map[string]struct {
		class string // the line with ingressClassName in the Ingresses; "" for none
		lose  func(r *Harness)
		back  func(r *Harness)
		event string
	}{
		"the class that Ingresses name is gone": {
			class: ingressClassLine,
			lose:  func(r *Harness) { r.deleteObject(cluster.KindIngressClass, "", "alb") },
			back:  func(r *Harness) { r.Apply(class("ingress.k8s.aws/alb", "")) },
			event: "IngressClassInvalid",
		},
		"the default class is gone": {
			lose:  func(r *Harness) { r.deleteObject(cluster.KindIngressClass, "", "alb") },
			back:  func(r *Harness) { r.Apply(class("ingress.k8s.aws/alb", standard)) },
			event: "IngressClassInvalid",
		},
		"the class is made again for another controller": {
			class: ingressClassLine,
			lose: func(r *Harness) {
				r.deleteObject(cluster.KindIngressClass, "", "alb")
				r.Apply(class("example.com/other", ""))
			},
			back: func(r *Harness) {
				r.deleteObject(cluster.KindIngressClass, "", "alb")
				r.Apply(class("ingress.k8s.aws/alb", ""))
			},
			event: "RemovalNotTrusted",
		},
		"the controller is started with another --ingress-class": {
			lose: func(r *Harness) {
				r.opt.Ingress = func(o *ingress.Options) { o.Class = "other" }
				r.Start()
			},
			back: func(r *Harness) {
				r.opt.Ingress = nil
				r.Start()
			},
			event: "RemovalNotTrusted",
		},
		"all EndpointSlices of a Service are gone": {
			class: ingressClassLine,
			lose:  func(r *Harness) { r.deleteObject(cluster.KindEndpointSlice, "shop", "web-1") },
			back:  func(r *Harness) { r.Apply(readyPods("web", podAddresses[:3]...)) },
			event: "RemovalNotTrusted",
		},
		"all nodes are gone": {
			class: strings.ReplaceAll(ingressClassLine, "alb\n", "alb # instance\n"),
			lose: func(r *Harness) {
				for _, n := range r.Store.All(cluster.KindNode) {
					r.deleteObject(cluster.KindNode, "", n.GetName())
				}
			},
			back: func(r *Harness) {
				if err := SeedNodes(r.Store, r.Seeded); err != nil {
					r.T.Fatal(err)
				}
			},
			event: "RemovalNotTrusted",
		},
		"all TargetGroupBindings are deleted, as when their definition is": {
			class: ingressClassLine,
			lose: func(r *Harness) {
				for _, b := range r.Store.All(cluster.KindBinding) {
					r.deleteObject(cluster.KindBinding, "shop", b.GetName())
				}
			},
			back:  func(*Harness) {},
			event: "RemovalNotTrusted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				empty := r.State()
				r.Apply(shop, class("ingress.k8s.aws/alb", standard), readyPods("web", podAddresses[:3]...))
				for i := range three {
					doc := ingressWithClass("web"+string(rune('a'+i)), c.class)
					if strings.Contains(c.class, "instance") {
						doc = strings.Replace(doc, "target-type: ip", "target-type: instance", 1)
					}
					if strings.Contains(name, "--ingress-class") {
						doc = strings.Replace(doc, "annotations: {", "annotations: {kubernetes.io/ingress.class: alb, ", 1)
					}
					r.Apply(doc)
				}
				r.settleOrFail(30 * time.Minute)
				before := r.State()
				if w := warningsByObject(r); len(w) > 0 {
					t.Fatalf("warnings before an object is missing: %v", w)
				}
				r.Emulator.Calls().Reset()
				time.Sleep(time.Second) // names of events contain the time; events of two processes must not have the same name
				c.lose(r)
				r.settleOrFail(30 * time.Minute)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
				}
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("AWS was changed (-before +after):\n%s", d)
				}
				if !slices.ContainsFunc(slices.Collect(maps.Values(warningsByObject(r))), func(ms []string) bool {
					return slices.ContainsFunc(ms, func(m string) bool { return strings.Contains(m, c.event) })
				}) {
					t.Errorf("no event says %s: %v", c.event, warningsByObject(r))
				}
				c.back(r)
				r.Emulator.Calls().Reset()
				r.settleOrFail(30 * time.Minute)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d mutating calls after the object exists again: %v", n, r.Emulator.Calls().Counts())
				}
				if n := len(r.Store.All(cluster.KindBinding)); n != three {
					t.Errorf("%d bindings in the end", n)
				}
				for _, i := range r.Store.All(cluster.KindIngress) {
					r.deleteObject(cluster.KindIngress, "shop", i.GetName())
				}
				r.settleOrFail(30 * time.Minute)
				if d := cmp.Diff(empty, r.State()); d != "" {
					t.Errorf("resources are left after deletion:\n%s", d)
				}
			})
		})
	}
}

// TestDeletionByUserIsCarriedOut checks that removals by users are applied in AWS and cause no warning, and that other
// objects are still served.
func TestDeletionByUserIsCarriedOut(t *testing.T) {
	t.Parallel()
	turn := func(r *Harness, names ...string) {
		for _, name := range names {
			r.editIngress(name, func(ing *networkingv1.Ingress) { *ing.Spec.IngressClassName = "other" })
		}
	}
	cases := map[string]struct {
		remove func(r *Harness)
		gone   string // text that no line of the final state may contain
		stays  string
	}{
		"one Ingress of three is given to another class": {
			remove: func(r *Harness) { turn(r, "weba") },
			gone:   "shop/weba", stays: "shop/webb",
		},
		"most of them are, one after the other": {
			remove: func(r *Harness) {
				turn(r, "weba")
				r.settleOrFail(30 * time.Minute)
				turn(r, "webb")
			},
			gone: "shop/webb", stays: "shop/webc",
		},
		"all of them are at once": {
			remove: func(r *Harness) { turn(r, "weba", "webb", "webc") },
			gone:   "ingress.k8s.aws/stack",
		},
		"one is, while three with finalizers of their own making belong to another class": {
			remove: func(r *Harness) {
				for _, n := range []string{"s1", "s2", "s3"} {
					r.Apply(ingressInNamespace("shop", n, "other", "s.example.com", "ingress.k8s.aws/resources"))
				}
				turn(r, "weba")
			},
			gone: "shop/weba", stays: "shop/webb",
		},
		"all of them are, with --allow-mass-removal": {
			remove: func(r *Harness) {
				r.opt.Ingress = func(o *ingress.Options) { o.AllowMassRemoval = true }
				r.Start()
				turn(r, "weba", "webb", "webc")
			},
			gone: "ingress.k8s.aws/stack",
		},
		"a Service is scaled to nothing": {
			remove: func(r *Harness) { r.deletePods("web", 3); r.Apply(readyPods("web")) },
			gone:   podAddresses[0], stays: "shop/weba",
		},
		"a backend is taken out of an Ingress": {
			remove: func(r *Harness) {
				r.editIngress("weba", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name = "api" })
			},
			gone: "shop/weba-web:80", stays: "shop/weba-api:80",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]))
				r.Apply("\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n")
				for _, name := range []string{"weba", "webb", "webc"} {
					r.Apply(ingressWithClass(name, ingressClassLine))
				}
				r.settleOrFail(30 * time.Minute)
				if len(linesWith(r.State(), c.gone)) == 0 {
					t.Fatalf("nothing has %q before the removal", c.gone)
				}
				c.remove(r)
				r.settleOrFail(30 * time.Minute)
				stays := c.stays == ""
				for _, line := range r.State() {
					if strings.Contains(line, c.gone) {
						t.Errorf("%q should be removed: %s", c.gone, line)
					}
					stays = stays || strings.Contains(line, c.stays)
				}
				if !stays {
					t.Errorf("%q was removed too", c.stays)
				}
				for name, messages := range warningsByObject(r) {
					t.Errorf("%s: %v", name, messages)
				}
			})
		})
	}
}

// bindingRefusingAPI is an API server that refuses to create TargetGroupBindings with the error *refusal, if it is not
// nil.
type bindingRefusingAPI struct {
	kube.API
	refusal *error
}

func (u bindingRefusingAPI) Create(ctx context.Context, obj cluster.Object) error {
	if k, _ := cluster.KindOf(obj); k == cluster.KindBinding && *u.refusal != nil {
		return *u.refusal
	}
	return u.API.Create(ctx, obj)
}

// TestMissingCRDDoesNotStopTraffic checks that targets stay registered while the CRD of TargetGroupBindings does not
// exist, and that an event reports the error. The deleted binding is created again when the CRD exists.
func TestMissingCRDDoesNotStopTraffic(t *testing.T) {
	t.Parallel()
	kind := schema.GroupResource{Group: "elbv2.k8s.aws", Resource: "targetgroupbindings"}
	for reported, answer := range map[string]error{
		"custom resource definitions": apierrors.NewNotFound(kind, ""),
		"while custom resource defin": apierrors.NewForbidden(kind, "b", errors.New("create not allowed while custom resource definition is terminating")),
	} {
		t.Run(string(apierrors.ReasonForError(answer)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refusal error
				r := New(t, Options{API: func(api kube.API) kube.API { return bindingRefusingAPI{api, &refusal} }})
				if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], podAddresses[0]); err != nil {
					t.Fatal(err)
				}
				r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
				r.settleOrFail(30 * time.Minute)
				before := r.State()
				bindings := r.Store.All(cluster.KindBinding)
				if len(bindings) != 1 {
					t.Fatalf("%d bindings", len(bindings))
				}
				refusal = answer
				r.deleteObject(cluster.KindBinding, "shop", bindings[0].GetName())
				r.Settle(20 * time.Minute)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("AWS was changed (-before +after):\n%s", d)
				}
				if !slices.ContainsFunc(warningsByObject(r)["web"], func(m string) bool { return strings.Contains(m, reported) }) {
					t.Errorf("no event says what is wrong: %v", warningsByObject(r))
				}
				refusal = nil
				r.Settle(2 * time.Minute)
				if n := len(r.Store.All(cluster.KindBinding)); n != 1 {
					t.Errorf("%d bindings two minutes after the CRD exists again", n)
				}
				r.settleOrFail(30 * time.Minute)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("AWS was changed in the end (-before +after):\n%s", d)
				}
			})
		})
	}
}
