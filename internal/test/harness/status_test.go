package harness

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestStatusShowsNamesAndPorts checks that the status of each member has the hostname of the load balancer in lower
// case with all ports. While there is a frontend NLB, its hostname follows.
func TestStatusShowsNamesAndPorts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		certificate := r.Seeded.Certs["example.com"]
		first := func(front string) string {
			return teamMember("one", "alb", certificate, "/", `[{"HTTP":80},{"HTTPS":443}]`, `alb.ingress.kubernetes.io/ssl-redirect: "443"`,
				"alb.ingress.kubernetes.io/load-balancer-name: Team", "alb.ingress.kubernetes.io/enable-frontend-nlb: "+front)
		}
		r.Apply(shop, readyPods("web", podAddresses[:3]...), first(`"true"`), teamMember("two", "alb", certificate, "/login", `[{"HTTPS":8443}]`))
		ports := []networkingv1.IngressPortStatus{{Port: 80, Protocol: "TCP"}, {Port: 443, Protocol: "TCP"}, {Port: 8443, Protocol: "TCP"}}
		check := func(when string, shown int) {
			t.Helper()
			settleWithoutErrors(t, r)
			for _, member := range []string{"one", "two"} {
				obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: member})
				if err != nil || obj == nil {
					t.Fatal(member, err)
				}
				got := obj.(*networkingv1.Ingress).Status.LoadBalancer.Ingress
				want := []networkingv1.IngressLoadBalancerIngress{{Hostname: lowerCaseHostname(r, "Team"), Ports: ports}, {Hostname: lowerCaseHostname(r, "Team-nlb")}}[:shown]
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s, %s (-want +got):\n%s", when, member, d)
				}
			}
		}
		check("with a frontend NLB", 2)
		r.Apply(first(`"false"`))
		check("without it", 1)
	})
}

// lowerCaseHostname returns the hostname of the load balancer with the given name in lower case, or "" if there is none.
func lowerCaseHostname(r *Harness, name string) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
		if lb.Name == name {
			return strings.ToLower(lb.DNSName)
		}
	}
	return ""
}
