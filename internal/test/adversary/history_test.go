package adversary

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// history is one run: moves of the attacker, with acts of the victims between them.
type history struct {
	setup
	seed  uint64
	moves []move
	// acts is the number of moves before each act of the scenario.
	acts             []int
	hasUnhealthyPods bool // the attacker's pods never become healthy
	// deniedRead is a read that AWS denies to the controller while the attacker has objects; "" for none.
	deniedRead string
	// revertsWrites is set if the attacker reverts the controller's writes to its objects.
	revertsWrites bool
}

// historyOf generates the history of a seed.
func historyOf(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 7))
	h := history{seed: seed, setup: setup{access: access(seed % 3), scenario: int(seed/3) % randomScenarios}}
	h.isolated = seed/12%2 == 1
	h.revertsWrites = rand.New(rand.NewPCG(seed, 11)).IntN(8) == 0 // a separate generator, which does not change the other choices
	h.hasUnhealthyPods = r.IntN(4) == 0
	if r.IntN(8) == 0 {
		h.deniedRead = optionalReads[r.IntN(len(optionalReads))]
	}
	g := &grammar{Rand: r, access: h.access, rows: settings.IngressAnnotations.Rows()}
	n := 4 + r.IntN(12)
	for range scenarios()[h.scenario] {
		h.acts = append(h.acts, r.IntN(n+1))
	}
	slices.Sort(h.acts)
	for len(h.moves) < n {
		done := 0
		for i, at := range h.acts {
			// Some time after the rollout the freed address is assigned to another pod.
			if at <= len(h.moves) && strings.HasPrefix(scenarios()[h.scenario][i].name, "rollout") {
				done++
			}
		}
		g.isAddressReused = done > 0 && len(h.moves) > 0 && g.isAddressReused || done > 0 && hasTimeAfterRollout(h, maxRolloutTime)
		h.moves = append(h.moves, g.move())
	}
	if r.IntN(10) < 8 { // usually with objects that are served
		first := g.workload()
		h.moves[0] = first
	}
	return h
}

// hasTimeAfterRollout reports whether the moves after the rollout take at least the time d.
func hasTimeAfterRollout(h history, d time.Duration) bool {
	var sum time.Duration
	for i, at := range h.acts {
		if !strings.HasPrefix(scenarios()[h.scenario][i].name, "rollout") {
			continue
		}
		for _, m := range h.moves[min(at, len(h.moves)):] {
			sum += m.wait
		}
	}
	return sum >= d
}

// workload returns a move that creates a Service of the attacker with a ready pod.
func (g *grammar) workload() move {
	docs := strings.NewReplacer("name: app-0", "name: p0", "name: app-1", "name: s0-1", "name: app", "name: s0", "app: app", "app: s0", "service-name: app", "service-name: s0").Replace(attackerBackends)
	return move{documents: docs}
}

func (h history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v, pods of the attacker healthy: %t, denied: %q, reverts writes: %t\n", h.seed, h.setup, !h.hasUnhealthyPods, h.deniedRead, h.revertsWrites)
	h.forEachStep(func(m move) { fmt.Fprintf(&b, "--- the attacker: %v\n", m) }, func(a act) { fmt.Fprintf(&b, "--- %s\n", a.name) })
	return b.String()
}

// forEachStep calls attack for each move and perform for each act, in order.
func (h history) forEachStep(attack func(move), perform func(act)) {
	all := scenarios()[h.scenario]
	next := 0
	for i, m := range h.moves {
		for ; next < len(h.acts) && h.acts[next] <= i; next++ {
			perform(all[next])
		}
		attack(m)
	}
	for ; next < len(h.acts); next++ {
		perform(all[next])
	}
}

// withoutMoves returns a copy of the history without the moves with index from to to-1.
func (h history) withoutMoves(from, to int) history {
	out := h
	out.moves = slices.Delete(slices.Clone(h.moves), from, to)
	out.acts = slices.Clone(h.acts)
	for i, at := range out.acts {
		if at > from {
			out.acts[i] = max(from, at-(to-from))
		}
	}
	return out
}

