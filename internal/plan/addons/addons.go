package addons

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// AddOns ties the load balancer of the stack to other services.
type AddOns struct {
	*draft.Draft
	Live       *observed.LoadBalancer // nil if it is yet to be made
	WebACL     *string                // resolved; nil: left as it is
	fault      *observed.Fault        // why the desired web ACL is not known
	guardsMade bool                   // its web ACLs are planned
}

// Resolve finds the web ACL that is given by name. A new load balancer is not made before it
// is found, as it would serve unguarded.
func (o *AddOns) Resolve() {
	w := o.Want.LoadBalancer.AddOns.WebACL
	if w == nil {
		return
	}
	if w.Name == "" {
		o.WebACL = &w.ARN
		return
	}
	q := model.AskWebACL{Name: w.Name}
	got, asked := o.Have.Facts.WebACLs[w.Name]
	switch {
	case !asked:
		o.Ask(q)
	case got.Fault != nil:
		o.fault = got.Fault
	case got.ARN == "":
		o.fault = &observed.Fault{Reason: finding.WebACLNotFound, Message: fmt.Sprintf("no web ACL of this region is named %s", w.Name)}
	default:
		o.WebACL = &got.ARN
		return
	}
	o.Want.Held.Creation = o.Want.Held.Creation || o.Live == nil
}

// Plan ties the load balancer to other services. What does not answer there holds up nothing
// else, so these steps come last and nothing depends on them.
func (o *AddOns) Plan() {
	o.planGuards()
	if !o.Want.Held.Creation || o.Live != nil {
		o.planProtection()
	}
}

// planGuards ties the load balancer to its web ACLs, once.
func (o *AddOns) planGuards() {
	if o.guardsMade {
		return
	}
	o.guardsMade = true
	if o.fault != nil {
		w := o.Want.LoadBalancer.AddOns.WebACL
		o.unanswered(plan.WebACLAddress, w.Of, plan.SetWebACL{LoadBalancer: plan.LoadBalancerAddress}, *o.fault)
	}
	if o.Want.Held.Creation && o.Live == nil {
		return
	}
	if c := o.Want.LoadBalancer.AddOns.ClassicACL; c != nil && c.ID == "" {
		// A load balancer has one web ACL, new or classic: the old one has to go first.
		o.planClassicACL()
		o.planWebACL()
		return
	}
	o.planWebACL()
	o.planClassicACL()
}

// GuardFirst returns the steps that the first listener of a load balancer comes after: without the web
// ACL that it is to have, it would serve unguarded. One that has listeners serves already, and goes on.
func (o *AddOns) GuardFirst() (steps []plan.StepID) {
	if o.Live != nil && len(o.Live.Listeners) > 0 {
		return nil
	}
	o.planGuards()
	adds := o.Want.LoadBalancer.AddOns
	if w := adds.WebACL; w != nil && (w.Name != "" || w.ARN != "") && o.Planned(plan.NewStepID("associate", plan.WebACLAddress)) {
		steps = append(steps, plan.NewStepID("associate", plan.WebACLAddress))
	}
	if c := adds.ClassicACL; c != nil && c.ID != "" && o.Planned(plan.NewStepID("associate", plan.ClassicACLAddress)) {
		steps = append(steps, plan.NewStepID("associate", plan.ClassicACLAddress))
	}
	return steps
}

func (o *AddOns) planWebACL() {
	if o.WebACL == nil {
		return
	}
	w := o.Want.LoadBalancer.AddOns.WebACL
	do := plan.SetWebACL{LoadBalancer: plan.LoadBalancerAddress, ARN: *o.WebACL}
	if have, ok := o.tied(model.WAFv2, plan.WebACLAddress, w.Of, do); ok && have.ID != do.ARN {
		o.tie(plan.WebACLAddress, do.ARN != "", do, w.Of, plan.Change{Path: "webACL", From: have.ID, To: do.ARN})
	}
}

func (o *AddOns) planClassicACL() {
	w := o.Want.LoadBalancer.AddOns.ClassicACL
	if w == nil {
		return
	}
	do := plan.SetClassicACL{LoadBalancer: plan.LoadBalancerAddress, ID: w.ID}
	if have, ok := o.tied(model.WAFClassic, plan.ClassicACLAddress, w.Of, do); ok && have.ID != w.ID {
		o.tie(plan.ClassicACLAddress, w.ID != "", do, w.Of, plan.Change{Path: "classicWebACL", From: have.ID, To: w.ID})
	}
}

