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

// AddOns plans the add-ons of a load balancer: web ACLs and the Shield Advanced protection.
type AddOns struct {
	*draft.Draft
	Live           *observed.LoadBalancer // nil if the load balancer does not exist yet
	WebACL         *string                // ARN of the desired web ACL, empty for none; nil: the association is not changed
	webACLFault    *observed.Fault        // why the ARN of the desired web ACL is unknown
	webACLsPlanned bool                   // planWebACLs was called
}

// Resolve sets WebACL to the ARN of the desired web ACL. Users may specify the web ACL by name. While its ARN is unknown, no
// new load balancer is created, because it would accept requests without the web ACL.
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
		o.webACLFault = got.Fault
	case got.ARN == "":
		o.webACLFault = &observed.Fault{Reason: finding.WebACLNotFound, Message: fmt.Sprintf("no web ACL in this region is named %q", w.Name)}
	default:
		o.WebACL = &got.ARN
		return
	}
	o.Want.Held.Creation = o.Want.Held.Creation || o.Live == nil
}

// Plan adds the steps for the add-ons. These steps are the last steps of a plan, and no other step depends on them.
// Therefore an outage of WAF or Shield delays no other change.
func (o *AddOns) Plan() {
	o.planWebACLs()
	if !o.Want.Held.Creation || o.Live != nil {
		o.planProtection()
	}
}

// planWebACLs adds the steps for web ACLs. Further calls do nothing.
func (o *AddOns) planWebACLs() {
	if o.webACLsPlanned {
		return
	}
	o.webACLsPlanned = true
	if o.webACLFault != nil {
		w := o.Want.LoadBalancer.AddOns.WebACL
		o.reportServiceFault(plan.WebACLAddress, w.Of, plan.SetWebACL{LoadBalancer: plan.LoadBalancerAddress}, *o.webACLFault)
	}
	if o.Want.Held.Creation && o.Live == nil {
		return
	}
	if c := o.Want.LoadBalancer.AddOns.ClassicACL; c != nil && c.ID == "" {
		// AWS admits only one web ACL for each load balancer, either of WAFv2 or of WAF Classic. The current web ACL must be
		// removed before a web ACL of the other kind is associated.
		o.planClassicWebACL()
		o.planWebACL()
		return
	}
	o.planWebACL()
	o.planClassicWebACL()
}

