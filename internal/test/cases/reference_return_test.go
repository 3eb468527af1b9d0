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

// returnedController is this controller, started in a cluster in which the reference controller has run.
type returnedController struct {
	*referenceControllerRun
	runCount int // runs of stacks
	// originalLoadBalancers has the ARNs of the load balancers at the start. firstFault describes the first wrong answer or
	// additional load balancer.
	originalLoadBalancers []string
	firstFault            string
}

// restartOwnController starts this controller from the state in which the reference controller has ended.
func (s *referenceControllerRun) restartOwnController() *returnedController {
	b := &returnedController{}
	m := harness.SnapshotOf(s.r)
	b.referenceControllerRun = &referenceControllerRun{sourceAdoption: s.sourceAdoption}
	b.adoption = &adoption{t: s.t, ingressGroups: s.ingressGroups, arns: s.arns, step: s.step}
	b.r = NewHarness(s.t, harness.Options{InitialState: &m, Transport: b.checkAfterChanges, AfterRun: b.countRun})
	b.originalLoadBalancers, b.servicesOfRecreatedBindings = b.currentLoadBalancers(), servicesByTargetGroup(b.r)
	b.firstAnswers = b.servedAnswers()
	return b
}

func (b *returnedController) countRun(what string, _ error) {
	if !strings.HasPrefix(what, "binding ") {
		b.runCount++
	}
}

func (b *returnedController) currentLoadBalancers() (out []string) {
	all := b.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	for arn := range all.Partition(harness.Account, harness.Region).ELB.LoadBalancers {
		out = append(out, arn)
	}
	slices.Sort(out)
	return out
}

// checkAfterChanges checks the answers after each mutating call, until the first fault.
func (b *returnedController) checkAfterChanges(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		n := 0
		if b.r != nil {
			n = b.countChanges()
		}
		res, err := next.RoundTrip(req)
		if b.firstAnswers != nil && b.countChanges() > n && b.firstFault == "" {
			b.checkServedAnswers()
		}
		return res, err
	})
}

func (b *returnedController) checkServedAnswers() {
	now := b.servedAnswers()
	for port, of := range b.firstAnswers {
		for req, was := range of {
			if is := now[port][req]; is != was && !isBrokenAnswer(was) {
				b.firstFault = fmt.Sprintf("%s %s: %q, before %q", port, req, is, was)
			}
		}
	}
	for _, arn := range b.currentLoadBalancers() {
		if b.originalLoadBalancers != nil && !slices.Contains(b.originalLoadBalancers, arn) {
			b.firstFault = "an additional load balancer is created: " + arn
		}
	}
}