// timeWithoutEdits is how long the controller runs without edits before its calls are counted.
const timeWithoutEdits = 20 * time.Minute

// runHistory runs a history and returns the failures.
func runHistory(t *testing.T, h history) []string {
	t.Helper()
	c := runWithoutAttacker(t, h.setup)
	u := &revertingAPI{writes: map[types.UID][]time.Time{}}
	return runInTestCluster(t, h.setup, harness.Options{API: func(api kube.API) kube.API { u.API = api; return u }}, func(w *testCluster) {
		if h.revertsWrites {
			u.startReverting(w.Store)
		}
		if h.hasUnhealthyPods {
			w.isTargetUnhealthy = func(string) bool { return true }
		}
		w.startComparison(c)
		if h.deniedRead != "" {
			w.deny(h.deniedRead)
		}
		stripped := h.revertsWrites
		h.forEachStep(func(m move) {
			if w.hasFailed() {
				return
			}
			stripped = stripped || m.removesFinalizers
			w.attack(m)
			w.advanceAndCompare(m.wait)
		}, func(a act) {
			if w.hasFailed() {
				return
			}
			w.perform(a)
			w.advanceAndCompare(0)
		})
		for _, step := range []func(){
			func() { w.advanceAndCompare(maxChangeTime) },
			func() { w.advanceAndCompare(timeWithoutEdits) },
			func() { w.checkCalls(c, len(h.moves)); w.checkUnreachableRules() },
			func() {
				u.startReverting(nil)
				w.Emulator.Faults().ClearRules()
				w.deleteAttackerObjects()
				w.advanceAndCompare(maxCleanupTime + w.longestDraining())
			},
			func() { w.checkRemainingResources(c, stripped) },
		} {
			if !w.hasFailed() {
				step()
			}
		}
		if len(u.frequentlyWritten) > 0 {
			w.rec.Errorf("%s is written more than ten times in a minute", u.frequentlyWritten[0])
		}
		w.rec.failures = append(w.rec.failures, w.comparison.failures...)
		w.rec.failures = append(w.rec.failures, w.log.findFaultyEvents()...)
	})
}

// Limits of the calls to AWS that the attacker may cause: for each of its moves, and for each hour.
const (
	callsPerMove, callsPerHour     = 80, 600
	refusedPerMove, refusedPerHour = 30, 60
)

// checkCalls checks that the attacker has not caused too many calls, or too many refused calls. c.calls is the number of
// calls without the attacker.
func (w *testCluster) checkCalls(c baseline, moves int) {
	hours := time.Since(w.comparison.startTime()).Hours()
	total, refused := w.Emulator.Calls().Total()-c.calls, 0
	by := map[string]int{}
	for _, e := range w.Emulator.Calls().Entries() {
		if e.Code != "" {
			refused++
			by[e.Operation+" "+e.Code]++
		}
	}
	if limit := callsPerMove*(moves+1) + int(callsPerHour*hours); total > limit {
		w.rec.Errorf("%d calls to AWS in %.1f hours and %d moves, at most %d: %v", total, hours, moves, limit, w.Emulator.Calls().Counts())
	}
	if limit := refusedPerMove*(moves+1) + int(refusedPerHour*hours); refused > limit {
		w.rec.Errorf("%d calls are rejected in %.1f hours and %d moves, at most %d: %v", refused, hours, moves, limit, by)
	}
}

