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

// epoch has the facts about the victims after one of their acts, as recorded without the attacker.
type epoch struct {
	facts
	since  time.Time     // when the act was performed
	within time.Duration // the time after since within which the act must be effective
}

// course is the result of a run without the attacker: the facts at the beginning and after each act, and the final
// state.
type course struct {
	epochs []facts
	state  []string
	calls  int
}

var courses struct {
	sync.Mutex
	known map[setup]course
}

// runWithoutAttacker returns the course of a setup, and records it if needed.
func runWithoutAttacker(t *testing.T, s setup) course {
	t.Helper()
	courses.Lock()
	defer courses.Unlock()
	if c, ok := courses.known[s]; ok {
		return c
	}
	var c course
	if failures := inWorld(t, s, harness.Options{}, func(w *testCluster) {
		c.epochs = append(c.epochs, w.facts())
		for _, a := range scenarios()[s.scenario] {
			a.do(w)
			w.run(a.within)
			c.epochs = append(c.epochs, w.facts())
			w.run(10 * time.Minute)
			for _, text := range c.epochs[len(c.epochs)-1].differences(w.facts()) {
				w.rec.Errorf("%s is not effective after %v without an attacker: %s", a.name, a.within, text)
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
	if courses.known == nil {
		courses.known = map[setup]course{}
	}
	courses.known[s] = c
	return c
}

// differences lists the differences of two sets of facts.
func (f facts) differences(o facts) []string {
	var out []string
	for k := range union(f.settings, o.settings) {
		if f.settings[k] != o.settings[k] {
			out = append(out, fmt.Sprintf("%s: %q, then %q", k, f.settings[k], o.settings[k]))
		}
	}
	for k := range union(f.answers, o.answers) {
		if f.answers[k] != o.answers[k] {
			out = append(out, fmt.Sprintf("%s: %q, then %q", k, f.answers[k].text, o.answers[k].text))
		}
	}
	for k := range union(f.targets, o.targets) {
		if !slices.Equal(f.targets[k], o.targets[k]) {
			out = append(out, fmt.Sprintf("targets of %s: %q, then %q", k, f.targets[k], o.targets[k]))
		}
	}
	slices.Sort(out)
	return out
}

func union[K comparable, V any](a, b map[K]V) map[K]bool {
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
	course  course
	epochs  []epoch // epochs that have begun
	ids     map[string]string
	verdict []string // the first failures
}

// expect starts the comparison.
func (w *testCluster) expect(c course) {
	w.looking.Lock()
	w.comparison = &comparison{course: c, epochs: []epoch{{facts: c.epochs[0]}}, ids: w.facts().ids}
	w.dirty = true
	w.looking.Unlock()
	w.look()
}

// perform performs an act of a victim. Its effect is allowed from now on, and required after its time.
func (w *testCluster) perform(a act) {
	w.looking.Lock()
	if j := w.comparison; j != nil {
		j.epochs = append(j.epochs, epoch{j.course.epochs[len(j.epochs)], time.Now(), a.within})
	}
	w.looking.Unlock()
	a.do(w)
}

// allowed returns the values of a fact that are allowed now: the value of the last epoch, and earlier values while a
// later act need not be effective yet.
func allowed[V any](j *comparison, now time.Time, of func(facts) V, same func(V, V) bool) []V {
	out := []V{of(j.epochs[len(j.epochs)-1].facts)}
	for i := len(j.epochs) - 1; i > 0; i-- {
		e := j.epochs[i]
		if before := of(j.epochs[i-1].facts); now.Before(e.since.Add(e.within)) && !same(before, of(e.facts)) {
			out = append(out, before)
		}
	}
	return out
}

func equal[V comparable](a, b V) bool { return a == b }

// deadline returns when the next act must be effective, or false if all must be effective already.
func (j *comparison) deadline(now time.Time) (time.Time, bool) {
	var next time.Time
	for _, e := range j.epochs {
		if at := e.since.Add(e.within); at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, !next.IsZero()
}

// look compares the current facts if AWS has changed since the last comparison, and keeps the first failures.
func (w *testCluster) look() {
	w.looking.Lock()
	defer w.looking.Unlock()
	j := w.comparison
	if j == nil || j.epochs == nil || len(j.verdict) > 0 || !w.dirty || w.rec.Failed() {
		return
	}
	w.dirty = false
	now := time.Now()
	for _, text := range w.compare(j, now, w.facts()) {
		j.verdict = append(j.verdict, fmt.Sprintf("after %v: %s", now.Sub(j.begun()).Round(time.Millisecond), text))
	}
}

func (j *comparison) begun() time.Time {
	return time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC) // start of virtual time, plus ten minutes of preparation
}

// compare lists the facts that are not allowed.
func (w *testCluster) compare(j *comparison, now time.Time, got facts) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for k := range w.keys(j, got) {
		may := allowed(j, now, func(f facts) string { return f.settings[k] }, equal)
		if !slices.Contains(may, got.settings[k]) && !(strings.HasPrefix(k, "target group ") && len(may) > 1) { // it is created with several calls
			say("%s is %q, want %q", k, got.settings[k], may[0])
		}
	}
	for r, a := range got.answers {
		may := allowed(j, now, func(f facts) answer { return f.answers[r] }, equal)
		if !slices.Contains(may, a) && !w.rights.mayAnswer(r, a, may[0]) {
			say("%s is answered with %q, want %q", r, a.text, may[0].text)
		}
	}
	if w.lbs["solo"] != "" {
		out = append(out, got.forbidden...)
	}
	out = append(out, j.compareTargets(now, got)...)
	out = append(out, j.compareIDs(now, got)...)
	slices.Sort(out)
	if gone := slices.DeleteFunc(slices.Clone(out), func(s string) bool { return !strings.Contains(s, ` is "gone"`) }); len(gone) > 0 {
		return gone // the other differences follow from it
	}
	const enough = 12
	return out[:min(len(out), enough)]
}

// keys returns the settings to compare. Settings that the attacker may add to a shared load balancer are omitted.
func (w *testCluster) keys(j *comparison, got facts) map[string]bool {
	keys := map[string]bool{}
	for _, e := range j.epochs {
		maps.Copy(keys, union(e.settings, nil))
	}
	for k := range got.settings {
		if strings.HasPrefix(k, "other load balancer ") || w.isAttackerShutOut() && !strings.HasPrefix(k, "target group ") && !strings.HasPrefix(k, fromLoadBalancers) {
			keys[k] = true
		}
	}
	for k := range keys { // more ports are harmless
		if strings.HasPrefix(k, fromLoadBalancers) && j.epochs[len(j.epochs)-1].settings[k] == "" {
			delete(keys, k)
		}
	}
	return keys
}

// compareIDs finds resources that were deleted and created again.
func (j *comparison) compareIDs(now time.Time, got facts) []string {
	var out []string
	for k := range union(j.ids, got.ids) {
		was, is := j.ids[k], got.ids[k]
		may := allowed(j, now, func(f facts) bool { return f.ids[k] != "" }, equal)
		if was != "" && is != "" && was != is && !slices.Contains(may, false) {
			out = append(out, fmt.Sprintf("%s is another one: %s, not %s", k, is, was))
		}
		j.ids[k] = is
	}
	return out
}

// compareTargets allows any state between two epochs: no target that none of them has, and every target that all of
// them have.
func (j *comparison) compareTargets(now time.Time, got facts) []string {
	var out []string
	names := map[string]bool{}
	for _, e := range j.epochs {
		maps.Copy(names, union(e.targets, nil))
	}
	for name := range names {
		may := allowed(j, now, func(f facts) []string { return f.targets[name] }, func(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) })
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

// stopComparison ends the comparison, for cases in which the victims make further changes.
func (w *testCluster) stopComparison() { w.comparison = &comparison{} }

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
		w.run(time.Until(until))
		w.looking.Lock()
		w.dirty = true
		w.looking.Unlock()
		w.look()
		if !until.Before(end) || w.hasFailed() {
			return
		}
	}
}

// hasFailed reports whether the history has already failed.
func (w *testCluster) hasFailed() bool {
	return w.rec.Failed() || w.comparison != nil && len(w.comparison.verdict) > 0
}