// TestAdoptionContinuesAfterOtherController runs the reference controller at moments of an adoption, a return and a release,
// and then this controller. This controller must serve the same answers, create no other load balancer, become idle, and
// continue the adoption. If the reference controller has created a second load balancer, the objects must report how to fix
// it. The sample has each kind of change once in each direction.
func TestAdoptionContinuesAfterOtherController(t *testing.T) {
	t.Parallel()
	seen, ends := map[string]bool{}, map[string]int{}
	for c, name := range takeoverCases {
		synctest.Test(t, func(t *testing.T) {
			a, docs, moments := recordMoments(t, name)
			for i, m := range sampleMoments(moments, seen) {
				for _, w := range reconcileOrders(i + c) {
					ends[a.runReferenceControllerAndReturn(m, docs, w)]++
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Log(ends)
}

// runReferenceControllerAndReturn runs the reference controller at a moment, and then this controller. It returns a text with
// the state of the adoption at the moment and at the end.
func (a *adoption) runReferenceControllerAndReturn(m moment, docs *desiredStates, w reconcileOrder) string {
	a.t.Helper()
	s := a.restoreMoment(m, docs)
	state := s.handoverStates()[0]
	s.handOverToReferenceController()
	s.reconcileAllStacks(s.stackOrder(w), w.interruptAtChange)
	b := s.restartOwnController()
	at := b.handoverStates()[0]
	fault := func(what string, args ...any) {
		a.t.Helper()
		a.t.Errorf("%s, %s, %+v, %s, then %s, then %s: %s\n%v\n%s", a.ingressGroups[0].ID, m, w, state, at, b.handoverStates()[0], fmt.Sprintf(what, args...), s.changeLog,
			strings.Join(b.warnings(), "\n"))
	}
	rest := func(step string, want ...handover.State) {
		a.t.Helper()
		b.r.Settle(controllerRunTime)
		b.r.Settle(controllerRunTime)
		b.r.Emulator.Calls().Reset()
		b.runCount = 0
		b.r.Settle(3 * time.Hour)
		if b.firstFault != "" {
			fault("%s: %s", step, b.firstFault)
		}
		if n := b.countChanges(); n > maxRepeats || b.runCount > 2*maxRepeats {
			fault("%s: %d changes and %d runs at rest", step, n, b.runCount)
		}
		// A target group can lose the tags of both stacks, because each controller removes one tag. This is reported and
		// left to a user.
		stuck := state == handover.StateGivingBack && strings.Contains(strings.Join(b.warnings(), "\n"), string(finding.NameTaken))
		if is := b.handoverStates()[0]; !slices.Contains(want, is) && (is != state || !stuck) {
			fault("%s: the state is %s, want %v", step, is, want)
		}
	}
	if len(b.originalLoadBalancers) > 1 {
		rest("two load balancers", handover.StateRefused)
		b.applyDocumentedFix(fault)
		return fmt.Sprint(state, ", two load balancers")
	}
	ends := map[handover.State][]handover.State{
		handover.StateNotRequested: {handover.StateNotRequested}, handover.StateShadow: {handover.StateShadow}, handover.StateAdopting: {handover.StateAdopted},
		handover.StateAdopted: {handover.StateAdopted, handover.StateReleased}, handover.StateGivingBack: {handover.StateShadow}, handover.StateReleased: {handover.StateReleased},
	}[state]
	rest("come back", ends...)
	end := b.handoverStates()[0]
	if end == handover.StateAdopted {
		b.editGateways(func(gw *gwv1.Gateway, _ migrate.IngressGroup) { gw.Annotations[naming.DryRunAnnotation] = "true" })
		rest("give back", handover.StateShadow)
		if left := b.resourcesTaggedWith(model.ALBGateway); len(left) > 0 {
			fault("resources still have tags of the Gateway: %v", left)
		}
	}
	return fmt.Sprint(state, ", ", end)
}

// maxRepeats is the maximum number of times that a refused call is repeated in three hours. The longest back-off is 15
// minutes.
const maxRepeats = 50

// isBrokenAnswer reports whether an answer shows that the reference controller has left requests without a working answer.
func isBrokenAnswer(answer string) bool {
	return strings.Contains(answer, "without targets") || strings.Contains(answer, "answer 503")
}

// applyDocumentedFix applies the documented fix for a second load balancer that the reference controller has created for the
// Gateway. Resources of the first load balancer get the tags of the Ingresses again if they lost them, and the Gateway is
// deleted.
func (b *returnedController) applyDocumentedFix(fault func(string, ...any)) {
	b.t.Helper()
	if !strings.Contains(strings.Join(b.warnings(), "\n"), "the Gateway already has a load balancer, which is kept") {
		fault("no event reports that the Gateway has another load balancer")
	}
	for i, g := range b.ingressGroups {
		b.restoreIngressTags(g, b.arns[i])
	}
	b.r.Settle(time.Hour)
	b.r.Settle(time.Hour)
	if b.firstFault != "" {
		fault("after the tags were restored: %s", b.firstFault)
	}
	for _, g := range b.ingressGroups {
		if err := b.r.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.r.Settle(controllerRunTime)
	b.r.Settle(time.Hour)
	if is := b.currentLoadBalancers(); b.firstFault != "" || !slices.Equal(is, b.arns) {
		fault("after the Gateway was deleted: %s, load balancers %v", b.firstFault, is)
	}
	if left := b.resourcesTaggedWith(model.ALBGateway); len(left) > 0 {
		fault("resources still have tags of the Gateway: %v", left)
	}
}

// restoreIngressTags replaces the tags of the Gateway by those of the Ingresses on the original load balancer and its
// managed security group.
func (b *returnedController) restoreIngressTags(g migrate.IngressGroup, arn string) {
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
			give(tags, model.ManagedSecurityGroupID)
		}
	}
}
