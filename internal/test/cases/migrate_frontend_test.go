package cases

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// compareFrontendNLBs compares the frontend NLB of an IngressGroup with the NLB in front of the Gateway: their settings and
// their answers. It returns the number of compared answers, 0 if there is no frontend NLB. before and after are the ALBs of
// the Ingresses and of the Gateway.
func compareFrontendNLBs(t *testing.T, r *harness.Harness, p *store.Partition, g migrate.IngressGroup, before, after *store.LoadBalancer) (n int) {
	t.Helper()
	if g.FrontendGateway.IsZero() {
		return 0
	}
	from, to := loadBalancerByDNSName(p, frontendHostnameOf(r, g.Members[0].Namespace, g.Members[0].Name)), loadBalancerByDNSName(p, addressOf(r, g.FrontendGateway.Namespace, g.FrontendGateway.Name))
	if from == nil || to == nil || from == to {
		t.Fatalf("network load balancers %v and %v", from, to)
	}
	if diff := cmp.Diff(nlbText(p, from, before.ARN), nlbText(p, to, after.ARN)); diff != "" {
		t.Errorf("the frontend NLB and that of the Gateway (-Ingress +Gateway):\n%s", diff)
	}
	services := servicesByTargetGroup(r)
	for _, l := range g.IngressStack.FrontendNLB.Listeners {
		a, b := albPortBehind(p, from, l.Port), albPortBehind(p, to, l.Port)
		i := slices.IndexFunc(g.IngressStack.LoadBalancer.Listeners, func(l model.Listener) bool { return l.Port == a })
		if i < 0 || a != b {
			t.Errorf("port %d leads to ports %d and %d", l.Port, a, b)
			continue
		}
		x, y := answersOf(t, p, before.ARN, a, services), answersOf(t, p, after.ARN, b, services)
		check.ForEachRequest(g.IngressStack.LoadBalancer.Listeners[i].Rules, nil, func(req model.Request, _, _ []model.Rule) {
			f := dataplane.RequestFacts{Host: req.Host, Path: req.Path, Query: req.Query, Method: req.Method, Header: http.Header{}, Source: netip.MustParseAddr(req.Client)}
			for _, h := range req.Header {
				f.Header.Add(h.Name, h.Value)
			}
			if n++; x(f) != y(f) && !t.Failed() {
				t.Errorf("port %d of the frontend NLB, %+v: Ingress %q, Gateway %q", l.Port, req, x(f), y(f))
			}
		})
	}
	return n
}

// frontendHostnameOf returns the hostname of the frontend NLB in the status of an Ingress, where it follows the hostname of
// the ALB. It returns "" if there is none.
func frontendHostnameOf(r *harness.Harness, namespace, name string) string {
	obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name})
	ing, ok := obj.(*networkingv1.Ingress)
	if !ok || len(ing.Status.LoadBalancer.Ingress) != 2 {
		return ""
	}
	return ing.Status.LoadBalancer.Ingress[1].Hostname
}

// targetGroupOfListener returns the target group of an NLB listener, or nil if there is none.
func targetGroupOfListener(p *store.Partition, l *store.Listener) *store.TargetGroup {
	for _, a := range p.ELB.Rules[l.DefaultRule].Actions {
		if a.ForwardConfig != nil && len(a.ForwardConfig.TargetGroups) == 1 {
			return p.ELB.TargetGroups[*a.ForwardConfig.TargetGroups[0].TargetGroupArn]
		}
	}
	return nil
}

// albPortBehind returns the port of the ALB to which an NLB port forwards, or 0 if there is none.
func albPortBehind(p *store.Partition, lb *store.LoadBalancer, port int32) int32 {
	for _, l := range p.ELB.Listeners {
		if l.LoadBalancer != lb.ARN || l.Port != port {
			continue
		}
		if g := targetGroupOfListener(p, l); g != nil && len(g.Targets) == 1 {
			return g.Targets[0].Port
		}
	}
	return 0
}

