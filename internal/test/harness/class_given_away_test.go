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

// loadBalancerNameAndProtection returns the name and the deletion protection ("true" or "false") of the only load balancer, or
// "" if there is none.
func loadBalancerNameAndProtection(r *Harness) (out string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		out += fmt.Sprint(lb.Name, " ", lb.Attributes["deletion_protection.enabled"])
	}
	return out
}

// enableDeletionProtection enables deletion protection of all load balancers in AWS, as a user would.
func enableDeletionProtection(r *Harness) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		lb.Attributes["deletion_protection.enabled"] = "true"
	}
}

// servingRuleLines lists the rules in AWS, without default rules that return a fixed response.
func servingRuleLines(r *Harness) (out []string) {
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

// classTransfer is an object in namespace "shop" whose class "alb" can be given to another controller.
type classTransfer struct {
	kind           cluster.Kind
	name           string
	docs           func(protection string) []string // manifests; the last one sets deletion protection to "true", "false", or not at all for ""
	holdingDoc     string                           // a manifest that causes a hold
	class          func(controller string) string   // a manifest of class "alb" for this controller
	controllerName string                           // the controller name of Fulcrum in the class
}

func (g classTransfer) giveClassTo(r *Harness, controller string) {
	kind := cluster.KindGatewayClass
	if g.kind == cluster.KindIngress {
		kind = cluster.KindIngressClass
	}
	r.deleteObject(kind, "", "alb")
	r.Apply(g.class(controller))
}

func gatewayClassTransfer(docs []string, ours string) classTransfer {
	const configuration = "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\n"
	return classTransfer{
		kind: cluster.KindGateway, name: "edge", controllerName: ours,
		docs: func(protection string) []string {
			spec := "spec: {scheme: internal}\n---\n"
			if protection != "" {
				spec = fmt.Sprintf("spec: {scheme: internal, loadBalancerAttributes: [{key: deletion_protection.enabled, value: %q}]}\n---\n", protection)
			}
			return append(docs, configuration+spec)
		},
		holdingDoc: "apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {namespace: bank, name: web}\nspec: {targetReference: {name: web}, defaultConfiguration: {targetType: nonsense}}\n---\n",
		class: func(controller string) string {
			return "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: alb}\nspec: {controllerName: " + controller + "}\n---\n"
		},
	}
}

func ingressClassTransfer(more ...string) classTransfer {
	doc := func(protection string, also ...string) string {
		notes := append(also, more...)
		if protection != "" {
			notes = append(notes, "load-balancer-attributes", "deletion_protection.enabled="+protection)
		}
		return strings.Replace(webIngress(ingressAnnotations(notes...), "/=web", "/old=away"), "{service: {name: away, port: {number: 80}}}", "{service: {name: away, port: {name: use-annotation}}}", 1)
	}
	away := []string{"actions.away", `{"type":"redirect","redirectConfig":{"host":"old.example.com","statusCode":"HTTP_301"}}`}
	return classTransfer{
		kind: cluster.KindIngress, name: "web", controllerName: "ingress.k8s.aws/alb",
		docs: func(protection string) []string {
			return []string{shop, readyPods("web", podAddresses[0]), doc(protection, away...)}
		},
		holdingDoc: doc("true", append(away, "listen-ports", "nonsense")...),
		class: func(controller string) string {
			return "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: " + controller + "}\n---\n"
		},
	}
}

// TestStackOfAnotherControllersClassServesNothing checks a load balancer with deletion protection whose object changes
// to a class of another controller, or whose class is recreated for another controller. The load balancer keeps its
// name and protection, but serves nothing. It is deleted when the object disables the protection, and serves again
// when the class is restored.
func TestStackOfAnotherControllersClassServesNothing(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]classTransfer{
		"Ingress":        ingressClassTransfer(),
		"IngressGroup":   ingressClassTransfer("group.name", "edge"),
		"Gateway of ALB": gatewayClassTransfer(httpScenario.docs(nil), "gateway.k8s.aws/alb"),
		"Gateway of NLB": gatewayClassTransfer(tcpScenario.docs(nil), "gateway.k8s.aws/nlb"),
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
							enableDeletionProtection(r)
							r.Settle(time.Hour)
						}
						live, served := loadBalancerNameAndProtection(r), len(servingRuleLines(r))
						if !strings.HasSuffix(live, "true") || strings.Count(live, "true") != 1 || served == 0 {
							t.Fatalf("before the test load balancer %q serves %v", live, servingRuleLines(r))
						}
						if way == "held" {
							r.Apply(g.holdingDoc)
							r.Settle(10 * time.Minute)
							if len(servingRuleLines(r)) == 0 {
								t.Fatal("the held load balancer does not serve")
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
							g.giveClassTo(r, "example.com/other")
						}
						if way == "deleted" {
							r.Settle(time.Minute)
							r.deleteObject(g.kind, "shop", g.name)
						}
						r.Settle(time.Hour)
						if out := servingRuleLines(r); len(out) > 0 {
							t.Errorf("the load balancer still serves %v", out)
						}
						if now := loadBalancerNameAndProtection(r); now != live {
							t.Errorf("the load balancer was %q and is %q", live, now)
						}
						if w := strings.Join(warningsByObject(r)[g.name], "\n"); !strings.Contains(w, "DeletionProtected") {
							t.Errorf("warnings: %s", w)
						}
						if end == "restored" {
							g.giveClassTo(r, g.controllerName)
							r.Apply(g.docs(protection)...)
							r.Settle(time.Hour)
							if now := loadBalancerNameAndProtection(r); now != live || len(servingRuleLines(r)) != served {
								t.Errorf("%q serves %v, and before %q", now, servingRuleLines(r), live)
							}
							return
						}
						docs := g.docs("false")
						r.Apply(edit.Replace(docs[len(docs)-1]))
						r.Settle(time.Hour)
						if now := loadBalancerNameAndProtection(r); now != "" {
							t.Errorf("load balancer %q is not deleted", now)
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

// TestManyIngressesOfAnotherControllersClassKeepServing checks that three Ingresses are still served after their class
// is recreated for another controller, as long as they are not edited.
func TestManyIngressesOfAnotherControllersClassKeepServing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		g := ingressClassTransfer()
		docs := g.docs("true")
		r.Apply(docs...)
		for _, n := range []string{"a", "b"} {
			r.Apply(strings.Replace(docs[len(docs)-1], "name: web\n", "name: "+n+"\n", 1))
		}
		r.Settle(10 * time.Minute)
		served := len(servingRuleLines(r))
		time.Sleep(time.Second) // the class is younger than the Ingresses
		g.giveClassTo(r, "example.com/other")
		r.Settle(time.Hour)
		if now := servingRuleLines(r); len(now) != served || served != 6 {
			t.Errorf("of %d rules only %v are served", served, now)
		}
	})
}
