package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// expectedFacts has the facts about the victims after one of their acts, as recorded without the attacker.
type expectedFacts struct {
	facts
	since    time.Time     // when the act was performed
	maxDelay time.Duration // the time after since within which the act must be effective
}

// baseline is the result of a run without the attacker: the facts at the beginning and after each act, and the final
// state.
type baseline struct {
	factsAfterActs []facts
	state          []string
	calls          int
}

var baselines struct {
	sync.Mutex
	known map[setup]baseline
}

// runWithoutAttacker returns the baseline of a setup. It runs the acts of the setup without the attacker unless the baseline
// is known.
func runWithoutAttacker(t *testing.T, s setup) baseline {
	t.Helper()
	baselines.Lock()
	defer baselines.Unlock()
	if c, ok := baselines.known[s]; ok {
		return c
	}
	var c baseline
	if failures := runInTestCluster(t, s, harness.Options{}, func(w *testCluster) {
		c.factsAfterActs = append(c.factsAfterActs, w.facts())
		for _, a := range scenarios()[s.scenario] {
			a.do(w)
			w.runFor(a.maxDelay)
			c.factsAfterActs = append(c.factsAfterActs, w.facts())
			w.runFor(10 * time.Minute)
			for _, text := range c.factsAfterActs[len(c.factsAfterActs)-1].differences(w.facts()) {
				w.rec.Errorf("%s is not effective after %v without an attacker: %s", a.name, a.maxDelay, text)
			}
		}
		c.state = w.State()
		c.calls = w.Emulator.Calls().Total()
		for _, e := range w.log.events() {
			if e.warning && s.scenario < randomScenarios && !s.isolated {
				w.rec.Errorf("a warning without an attacker: %v", e)
			}
		}
	}); len(failures) > 0 {
		t.Fatalf("%v, without an attacker: %s", s, strings.Join(failures, "\n"))
	}
	if baselines.known == nil {
		baselines.known = map[setup]baseline{}
	}
	baselines.known[s] = c
	return c
}

// differences lists the differences of two sets of facts.
func (f facts) differences(o facts) []string {
	var out []string
	for k := range unionOfKeys(f.settings, o.settings) {
		if f.settings[k] != o.settings[k] {
			out = append(out, fmt.Sprintf("%s: %q, then %q", k, f.settings[k], o.settings[k]))
		}
	}
	for k := range unionOfKeys(f.answers, o.answers) {
		if f.answers[k] != o.answers[k] {
			out = append(out, fmt.Sprintf("%s: %q, then %q", k, f.answers[k].text, o.answers[k].text))
		}
	}
	for k := range unionOfKeys(f.targets, o.targets) {
		if !slices.Equal(f.targets[k], o.targets[k]) {
			out = append(out, fmt.Sprintf("targets of %s: %q, then %q", k, f.targets[k], o.targets[k]))
		}
	}
	slices.Sort(out)
	return out
}

func unionOfKeys[K comparable, V any](a, b map[K]V) map[K]bool {
	out := map[K]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// comparison compares the facts with the expected ones.
type comparison struct {
	baseline baseline
	expected []expectedFacts // those of the acts that have begun
	ids      map[string]string
	failures []string // the first failures
}

// startComparison compares the facts with a baseline from now on, after each change in AWS.
func (w *testCluster) startComparison(c baseline) {
	w.comparisonMutex.Lock()
	w.comparison = &comparison{baseline: c, expected: []expectedFacts{{facts: c.factsAfterActs[0]}}, ids: w.facts().ids}
	w.hasAWSChanged = true
	w.comparisonMutex.Unlock()
	w.compareIfChanged()
}

// perform performs an act of a victim. Its effect is allowed from now on, and required after a.maxDelay.
func (w *testCluster) perform(a act) {
	w.comparisonMutex.Lock()
	if j := w.comparison; j != nil {
		j.expected = append(j.expected, expectedFacts{j.baseline.factsAfterActs[len(j.expected)], time.Now(), a.maxDelay})
	}
	w.comparisonMutex.Unlock()
	a.do(w)
}

// allowedValues returns the values of a fact that are allowed now: the value after the last act, and earlier values while a
// later act need not be effective yet.
func allowedValues[V any](j *comparison, now time.Time, of func(facts) V, same func(V, V) bool) []V {
	out := []V{of(j.expected[len(j.expected)-1].facts)}
	for i := len(j.expected) - 1; i > 0; i-- {
		e := j.expected[i]
		if before := of(j.expected[i-1].facts); now.Before(e.since.Add(e.maxDelay)) && !same(before, of(e.facts)) {
			out = append(out, before)
		}
	}
	return out
}

func equal[V comparable](a, b V) bool { return a == b }

// deadline returns when the next act must be effective, or false if all must be effective already.
func (j *comparison) deadline(now time.Time) (time.Time, bool) {
	var next time.Time
	for _, e := range j.expected {
		if at := e.since.Add(e.maxDelay); at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, !next.IsZero()
}

// compareIfChanged compares the current facts if AWS has changed since the last comparison, and records the first failures.
func (w *testCluster) compareIfChanged() {
	w.comparisonMutex.Lock()
	defer w.comparisonMutex.Unlock()
	j := w.comparison
	if j == nil || j.expected == nil || len(j.failures) > 0 || !w.hasAWSChanged || w.rec.Failed() {
		return
	}
	w.hasAWSChanged = false
	now := time.Now()
	for _, text := range w.findDisallowedFacts(j, now, w.facts()) {
		j.failures = append(j.failures, fmt.Sprintf("after %v: %s", now.Sub(j.startTime()).Round(time.Millisecond), text))
	}
}

func (j *comparison) startTime() time.Time {
	return time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC) // start of virtual time, plus ten minutes of preparation
}

// findDisallowedFacts lists the facts that are not allowed.
func (w *testCluster) findDisallowedFacts(j *comparison, now time.Time, got facts) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for k := range w.comparedSettings(j, got) {
		may := allowedValues(j, now, func(f facts) string { return f.settings[k] }, equal)
		if !slices.Contains(may, got.settings[k]) && !(strings.HasPrefix(k, "target group ") && len(may) > 1) { // it is created with several calls
			say("%s is %q, want %q", k, got.settings[k], may[0])
		}
	}
	for r, a := range got.answers {
		may := allowedValues(j, now, func(f facts) answer { return f.answers[r] }, equal)
		if !slices.Contains(may, a) && !w.rights.mayAnswer(r, a, may[0]) {
			say("%s is answered with %q, want %q", r, a.text, may[0].text)
		}
	}
	if w.lbs["solo"] != "" {
		out = append(out, got.forbiddenConditions...)
	}
	out = append(out, j.findDisallowedTargets(now, got)...)
	out = append(out, j.findRecreatedResources(now, got)...)
	slices.Sort(out)
	if gone := slices.DeleteFunc(slices.Clone(out), func(s string) bool { return !strings.Contains(s, ` is "gone"`) }); len(gone) > 0 {
		return gone // the other differences follow from it
	}
	const enough = 12
	return out[:min(len(out), enough)]
}

