package adversary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// adoptionHistories is the number of histories of attacks on adoptions from which an ordinary test run selects.
const adoptionHistories = 18

// maxAdoptionTime is the maximum time until an act of the victims is effective and all tags and finalizers are written.
const maxAdoptionTime = 2 * time.Minute

// adoptionHistory is a sequence of the victims' acts, with moves of the attacker between them and between the calls
// that they cause.
type adoptionHistory struct {
	seed           uint64
	tenancy        tenancy
	startsAsDryRun bool // the victims' Gateways exist from the beginning, as dry runs
	returnWays     [4]returnWay
	// deletesAttackerFirst is set if the attacker's objects are deleted before those of the victims.
	deletesAttackerFirst bool
	// skipsWaitAfterAct has, by the index of an act, whether the next act does not wait until this act is effective.
	skipsWaitAfterAct []bool
	moves             []adoptionMove
}

// adoptionMove is a move of the attacker, or a restart of the controller.
type adoptionMove struct {
	// actIndex is the index of the victims' act after which the move is made, -1 for a move before all acts. If calls is not
	// 0, the move is made after this number of mutating calls. Otherwise it is made after the time in wait.
	actIndex, calls int
	wait            time.Duration
	documents       string
	target          cluster.Ref
	forgesStatus    bool   // writes a forged status of target
	ingressChange   string // key of memberChanges, for a change of target
	restart         bool
}

func (m adoptionMove) String() string {
	at := fmt.Sprintf("after %s", m.wait)
	if m.calls > 0 {
		at = fmt.Sprintf("after %d changes", m.calls)
	}
	switch {
	case m.restart:
		return at + ": the controller is started again"
	case m.forgesStatus:
		return at + ": forge the status of " + m.target.String()
	case m.ingressChange != "":
		return at + ": " + m.target.String() + " " + m.ingressChange
	case m.documents == "":
		return at + ": delete " + m.target.String()
	}
	return at + ": write\n" + strings.TrimSpace(m.documents)
}

func adoptionHistoryOf(seed uint64) adoptionHistory {
	g := &adoptionGrammar{Rand: rand.New(rand.NewPCG(seed, 19)), tenancy: tenancy(seed % 3)}
	h := adoptionHistory{seed: seed, tenancy: g.tenancy, startsAsDryRun: g.chance(50), deletesAttackerFirst: g.chance(60)}
	for i := range h.returnWays {
		h.returnWays[i] = returnWay(g.IntN(3))
	}
	for range adoptionActs(h.returnWays) {
		h.skipsWaitAfterAct = append(h.skipsWaitAfterAct, g.chance(25))
	}
	h.moves = append(h.moves, adoptionMove{actIndex: -1, documents: g.service()}, adoptionMove{actIndex: -1, documents: imitatedSettings})
	released := len(h.skipsWaitAfterAct) - 2
	for act := -1; act < len(h.skipsWaitAfterAct); act++ {
		for range g.IntN(4) {
			m := g.move()
			if act >= released && g.chance(60) { // an attempt to get the load balancer
				m = adoptionMove{wait: m.wait, documents: g.consentingMember()}
			}
			if m.actIndex = act; g.chance(40) {
				m.calls = 1 + g.IntN(30)
			}
			h.moves = append(h.moves, m)
		}
		if act == released-2 && g.chance(60) { // no member may block the last adoption
			for _, name := range attackerObjectNames[cluster.KindIngress] {
				h.moves = append(h.moves, adoptionMove{actIndex: act, target: cluster.Ref{Kind: cluster.KindIngress, Namespace: attackerNamespace, Name: name}})
			}
		}
	}
	return h
}

func (h adoptionHistory) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "IngressGroups are %s, dry-run Gateways exist: %t, attacker is deleted first: %t", h.tenancy, h.startsAsDryRun, h.deletesAttackerFirst)
	acts := adoptionActs(h.returnWays)
	for act := -1; act < len(acts); act++ {
		if act >= 0 {
			fmt.Fprintf(&b, "\n--- %s (next act does not wait: %t)", acts[act].name, h.skipsWaitAfterAct[act])
		}
		for _, m := range h.moves {
			if m.actIndex == act {
				fmt.Fprintf(&b, "\n--- the attacker %v", m)
			}
		}
	}
	return b.String()
}

var adoptionBaselines struct {
	sync.Mutex
	known map[tenancy]*adoptionBaseline
}

// TestAdoptionHistories runs random histories of a tenant that interferes with adoptions: Gateways of victims adopt
// the load balancers of an IngressGroup, an Ingress and a Service, edit routes, and return the load balancers. After
// each change in AWS the victims' requests must be answered as before or after the victims' change, and within a
// bounded time the state must be the same as without the attacker. Nothing may remain at the end.
func TestAdoptionHistories(t *testing.T) {
	t.Parallel()
	failed := 0
	for _, seed := range adoptionSeeds() {
		if failed == 5 {
			break
		}
		h := adoptionHistoryOf(seed)
		failures := runAdoptionHistory(t, h)
		switch {
		case len(failures) == 0:
		case withoutShrinking:
			t.Errorf("FULCRUM_ADVERSARY_SEED=%d (%s): %.600s", seed, h.tenancy, failures[0])
		default:
			failed++
			h, failures = shrinkAdoptions(t, h, failures)
			t.Errorf("FULCRUM_ADVERSARY_SEED=%d fails with %d moves:\n%s\n\n%v", seed, len(h.moves), strings.Join(failures, "\n"), h)
		}
	}
}