// StepsBeforeListeners plans the web ACLs, and returns the steps that must come before the first listener of a load
// balancer, so that it never accepts requests without its web ACL. It returns none for a load balancer that already has
// listeners.
func (o *AddOns) StepsBeforeListeners() (steps []plan.StepID) {
	if o.Live != nil && len(o.Live.Listeners) > 0 {
		return nil
	}
	o.planWebACLs()
	adds := o.Want.LoadBalancer.AddOns
	if w := adds.WebACL; w != nil && (w.Name != "" || w.ARN != "") && o.IsStepPlanned(plan.NewStepID("associate", plan.WebACLAddress)) {
		steps = append(steps, plan.NewStepID("associate", plan.WebACLAddress))
	}
	if c := adds.ClassicACL; c != nil && c.ID != "" && o.IsStepPlanned(plan.NewStepID("associate", plan.ClassicACLAddress)) {
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
	if have, ok := o.liveAddOn(model.WAFv2, plan.WebACLAddress, w.Of, do); ok && have.ID != do.ARN {
		o.planAssociation(plan.WebACLAddress, do.ARN != "", do, w.Of, plan.Change{Path: "webACL", From: have.ID, To: do.ARN})
	}
}

func (o *AddOns) planClassicWebACL() {
	w := o.Want.LoadBalancer.AddOns.ClassicACL
	if w == nil {
		return
	}
	do := plan.SetClassicACL{LoadBalancer: plan.LoadBalancerAddress, ID: w.ID}
	if have, ok := o.liveAddOn(model.WAFClassic, plan.ClassicACLAddress, w.Of, do); ok && have.ID != w.ID {
		o.planAssociation(plan.ClassicACLAddress, w.ID != "", do, w.Of, plan.Change{Path: "classicWebACL", From: have.ID, To: w.ID})
	}
}

func (o *AddOns) planProtection() {
	w := o.Want.LoadBalancer.AddOns.Shield
	if w == nil {
		return
	}
	do := plan.CreateProtection{LoadBalancer: plan.LoadBalancerAddress, Name: plan.ProtectionName}
	if w.On && !o.hasShieldSubscription(w.Of, do) {
		return
	}
	have, ok := o.liveAddOn(model.ShieldAdvanced, plan.ProtectionAddress, w.Of, do)
	ours := have.Name == plan.ProtectionName || have.Name == plan.LegacyProtectionName
	switch {
	case !ok:
	case w.On && have.ID == "":
		o.planAssociation(plan.ProtectionAddress, true, do, w.Of, plan.Change{Path: "protection", To: do.Name})
	case !w.On && have.ID != "" && ours:
		o.planAssociation(plan.ProtectionAddress, false, plan.DeleteProtection{LoadBalancer: plan.LoadBalancerAddress, ID: have.ID}, w.Of, plan.Change{Path: "protection", From: have.Name})
	}
}

// hasShieldSubscription reports whether the account has a subscription to Shield Advanced.
func (o *AddOns) hasShieldSubscription(of finding.Origin, do plan.Action) bool {
	s := o.Have.Facts.Subscription
	switch {
	case s == nil:
		o.Ask(model.AskSubscription{})
	case s.Fault != nil:
		o.reportServiceFault(plan.ProtectionAddress, of, do, *s.Fault)
	case !s.Active:
		o.Findings.Add(finding.Finding{
			Object: o.EventObject(of.Object), Field: of.Field, Reason: finding.ServiceUnavailable,
			Message: "the account has not subscribed to Shield Advanced, so the load balancer is not protected",
			Fix:     "subscribe the account, or remove the setting",
		})
	default:
		return true
	}
	return false
}

// liveAddOn returns the association of the load balancer with an add-on in AWS. The second result is false if the
// association is not known yet or could not be read.
func (o *AddOns) liveAddOn(to model.AddOn, a plan.Address, of finding.Origin, do plan.Action) (observed.AddOn, bool) {
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
		o.reportServiceFault(a, of, do, *have.Fault)
		return have, false
	}
	return have, true
}

// planAssociation adds the step do, which creates the association at an address or, if on is false, removes the association.
// of is the field or annotation that requests the change.
func (o *AddOns) planAssociation(a plan.Address, on bool, do plan.Action, of finding.Origin, change plan.Change) {
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
		Why: "from " + of.String(), After: after, RequestedBy: []finding.Ref{o.EventObject(of.Object)},
	})
}

// reportServiceFault reports that an AWS service did not answer or refused the call. It also adds a step that waits for the
// next attempt, unless the plan already has a step for the address.
func (o *AddOns) reportServiceFault(a plan.Address, of finding.Origin, do plan.Action, fault observed.Fault) {
	f := finding.Finding{
		Object: o.EventObject(of.Object), Field: of.Field, Reason: fault.Reason, Message: fault.Message,
		Fix: "check the service in the account and region, or remove the setting",
	}
	again := durations.OutageWait
	switch fault.Reason {
	case "":
		f.Reason = finding.ServiceUnavailable
	case finding.AccessDenied:
		f.Fix, f.Severity, again = draft.FaultFix(fault), finding.Error, durations.LongestTransientBackOff
	case finding.WebACLNotFound:
		f.Fix, f.Severity, again = "correct the name, or create the web ACL", finding.Error, durations.MissingWait
	default:
		again = durations.LongestTransientBackOff
	}
	if fault.RetryAfter > 0 {
		again = fault.RetryAfter
	}
	if o.Want.Held.Creation && o.Live == nil {
		f.Blocks = finding.BlocksStack
		f.Message += ", and the load balancer is not created without it"
	} else {
		f.Message += ", so the load balancer keeps its current association"
	}
	if fault.Message != "" {
		o.Findings.Add(f)
	}
	if o.IsStepPlanned(plan.NewStepID("associate", a)) {
		return
	}
	o.Add(plan.Step{
		ID: plan.NewStepID("associate", a), Address: a, Verb: plan.Update, Do: do, Wait: plan.Wait{For: "the next attempt for " + of.Field, RetryAfter: again},
		Why: "from " + of.String(), RequestedBy: []finding.Ref{f.Object},
	})
}
