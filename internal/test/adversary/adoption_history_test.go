package adversary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// adoptionHistories is how many histories of attacks on take-overs are run where nothing else is asked for.
const adoptionHistories = 24

// An act of the victims is effective within so much, with all that is bookkeeping.
const adoptedWithin = 2 * time.Minute

// adoptionHistory is a run of the victims' acts with moves of the attacker between them and among the calls that they cause.
type adoptionHistory struct {
	seed    uint64
	tenancy tenancy
	shadow  bool // the victims' Gateways are there from the beginning, as dry runs
	back    [4]way
	// first reports that the attacker leaves before the victims do.
	first bool
	// hurried are acts that do not wait for the one before.
	hurried []bool
	moves   []adoptionMove
}

// adoptionMove is something that the attacker does, or a start of the controller.
type adoptionMove struct {
	// act is the act of the victims after which it is done; calls are those that change something in AWS before it, after that
	// act. Without calls it waits for the time.
	act, calls int
	wait       time.Duration
	write      string
	gone       cluster.Ref
	show       bool // forge a status
	restart    bool
}

func (m adoptionMove) String() string {
	at := fmt.Sprintf("after %s", m.wait)
	if m.calls > 0 {
		at = fmt.Sprintf("after %d changes", m.calls)
	}
	switch {
	case m.restart:
		return at + ": the controller is started again"
	case m.show:
		return at + ": forge the status of " + m.gone.String()
	case m.write == "":
		return at + ": delete " + m.gone.String()
	}
	return at + ": write\n" + strings.TrimSpace(m.write)
}

func adoptionHistoryOf(seed uint64) adoptionHistory {
	g := &adoptionGrammar{Rand: rand.New(rand.NewPCG(seed, 19)), tenancy: tenancy(seed % 3)}
	h := adoptionHistory{seed: seed, tenancy: g.tenancy, shadow: g.chance(50), first: g.chance(60)}
	for i := range h.back {
		h.back[i] = way(g.IntN(3))
	}
	for range honestActs(h.back) {
		h.hurried = append(h.hurried, g.chance(25))
	}
	h.moves = append(h.moves, adoptionMove{act: -1, write: g.service()}, adoptionMove{act: -1, write: imitation})
	released := len(h.hurried) - 2
	for act := -1; act < len(h.hurried); act++ {
		for range g.IntN(4) {
			m := g.move()
			if act >= released && g.chance(60) { // to inherit the load balancer
				m = adoptionMove{wait: m.wait, write: g.member()}
			}
			if m.act = act; g.chance(40) {
				m.calls = 1 + g.IntN(30)
			}
			h.moves = append(h.moves, m)
		}
		if act == released-2 && g.chance(60) { // no member that could be in the way of the last take-over
			for _, name := range deletable[cluster.KindIngress] {
				h.moves = append(h.moves, adoptionMove{act: act, gone: cluster.Ref{Kind: cluster.KindIngress, Namespace: attackerNamespace, Name: name}})
			}
		}
	}
	return h
}

func (h adoptionHistory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "IngressGroups are %s, shadow %t, the attacker leaves first %t", h.tenancy, h.shadow, h.first)
	acts := honestActs(h.back)
	for act := -1; act < len(acts); act++ {
		if act >= 0 {
			fmt.Fprintf(&b, "\n--- %s (hurried %t)", acts[act].name, h.hurried[act])
		}
		for _, m := range h.moves {
			if m.act == act {
				fmt.Fprintf(&b, "\n--- the attacker %v", m)
			}
		}
	}
	return b.String()
}

// adoptionCourse is what a run without the attacker shows: of each load balancer the answers and the settings in each state, what
// is there before and after, and the number of calls.
type adoptionCourse struct {
	answers, settings map[string]map[string]map[string]string
	calls             int
}

// owed is what holds of a load balancer.
type owed struct {
	// states are those that may be seen: the last one is that of the last act, the others are what was there since one was seen
	// to be effective.
	states []string
	since  time.Time
}

// adoptionWorld is the victims' cluster with the one who attacks them.
type adoptionWorld struct {
	*gatewayWorld
	adoptionHistory
	course *adoptionCourse // nil: it is being recorded
	arns   map[string]string
	dns    map[string]string
	of     map[string]string // names of load balancers by ARN
	groups map[string]bool   // ids of the victims' security groups
	nodes  string            // who reaches the victims' pods
	owed   map[string]*owed
	// calls are those since the last act that change something; pending is what the attacker does among them.
	calls   int
	pending []adoptionMove
	busy    bool
	// released reports that IngressGroup edge has no member of the victims any more.
	released bool
	empty    []string // what there is in AWS without anything
}

var adoptionCourses struct {
	sync.Mutex
	known map[tenancy]*adoptionCourse
}

