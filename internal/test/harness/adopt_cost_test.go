package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// harnessWithAdoptedIngressGroup returns a harness with an IngressGroup of two namespaces. A Gateway has adopted its load
// balancer.
func harnessWithAdoptedIngressGroup(t *testing.T, opt Options) *Harness {
	t.Helper()
	r := shopWith(t, opt)
	r.Apply(shop, readyPods("web", podAddresses[:2]...), strings.Replace(sharedIngressGroup, "CONSENT", "", 1))
	r.advanceTime(5 * time.Minute)
	r.Apply(strings.Replace(blogRoute, "HOST", "blog.example.com", 1), adoptingGateway)
	r.advanceTime(10 * time.Minute)
	for _, line := range r.State() {
		if strings.Contains(line, "ingress.k8s.aws/stack") {
			t.Fatalf("not adopted: %s", line)
		}
	}
	return r
}

// TestAdoptionMakesNoMutatingCallsAfterwards checks that, after an adoption, no mutating call is made and stacks run only for
// their comparison with AWS, also in dry-run mode. It also checks that a restart makes at most two calls more than
// without an adoption.
func TestAdoptionMakesNoMutatingCallsAfterwards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		counted := Options{Checkpoints: true, AfterRun: func(what string, _ error) {
			if !strings.Contains(what, "binding") {
				runs++
			}
		}}
		quiet := func(what string, r *Harness, most int) {
			t.Helper()
			r.advanceTime(20 * time.Minute)
			runs = 0
			r.Emulator.Calls().Reset()
			r.advanceTime(6 * time.Hour)
			if n := r.Emulator.Calls().CountMutating(); n > 0 || runs > most {
				t.Errorf("%s: %d runs and %d changes in six hours: %v", what, runs, n, r.Emulator.Calls().Counts())
			}
		}
		restart := func(r *Harness) map[string]int {
			r.Kill()
			r.Start()
			r.Emulator.Calls().Reset()
			r.advanceTime(2 * time.Minute)
			return r.Emulator.Calls().Counts()
		}
		without := shopWith(t, counted)
		without.Apply(shop, readyPods("web", podAddresses[:2]...), strings.Split(sharedIngressGroup, "---\napiVersion: networking")[0],
			strings.Replace(blogRoute, "HOST", "blog.example.com", 1), strings.Replace(adoptingGateway, ", annotations: {fulcrum.dev/adopt: ingress-group/edge}", "", 1))
		without.advanceTime(30 * time.Minute)
		r := harnessWithAdoptedIngressGroup(t, counted)
		quiet("adopted", r, 4)
		// Two more calls are permitted, because both stacks read the subnets.
		if before, after := restart(without), restart(r); sum(after) > sum(before)+2 {
			t.Errorf("calls of a restart: %v, without an adoption: %v", after, before)
		}
		annotateGateway(r, "shop", "edge", naming.DryRunAnnotation+"=true")
		quiet("shadow", r, 4)
		annotateGateway(r, "shop", "edge", naming.AdoptAnnotation+"=ingress-group/other")
		annotateGateway(r, "shop", "edge", naming.DryRunAnnotation+"-")
		quiet("names an IngressGroup that does not exist", r, 40)
	})
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
