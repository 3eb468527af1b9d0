package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// adoptionBaseline is the result of runs without the attacker: the answers and settings by load balancer and state, and the
// number of calls.
type adoptionBaseline struct {
	answers, settings map[string]map[string]map[string]string
	calls             int
}

// expectedStates has the states that are allowed for a load balancer.
type expectedStates struct {
	// states ends with the state of the last act. The states before it are allowed until the last state has been reached.
	// since is the time of the last act.
	states []string
	since  time.Time
}

// adoptionTestCluster is a test cluster with an attacker and victims whose load balancers are adopted.
type adoptionTestCluster struct {
	*gatewayTestCluster
	adoptionHistory
	baseline        *adoptionBaseline // nil while it is recorded
	arnsByName      map[string]string
	hostnamesByName map[string]string
	namesByARN      map[string]string // names of load balancers by ARN
	securityGroups  map[string]bool   // IDs of the victims' security groups
	podSources      string            // the sources that may reach the victims' pods
	expectedByName  map[string]*expectedStates
	// callsSinceAct is the number of mutating calls since the last act. pending has the moves that the attacker makes after
	// some of these calls.
	callsSinceAct int
	pendingMoves  []adoptionMove
	isMakingMoves bool
	// released is set when IngressGroup "edge" has no Ingresses of the victims any more.
	released     bool
	initialState []string // the state of AWS before any object was created
}

// createVictims starts the controller, creates the objects of the victims, and records the initial state.
func (w *adoptionTestCluster) createVictims(c *adoptionBaseline) {
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(), Accelerators: true, OnPlan: contestedAdoption{w}.checkPlan,
		Ingress: w.tenancy.configure,
		Gateway: func(o *gateways.Options) { o.DefaultTargetType = "ip" },
		AfterRun: func(what string, err error) {
			if w.runs++; w.runs > 20000 {
				w.rec.Fatalf("too many runs, the last one of %s", what)
			}
			if err != nil && strings.Contains(err.Error(), "panic") {
				w.rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
			}
		},
	})
	w.initialState = w.State()
	selector := ""
	if w.tenancy == closedGroups {
		selector = `namespaceSelector: {matchLabels: {trusted: "yes"}}`
	}
	w.Apply(adoptionWorkloads(), strings.Replace(adoptionObjects, "$SELECTOR", selector, 1), shopIngressOfVersion(1), adoptionRoutes, frontRouteOfVersion(1), victimAccelerator)
	if w.startsAsDryRun {
		for name, g := range victimGatewaySpecs {
			w.Apply(victimGateway(name, "fulcrum.dev/adopt: "+g.adopts+", "+dryRunAnnotation))
		}
	}
	w.advanceTime(10 * time.Minute)
	w.expectedByName, w.arnsByName, w.hostnamesByName, w.namesByARN, w.securityGroups = map[string]*expectedStates{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]bool{}
	p, unlock := w.partition()
	for arn, lb := range p.ELB.LoadBalancers {
		name := strings.TrimPrefix(lb.Tags["ingress.k8s.aws/stack"]+lb.Tags["service.k8s.aws/stack"], "pay/")
		w.arnsByName[name], w.hostnamesByName[name], w.namesByARN[arn], w.expectedByName[name] = arn, lb.DNSName, name, &expectedStates{states: []string{notAdoptedState}, since: time.Now()}
		for _, id := range lb.SecurityGroups {
			w.securityGroups[id] = true
		}
	}
	w.podSources = strings.Join(sourcesOf(p.SecurityGroups[w.Seeded.NodeSG], 8080), " ")
	unlock()
	if len(w.arnsByName) != len(statusObjectsByName) {
		w.rec.Fatalf("the victims have load balancers %v", w.arnsByName)
	}
	w.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
		if !call.Mutating {
			return fault.Action{}
		}
		return fault.Action{After: func() { w.handleMutatingCall(c) }}
	})
	w.Emulator.Calls().Reset()
}