// checkUnreachableRules checks that a victim gets a warning if its rule is unreachable, because a rule of the attacker with
// the same host and path has a higher priority.
func (w *testCluster) checkUnreachableRules() {
	got := w.facts()
	want := w.comparison.expected[len(w.comparison.expected)-1].facts
	for r, a := range got.answers {
		if a == want.answers[r] || want.answers[r].isDefault || r.path != "/" {
			continue
		}
		if a.text == heldAnswer {
			continue // by a rule with other conditions: of two rules with the same conditions the held one is omitted
		}
		if w.answerTo(w.lbs[r.stack], r.port, r.host, "/elsewhere") != a {
			continue // by a rule for only the path "/", so that other paths still reach the victim's rule
		}
		given := w.rights.entitledIngresses(r, a, want.answers[r])
		if !slices.ContainsFunc(given, func(ing *networkingv1.Ingress) bool { return sameRoute(ing, r) }) {
			continue
		}
		// If several Ingresses precede the victim's, one of them may be held and omitted, so that another one
		// answers.
		if !slices.ContainsFunc(given, func(ing *networkingv1.Ingress) bool {
			return w.log.hasWarning("Ingress "+r.owner, ing.Namespace+"/"+ing.Name)
		}) {
			w.rec.Errorf("%s is answered with %q by the rule of %s/%s, but no warning on %s names it: %v", r, a.text, given[0].Namespace, given[0].Name, r.owner, w.log.warningsAbout("Ingress "+r.owner))
		}
	}
}

// sameRoute reports whether an Ingress has exactly the host and path of a request's rule, without further conditions.
func sameRoute(ing *networkingv1.Ingress, r request) bool {
	for _, rule := range ing.Spec.Rules {
		if rule.HTTP != nil && slices.ContainsFunc(rule.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool { return isVictimsRoute(ing, rule.Host, p, r) }) {
			return true
		}
	}
	return false
}

// isVictimsRoute reports whether a path of an Ingress has exactly the conditions of the victim's rule for a request:
// its host and the path "/".
func isVictimsRoute(ing *networkingv1.Ingress, host string, p networkingv1.HTTPIngressPath, r request) bool {
	for key := range ing.Annotations {
		if strings.HasPrefix(key, annotationPrefix+"conditions.") {
			return false
		}
	}
	return host == r.host && p.Path == "/" && p.PathType != nil && *p.PathType == networkingv1.PathTypePrefix
}

// deleteAttackerObjects deletes all objects of the attacker. It first disables deletion protection, which keeps load
// balancers on purpose. On the attacker's own load balancers it does so in AWS, because an Ingress that is not accepted
// changes nothing, and protection that no object sets is not changed.
func (w *testCluster) deleteAttackerObjects() {
	for _, o := range w.Store.All(cluster.KindIngress) {
		if o.GetNamespace() != attackerNamespace || o.GetDeletionTimestamp() != nil {
			continue
		}
		ing := o.(*networkingv1.Ingress).DeepCopy()
		kept := map[string]string{annotationPrefix + "load-balancer-attributes": deletionProtectionAttribute + "=false", annotationPrefix + "scheme": "internal"}
		for _, key := range []string{"group.name", "group.order", "target-type"} {
			if value, ok := ing.Annotations[annotationPrefix+key]; ok {
				kept[annotationPrefix+key] = value
			}
		}
		if value, ok := ing.Annotations["kubernetes.io/ingress.class"]; ok {
			kept["kubernetes.io/ingress.class"] = value
		}
		ing.Annotations = kept
		if _, err := w.Store.Update(ing, cluster.MainPart); err != nil {
			w.rec.Fatal(err)
		}
		w.rights.recordObject(ing)
	}
	w.disableDeletionProtectionOfServices()
	if obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindIngressClassParams, Name: attackerClass}); err == nil && obj != nil {
		params := obj.DeepCopyObject().(*elbv2.IngressClassParams)
		params.Spec.LoadBalancerAttributes = slices.DeleteFunc(params.Spec.LoadBalancerAttributes, func(a elbv2.Attribute) bool { return a.Key == deletionProtectionAttribute })
		if _, err := w.Store.Update(params, cluster.MainPart); err != nil {
			w.rec.Fatal(err)
		}
	}
	w.disableDeletionProtection()
	for _, o := range w.Store.All(cluster.KindBinding) { // targets cannot be deregistered with a missing role either
		if b, ok := o.DeepCopyObject().(*elbv2.TargetGroupBinding); ok && b.Namespace == attackerNamespace && b.Spec.IamRoleArnToAssume != "" {
			b.Spec.IamRoleArnToAssume = ""
			if _, err := w.Store.Update(b, cluster.MainPart); err != nil {
				w.rec.Fatal(err)
			}
		}
	}
	w.advanceAndCompare(time.Minute)
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindBinding, cluster.KindService, cluster.KindEndpointSlice, cluster.KindEndpoints, cluster.KindPod, cluster.KindSecret} {
		for _, o := range w.Store.All(kind) {
			if o.GetNamespace() == attackerNamespace {
				w.attack(move{deletedRef: cluster.RefOf(o)})
			}
		}
	}
}

