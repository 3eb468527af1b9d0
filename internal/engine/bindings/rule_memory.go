package bindings

import (
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// ruleSet is what a binding asks of which security groups.
type ruleSet map[groupRule]struct{}

type groupRule struct {
	group string
	rule  model.IngressRule
}

func (s ruleSet) add(group string, rules []model.IngressRule) {
	for _, r := range rules {
		s[groupRule{group, r}] = struct{}{}
	}
}

func (s ruleSet) within(o ruleSet) bool {
	for r := range s {
		if _, ok := o[r]; !ok {
			return false
		}
	}
	return true
}

// openedRules are rules of a binding that are there. While it asks for no others, the rules of the cluster
// need not be computed again on the binding's behalf.
type openedRules struct {
	rules ruleSet
	// partial: not all that the binding asked for was known, so that no rule was taken away.
	partial bool
}

// askedRules are the rules that a binding asks for, as far as they are known.
type askedRules struct {
	rules    ruleSet
	complete bool
	absent   bool         // the security group of an endpoint is not known at all, so that no rule is taken away
	findings finding.List // why it is not complete
}

// rulesAsked finds the security groups of the endpoints of one binding.
func (r *Reconciler) rulesAsked(ctx context.Context, ref finding.Ref, d targets.Demand) (askedRules, error) {
	a := askedRules{rules: ruleSet{}, complete: !d.Lost && !d.Faulty, absent: d.Lost}
	a.findings.Add(d.Findings...)
	found, err := r.Cloud.Interfaces(ctx, queryFor([]ask{{demand: d}}))
	if err != nil {
		return a, fmt.Errorf("find network interfaces: %w", err)
	}
	for _, n := range d.Needs {
		group, candidates, err := r.groupOf(n, found)
		if err != nil {
			a.complete = false
			a.absent = a.absent || len(candidates) == 0
			a.findings.Add(unclear(ref, err))
			continue
		}
		a.rules.add(group, n.Rules)
	}
	a.findings = a.findings.Sorted()
	return a, nil
}

// openedEnough reports whether a computation for all bindings would change nothing on behalf of this one: the
// rules that are known to be asked for are there, and where one more is not known yet, none would be taken
// away either.
func (r *Reconciler) openedEnough(key Key, a askedRules) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.opened[key]
	switch {
	case !ok || !a.rules.within(o.rules):
		return false
	case a.complete:
		return !o.partial && len(a.rules) == len(o.rules)
	}
	return a.absent || len(a.rules) == len(o.rules)
}

// hasRules reports whether any rules of a binding are remembered.
func (r *Reconciler) hasRules(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.opened[key]
	return ok
}

// noteRuled remembers the rules of a binding that are there, and whether they are all that it asks for.
func (r *Reconciler) noteRuled(key Key, rules ruleSet, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened[key] = openedRules{rules, !all}
}

// forgetRules is for a binding whose rules are about to be taken away.
func (r *Reconciler) forgetRules(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.opened, key)
	r.epoch++
}

// ruleEpoch identifies a time during which no rule was changed by this process and none was forgotten; below
// zero while rules are being changed.
func (r *Reconciler) ruleEpoch() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changing {
		return -1
	}
	return r.epoch
}

// beginRuleChange begins the next epoch, in which rules are being changed until end is called.
func (r *Reconciler) beginRuleChange() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.changing = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changing = false
	}
}

// noteAllRuled remembers the rules of all bindings that a computation has found, so that the first run over
// each of them need not repeat it. It does nothing if the epoch is over, because then the rules may not be
// there any more. A binding with old targets that serve on is left out, as their rules are still to go.
func (r *Reconciler) noteAllRuled(all map[Key]ruleSet, epoch int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changing || r.epoch != epoch {
		return
	}
	for key, rules := range all {
		if !r.serving[key] {
			r.opened[key] = openedRules{rules: rules}
		}
	}
}