// handleMutatingCall is called after each mutating call. It checks the state and makes pending moves of the attacker.
func (w *adoptionTestCluster) handleMutatingCall(c *adoptionBaseline) {
	w.callsSinceAct++
	w.checkAnswers(c)
	w.checkTags()
	contestedAdoption{w}.checkAccelerators()
	if w.isMakingMoves {
		return // a call during a move of the attacker makes no further moves
	}
	w.isMakingMoves = true
	for len(w.pendingMoves) > 0 && w.pendingMoves[0].calls <= w.callsSinceAct && w.pendingMoves[0].calls > 0 && !w.pendingMoves[0].restart {
		m := w.pendingMoves[0]
		w.pendingMoves = w.pendingMoves[1:]
		w.attack(m)
	}
	w.isMakingMoves = false
}

// advanceTime runs the controller until the time d has passed.
func (w *adoptionTestCluster) advanceTime(d time.Duration) {
	end := time.Now().Add(d)
	w.Settle(d)
	time.Sleep(time.Until(end))
}

// makeMovesAfter makes the attacker's moves after the act with an index.
func (w *adoptionTestCluster) makeMovesAfter(act int) {
	w.callsSinceAct, w.pendingMoves = 0, nil
	var later []adoptionMove
	for _, m := range w.adoptionHistory.moves {
		switch {
		case m.actIndex != act:
		case m.calls > 0:
			w.pendingMoves = append(w.pendingMoves, m)
		default:
			later = append(later, m)
		}
	}
	slices.SortStableFunc(w.pendingMoves, func(a, b adoptionMove) int { return a.calls - b.calls })
	for _, m := range later {
		w.advanceTime(m.wait)
		w.attack(m)
	}
	w.advanceTime(5 * time.Second)
	for _, m := range w.pendingMoves { // the act caused fewer calls than the move waits for
		w.attack(m)
	}
	w.pendingMoves = nil
}

// perform performs an act of the victims.
func (w *adoptionTestCluster) perform(a adoptionAct) {
	w.gatewayTestCluster.moveLog = append(w.gatewayTestCluster.moveLog, a.name)
	o := w.expectedByName[a.lb]
	o.states = append(o.states, a.state)
	a.do(w)
	o.since = time.Now()
}

// attack makes a move of the attacker. A member of the IngressGroup that does not consent prevents the adoption, so the
// deadline of the adoption may be renewed.
func (w *adoptionTestCluster) attack(m adoptionMove) {
	w.renewDeadlineIfBlocked()
	w.gatewayTestCluster.moveLog = append(w.gatewayTestCluster.moveLog, m.String())
	switch {
	case m.restart:
		w.Start()
	case m.forgesStatus:
		w.forgeStatus(m.target)
	case m.ingressChange != "":
		contestedAdoption{w}.changeIngress(m.target, m.ingressChange)
	case m.documents != "":
		w.applyDoc(w.replacePlaceholders(m.documents))
	default:
		_ = w.Store.Delete(m.target) // it may not exist
	}
	w.renewDeadlineIfBlocked()
}

// renewDeadlineIfBlocked reports whether an Ingress of the attacker blocks an adoption by Gateway "edge" that has not been
// confirmed yet. Such an Ingress is a member of the IngressGroup and does not consent, is invalid, or is being deleted. If
// there is one, the time for the adoption begins again.
func (w *adoptionTestCluster) renewDeadlineIfBlocked() bool {
	o := w.expectedByName["edge"]
	if !slices.Contains(o.states, notAdoptedState) || o.states[len(o.states)-1] == notAdoptedState || w.tenancy == closedGroups {
		return false
	}
	for _, obj := range w.Store.All(cluster.KindIngress) {
		ing := obj.(*networkingv1.Ingress)
		member := ing.Annotations[annotationPrefix+"group.name"] == "edge" || slices.Contains(ing.Finalizers, finalizerOf("edge"))
		if ing.Namespace == attackerNamespace && member && (ing.DeletionTimestamp != nil || ing.Annotations["consents"] == "") {
			o.since = time.Now()
			return true
		}
	}
	return false
}