const deletionProtectionAttribute = "deletion_protection.enabled"

// disableDeletionProtection disables the deletion protection of load balancers that do not belong to the victims.
func (w *testCluster) disableDeletionProtection() {
	p, unlock := w.partition()
	defer unlock()
	for _, lb := range p.ELB.LoadBalancers {
		if w.stackOfARN(lb.ARN) == "" && lb.Attributes[deletionProtectionAttribute] == "true" {
			lb.Attributes[deletionProtectionAttribute] = "false"
		}
	}
}

// longestDraining returns the longest deregistration delay of the attacker's target groups. The attacker sets it, and
// the deletion of the target groups has to wait for it.
func (w *testCluster) longestDraining() time.Duration {
	p, unlock := w.partition()
	defer unlock()
	var out time.Duration
	for _, g := range p.ELB.TargetGroups {
		if strings.HasPrefix(g.Name, "k8s-evil-") {
			if seconds, err := strconv.Atoi(g.Attributes["deregistration_delay.timeout_seconds"]); err == nil {
				out = max(out, time.Duration(seconds)*time.Second)
			}
		}
	}
	return out
}

// checkRemainingResources compares the remaining resources with those of a run without the attacker. If the attacker removed
// the controller's finalizers, resources of its own load balancers may remain.
func (w *testCluster) checkRemainingResources(c baseline, stripped bool) {
	for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindBinding} {
		for _, o := range w.Store.All(kind) {
			if o.GetNamespace() == attackerNamespace {
				w.rec.Errorf("%s %s is left after its deletion, with finalizers %v: %v", kind, o.GetName(), o.GetFinalizers(), w.log.warningsAbout(string(kind)+" evil/"+o.GetName()))
			}
		}
	}
	theirs := func(line string) bool {
		return stripped && (strings.Contains(line, "k8s-evil-") || strings.Contains(line, `"own"`) || strings.Contains(line, "evil/") || strings.Contains(line, "k8s-own-") || strings.Contains(line, "k8s-other-"))
	}
	got, want := w.comparableLines(w.State()), w.comparableLines(c.state)
	for _, l := range slices.Sorted(maps.Keys(got)) {
		if !want[l] && !theirs(l) {
			w.rec.Errorf("resource that remains after the deletion of the attacker: %.1500s", l)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(want)) {
		if !got[l] && !stripped {
			w.rec.Errorf("resource that is missing after the deletion of the attacker: %.1500s", l)
		}
	}
	if stripped {
		return
	}
	for _, address := range attackerAddresses {
		if held := w.targetGroupsWithAddress(address); len(held) > 0 {
			w.rec.Errorf("address %s of the attacker is a target of %v after the deletion of the attacker", address, held)
		}
	}
}

// comparableLines returns the set of the lines of a state. Unless the attacker is shut out, it removes the attributes of
// load balancers and listeners, because they are not reset when no object sets them any more.
func (w *testCluster) comparableLines(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		if !w.isAttackerShutOut() {
			l = withoutAttributes(l)
		}
		out[l] = true
	}
	return out
}

// withoutAttributes removes the attributes of load balancers and listeners from a line of a state.
func withoutAttributes(line string) string {
	kind, text, _ := strings.Cut(line, " ")
	if kind != "load-balancer" && kind != "listener" {
		return line
	}
	var parts []any
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return line
	}
	const attributes = 6 // index of the attributes, for both kinds
	parts[attributes] = nil
	data, err := json.Marshal(parts)
	if err != nil {
		return line
	}
	return kind + " " + string(data)
}
