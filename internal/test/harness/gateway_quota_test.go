package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestRoutesOverRuleQuotaAreReported checks that 100 of 110 routes are served with the default quota of 100 rules for
// each load balancer, and that the conditions of the other routes name the quota.
func TestRoutesOverRuleQuotaAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{})
		const routes, rules = 110, 100
		docs := edgeGateway
		for i := range routes {
			docs += routeOf(fmt.Sprintf("route-%03d", i), fmt.Sprintf("h%03d.example.com", i), "filters: [{type: RequestRedirect, requestRedirect: {hostname: to.example.com}}]")
		}
		r.Apply(docs)
		r.Settle(20 * time.Minute)
		v := cluster.NewView(r.Store)
		served, reported := 0, 0
		for i := range routes {
			name := fmt.Sprintf("route-%03d", i)
			got := answerTo(r, 80, fmt.Sprintf("h%03d.example.com", i), "/")
			if got != "404" && got != "default" {
				served++
				continue
			}
			if slices.ContainsFunc(routeParents(v, name), func(p gwv1.RouteParentStatus) bool {
				return slices.ContainsFunc(p.Conditions, func(c metav1.Condition) bool {
					return c.Status != metav1.ConditionTrue && strings.Contains(c.Message, "quota")
				})
			}) {
				reported++
			} else {
				t.Fatalf("%s is not served, and its status is %+v; events %v", name, routeParents(v, name), warningsByObject(r)[name])
			}
		}
		if served != rules || reported != routes-rules {
			t.Errorf("%d routes are served and %d conditions name the quota, want %d and %d", served, reported, rules, routes-rules)
		}
	})
}