// checkAnswers checks that the victims' clients get the answers of an allowed state, and that the victims' load balancers
// exist.
func (w *adoptionTestCluster) checkAnswers(c *adoptionBaseline) {
	for lb, answers := range w.readAnswers() {
		for r, got := range answers {
			if slices.ContainsFunc(w.expectedByName[lb].states, func(s string) bool { return c.answers[lb][s] == nil }) {
				continue // the state is being recorded
			}
			if !slices.ContainsFunc(w.expectedByName[lb].states, func(s string) bool { return c.answers[lb][s][r] == got }) {
				w.rec.recordFirst("request to %s of %s is answered with %q, want %q of state %q", r, lb, got, c.answers[lb][w.expectedByName[lb].states[0]][r], w.expectedByName[lb].states)
			}
		}
	}
	p, unlock := w.partition()
	defer unlock()
	for lb, arn := range w.arnsByName {
		if live := p.ELB.LoadBalancers[arn]; live == nil || live.DNSName != w.hostnamesByName[lb] {
			w.rec.recordFirst("load balancer %s of the victims was deleted or recreated", lb)
		}
	}
}

// awaitExpectedStates waits until all acts must be effective, and compares the answers and settings with those of a run
// without the attacker.
func (w *adoptionTestCluster) awaitExpectedStates(c *adoptionBaseline) {
	last := time.Time{}
	blocked := w.renewDeadlineIfBlocked()
	for lb, o := range w.expectedByName {
		if lb != "edge" || !blocked {
			last = slices.MaxFunc([]time.Time{last, o.since.Add(maxAdoptionTime)}, time.Time.Compare)
		}
	}
	w.advanceTime(max(time.Until(last), time.Second))
	w.checkAnswers(c)
	w.checkTags()
	contestedAdoption{w}.checkAccelerators()
	answers := w.readAnswers()
	for _, lb := range slices.Sorted(maps.Keys(w.expectedByName)) {
		o := w.expectedByName[lb]
		state := o.states[len(o.states)-1]
		got := w.readSettings(lb)
		if w.baseline == nil {
			w.record(c, lb, state, answers[lb], got)
		}
		why := firstDifference(c.settings[lb][state], got) + firstDifference(c.answers[lb][state], answers[lb])
		switch {
		case why == "":
			o.states = []string{state}
		case lb == "edge" && blocked:
		default:
			w.rec.recordFirst("settings of %s are not those of state %q %s after it was set: %s%s", lb, state, time.Since(o.since), why, w.warningsOf(lb))
		}
	}
}

// warningsOf returns the warnings about the victims' objects of a load balancer, for the failure message.
func (w *adoptionTestCluster) warningsOf(name string) string {
	var b strings.Builder
	for _, o := range w.Store.All("Event") {
		e := o.(*corev1.Event)
		if e.Type == corev1.EventTypeWarning && (e.InvolvedObject.Name == name || slices.ContainsFunc(statusObjectsByName[name], func(r cluster.Ref) bool { return r.Name == e.InvolvedObject.Name })) {
			fmt.Fprintf(&b, "\n  %s %s/%s: %.300s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Message)
		}
	}
	return b.String()
}

// record stores the answers and settings of a load balancer in a state that has not been recorded yet. It also checks
// whether a Gateway has the load balancer, as the state requires.
func (w *adoptionTestCluster) record(c *adoptionBaseline, lb, state string, answers, settings map[string]string) {
	p, unlock := w.partition()
	if taken := strings.Contains(fmt.Sprint(p.ELB.LoadBalancers[w.arnsByName[lb]].Tags), "gateway.k8s.aws"); taken != (lb != "shared" && state != notAdoptedState) {
		w.rec.recordFirst("a Gateway has the load balancer of %s in state %q: %t%s", lb, state, taken, w.warningsOf(lb))
	}
	unlock()
	if c.answers[lb] == nil {
		c.answers[lb], c.settings[lb] = map[string]map[string]string{}, map[string]map[string]string{}
	}
	if c.answers[lb][state] != nil {
		return // compared by the caller
	}
	c.answers[lb][state], c.settings[lb][state] = answers, settings
}

// deleteAllAndCheck deletes all objects, those of the attacker first or last, and checks that nothing remains.
func (w *adoptionTestCluster) deleteAllAndCheck(c *adoptionBaseline) {
	w.checkCost(c)
	leave := []func(){w.deleteAttackerObjects, w.deleteVictimObjects}
	if !w.deletesAttackerFirst {
		slices.Reverse(leave)
	}
	for i, part := range leave {
		if part(); i == 0 && w.deletesAttackerFirst {
			w.advanceTime(time.Hour)
			w.awaitExpectedStates(c)
		}
		w.advanceTime(time.Hour)
	}
	w.advanceTime(2 * time.Hour)
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindGateway, cluster.KindService, cluster.KindBinding, cluster.KindGlobalAccelerator} {
		for _, o := range w.Store.All(kind) {
			if o.GetDeletionTimestamp() != nil || kind == cluster.KindBinding {
				w.rec.recordFirst("%s %s/%s is not deleted, finalizers %v", kind, o.GetNamespace(), o.GetName(), o.GetFinalizers())
			}
		}
	}
	for arn := range w.Emulator.Store().AcceleratorState(harness.Account).Accelerators {
		w.rec.recordFirst("accelerator %s is not deleted", arn)
	}
	left := slices.DeleteFunc(w.State(), func(line string) bool { return strings.HasPrefix(line, `security-group ["GlobalAccelerator"`) }) // AWS creates and keeps this security group
	if d := cmp.Diff(w.initialState, left); d != "" {
		w.rec.recordFirst("resources differ after deletion (-before +after):\n%s", d)
	}
}

