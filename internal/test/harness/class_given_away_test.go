package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// protectedLoadBalancer returns the name and the deletion protection of the only load balancer, or "" if there is
// none.
func protectedLoadBalancer(r *Harness) (out string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		out += fmt.Sprint(lb.Name, " ", lb.Attributes["deletion_protection.enabled"])
	}
	return out
}

// protect enables deletion protection outside of the controller.
func protect(r *Harness) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		lb.Attributes["deletion_protection.enabled"] = "true"
	}
}

// answering lists live listeners and rules that do not just refuse requests.
func answering(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	st := w.Partition(Account, Region).ELB
	for _, rule := range st.Rules {
		if rule.IsDefault() && rule.Actions[0].FixedResponseConfig != nil {
			continue
		}
		out = append(out, fmt.Sprint("port ", st.Listeners[rule.Listener].Port, " rule ", rule.Priority, ": ", rule.Actions[0].Type))
	}
	return out
}

// givenAway is an object whose class can be given to another controller.
type givenAway struct {
	kind  cluster.Kind
	name  string
	docs  func(protection string) []string // protection is "true", "false", or "" for none; set by the last document
	held  string                           // a document that causes a hold
	class func(controller string) string
	ours  string
}

func (g givenAway) give(r *Harness, controller string) {
	kind := cluster.KindGatewayClass
	if g.kind == cluster.KindIngress {
		kind = cluster.KindIngressClass
	}
	r.drop(kind, "", "alb")
	r.Apply(g.class(controller))
}

func gatewayGivenAway(docs []string, ours string) givenAway {
	const configuration = "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\n"
	return givenAway{
		kind: cluster.KindGateway, name: "edge", ours: ours,
		docs: func(protection string) []string {
			spec := "spec: {scheme: internal}\n---\n"
			if protection != "" {
				spec = fmt.Sprintf("spec: {scheme: internal, loadBalancerAttributes: [{key: deletion_protection.enabled, value: %q}]}\n---\n", protection)
			}
			return append(docs, configuration+spec)
		},
		held: "apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {namespace: bank, name: web}\nspec: {targetReference: {name: web}, defaultConfiguration: {targetType: nonsense}}\n---\n",
		class: func(controller string) string {
			return "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: alb}\nspec: {controllerName: " + controller + "}\n---\n"
		},
	}
}

func ingressGivenAway(more ...string) givenAway {
	doc := func(protection string, also ...string) string {
		notes := append(also, more...)
		if protection != "" {
			notes = append(notes, "load-balancer-attributes", "deletion_protection.enabled="+protection)
		}
		return strings.Replace(ingressOf(annotated(notes...), "/=web", "/old=away"), "{service: {name: away, port: {number: 80}}}", "{service: {name: away, port: {name: use-annotation}}}", 1)
	}
	away := []string{"actions.away", `{"type":"redirect","redirectConfig":{"host":"old.example.com","statusCode":"HTTP_301"}}`}
	return givenAway{
		kind: cluster.KindIngress, name: "web", ours: "ingress.k8s.aws/alb",
		docs: func(protection string) []string {
			return []string{shop, pods("web", podAddresses[0]), doc(protection, away...)}
		},
		held: doc("true", append(away, "listen-ports", "nonsense")...),
		class: func(controller string) string {
			return "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: " + controller + "}\n---\n"
		},
	}
}

