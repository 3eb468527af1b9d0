package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// run is one reconcile.
type run struct {
	e   *Engine
	out *Outcome
	v   *cluster.View
	did []string // the steps that were carried out, as text
}

// converge drafts and applies. Where AWS refuses the wish of one member, that wish is held and the
// rest goes on; where the plan turns out to stand on an old view, it is made anew.
func (r *run) converge(ctx context.Context, stack model.Stack, found finding.List) error {
	var rejected finding.List
	options := r.e.Options
	for n := 0; ; n++ {
		engine := *r.e
		engine.Options = options
		engine.Options.Unsettled = r.e.routes.unsettled(r.out.ID, r.e.now(), options.Propagation)
		d, err := engine.draft(ctx, r.v, stack, found)
		if err != nil {
			r.out.FailedIn = Observing
			return err
		}
		r.out.Stack, r.out.Plan = d.Stack, d.Plan
		if d.Stack.Describe {
			r.out.Document = engine.Describe(d)
		}
		r.out.Findings = append(slices.Clone(d.Findings), rejected...).Sorted()
		r.out.DNSName = cmp.Or(dnsName(d, d.Plan.LoadBalancer), r.out.DNSName)
		r.out.FrontDNSName = cmp.Or(dnsName(d, d.Plan.Front), r.out.FrontDNSName)
		r.out.Failed, r.out.RetryAfter = nil, 0
		start := r.e.now()
		r.assume(d)
		err = r.apply(ctx, d.Plan)
		r.e.phase(stack.ID.Kind, Applying, start)
		if err != nil {
			r.out.FailedIn = Applying
			return err
		}
		if r.out.Done && stack.Empty() && r.e.Secrets != nil {
			r.e.Secrets.Keep(r.out.ID, nil)
		}
		again := false
		for _, f := range r.out.Failed {
			switch f.Class {
			case Gone, Conflict:
				again = true
			case Quota:
				if !options.Tight && isRule(f.Step) {
					options.Tight, again = true, true
				}
			case Invalid:
				if next, ok := hold(stack, f.Step); ok {
					rejected.Add(findings(f, finding.BlocksRule)...)
					stack, again = next, true
				}
			}
		}
		if !again || n == maxReplans {
			if len(rejected) > 0 {
				r.retry(patience)
			}
			if d.Lacking {
				r.retry(lacking)
			}
			if d.Plan.Again > 0 {
				r.retry(d.Plan.Again)
			}
			r.settle()
			r.slowDown()
			return nil
		}
	}
}

// dnsName is that of the live load balancer at an address: the one that the plan keeps, or else the
// one whose place will be taken.
func dnsName(d Draft, a plan.Address) string {
	live := d.Have.Live(a.ID)
	for i := range d.Have.LoadBalancers {
		if d.Have.LoadBalancers[i].ARN == d.Plan.Known[a] {
			live = &d.Have.LoadBalancers[i]
		}
	}
	if live == nil {
		return ""
	}
	return live.DNSName
}