// deleteAttackerObjects deletes all objects of the attacker, after it has removed foreignFinalizer from them.
func (w *adoptionTestCluster) deleteAttackerObjects() {
	for _, typ := range cluster.Types() {
		for _, o := range w.Store.All(typ.Kind) {
			if o.GetNamespace() == attackerNamespace && slices.Contains(o.GetFinalizers(), foreignFinalizer) {
				o := o.DeepCopyObject().(cluster.Object)
				o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == foreignFinalizer }))
				if _, err := w.Store.Update(o, cluster.MainPart); err != nil {
					w.rec.Fatal(err)
				}
			}
		}
	}
	w.deleteAttackerNamespaceObjects()
}

// deleteVictimObjects deletes all objects of the victims. It also ends the checks after each mutating call.
func (w *adoptionTestCluster) deleteVictimObjects() {
	w.Emulator.Faults().SetHook(nil)
	w.released = true
	for _, kind := range []cluster.Kind{cluster.KindGlobalAccelerator, cluster.KindGateway, cluster.KindIngress, cluster.KindService} {
		for _, o := range w.Store.All(kind) {
			if o.GetNamespace() == attackerNamespace {
				continue
			}
			if err := w.Store.Delete(cluster.RefOf(o)); err != nil {
				w.rec.Fatal(err)
			}
		}
	}
}

// checkCost checks that the attacker's moves cause a limited number of calls, and that no event about a Gateway of the
// attacker shows an ARN or hostname of the victims.
func (w *adoptionTestCluster) checkCost(c *adoptionBaseline) {
	if w.baseline == nil {
		return
	}
	for _, o := range w.Store.All("Event") {
		if e := o.(*corev1.Event); e.InvolvedObject.Namespace == attackerNamespace && e.InvolvedObject.Kind == "Gateway" {
			for lb, arn := range w.arnsByName {
				if strings.Contains(e.Message, arn) || strings.Contains(e.Message, w.hostnamesByName[lb]) {
					w.rec.recordFirst("an event of the attacker's Gateway %s shows the load balancer of %s: %s", e.InvolvedObject.Name, lb, e.Message)
				}
			}
		}
	}
	refused := 0
	for _, e := range w.Emulator.Calls().Entries() {
		if e.Code != "" {
			refused++
		}
	}
	moves := len(w.adoptionHistory.moves) + 1
	if total, most := w.Emulator.Calls().Total(), c.calls+callsPerMove*moves; total > most {
		w.rec.recordFirst("%d calls to AWS with %d moves of the attacker, at most %d: %v", total, moves, most, w.Emulator.Calls().Counts())
	}
	if most := refusedPerMove * moves; refused > most {
		w.rec.recordFirst("%d calls are rejected with %d moves of the attacker, at most %d", refused, moves, most)
	}
}