// TestAdoptionHistories runs random histories of a tenant who interferes with take-overs: Gateways of victims take over the load
// balancers of an IngressGroup, an Ingress and a Service, edit routes, and give them back. After each change in AWS the victims'
// requests are answered as in one of the states between which the victims change it, and in a bounded time all is as without the
// attacker. In the end nothing is left.
func TestAdoptionHistories(t *testing.T) {
	t.Parallel()
	first, n := seedsOf(adoptionHistories)
	failed := 0
	for seed := first; seed < first+n && failed < 5; seed++ {
		h := adoptionHistoryOf(seed)
		failures := playAdoptions(t, h)
		switch {
		case len(failures) == 0:
		case survey:
			t.Errorf("FULCRUM_ADVERSARY_SEED=%d (%s): %.600s", seed, h.tenancy, failures[0])
		default:
			failed++
			h, failures = shrinkAdoptions(t, h, failures)
			t.Errorf("FULCRUM_ADVERSARY_SEED=%d fails with %d moves:\n%s\n\n%v", seed, len(h.moves), strings.Join(failures, "\n"), h)
		}
	}
}

// shrinkAdoptions leaves out moves as long as the history fails in the same way.
func shrinkAdoptions(t *testing.T, h adoptionHistory, failures []string) (adoptionHistory, []string) {
	t.Helper()
	const replays = 60
	tried := 0
	for size := max(1, len(h.moves)/2); size > 0; size /= 2 {
		for from := 0; from < len(h.moves) && tried < replays; {
			tried++
			o := h
			o.moves = slices.Delete(slices.Clone(h.moves), from, min(from+size, len(h.moves)))
			if f := playAdoptions(t, o); len(f) > 0 && kindOf(f[0]) == kindOf(failures[0]) {
				h, failures = o, f
				continue
			}
			from += size
		}
	}
	return h, failures
}

// undisturbedAdoptions is the course of a run without the attacker.
func undisturbedAdoptions(t *testing.T, of tenancy) *adoptionCourse {
	t.Helper()
	adoptionCourses.Lock()
	defer adoptionCourses.Unlock()
	if c := adoptionCourses.known[of]; c != nil {
		return c
	}
	c := &adoptionCourse{answers: map[string]map[string]map[string]string{}, settings: map[string]map[string]map[string]string{}}
	for _, by := range []way{byDryRun, byAnnotation, byDeletion} { // whatever the way, the states are the same
		h := adoptionHistory{tenancy: of, shadow: by == byDryRun, back: [4]way{by, by, by, by}, first: true}
		h.hurried = make([]bool, len(honestActs(h.back)))
		w := &adoptionWorld{gatewayWorld: &gatewayWorld{}, adoptionHistory: h}
		if failures := w.play(t, c); len(failures) > 0 {
			t.Fatalf("IngressGroups are %s, %s, without an attacker: %s\n%s", of, by, strings.Join(failures, "\n"), strings.Join(w.gatewayWorld.moves, "\n"))
		}
		c.calls = max(c.calls, w.Emulator.Calls().Total())
	}
	if adoptionCourses.known == nil {
		adoptionCourses.known = map[tenancy]*adoptionCourse{}
	}
	adoptionCourses.known[of] = c
	return c
}

// playAdoptions runs a history, and returns what was wrong.
func playAdoptions(t *testing.T, h adoptionHistory) []string {
	t.Helper()
	w := &adoptionWorld{gatewayWorld: &gatewayWorld{}, adoptionHistory: h, course: undisturbedAdoptions(t, h.tenancy)}
	return w.play(t, w.course)
}

func (w *adoptionWorld) play(t *testing.T, c *adoptionCourse) []string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.rec = &recorder{TB: t}
		defer stopped()
		w.start(c)
		for i, act := range honestActs(w.back) {
			if w.round(i - 1); w.rec.Failed() {
				return
			}
			if i == 0 || !w.hurried[i-1] || act.after != "" {
				w.confirm(c)
			}
			if act.after != "" && (!slices.Equal(w.owed[act.lb].states, []string{act.after}) || w.shared()) {
				break
			}
			w.perform(act)
		}
		w.round(len(w.hurried) - 1)
		w.confirm(c)
		if !w.rec.Failed() {
			w.finish(c)
		}
	})
	return w.rec.failures
}

// shared reports that Ingresses of the attacker had the load balancer of IngressGroup edge, too, when it was taken over. It goes back
// to these once the Gateway does not ask for it.
func (w *adoptionWorld) shared() bool {
	p, unlock := w.partition()
	defer unlock()
	return slices.Contains(naming.AdoptedNamespaces(p.ELB.LoadBalancers[w.arns["edge"]].Tags), attackerNamespace)
}

