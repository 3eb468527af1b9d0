package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestGatewaysWithoutConsentDelayNoEdit checks that Gateways of another namespace that name an IngressGroup without
// its consent do not delay edits of its members.
func TestGatewaysWithoutConsentDelayNoEdit(t *testing.T) {
	t.Parallel()
	took := map[string]time.Duration{}
	for _, annotation := range []string{"a: b", adoptAnnotation} {
		synctest.Test(t, func(t *testing.T) {
			r := newAdoptionHarness(t, Options{Workers: 3})
			r.Apply(evilNamespace, adoptedIngressGroup)
			time.Sleep(time.Hour)
			for i := range 40 {
				r.Apply(gatewayOf("evil", fmt.Sprint("g", i), annotation+`, gateway.k8s.aws/dry-run: "`+fmt.Sprint(annotation != adoptAnnotation)+`"`),
					routeTo("evil", fmt.Sprint("r", i), fmt.Sprint("g", i), "/a", "web"))
			}
			time.Sleep(time.Hour)
			r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: time.Second} })
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
					name := fmt.Sprint("g", n%40)
					annotateGateway(r.Harness, "evil", name, fmt.Sprint("gateway.k8s.aws/dry-run-x=", n))
					r.Apply(routeTo("evil", fmt.Sprint("r", n%40), name, fmt.Sprint("/x", n), "web"))
				}
			}()
			time.Sleep(10 * time.Second)
			begun := time.Now()
			r.Apply(strings.Replace(adoptedIngressGroup, "path: /b", "path: /c", 1))
			for r.servicesOfPath("/c") != "api" && time.Since(begun) < time.Hour {
				time.Sleep(100 * time.Millisecond)
			}
			took[annotation] = time.Since(begun)
		})
	}
	t.Log(took)
	if a, b := took["a: b"], took[adoptAnnotation]; b > 2*a+5*time.Second {
		t.Errorf("an edit takes %s, and %s while Gateways name the IngressGroup", a, b)
	}
}

// TestAdoptionWithConcurrentWorkers checks that adoptions and returns in quick succession with several workers do not
// interrupt traffic, that the last edit takes effect, and that nothing remains after all objects are deleted.
func TestAdoptionWithConcurrentWorkers(t *testing.T) {
	t.Parallel()
	for _, latency := range seeds.Spread(2, []time.Duration{300 * time.Millisecond, 0}) {
		t.Run(latency.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newAdoptionHarness(t, Options{Workers: 4, Checkpoints: true})
				empty := r.State()
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
				r.Apply(adoptedIngressGroup, adoptingRoutes)
				time.Sleep(10 * time.Minute)
				r.Apply(gatewayOf("shop", "edge", adoptAnnotation), gatewayOf("shop", "other", adoptAnnotation+dryRunAnnotation))
				for n := range 60 {
					time.Sleep(time.Duration(n*37%11) * 700 * time.Millisecond)
					switch n % 6 {
					case 0:
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
					case 1:
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
					case 2:
						annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt=ingress-group/none")
					case 3:
						annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt=ingress-group/g")
					case 4:
						annotateGateway(r.Harness, "shop", "other", "gateway.k8s.aws/dry-run-")
					case 5:
						annotateGateway(r.Harness, "shop", "other", "gateway.k8s.aws/dry-run=true")
					}
					if a, b := r.servicesOfPath("/a"), r.servicesOfPath("/b"); a != "web" || b != "api" {
						t.Fatalf("after edit %d: /a is answered by %q, /b by %q", n, a, b)
					}
				}
				annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
				time.Sleep(time.Hour)
				r.expectOwner(model.ALBGateway, "adopt")
				r.Emulator.Calls().Reset()
				time.Sleep(3 * time.Hour)
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d changes without an edit: %v", n, r.Emulator.Calls().Counts())
				}
				r.deleteAll(cluster.KindGateway)
				r.deleteAll(cluster.KindIngress)
				time.Sleep(time.Hour)
				r.expectNothingLeft(empty)
			})
		})
	}
}
