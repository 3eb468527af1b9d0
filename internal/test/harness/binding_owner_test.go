package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestBindingsHaveNoOwnerReference checks that TargetGroupBindings have no owner reference (see docs/decisions/18) and
// that their labels name the stack.
func TestBindingsHaveNoOwnerReference(t *testing.T) {
	t.Parallel()
	gateway := strings.Replace(adoptingGateway, ", annotations: {fulcrum.dev/adopt: ingress-group/edge}", "", 1)
	blog, group, _ := strings.Cut(strings.Replace(sharedIngressGroup, "CONSENT", "", 1), "---\napiVersion: networking")
	route := strings.Replace(blogRoute, "HOST", "blog.example.com", 1)
	for name, c := range map[string]struct {
		world  func(t *testing.T) *Harness
		stacks string // stacks that the labels of the TargetGroupBindings name
	}{
		"IngressGroup of two namespaces": {func(t *testing.T) *Harness {
			r := newShop(t)
			r.Apply(shop, blog, "apiVersion: networking"+group)
			return r
		}, "ingress.k8s.aws edge, ingress.k8s.aws edge"},
		"Service": {func(t *testing.T) *Harness {
			r := newShop(t)
			r.Apply(shop, nlbService("mail", ipTargets, "{port: 80, targetPort: 8080}"))
			return r
		}, "service.k8s.aws shop/mail"},
		"Gateway with a route of another namespace": {func(t *testing.T) *Harness {
			r := newShop(t)
			r.Apply(shop, blog, route, gateway)
			return r
		}, "gateway.k8s.aws.alb shop/edge, gateway.k8s.aws.alb shop/edge"},
		"IngressGroup that a Gateway took over": {func(t *testing.T) *Harness { return harnessWithAdoptedIngressGroup(t, Options{}) }, "gateway.k8s.aws.alb shop/edge, gateway.k8s.aws.alb shop/edge"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := c.world(t)
				r.advanceTime(20 * time.Minute)
				var stacks []string
				for _, o := range r.Store.All(cluster.KindBinding) {
					b := o.(*elbv2.TargetGroupBinding)
					if len(b.OwnerReferences) > 0 {
						t.Errorf("binding %s has owners: %+v", b.Name, b.OwnerReferences)
					}
					id, _ := naming.StackFromLabels(b.Labels)
					stacks = append(stacks, id.Kind.TagPrefix()+" "+id.String())
				}
				expectEqual(t, "stacks", c.stacks, strings.Join(stacks, ", "))
			})
		})
	}
}
