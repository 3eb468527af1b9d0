package cases

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// returned is this controller in a cluster in which the other controller has worked.
type returned struct {
	*successor
	runs int // runs of stacks
	// lbs are the original load balancers, and faults describes the first wrong answer or additional load balancer.
	lbs    []string
	faults string
}

// restartOwnController starts this controller again where the other one has ended.
func (s *successor) restartOwnController() *returned {
	b := &returned{}
	m := harness.SnapshotOf(s.r)
	b.successor = &successor{of: s.of}
	b.adoption = &adoption{t: s.t, groups: s.groups, arns: s.arns, step: s.step}
	b.r = NewWorld(s.t, harness.Options{From: &m, Transport: b.watch, Ran: b.countRun})
	b.lbs, b.bound = b.loadBalancers(), servicesOf(b.r)
	b.before = b.served()
	return b
}

func (b *returned) countRun(what string, _ error) {
	if !strings.HasPrefix(what, "binding ") {
		b.runs++
	}
}

func (b *returned) loadBalancers() (out []string) {
	all := b.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	for arn := range all.Partition(harness.Account, harness.Region).ELB.LoadBalancers {
		out = append(out, arn)
	}
	slices.Sort(out)
	return out
}

// watch compares the answers after each mutating call.
func (b *returned) watch(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripper(func(req *http.Request) (*http.Response, error) {
		n := 0
		if b.r != nil {
			n = b.changes()
		}
		res, err := next.RoundTrip(req)
		if b.before != nil && b.changes() > n && b.faults == "" {
			b.compare()
		}
		return res, err
	})
}

func (b *returned) compare() {
	now := b.served()
	for port, of := range b.before {
		for req, was := range of {
			if is := now[port][req]; is != was && !broken(was) {
				b.faults = fmt.Sprintf("%s %s: %q, before %q", port, req, is, was)
			}
		}
	}
	for _, arn := range b.loadBalancers() {
		if b.lbs != nil && !slices.Contains(b.lbs, arn) {
			b.faults = "another load balancer is made: " + arn
		}
	}
}

