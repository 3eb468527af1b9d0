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

// adoptionCourse is the result of a run without the attacker: the answers and settings of each load balancer in each
// state, and the number of calls.
type adoptionCourse struct {
	answers, settings map[string]map[string]map[string]string
	calls             int
}

// owed is what must hold for a load balancer.
type owed struct {
	// states are the allowed states: the last one is that of the last act, the others are those since a state was
	// last confirmed.
	states []string
	since  time.Time
}

// adoptionWorld is the cluster of the victims and the attacker.
type adoptionWorld struct {
	*gatewayWorld
	adoptionHistory
	course *adoptionCourse // nil while it is recorded
	arns   map[string]string
	dns    map[string]string
	of     map[string]string // names of load balancers by ARN
	groups map[string]bool   // IDs of the victims' security groups
	nodes  string            // the rules that admit traffic to the victims' pods
	owed   map[string]*owed
	// calls is the number of mutating calls since the last act; pending are the attacker's moves between them.
	calls   int
	pending []adoptionMove
	busy    bool
	// released is set when IngressGroup edge has no member of the victims any more.
	released bool
	empty    []string // the state of AWS before any object was created
}

// start creates the objects of the victims.
func (w *adoptionWorld) start(c *adoptionCourse) {
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(), Accelerators: true, Planned: contested{w}.checkPlan,
		Ingress: w.tenancy.configure,
		Gateway: func(o *gateways.Options) { o.DefaultTargetType = "ip" },
		Ran: func(what string, err error) {
			if w.runs++; w.runs > 20000 {
				w.rec.Fatalf("too many runs, the last one of %s", what)
			}
			if err != nil && strings.Contains(err.Error(), "panic") {
				w.rec.once("the controller panics in a run of %s: %.1200s", what, err.Error())
			}
		},
	})
	w.empty = w.State()
	selector := ""
	if w.tenancy == closedGroups {
		selector = `namespaceSelector: {matchLabels: {trusted: "yes"}}`
	}
	w.Apply(adoptionWorkloads(), strings.Replace(adoptionObjects, "$SELECTOR", selector, 1), shopIngressOfVersion(1), adoptionRoutes, frontRouteOfVersion(1), victimAccelerator)
	if w.shadow {
		for name, g := range gatewayAsks {
			w.Apply(victimGateway(name, "fulcrum.dev/adopt: "+g.adopts+", "+dryRunAnnotation))
		}
	}
	w.advanceTime(10 * time.Minute)
	w.owed, w.arns, w.dns, w.of, w.groups = map[string]*owed{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]bool{}
	p, unlock := w.partition()
	for arn, lb := range p.ELB.LoadBalancers {
		name := strings.TrimPrefix(lb.Tags["ingress.k8s.aws/stack"]+lb.Tags["service.k8s.aws/stack"], "pay/")
		w.arns[name], w.dns[name], w.of[arn], w.owed[name] = arn, lb.DNSName, name, &owed{states: []string{ownState}, since: time.Now()}
		for _, id := range lb.SecurityGroups {
			w.groups[id] = true
		}
	}
	w.nodes = strings.Join(sourcesOf(p.SecurityGroups[w.World.NodeSG], 8080), " ")
	unlock()
	if len(w.arns) != len(objectsOf) {
		w.rec.Fatalf("the victims have %v", w.arns)
	}
	w.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
		if !call.Mutating {
			return fault.Action{}
		}
		return fault.Action{After: func() { w.changed(c) }}
	})
	w.Emulator.Calls().Reset()
}

// changed is called after each mutating call. It checks the state and makes pending moves of the attacker.
func (w *adoptionWorld) changed(c *adoptionCourse) {
	w.calls++
	w.checkAnswers(c)
	w.checkTags()
	contested{w}.checkAccelerators()
	if w.busy {
		return // writes of the attacker cause no call before this one ends
	}
	w.busy = true
	for len(w.pending) > 0 && w.pending[0].calls <= w.calls && w.pending[0].calls > 0 && !w.pending[0].restart {
		m := w.pending[0]
		w.pending = w.pending[1:]
		w.attack(m)
	}
	w.busy = false
}

// advanceTime advances time.
func (w *adoptionWorld) advanceTime(d time.Duration) {
	end := time.Now().Add(d)
	w.Settle(d)
	time.Sleep(time.Until(end))
}