func (o *AddOns) planProtection() {
	w := o.Want.LoadBalancer.AddOns.Shield
	if w == nil {
		return
	}
	do := plan.Protect{LoadBalancer: plan.LoadBalancerAddress, Name: plan.ProtectionName}
	if w.On && !o.subscribed(w.Of, do) {
		return
	}
	have, ok := o.tied(model.ShieldPlan, plan.ProtectionAddress, w.Of, do)
	ours := have.Name == plan.ProtectionName || have.Name == plan.LegacyProtectionName
	switch {
	case !ok:
	case w.On && have.ID == "":
		o.tie(plan.ProtectionAddress, true, do, w.Of, plan.Change{Path: "protection", To: do.Name})
	case !w.On && have.ID != "" && ours:
		o.tie(plan.ProtectionAddress, false, plan.Unprotect{LoadBalancer: plan.LoadBalancerAddress, ID: have.ID}, w.Of, plan.Change{Path: "protection", From: have.Name})
	}
}

// subscribed reports whether protections can be made at all.
func (o *AddOns) subscribed(of finding.Origin, do plan.Action) bool {
	s := o.Have.Facts.Subscription
	switch {
	case s == nil:
		o.Ask(model.AskSubscription{})
	case s.Fault != nil:
		o.unanswered(plan.ProtectionAddress, of, do, *s.Fault)
	case !s.Active:
		o.Found.Add(finding.Finding{
			Object: o.Blameable(of.Object), Field: of.Field, Reason: finding.ServiceUnavailable,
			Message: "the account has not subscribed to Shield Advanced, so the load balancer is not protected",
			Fix:     "subscribe the account, or remove the setting",
		})
	default:
		return true
	}
	return false
}

// tied returns what the load balancer is tied to; false if that is not known.
func (o *AddOns) tied(to model.AddOn, a plan.Address, of finding.Origin, do plan.Action) (observed.AddOn, bool) {
	if o.Live == nil {
		return observed.AddOn{}, true
	}
	q := model.AskAddOn{Of: to, ARN: o.Live.ARN}
	have, asked := o.Have.Facts.AddOns[q.Key()]
	switch {
	case !asked:
		o.Ask(q)
		return have, false
	case have.Fault != nil:
		o.unanswered(a, of, do, *have.Fault)
		return have, false
	}
	return have, true
}

func (o *AddOns) tie(a plan.Address, on bool, do plan.Action, of finding.Origin, change plan.Change) {
	what, verb := "associate", plan.Create
	if !on {
		what, verb = "dissociate", plan.Delete
	}
	var after []plan.StepID
	if o.Live == nil {
		after = []plan.StepID{plan.NewStepID("create", plan.LoadBalancerAddress)}
	}
	o.Add(plan.Step{
		ID: plan.NewStepID(what, a), Address: a, Verb: verb, Do: do, Changes: []plan.Change{change},
		Why: "from " + of.String(), After: after, Blames: []finding.Ref{o.Blameable(of.Object)},
	})
}

// unanswered reports that a service could not say what there is, and has it asked again later.
func (o *AddOns) unanswered(a plan.Address, of finding.Origin, do plan.Action, fault observed.Fault) {
	f := finding.Finding{
		Object: o.Blameable(of.Object), Field: of.Field, Reason: fault.Reason, Message: fault.Message,
		Fix: "check the service in the account and region, or remove the setting",
	}
	again := durations.OutageWait
	switch fault.Reason {
	case "":
		f.Reason = finding.ServiceUnavailable
	case finding.AccessDenied:
		f.Fix, f.Severity, again = draft.FixOf(fault), finding.Error, durations.DeniedWait
	case finding.WebACLNotFound:
		f.Fix, f.Severity, again = "correct the name, or create the web ACL", finding.Error, durations.MissingWait
	default:
		again = durations.DeniedWait
	}
	if fault.Again > 0 {
		again = fault.Again
	}
	if o.Want.Held.Creation && o.Live == nil {
		f.Blocks = finding.BlocksStack
		f.Message += ", and without it the load balancer is not made"
	} else {
		f.Message += ", so that what the load balancer has stays"
	}
	if fault.Message != "" {
		o.Found.Add(f)
	}
	if o.Planned(plan.NewStepID("associate", a)) {
		return
	}
	o.Add(plan.Step{
		ID: plan.NewStepID("associate", a), Address: a, Verb: plan.Update, Do: do, Wait: plan.Wait{For: "an answer to " + of.Field, RetryAfter: again},
		Why: "from " + of.String(), Blames: []finding.Ref{f.Object},
	})
}