// TestStackOfAnotherControllersClassServesNothing checks that, when a class is created again for another controller
// or an object changes to such a class while its load balancer has deletion protection, the load balancer keeps its
// name and protection but serves nothing that needed the class. It is deleted when the object disables the
// protection, and serves again when the class is restored.
func TestStackOfAnotherControllersClassServesNothing(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]givenAway{
		"Ingress":        ingressGivenAway(),
		"IngressGroup":   ingressGivenAway("group.name", "edge"),
		"Gateway of ALB": gatewayGivenAway(httpAuthority.docs(nil), "gateway.k8s.aws/alb"),
		"Gateway of NLB": gatewayGivenAway(tcpAuthority.docs(nil), "gateway.k8s.aws/nlb"),
	} {
		for _, way := range []string{"not held", "held", "by a person", "deleted", "edited"} {
			for _, end := range []string{"given up", "restored"} {
				if way == "deleted" && end == "restored" || way == "by a person" && end == "given up" {
					continue
				}
				t.Run(fmt.Sprint(name, " ", way, " ", end), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := shopWith(t, Options{Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
						protection := "true"
						if way == "by a person" {
							protection = ""
						}
						r.Apply(g.docs(protection)...)
						r.Settle(10 * time.Minute)
						if way == "by a person" {
							protect(r)
							r.Settle(time.Hour)
						}
						live, served := protectedLoadBalancer(r), len(answering(r))
						if !strings.HasSuffix(live, "true") || strings.Count(live, "true") != 1 || served == 0 {
							t.Fatalf("at first %q serves %v", live, answering(r))
						}
						if way == "held" {
							r.Apply(g.held)
							r.Settle(10 * time.Minute)
							if len(answering(r)) == 0 {
								t.Fatal("what is held does not serve")
							}
						}
						edit := strings.NewReplacer()
						if way == "edited" {
							edit = strings.NewReplacer("ingressClassName: alb", "ingressClassName: other", "gatewayClassName: alb", "gatewayClassName: other")
							r.Apply(otherClasses)
							for _, doc := range g.docs(protection) {
								r.Apply(edit.Replace(doc))
							}
						} else {
							g.give(r, "example.com/other")
						}
						if way == "deleted" {
							r.Settle(time.Minute)
							r.drop(g.kind, "shop", g.name)
						}
						r.Settle(time.Hour)
						if out := answering(r); len(out) > 0 {
							t.Errorf("it serves %v", out)
						}
						if now := protectedLoadBalancer(r); now != live {
							t.Errorf("the load balancer was %q and is %q", live, now)
						}
						if w := strings.Join(warnings(r)[g.name], "\n"); !strings.Contains(w, "DeletionProtected") {
							t.Errorf("warnings: %s", w)
						}
						if end == "restored" {
							g.give(r, g.ours)
							r.Apply(g.docs(protection)...)
							r.Settle(time.Hour)
							if now := protectedLoadBalancer(r); now != live || len(answering(r)) != served {
								t.Errorf("%q serves %v, and before %q", now, answering(r), live)
							}
							return
						}
						docs := g.docs("false")
						r.Apply(edit.Replace(docs[len(docs)-1]))
						r.Settle(time.Hour)
						if now := protectedLoadBalancer(r); now != "" {
							t.Errorf("load balancer %q is left", now)
						}
						obj, err := r.Store.Get(cluster.Ref{Kind: g.kind, Namespace: "shop", Name: g.name})
						if err == nil && obj != nil && len(obj.GetFinalizers()) > 0 {
							t.Errorf("finalizers %v", obj.GetFinalizers())
						}
					})
				})
			}
		}
	}
}

// TestManyIngressesOfAnotherControllersClassKeepServing checks that three unedited Ingresses whose class is given to
// another controller at once are still served, with or without protection.
func TestManyIngressesOfAnotherControllersClassKeepServing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		g := ingressGivenAway()
		docs := g.docs("true")
		r.Apply(docs...)
		for _, n := range []string{"a", "b"} {
			r.Apply(strings.Replace(docs[len(docs)-1], "name: web\n", "name: "+n+"\n", 1))
		}
		r.Settle(10 * time.Minute)
		served := len(answering(r))
		time.Sleep(time.Second) // the class is younger than the Ingresses
		g.give(r, "example.com/other")
		r.Settle(time.Hour)
		if now := answering(r); len(now) != served || served != 6 {
			t.Errorf("of %d rules %v are left", served, now)
		}
	})
}