// comparedSettings returns the settings to compare. Settings that the attacker may add to a shared load balancer are
// omitted.
func (w *testCluster) comparedSettings(j *comparison, got facts) map[string]bool {
	keys := map[string]bool{}
	for _, e := range j.expected {
		maps.Copy(keys, unionOfKeys(e.settings, nil))
	}
	for k := range got.settings {
		if strings.HasPrefix(k, "other load balancer ") || w.isAttackerShutOut() && !strings.HasPrefix(k, "target group ") && !strings.HasPrefix(k, reachablePortPrefix) {
			keys[k] = true
		}
	}
	for k := range keys { // more ports are harmless
		if strings.HasPrefix(k, reachablePortPrefix) && j.expected[len(j.expected)-1].settings[k] == "" {
			delete(keys, k)
		}
	}
	return keys
}

// findRecreatedResources lists resources whose ARN or ID has changed since the last comparison: they were deleted and
// created again.
func (j *comparison) findRecreatedResources(now time.Time, got facts) []string {
	var out []string
	for k := range unionOfKeys(j.ids, got.ids) {
		was, is := j.ids[k], got.ids[k]
		may := allowedValues(j, now, func(f facts) bool { return f.ids[k] != "" }, equal)
		if was != "" && is != "" && was != is && !slices.Contains(may, false) {
			out = append(out, fmt.Sprintf("%s was recreated: %s, before %s", k, is, was))
		}
		j.ids[k] = is
	}
	return out
}

// findDisallowedTargets lists the targets that are not allowed. If the facts after several acts are allowed, a target group may have any
// target of one of them, and must have the targets that all of them have.
func (j *comparison) findDisallowedTargets(now time.Time, got facts) []string {
	var out []string
	names := map[string]bool{}
	for _, e := range j.expected {
		maps.Copy(names, unionOfKeys(e.targets, nil))
	}
	for name := range names {
		may := allowedValues(j, now, func(f facts) []string { return f.targets[name] }, func(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) })
		has := got.targets[name]
		if slices.ContainsFunc(may, func(list []string) bool { return (list == nil) == (has == nil) && slices.Equal(list, has) }) {
			continue
		}
		for _, t := range has {
			if !slices.ContainsFunc(may, func(list []string) bool { return slices.Contains(list, t) }) {
				out = append(out, fmt.Sprintf("target group %s has target %s, want %v", name, t, may[0]))
			}
		}
		for _, t := range may[0] {
			if !slices.Contains(has, t) && !slices.ContainsFunc(may, func(list []string) bool { return !slices.Contains(list, t) }) {
				out = append(out, fmt.Sprintf("target group %s lacks target %s, want %v", name, t, may[0]))
			}
		}
	}
	return out
}

// stopComparison ends the comparison and records the failures that it has found. It is for cases in which the victims make
// further changes.
func (w *testCluster) stopComparison() {
	w.rec.failures = append(w.rec.failures, w.comparison.failures...)
	w.comparison = &comparison{}
}

// advanceAndCompare advances time, and compares whenever an act must be effective.
func (w *testCluster) advanceAndCompare(d time.Duration) {
	end := time.Now().Add(d)
	for {
		until := end
		if w.comparison != nil {
			if at, ok := w.comparison.deadline(time.Now()); ok && at.Before(end) {
				until = at
			}
		}
		w.runFor(time.Until(until))
		w.comparisonMutex.Lock()
		w.hasAWSChanged = true
		w.comparisonMutex.Unlock()
		w.compareIfChanged()
		if !until.Before(end) || w.hasFailed() {
			return
		}
	}
}

// hasFailed reports whether the history has already failed.
func (w *testCluster) hasFailed() bool {
	return w.rec.Failed() || w.comparison != nil && len(w.comparison.failures) > 0
}