// adoptionSeeds returns the seeds that the environment selects. By default it returns a small selection of the first seeds
// that covers each tenancy, each way of return, each kind of object that is written or deleted, and each act after which a
// move is made.
func adoptionSeeds() []uint64 {
	first, n := seedRange(uint64(seeds.Amount(0, adoptionHistories)))
	var out []uint64
	for seed := first; seed < first+n; seed++ {
		out = append(out, seed)
	}
	if n > 0 {
		return out
	}
	var all [][]string
	for seed := range uint64(adoptionHistories) {
		h := adoptionHistoryOf(seed)
		elements := []string{fmt.Sprint(h.tenancy), fmt.Sprint("shadow ", h.startsAsDryRun, " leaves first ", h.deletesAttackerFirst), fmt.Sprint("hurries ", slices.Contains(h.skipsWaitAfterAct, true))}
		for i, by := range h.returnWays {
			elements = append(elements, fmt.Sprint("way back ", i, by))
		}
		for _, m := range h.moves {
			what := m.ingressChange
			if m.documents != "" {
				what = m.documents[:strings.Index(m.documents, "metadata")] // version and kind
			}
			elements = append(elements, fmt.Sprint(what, m.target.Kind, m.forgesStatus, m.restart, m.calls > 0), fmt.Sprint("act ", m.actIndex))
		}
		all = append(all, elements)
	}
	for _, seed := range seeds.Cover(all) {
		out = append(out, uint64(seed))
	}
	return out
}

// shrinkAdoptions removes moves as long as the history fails in the same way.
func shrinkAdoptions(t *testing.T, h adoptionHistory, failures []string) (adoptionHistory, []string) {
	t.Helper()
	const replays = 60
	tried := 0
	for size := max(1, len(h.moves)/2); size > 0; size /= 2 {
		for from := 0; from < len(h.moves) && tried < replays; {
			tried++
			o := h
			o.moves = slices.Delete(slices.Clone(h.moves), from, min(from+size, len(h.moves)))
			if f := runAdoptionHistory(t, o); len(f) > 0 && failureSubject(f[0]) == failureSubject(failures[0]) {
				h, failures = o, f
				continue
			}
			from += size
		}
	}
	return h, failures
}

// runAdoptionsWithoutAttacker returns the results of a run without the attacker. It runs the acts once for each tenancy.
func runAdoptionsWithoutAttacker(t *testing.T, of tenancy) *adoptionBaseline {
	t.Helper()
	adoptionBaselines.Lock()
	defer adoptionBaselines.Unlock()
	if c := adoptionBaselines.known[of]; c != nil {
		return c
	}
	c := &adoptionBaseline{answers: map[string]map[string]map[string]string{}, settings: map[string]map[string]map[string]string{}}
	for _, by := range []returnWay{returnByDryRun, returnByAnnotation, returnByDeletion} { // the states are the same for all ways
		h := adoptionHistory{tenancy: of, startsAsDryRun: by == returnByDryRun, returnWays: [4]returnWay{by, by, by, by}, deletesAttackerFirst: true}
		h.skipsWaitAfterAct = make([]bool, len(adoptionActs(h.returnWays)))
		w := &adoptionTestCluster{gatewayTestCluster: &gatewayTestCluster{}, adoptionHistory: h}
		if failures := w.runActs(t, c); len(failures) > 0 {
			t.Fatalf("IngressGroups are %s, %s, without an attacker: %s\n%s", of, by, strings.Join(failures, "\n"), strings.Join(w.gatewayTestCluster.moveLog, "\n"))
		}
		c.calls = max(c.calls, w.Emulator.Calls().Total())
	}
	if adoptionBaselines.known == nil {
		adoptionBaselines.known = map[tenancy]*adoptionBaseline{}
	}
	adoptionBaselines.known[of] = c
	return c
}

// runAdoptionHistory runs a history, and returns the failures.
func runAdoptionHistory(t *testing.T, h adoptionHistory) []string {
	t.Helper()
	w := &adoptionTestCluster{gatewayTestCluster: &gatewayTestCluster{}, adoptionHistory: h, baseline: runAdoptionsWithoutAttacker(t, h.tenancy)}
	return w.runActs(t, w.baseline)
}

func (w *adoptionTestCluster) runActs(t *testing.T, c *adoptionBaseline) []string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.rec = &recorder{TB: t}
		defer recoverStop()
		w.createVictims(c)
		for i, act := range adoptionActs(w.returnWays) {
			if w.makeMovesAfter(i - 1); w.rec.Failed() {
				return
			}
			if i == 0 || !w.skipsWaitAfterAct[i-1] || act.requiredState != "" {
				w.awaitExpectedStates(c)
			}
			if act.requiredState != "" && (!slices.Equal(w.expectedByName[act.lb].states, []string{act.requiredState}) || w.wasAttackerMember()) {
				break
			}
			w.perform(act)
		}
		w.makeMovesAfter(len(w.skipsWaitAfterAct) - 1)
		w.awaitExpectedStates(c)
		if !w.rec.Failed() {
			w.deleteAllAndCheck(c)
		}
	})
	return w.rec.failures
}

// wasAttackerMember reports whether IngressGroup "edge" also had Ingresses of the attacker when its load balancer was
// adopted. If the Gateway no longer requests the load balancer, it is returned to these Ingresses.
func (w *adoptionTestCluster) wasAttackerMember() bool {
	p, unlock := w.partition()
	defer unlock()
	return slices.Contains(naming.AdoptedNamespaces(p.ELB.LoadBalancers[w.arnsByName["edge"]].Tags), attackerNamespace)
}