// TestAdoptionContinuesAfterOtherController runs the other controller at moments of an adoption, a return and a
// release, and this controller afterwards. It must serve the same answers, create no other load balancer, come to
// rest and continue from there. If the other controller has created a second load balancer, the objects must report
// how to fix it. The sample has each kind of change once in each direction.
func TestAdoptionContinuesAfterOtherController(t *testing.T) {
	t.Parallel()
	seen, ends := map[string]bool{}, map[string]int{}
	for c, name := range givenCases {
		synctest.Test(t, func(t *testing.T) {
			a, docs, moments := recorded(t, name)
			for i, m := range sample(moments, seen) {
				for _, w := range ways(i + c) {
					ends[a.runOtherControllerAndReturn(m, docs, w)]++
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Log(ends)
}

// runOtherControllerAndReturn runs the other controller at a moment, and then this one. It returns the states on the way.
func (a *adoption) runOtherControllerAndReturn(m moment, docs *desires, w way) string {
	a.t.Helper()
	s := a.restoreMoment(m, docs)
	state := s.states()[0]
	s.handOverToOtherController()
	s.reconcileAllStacks(s.order(w), w.at)
	b := s.restartOwnController()
	at := b.states()[0]
	fault := func(what string, args ...any) {
		a.t.Helper()
		a.t.Errorf("%s, %s, %+v, %s, then %s, then %s: %s\n%v\n%s", a.groups[0].ID, m, w, state, at, b.states()[0], fmt.Sprintf(what, args...), s.changed,
			strings.Join(b.events(), "\n"))
	}
	rest := func(step string, want ...handover.State) {
		a.t.Helper()
		b.r.Settle(horizon)
		b.r.Settle(horizon)
		b.r.Emulator.Calls().Reset()
		b.runs = 0
		b.r.Settle(3 * time.Hour)
		if b.faults != "" {
			fault("%s: %s", step, b.faults)
		}
		if n := b.changes(); n > mostRepeats || b.runs > 2*mostRepeats {
			fault("%s: %d changes and %d runs at rest", step, n, b.runs)
		}
		// A target group from which each side has removed the tags of the stack is reported and left to a user.
		stuck := state == handover.GivingBack && strings.Contains(strings.Join(b.events(), "\n"), string(finding.NameTaken))
		if is := b.states()[0]; !slices.Contains(want, is) && (is != state || !stuck) {
			fault("%s: the state is %s, want %v", step, is, want)
		}
	}
	if len(b.lbs) > 1 {
		rest("two load balancers", handover.Refused)
		b.applyDocumentedFix(fault)
		return fmt.Sprint(state, ", two load balancers")
	}
	ends := map[handover.State][]handover.State{
		handover.InIngress: {handover.InIngress}, handover.Shadow: {handover.Shadow}, handover.Adopting: {handover.Adopted},
		handover.Adopted: {handover.Adopted, handover.Released}, handover.GivingBack: {handover.Shadow}, handover.Released: {handover.Released},
	}[state]
	rest("come back", ends...)
	end := b.states()[0]
	if end == handover.Adopted {
		b.gateway(func(gw *gwv1.Gateway, _ migrate.IngressGroup) { gw.Annotations[naming.DryRunAnnotation] = "true" })
		rest("give back", handover.Shadow)
		if left := b.tagged(model.ALBGateway); len(left) > 0 {
			fault("these are the Gateway's still: %v", left)
		}
	}
	return fmt.Sprint(state, ", ", end)
}

// mostRepeats is the maximum number of times that a refused call is repeated in three hours: the longest back-off is
// a quarter of an hour.
const mostRepeats = 50

// broken reports whether the other controller has left requests without a working answer.
func broken(answer string) bool {
	return strings.Contains(answer, "without targets") || strings.Contains(answer, "answer 503")
}

// applyDocumentedFix applies the documented fix if the other controller has created a second load balancer for the Gateway:
// resources of the first load balancer without the Ingresses' tags get them back, and the Gateway is deleted.
func (b *returned) applyDocumentedFix(fault func(string, ...any)) {
	b.t.Helper()
	if !strings.Contains(strings.Join(b.events(), "\n"), "the Gateway already has a load balancer, which is kept") {
		fault("the Gateway does not say that it has another load balancer")
	}
	for i, g := range b.groups {
		b.tag(g, b.arns[i])
	}
	b.r.Settle(time.Hour)
	b.r.Settle(time.Hour)
	if b.faults != "" {
		fault("it is tagged: %s", b.faults)
	}
	for _, g := range b.groups {
		if err := b.r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.r.Settle(horizon)
	b.r.Settle(time.Hour)
	if is := b.loadBalancers(); b.faults != "" || !slices.Equal(is, b.arns) {
		fault("the Gateway is deleted: %s, load balancers %v", b.faults, is)
	}
	if left := b.tagged(model.ALBGateway); len(left) > 0 {
		fault("these are the Gateway's still: %v", left)
	}
}

// tag sets only the tags of the Ingresses on their original load balancer and on its managed security group.
func (b *returned) tag(g migrate.IngressGroup, arn string) {
	all := b.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	gateway := naming.StackTag(model.ALBGateway)
	give := func(tags map[string]string, resource string) {
		delete(tags, gateway)
		delete(tags, naming.ResourceTag(model.ALBGateway))
		maps.Copy(tags, naming.StackTags(harness.ClusterName, g.ID))
		tags[naming.ResourceTag(g.ID.Kind)] = resource
	}
	lb := p.ELB.LoadBalancers[arn]
	give(lb.Tags, model.LoadBalancerID)
	for _, id := range lb.SecurityGroups {
		if tags := p.Tags[id]; tags[gateway] != "" {
			give(tags, model.ManagedGroupID)
		}
	}
}
