package bindings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// Targets, and rules of the security groups of nodes and pods, that others have changed. They are read
// again from time to time and compared with what this process has registered and opened. What a process
// has not brought about itself it does not know, so that nothing of it can have been changed.

// writesShown is how long AWS may take to show a change of targets.
const writesShown = time.Minute

// suspicion is what others seem to have changed of a target group, by identity.
type suspicion struct{ missing, added []string }

func (s suspicion) empty() bool { return len(s.missing)+len(s.added) == 0 }

func (s suspicion) String() string {
	return strings.Join(s.missing, " ") + "|" + strings.Join(s.added, " ")
}

// Verifiable are the bindings whose targets may be compared now with what was registered for them.
func (r *Reconciler) Verifiable() []Key {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	var out []Key
	for key := range m.fillings {
		if m.verifiable(key, now) {
			out = append(out, key)
		}
	}
	return out
}

// verifiable reports whether all is registered that this process wants to be, and AWS shows it. The lock is held.
func (m *memory) verifiable(key Key, now time.Time) bool {
	f := m.fillings[key]
	return f != nil && f.complete && f.running == 0 && now.Sub(f.written) > writesShown
}

// Verify reads the targets of a binding, and compares them with those that were registered for it. Where
// others have changed them, the binding is due for a comparison, or what they did is reported.
func (r *Reconciler) Verify(ctx context.Context, key Key) error {
	m := r.memory
	m.mu.Lock()
	f := m.fillings[key]
	if !m.verifiable(key, m.now()) {
		m.mu.Unlock()
		return nil
	}
	b, runs := f.binding, f.runs
	m.mu.Unlock()
	h, err := r.Cloud.As(accountOf(b)).TargetHealth(ctx, b.Spec.TargetGroupARN, 0)
	if err != nil {
		return fmt.Errorf("list targets of %s: %w", b.Spec.TargetGroupARN, err)
	}
	m.mu.Lock()
	if m.fillings[key] != f || f.runs != runs || !m.verifiable(key, m.now()) {
		m.mu.Unlock()
		return nil // a run has changed them meanwhile
	}
	s := f.compare(h.Targets)
	news := s.String() != f.suspected.String()
	f.suspected = s
	if !s.empty() && r.Drift != engine.ReportDrift {
		m.due[key] = m.now()
	}
	m.mu.Unlock()
	switch {
	case s.empty() || !news && r.Drift == engine.ReportDrift:
		return nil
	case r.Drift == engine.ReportDrift:
		return r.reportDrift(ctx, b, s)
	}
	if r.Again != nil {
		r.Again(key)
	}
	return nil
}

// compare finds what others have changed. Others may fill a shared target group.
func (f *filling) compare(live []*observed.Target) (s suspicion) {
	live = slices.DeleteFunc(slices.Clone(live), func(t *observed.Target) bool { return t.State == "draining" })
	s.missing = f.registered.Missing(live)
	if !f.binding.Spec.MultiClusterTargetGroup && !f.unsure {
		for _, t := range live {
			if !f.registered.Has(t) {
				s.added = append(s.added, targets.CanonicalIdentity(targets.IdentityOf(t)))
			}
		}
	}
	slices.Sort(s.added)
	return s
}

// begin notes that a run of a binding begins, which sees all that has happened before, and returns what ends it.
func (m *memory) begin(key Key) (end func()) {
	count := func(n int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if f := m.fillings[key]; f != nil {
			f.running = max(f.running+n, 0)
			f.runs++
		}
	}
	m.mu.Lock()
	delete(m.outdated, key)
	m.mu.Unlock()
	count(1)
	return func() { count(-1) }
}

// noteComplete notes whether a run has left nothing to do.
func (m *memory) noteComplete(key Key, complete bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fillings[key]; f != nil {
		f.complete = complete
	}
}

// noteUnsure notes that a registration may have taken effect although it failed.
func (m *memory) noteUnsure(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fillings[key]; f != nil {
		f.unsure = true
	}
}

// restored are those of the identities that others were seen to have taken out or added, and forgets them.
func (m *memory) restored(key Key, identities []string) suspicion {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fillings[key]
	if f == nil || f.suspected.empty() {
		return suspicion{}
	}
	take := func(list *[]string) (out []string) {
		*list = slices.DeleteFunc(slices.Clone(*list), func(s string) bool {
			has := slices.Contains(identities, s)
			if has {
				out = append(out, s)
			}
			return has
		})
		return out
	}
	return suspicion{take(&f.suspected.missing), take(&f.suspected.added)}
}