// makeMovesAfter makes the moves after an act of the victims.
func (w *adoptionWorld) makeMovesAfter(act int) {
	w.calls, w.pending = 0, nil
	var later []adoptionMove
	for _, m := range w.adoptionHistory.moves {
		switch {
		case m.act != act:
		case m.calls > 0:
			w.pending = append(w.pending, m)
		default:
			later = append(later, m)
		}
	}
	slices.SortStableFunc(w.pending, func(a, b adoptionMove) int { return a.calls - b.calls })
	for _, m := range later {
		w.advanceTime(m.wait)
		w.attack(m)
	}
	w.advanceTime(5 * time.Second)
	for _, m := range w.pending { // the act made fewer calls
		w.attack(m)
	}
	w.pending = nil
}

// perform performs an act of the victims.
func (w *adoptionWorld) perform(a honestAct) {
	w.gatewayWorld.moves = append(w.gatewayWorld.moves, a.name)
	o := w.owed[a.lb]
	o.states = append(o.states, a.state)
	a.do(w)
	o.since = time.Now()
}

// attack makes a move of the attacker. While a member of the IngressGroup does not consent, no Gateway adopts the
// load balancer.
func (w *adoptionWorld) attack(m adoptionMove) {
	w.blocked()
	w.gatewayWorld.moves = append(w.gatewayWorld.moves, m.String())
	switch {
	case m.restart:
		w.Start()
	case m.show:
		w.writeWrongARN(m.gone)
	case m.turn != "":
		contested{w}.turn(m.gone, m.turn)
	case m.write != "":
		w.write(w.filled(m.write))
	default:
		_ = w.Store.Delete(m.gone) // it may not exist
	}
	w.blocked()
}

