package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestLastLoadBalancerDeletesBackendSecurityGroup checks that the backend security group is deleted after several
// workers have deleted all load balancers at the same time, even if AWS is slow.
func TestLastLoadBalancerDeletesBackendSecurityGroup(t *testing.T) {
	t.Parallel()
	fixed := []string{"name: web, port: {number: 80}", "name: act, port: {name: use-annotation}", "annotations: {", `annotations: {alb.ingress.kubernetes.io/actions.act: '{"type":"fixed-response","fixedResponseConfig":{"statusCode":"200"}}', `}
	for what, backend := range map[string][]string{"Services": nil, "fixed responses": fixed} {
		for _, n := range []int{2, 3} {
			for _, latency := range []time.Duration{0, 2 * time.Second} {
				for _, between := range []time.Duration{0, 5 * time.Second} {
					t.Run(fmt.Sprintf("%d with %s, calls of %s, %s in between", n, what, latency, between), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							r := newAdoptionHarness(t, Options{Workers: 3})
							for i := range n {
								r.Apply(strings.NewReplacer(backend...).Replace(strings.Replace(adoptedMember("shop", fmt.Sprint("i", i), "/a", ""), ", alb.ingress.kubernetes.io/group.name: g", "", 1)))
							}
							time.Sleep(time.Hour)
							if n := countBackendSecurityGroups(r.Harness); n != 1 {
								t.Fatalf("%d backend security groups", n)
							}
							r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
							for i := range n {
								r.deleteObject(cluster.KindIngress, "shop", fmt.Sprint("i", i))
								time.Sleep(between)
							}
							time.Sleep(3 * time.Hour)
							if countBackendSecurityGroups(r.Harness) > 0 {
								t.Error("the backend security group is not deleted")
							}
						})
					})
				}
			}
		}
	}
}