// nlbText returns lines with all properties of an NLB that clients and operators can see. alb is the ARN of the ALB to which
// it forwards.
func nlbText(p *store.Partition, lb *store.LoadBalancer, alb string) []string {
	out := []string{fmt.Sprintf("%s %s %s, source NAT prefix %s", lb.Type, lb.Scheme, lb.Addressing, lb.PrefixForSourceNAT)}
	for _, z := range lb.Zones {
		out = append(out, "subnet "+z.Subnet)
	}
	add := func(what string, of map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(of)) {
			if !strings.Contains(k, "k8s.aws") { // without the controller's tracking tags and the origin tag
				out = append(out, fmt.Sprintf("%s %s=%s", what, k, of[k]))
			}
		}
	}
	add("attribute", lb.Attributes)
	add("tag", lb.Tags)
	var listeners []string
	open := map[string]bool{}
	for _, l := range p.ELB.Listeners {
		if l.LoadBalancer != lb.ARN {
			continue
		}
		for _, sg := range lb.SecurityGroups {
			for _, rule := range p.SecurityGroups[sg].Ingress {
				if rule.From == nil || *rule.From <= l.Port && l.Port <= *rule.To {
					open[fmt.Sprintf("open %d %s to %v", l.Port, rule.Protocol, rule.Peer)] = true
				}
			}
		}
		text := fmt.Sprintf("listener %s %d %v", l.Protocol, l.Port, l.Attributes)
		if g := targetGroupOfListener(p, l); g != nil {
			text += fmt.Sprintf(" to %s %s %d %s %+v %s", g.Type, g.Protocol, g.Port, g.Addressing, g.Check, g.Tags["team"])
			for _, target := range g.Targets {
				text += fmt.Sprintf(", target %s:%d, draining %t", strings.ReplaceAll(target.ID, alb, "ALB"), target.Port, target.IsDraining())
			}
		}
		listeners = append(listeners, text)
	}
	return append(out, append(slices.Sorted(slices.Values(listeners)), slices.Sorted(maps.Keys(open))...)...)
}

// TestFrontendNLBIsMigratedToGateway checks the migration of a frontend NLB in docs/migration.md: Gateways in dry-run
// mode create nothing, then both NLBs serve side by side, and the resources of the Gateways are kept when the Ingress
// is deleted.
func TestFrontendNLBIsMigratedToGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewHarness(t, harness.Options{})
		NewLoader(t, r).Apply(t, "ingress-frontend-nlb")
		r.Settle(controllerRunTime)
		result := translateIngresses(t, r)
		apply := func(change func(*gwv1.Gateway)) {
			t.Helper()
			for _, o := range result.Objects() {
				obj := o.Object.DeepCopyObject().(cluster.Object)
				if gw, ok := obj.(*gwv1.Gateway); ok {
					change(gw)
				}
				if err := r.Store.Apply(obj); err != nil {
					t.Fatal(err)
				}
			}
			r.Settle(controllerRunTime)
		}
		have := func(use func(p *store.Partition)) {
			all := r.Emulator.Store()
			all.Lock()
			defer all.Unlock()
			use(all.Partition(harness.Account, harness.Region))
		}
		balancers := func(want int) {
			t.Helper()
			have(func(p *store.Partition) {
				if n := len(p.ELB.LoadBalancers); n != want {
					t.Errorf("%d load balancers, want %d", n, want)
				}
			})
		}
		balancers(2)
		apply(func(gw *gwv1.Gateway) { gw.Annotations = map[string]string{naming.DryRunAnnotation: "true"} })
		balancers(2)
		apply(func(*gwv1.Gateway) {})
		balancers(4)
		g := result.IngressGroups[0]
		if compareAnswers(t, r, g) == 0 {
			t.Error("nothing was compared")
		}
		state := func() (out []string) {
			alb, nlb := addressOf(r, g.Gateway.Namespace, g.Gateway.Name), addressOf(r, g.FrontendGateway.Namespace, g.FrontendGateway.Name)
			have(func(p *store.Partition) {
				out = nlbText(p, loadBalancerByDNSName(p, nlb), loadBalancerByDNSName(p, alb).ARN)
			})
			return out
		}
		before := state()
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: g.Members[0].Namespace, Name: g.Members[0].Name}); err != nil {
			t.Fatal(err)
		}
		r.Settle(controllerRunTime)
		balancers(2)
		if diff := cmp.Diff(before, state()); diff != "" {
			t.Errorf("after the Ingress is deleted (-before +after):\n%s", diff)
		}
	})
}