// blocked reports whether an Ingress of the attacker blocks an adoption by Gateway edge that has not been confirmed
// yet, because it is a member of the IngressGroup that does not consent, is invalid, or is being deleted. The
// adoption then gets its full time again.
func (w *adoptionWorld) blocked() bool {
	o := w.owed["edge"]
	if !slices.Contains(o.states, ownState) || o.states[len(o.states)-1] == ownState || w.tenancy == closedGroups {
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

// checkAnswers checks that the answers to the victims' clients are allowed.
func (w *adoptionWorld) checkAnswers(c *adoptionCourse) {
	for lb, answers := range w.readAnswers() {
		for r, got := range answers {
			if slices.ContainsFunc(w.owed[lb].states, func(s string) bool { return c.answers[lb][s] == nil }) {
				continue // it is being recorded
			}
			if !slices.ContainsFunc(w.owed[lb].states, func(s string) bool { return c.answers[lb][s][r] == got }) {
				w.rec.once("request to %s of %s is answered with %q, want %q of state %q", r, lb, got, c.answers[lb][w.owed[lb].states[0]][r], w.owed[lb].states)
			}
		}
	}
	p, unlock := w.partition()
	defer unlock()
	for lb, arn := range w.arns {
		if live := p.ELB.LoadBalancers[arn]; live == nil || live.DNSName != w.dns[lb] {
			w.rec.once("load balancer %s of the victims is gone", lb)
		}
	}
}

// confirm waits until all acts must be effective, and compares the state with that of a run without the attacker.
func (w *adoptionWorld) confirm(c *adoptionCourse) {
	last := time.Time{}
	blocked := w.blocked()
	for lb, o := range w.owed {
		if lb != "edge" || !blocked {
			last = slices.MaxFunc([]time.Time{last, o.since.Add(adoptedWithin)}, time.Time.Compare)
		}
	}
	w.advanceTime(max(time.Until(last), time.Second))
	w.checkAnswers(c)
	w.checkTags()
	contested{w}.checkAccelerators()
	answers := w.readAnswers()
	for _, lb := range slices.Sorted(maps.Keys(w.owed)) {
		o := w.owed[lb]
		state := o.states[len(o.states)-1]
		got := w.readSettings(lb)
		if w.course == nil {
			w.record(c, lb, state, answers[lb], got)
		}
		why := differs(c.settings[lb][state], got) + differs(c.answers[lb][state], answers[lb])
		switch {
		case why == "":
			o.states = []string{state}
		case lb == "edge" && blocked:
		default:
			w.rec.once("settings of %s are not those of state %q %s after it was set: %s%s", lb, state, time.Since(o.since), why, w.eventsOf(lb))
		}
	}
}

// eventsOf returns the warnings of the victims' objects, for the failure message.
func (w *adoptionWorld) eventsOf(name string) string {
	var b strings.Builder
	for _, o := range w.Store.All("Event") {
		e := o.(*corev1.Event)
		if e.Type == corev1.EventTypeWarning && (e.InvolvedObject.Name == name || slices.ContainsFunc(objectsOf[name], func(r cluster.Ref) bool { return r.Name == e.InvolvedObject.Name })) {
			fmt.Fprintf(&b, "\n  %s %s/%s: %.300s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Message)
		}
	}
	return b.String()
}

// record stores the answers and settings of a state, which must be the same each time.
func (w *adoptionWorld) record(c *adoptionCourse, lb, state string, answers, settings map[string]string) {
	p, unlock := w.partition()
	if taken := strings.Contains(fmt.Sprint(p.ELB.LoadBalancers[w.arns[lb]].Tags), "gateway.k8s.aws"); taken != (lb != "shared" && state != ownState) {
		w.rec.once("a Gateway has the load balancer of %s in state %q: %t%s", lb, state, taken, w.eventsOf(lb))
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

// finish deletes all objects, those of the attacker first or last, and checks that nothing remains.
func (w *adoptionWorld) finish(c *adoptionCourse) {
	w.checkCost(c)
	leave := []func(){w.deleteAttackerObjects, w.deleteVictimObjects}
	if !w.first {
		slices.Reverse(leave)
	}
	for i, part := range leave {
		if part(); i == 0 && w.first {
			w.advanceTime(time.Hour)
			w.confirm(c)
		}
		w.advanceTime(time.Hour)
	}
	w.advanceTime(2 * time.Hour)
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindGateway, cluster.KindService, cluster.KindBinding, cluster.KindGlobalAccelerator} {
		for _, o := range w.Store.All(kind) {
			if o.GetDeletionTimestamp() != nil || kind == cluster.KindBinding {
				w.rec.once("%s %s/%s stays with finalizers %v", kind, o.GetNamespace(), o.GetName(), o.GetFinalizers())
			}
		}
	}
	for arn := range w.Emulator.Store().AcceleratorState(harness.Account).Accelerators {
		w.rec.once("accelerator %s stays", arn)
	}
	left := slices.DeleteFunc(w.State(), func(line string) bool { return strings.HasPrefix(line, `security-group ["GlobalAccelerator"`) }) // AWS makes and keeps it
	if d := cmp.Diff(w.empty, left); d != "" {
		w.rec.once("left over:\n%s", d)
	}
}

// deleteAttackerObjects deletes all objects of the attacker, after removing its own finalizers.
func (w *adoptionWorld) deleteAttackerObjects() {
	for _, typ := range cluster.Types() {
		for _, o := range w.Store.All(typ.Kind) {
			if o.GetNamespace() == attackerNamespace && slices.Contains(o.GetFinalizers(), foreignFinalizer) {
				o := o.DeepCopyObject().(cluster.Object)
				o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == foreignFinalizer }))
				if _, err := w.Store.Update(o, cluster.Main); err != nil {
					w.rec.Fatal(err)
				}
			}
		}
	}
	w.removeAll()
}

// deleteVictimObjects deletes all objects of the victims.
func (w *adoptionWorld) deleteVictimObjects() {
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

// checkCost checks that the attacker's moves cause a limited number of calls.
func (w *adoptionWorld) checkCost(c *adoptionCourse) {
	if w.course == nil {
		return
	}
	for _, o := range w.Store.All("Event") {
		if e := o.(*corev1.Event); e.InvolvedObject.Namespace == attackerNamespace && e.InvolvedObject.Kind == "Gateway" {
			for lb, arn := range w.arns {
				if strings.Contains(e.Message, arn) || strings.Contains(e.Message, w.dns[lb]) {
					w.rec.once("an event of the attacker's Gateway %s shows the load balancer of %s: %s", e.InvolvedObject.Name, lb, e.Message)
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
		w.rec.once("%d calls to AWS with %d moves of the attacker, at most %d: %v", total, moves, most, w.Emulator.Calls().Counts())
	}
	if most := refusedPerMove * moves; refused > most {
		w.rec.once("%d calls are rejected with %d moves of the attacker, at most %d", refused, moves, most)
	}
}