// reportRestored reports targets that others have changed and that are as they were.
func (p *run) reportRestored(ctx context.Context, b *elbv2.TargetGroupBinding, identities []string) {
	canonical := make([]string, 0, len(identities))
	for _, id := range identities {
		canonical = append(canonical, targets.CanonicalIdentity(id))
	}
	if s := p.r.memory.restored(p.key, canonical); !s.empty() {
		_ = p.r.reportDrift(ctx, b, s) // the targets count, not the event
	}
}

// reportDrift writes the event of targets that others have changed, and counts them.
func (r *Reconciler) reportDrift(ctx context.Context, b *elbv2.TargetGroupBinding, s suspicion) error {
	if r.Drift == engine.IgnoreDrift {
		return nil
	}
	var what []string
	for _, x := range []struct {
		list     []string
		from, to string
	}{{s.missing, "registered", "not registered"}, {s.added, "not registered", "registered"}} {
		if len(x.list) > 0 {
			what = append(what, fmt.Sprintf("%s: %s -> %s", someOf(x.list), x.from, x.to))
		}
	}
	text := fmt.Sprintf("targets of %s were changed by others: %s", b.Spec.TargetGroupARN, strings.Join(what, ", "))
	if r.Drifted != nil {
		r.Drifted("targets", r.Drift)
	}
	var patches []cluster.Patch
	for _, of := range append([]finding.Ref{targets.Ref(b)}, r.Owners(b)...) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.write(ctx, patches)
}

// driftEvent says what others have changed.
func (r *Reconciler) driftEvent(of finding.Ref, text string) cluster.Event {
	reason, does := finding.DriftRepaired, "the controller restores it; CloudTrail shows who changed it"
	if r.Drift == engine.ReportDrift {
		reason, does = finding.DriftFound, "it stays until the endpoints change, because of --drift=report; restore it in AWS"
	}
	return cluster.Event{
		Ref:     cluster.Ref{Kind: cluster.Kind(of.Kind), Namespace: of.Namespace, Name: of.Name},
		Warning: true, Reason: string(reason), Message: string(reason) + ": " + finding.Printable(text+"; "+does),
	}
}

// mostNamed is how many targets or rules an event names.
const mostNamed = 5

func someOf(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}

// VerifyRules reads the rules of the security groups of nodes and pods, and restores those that others
// have changed, or reports them on bindings whose traffic they admit.
func (r *Reconciler) VerifyRules(ctx context.Context) error {
	changed, err := r.Cloud.ChangedEndpointGroups(ctx)
	if err != nil {
		return fmt.Errorf("read security groups of nodes and pods: %w", err)
	}
	if len(changed) == 0 {
		return nil
	}
	if r.Drift != engine.ReportDrift {
		u, err := r.updateRules(ctx, Key{}, false, 0)
		if err != nil {
			return err
		}
		if !u.changed {
			return nil // it was not the controller's
		}
	}
	if r.Drifted != nil {
		r.Drifted("endpoint-security-group", r.Drift)
	}
	text := "rules of security group " + someOf(changed) + " that admit traffic to targets were changed by others"
	var patches []cluster.Patch
	for _, of := range r.concerned(r.rules.openedIn(changed)) {
		patches = append(patches, r.driftEvent(of, text))
	}
	return r.write(ctx, patches)
}

// concerned are some of the owners of bindings, each once, and of those without an owner the bindings.
func (r *Reconciler) concerned(keys []Key) (out []finding.Ref) {
	v := r.Cluster.View().Unsubscribed()
	for _, key := range keys {
		b, there := cluster.Get[*elbv2.TargetGroupBinding](v, cluster.KindBinding, key.Namespace, key.Name)
		if !there {
			continue
		}
		of := r.Owners(b)
		if len(of) == 0 {
			of = []finding.Ref{targets.Ref(b)}
		}
		for _, ref := range of {
			if !slices.Contains(out, ref) {
				out = append(out, ref)
			}
		}
		if len(out) >= mostNamed {
			break
		}
	}
	return out[:min(len(out), mostNamed)]
}

// openedIn are the bindings that have rules in security groups.
func (m *ruleMemory) openedIn(groups []string) (out []Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, o := range m.opened {
		for r := range o.rules {
			if slices.Contains(groups, r.Group) {
				out = append(out, key)
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return out
}