// apply carries out the steps of a plan that have nothing to wait for. A failed step stops those
// that need it and no others.
func (r *run) apply(ctx context.Context, p plan.Plan) error {
	known := maps.Clone(p.Known)
	done := map[plan.StepID]bool{}
	again := time.Duration(0) // 0: nothing waits
	wait := func(due time.Duration) {
		if again == 0 || due < again {
			again = due
		}
	}
	for _, s := range p.Steps {
		if s.Wait != "" {
			wait(cmp.Or(s.Again, polling))
			continue
		}
		if d := r.e.past.holds(r.out.Stack, s.Do, r.e.now()); d > 0 {
			wait(d)
			continue
		}
		if slices.ContainsFunc(s.After, func(id plan.StepID) bool { return !done[id] }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.e.fence(); err != nil {
			return err
		}
		start := r.e.now()
		res, err := r.step(ctx, s, known)
		r.e.phase(p.Stack.Kind, phaseOf(s), start)
		if r.e.Stepped != nil {
			r.e.Stepped(p.Stack, s, res, err)
		}
		if err != nil {
			c := r.class(s, err)
			if c == Fenced {
				return err
			}
			r.out.Failed = append(r.out.Failed, FailedStep{Step: s, Class: c, Err: err})
			continue
		}
		done[s.ID] = true
		r.out.Changed = true
		r.did = append(r.did, fmt.Sprint(s.ID, s.Changes))
		r.give(s, res, known)
		if _, ok := s.Do.(plan.ClaimFinalizer); ok {
			r.e.past.made(r.out.Stack, r.e.now())
		}
		if res.ID != "" {
			known[s.Address] = res.ID
		}
		switch {
		case res.DNSName == "":
		case s.Address == p.LoadBalancer:
			r.out.DNSName = res.DNSName
		case s.Address == p.Front:
			r.out.FrontDNSName = res.DNSName
		}
	}
	r.out.RetryAfter = again
	r.out.Done = again == 0 && p.Again == 0 && len(r.out.Failed) == 0
	return nil
}

// phaseOf is the name under which a step is measured.
func phaseOf(s plan.Step) Phase {
	switch s.Do.(type) {
	case plan.ClaimFinalizer:
		return "claim"
	case plan.ReleaseFinalizer:
		return "release"
	}
	return Phase(s.Address.Kind)
}

func (r *run) step(ctx context.Context, s plan.Step, known plan.Known) (plan.Result, error) {
	var res plan.Result
	var err error
	if plan.InKubernetes(s.Do) {
		res, err = r.e.Cluster.Apply(ctx, r.out.ID, s, known)
	} else {
		res, err = r.e.Cloud.Apply(ctx, r.out.ID, s, known)
	}
	if plan.Reroutes(s.Do) {
		// Also after an error: the answer may be lost and the effect be there.
		r.e.routes.note(r.out.ID, r.e.now(), r.e.Options.Propagation)
	}
	if err != nil {
		return res, fmt.Errorf("%s%w", attempted(s), err)
	}
	return res, nil
}

func (r *run) class(s plan.Step, err error) Class {
	if errors.Is(err, errStopped) {
		return Fenced
	}
	if plan.InKubernetes(s.Do) {
		return r.e.Cluster.Class(err)
	}
	return r.e.Cloud.Class(err)
}

// slowDown sees to it that a change which AWS does not keep is not made every few seconds for ever.
func (r *run) slowDown() {
	wait := r.e.repeats.count(r.out.ID, strings.Join(r.did, "; "))
	if wait == 0 || r.out.RetryAfter == 0 {
		return
	}
	r.out.RetryAfter = max(r.out.RetryAfter, wait)
	for _, m := range r.out.Stack.Members {
		r.out.Findings.Add(finding.Finding{
			Object: m.Ref, Reason: finding.CallFailed, Severity: finding.Warning,
			Message: "AWS shows something else again and again after the same change: " + r.did[0],
			Fix:     "look for somebody else who changes the load balancer; if there is nobody, report this",
		})
	}
	r.out.Findings = r.out.Findings.Sorted()
}

// retry looks again after d at the latest.
func (r *run) retry(d time.Duration) {
	if r.out.RetryAfter == 0 || d < r.out.RetryAfter {
		r.out.RetryAfter = d
	}
}

// settle turns what failed at last into findings, and says when to look again.
func (r *run) settle() {
	inRow, wait := r.e.waits.count(r.out.ID, r.out.Failed, r.out.Changed)
	for _, f := range r.out.Failed {
		switch f.Class {
		case InUse, NotReady:
			r.retry(wait)
			if inRow >= worthTelling {
				r.out.Findings.Add(findings(f, finding.BlocksNothing)...)
			}
		case Invalid, Denied, Quota:
			if plan.InKubernetes(f.Step.Do) {
				r.retry(lacking) // it costs no call to AWS, and a definition may be on its way back
			} else {
				r.retry(patience)
			}
			r.out.Findings.Add(findings(f, finding.BlocksNothing)...)
		case Gone, Conflict:
			// It was planned anew again and again, so it is no old view.
			r.retry(lacking)
			r.out.Findings.Add(findings(f, finding.BlocksNothing)...)
		default:
			// Throttled and unknown: the queue's back-off decides, unless the error knows better.
			if d := turn(f.Err); d > 0 {
				r.retry(d)
				continue
			}
			if f.Class == Unknown {
				r.out.Findings.Add(findings(f, finding.BlocksNothing)...)
			}
			r.out.Err, r.out.FailedIn = errors.Join(r.out.Err, f.Err), Applying
		}
	}
	r.out.Findings = r.out.Findings.Sorted()
}

// turn is when a call that was not sent, because its pace is used up, would have its turn; zero if
// the error does not say.
func turn(err error) time.Duration {
	var paced interface{ RetryAfter() time.Duration }
	if errors.As(err, &paced) {
		return paced.RetryAfter()
	}
	return 0
}

// findings blames those whose wish a failed step was.
func findings(f FailedStep, reach finding.Reach) finding.List {
	reason, fix := finding.RejectedByAWS, "correct the value that AWS names"
	switch f.Class {
	case Unknown, InUse, NotReady:
		reason, fix = finding.CallFailed, "it is tried again; if it does not pass, see what the message names"
	case Denied:
		reason, fix = finding.AccessDenied, "add the action to the controller's IAM policy"
		if plan.InKubernetes(f.Step.Do) {
			fix = "give the controller the right, or change the policy of the cluster that refuses"
		}
	case Quota:
		reason, fix = finding.QuotaReached, "ask AWS for a higher quota, or remove what is not needed"
	}
	if plan.InKubernetes(f.Step.Do) && f.Class != Denied {
		reason, fix = finding.CallFailed, "it is tried again; if it does not pass, correct what the API server names"
		if f.Class == Gone {
			fix = "it is tried again; see that the custom resource definitions are installed and the namespace is there"
		}
	}
	// The edge may know the reason better than the class tells.
	var known interface{ Reason() finding.Reason }
	if errors.As(f.Err, &known) && known.Reason() != "" {
		reason, fix = known.Reason(), explanation(known.Reason()).WayOut
	}
	message := strings.TrimPrefix(f.Err.Error(), attempted(f.Step)) // the field of the finding says it
	if do, ok := f.Step.Do.(plan.ChangeIngress); ok && f.Class == Quota {
		message += fmt.Sprintf("; the group would have %d rules", do.Total)
		fix = "give fewer inbound-cidrs or listen-ports, name a prefix list instead, or ask AWS for a higher quota"
	}
	var out finding.List
	for _, ref := range f.Step.Blames {
		out.Add(finding.Finding{
			Object: ref, Field: string(f.Step.Address.Kind), Reason: reason, Severity: finding.Error,
			Message: message, Fix: fix, Blocks: reach,
		})
	}
	return out
}

// attempted is how the error of a step begins.
func attempted(s plan.Step) string { return fmt.Sprintf("%s %s: ", s.Verb, s.Address) }

func explanation(r finding.Reason) finding.Explanation {
	for _, e := range finding.Reasons {
		if e.Reason == r {
			return e
		}
	}
	return finding.Explanation{Reason: r}
}