// start makes the victims.
func (w *adoptionWorld) start(c *adoptionCourse) {
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(),
		Ingress:   w.tenancy.configure,
		Gateway:   func(o *gateways.Options) { o.DefaultTargetType = "ip" },
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
	w.Apply(adoptionWorkloads(), strings.Replace(adoptionObjects, "$SELECTOR", selector, 1), shopOf(1), adoptionRoutes, frontOf(1))
	if w.shadow {
		for name, g := range gatewayAsks {
			w.Apply(victimGateway(name, "fulcrum.dev/adopt: "+g.adopts+", "+onlyPlanned))
		}
	}
	w.pass(10 * time.Minute)
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

// changed is called after each change in AWS: it is looked at, and the attacker may go on.
func (w *adoptionWorld) changed(c *adoptionCourse) {
	w.calls++
	w.checkAnswers(c)
	w.checkTags()
	if w.busy {
		return // what the attacker writes causes no call before this one ends
	}
	w.busy = true
	for len(w.pending) > 0 && w.pending[0].calls <= w.calls && w.pending[0].calls > 0 && !w.pending[0].restart {
		m := w.pending[0]
		w.pending = w.pending[1:]
		w.attack(m)
	}
	w.busy = false
}

// pass lets time pass.
func (w *adoptionWorld) pass(d time.Duration) {
	end := time.Now().Add(d)
	w.Settle(d)
	time.Sleep(time.Until(end))
}

// round runs the moves after an act of the victims.
func (w *adoptionWorld) round(act int) {
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
		w.pass(m.wait)
		w.attack(m)
	}
	w.pass(5 * time.Second)
	for _, m := range w.pending { // so many calls there were not
		w.attack(m)
	}
	w.pending = nil
}

// perform lets the victims act.
func (w *adoptionWorld) perform(a honestAct) {
	w.gatewayWorld.moves = append(w.gatewayWorld.moves, a.name)
	o := w.owed[a.lb]
	o.states = append(o.states, a.state)
	a.do(w)
	o.since = time.Now()
}

// attack carries out a move of the attacker. While a member of the IngressGroup does not consent, no Gateway takes it over.
func (w *adoptionWorld) attack(m adoptionMove) {
	w.blocked()
	w.gatewayWorld.moves = append(w.gatewayWorld.moves, m.String())
	switch {
	case m.restart:
		w.Start()
	case m.show:
		w.forge(m.gone)
	case m.write != "":
		w.write(w.filled(m.write))
	default:
		_ = w.Store.Delete(m.gone) // it may not be there
	}
	w.blocked()
}

// blocked reports whether an Ingress of the attacker keeps Gateway edge from a take-over that has not been seen yet: it is a member
// of the IngressGroup that does not consent, that cannot be built, or that is leaving. From then on it has its time again.
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

// checkAnswers compares what the victims' clients get with what they may.
func (w *adoptionWorld) checkAnswers(c *adoptionCourse) {
	for lb, answers := range w.lookAnswers() {
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

// confirm waits until all acts have to be effective, and compares all that is seen with what is seen without the attacker.
func (w *adoptionWorld) confirm(c *adoptionCourse) {
	last := time.Time{}
	blocked := w.blocked()
	for lb, o := range w.owed {
		if lb != "edge" || !blocked {
			last = slices.MaxFunc([]time.Time{last, o.since.Add(adoptedWithin)}, time.Time.Compare)
		}
	}
	w.pass(max(time.Until(last), time.Second))
	w.checkAnswers(c)
	w.checkTags()
	answers := w.lookAnswers()
	for _, lb := range slices.Sorted(maps.Keys(w.owed)) {
		o := w.owed[lb]
		state := o.states[len(o.states)-1]
		got := w.lookSettings(lb)
		if w.course == nil {
			w.record(c, lb, state, answers[lb], got)
		}
		why := differs(c.settings[lb][state], got) + differs(c.answers[lb][state], answers[lb])
		switch {
		case why == "":
			o.states = []string{state}
		case lb == "edge" && blocked:
		default:
			w.rec.once("settings of %s are not those of state %q %s after it was asked for: %s%s", lb, state, time.Since(o.since), why, w.eventsOf(lb))
		}
	}
}

// eventsOf are the warnings of the victims' objects, for a failure.
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

// record notes what a state looks like, which has to be the same each time.
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
		return // it is compared
	}
	c.answers[lb][state], c.settings[lb][state] = answers, settings
}

// finish deletes all objects, those of the attacker before the others or after them. Nothing is left.
func (w *adoptionWorld) finish(c *adoptionCourse) {
	w.checkCost(c)
	leave := []func(){w.leaveAttacker, w.leaveVictims}
	if !w.first {
		slices.Reverse(leave)
	}
	for i, part := range leave {
		if part(); i == 0 && w.first {
			w.pass(time.Hour)
			w.confirm(c)
		}
		w.pass(time.Hour)
	}
	w.pass(2 * time.Hour)
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindGateway, cluster.KindService, cluster.KindBinding} {
		for _, o := range w.Store.All(kind) {
			if o.GetDeletionTimestamp() != nil || kind == cluster.KindBinding {
				w.rec.once("%s %s/%s stays with finalizers %v", kind, o.GetNamespace(), o.GetName(), o.GetFinalizers())
			}
		}
	}
	if d := cmp.Diff(w.empty, w.State()); d != "" {
		w.rec.once("left over:\n%s", d)
	}
}

// leaveAttacker deletes what the attacker has. Finalizers of its own hold it no longer.
func (w *adoptionWorld) leaveAttacker() {
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

// leaveVictims deletes what the victims have.
func (w *adoptionWorld) leaveVictims() {
	w.Emulator.Faults().SetHook(nil)
	for _, kind := range []cluster.Kind{cluster.KindGateway, cluster.KindIngress, cluster.KindService} {
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

// checkCost holds the attacker to so many calls for each of its moves.
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
