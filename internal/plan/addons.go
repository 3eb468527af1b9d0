package plan

import (
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// The kinds of what a load balancer is tied to in other services.
const (
	WebACL     ResourceKind = "web-acl"
	ClassicACL ResourceKind = "classic-web-acl"
	Protection ResourceKind = "protection"
)

var (
	webACLAddress     = Address{Kind: WebACL, ID: model.LoadBalancerID}
	classicACLAddress = Address{Kind: ClassicACL, ID: model.LoadBalancerID}
	protectionAddress = Address{Kind: Protection, ID: model.LoadBalancerID}
)

// Names of protections that a controller made. The first is given to new ones; no other protection
// is ever taken away.
const (
	ProtectionName       = "managed by aws-load-balancer-controller"
	legacyProtectionName = "managed by aws-alb-ingress-controller"
)

// SetWebACL ties a load balancer to a web ACL of WAFv2 in place of the one it may have; an empty
// ARN unties it.
type SetWebACL struct {
	LoadBalancer Address
	ARN          string
}

// SetClassicACL does so with a web ACL of WAF Classic, by id.
type SetClassicACL struct {
	LoadBalancer Address
	ID           string
}

// Protect has Shield Advanced protect a load balancer.
type Protect struct {
	LoadBalancer Address
	Name         string
}

// Unprotect takes a protection away.
type Unprotect struct {
	LoadBalancer Address
	ID           string
}

func (SetWebACL) action()     {}
func (SetClassicACL) action() {}
func (Protect) action()       {}
func (Unprotect) action()     {}

// When to look again at what another service of AWS did not answer.
const (
	outageWait  = 30 * time.Second
	missingWait = time.Minute
	deniedWait  = 5 * time.Minute
)

// addOns ties the load balancer of the stack to other services.
type addOns struct {
	*draft
	live       *observed.LoadBalancer // nil if it is yet to be made
	webACL     *string                // resolved; nil: left as it is
	fault      *observed.Fault        // why the desired web ACL is not known
	guardsMade bool                   // its web ACLs are planned
}

// resolve finds the web ACL that is given by name. A new load balancer is not made before it
// is found, as it would serve unguarded.
func (o *addOns) resolve() {
	w := o.want.LoadBalancer.AddOns.WebACL
	if w == nil {
		return
	}
	if w.Name == "" {
		o.webACL = &w.ARN
		return
	}
	q := model.AskWebACL{Name: w.Name}
	got, asked := o.have.Facts.WebACLs[w.Name]
	switch {
	case !asked:
		o.ask(q)
	case got.Fault != nil:
		o.fault = got.Fault
	case got.ARN == "":
		o.fault = &observed.Fault{Reason: finding.WebACLNotFound, Message: fmt.Sprintf("no web ACL of this region is named %s", w.Name)}
	default:
		o.webACL = &got.ARN
		return
	}
	o.want.Held.Creation = o.want.Held.Creation || o.live == nil
}

// plan ties the load balancer to other services. What does not answer there holds up nothing
// else, so these steps come last and nothing depends on them.
func (o *addOns) plan() {
	o.planGuards()
	if !o.want.Held.Creation || o.live != nil {
		o.planProtection()
	}
}

// planGuards ties the load balancer to its web ACLs, once.
func (o *addOns) planGuards() {
	if o.guardsMade {
		return
	}
	o.guardsMade = true
	if o.fault != nil {
		w := o.want.LoadBalancer.AddOns.WebACL
		o.unanswered(webACLAddress, w.Of, SetWebACL{LoadBalancer: loadBalancerAddress}, *o.fault)
	}
	if o.want.Held.Creation && o.live == nil {
		return
	}
	if c := o.want.LoadBalancer.AddOns.ClassicACL; c != nil && c.ID == "" {
		// A load balancer has one web ACL, new or classic: the old one has to go first.
		o.planClassicACL()
		o.planWebACL()
		return
	}
	o.planWebACL()
	o.planClassicACL()
}

// guardFirst returns the steps that the first listener of a load balancer comes after: without the web
// ACL that it is to have, it would serve unguarded. One that has listeners serves already, and goes on.
func (o *addOns) guardFirst() (steps []StepID) {
	if o.live != nil && len(o.live.Listeners) > 0 {
		return nil
	}
	o.planGuards()
	adds := o.want.LoadBalancer.AddOns
	if w := adds.WebACL; w != nil && (w.Name != "" || w.ARN != "") && o.planned(stepID("associate", webACLAddress)) {
		steps = append(steps, stepID("associate", webACLAddress))
	}
	if c := adds.ClassicACL; c != nil && c.ID != "" && o.planned(stepID("associate", classicACLAddress)) {
		steps = append(steps, stepID("associate", classicACLAddress))
	}
	return steps
}

func (o *addOns) planWebACL() {
	if o.webACL == nil {
		return
	}
	w := o.want.LoadBalancer.AddOns.WebACL
	do := SetWebACL{LoadBalancer: loadBalancerAddress, ARN: *o.webACL}
	if have, ok := o.tied(model.WAFv2, webACLAddress, w.Of, do); ok && have.ID != do.ARN {
		o.tie(webACLAddress, do.ARN != "", do, w.Of, Change{Path: "webACL", From: have.ID, To: do.ARN})
	}
}

func (o *addOns) planClassicACL() {
	w := o.want.LoadBalancer.AddOns.ClassicACL
	if w == nil {
		return
	}
	do := SetClassicACL{LoadBalancer: loadBalancerAddress, ID: w.ID}
	if have, ok := o.tied(model.WAFClassic, classicACLAddress, w.Of, do); ok && have.ID != w.ID {
		o.tie(classicACLAddress, w.ID != "", do, w.Of, Change{Path: "classicWebACL", From: have.ID, To: w.ID})
	}
}

func (o *addOns) planProtection() {
	w := o.want.LoadBalancer.AddOns.Shield
	if w == nil {
		return
	}
	do := Protect{LoadBalancer: loadBalancerAddress, Name: ProtectionName}
	if w.On && !o.subscribed(w.Of, do) {
		return
	}
	have, ok := o.tied(model.ShieldPlan, protectionAddress, w.Of, do)
	ours := have.Name == ProtectionName || have.Name == legacyProtectionName
	switch {
	case !ok:
	case w.On && have.ID == "":
		o.tie(protectionAddress, true, do, w.Of, Change{Path: "protection", To: do.Name})
	case !w.On && have.ID != "" && ours:
		o.tie(protectionAddress, false, Unprotect{LoadBalancer: loadBalancerAddress, ID: have.ID}, w.Of, Change{Path: "protection", From: have.Name})
	}
}

// subscribed reports whether protections can be made at all.
func (o *addOns) subscribed(of finding.Origin, do Action) bool {
	s := o.have.Facts.Subscription
	switch {
	case s == nil:
		o.ask(model.AskSubscription{})
	case s.Fault != nil:
		o.unanswered(protectionAddress, of, do, *s.Fault)
	case !s.Active:
		o.found.Add(finding.Finding{
			Object: o.blameable(of.Object), Field: of.Field, Reason: finding.ServiceUnavailable,
			Message: "the account has not subscribed to Shield Advanced, so the load balancer is not protected",
			Fix:     "subscribe the account, or remove the setting",
		})
	default:
		return true
	}
	return false
}

// tied says what the load balancer is tied to; false if that is not known.
func (o *addOns) tied(to model.AddOn, a Address, of finding.Origin, do Action) (observed.AddOn, bool) {
	if o.live == nil {
		return observed.AddOn{}, true
	}
	q := model.AskAddOn{Of: to, ARN: o.live.ARN}
	have, asked := o.have.Facts.AddOns[q.Key()]
	switch {
	case !asked:
		o.ask(q)
		return have, false
	case have.Fault != nil:
		o.unanswered(a, of, do, *have.Fault)
		return have, false
	}
	return have, true
}

func (o *addOns) tie(a Address, on bool, do Action, of finding.Origin, change Change) {
	what, verb := "associate", Create
	if !on {
		what, verb = "dissociate", Delete
	}
	var after []StepID
	if o.live == nil {
		after = []StepID{stepID("create", loadBalancerAddress)}
	}
	o.add(Step{
		ID: stepID(what, a), Address: a, Verb: verb, Do: do, Changes: []Change{change},
		Why: "from " + of.String(), After: after, Blames: []finding.Ref{o.blameable(of.Object)},
	})
}

// unanswered reports that a service could not say what there is, and has it asked again later.
func (o *addOns) unanswered(a Address, of finding.Origin, do Action, fault observed.Fault) {
	f := finding.Finding{
		Object: o.blameable(of.Object), Field: of.Field, Reason: fault.Reason, Message: fault.Message,
		Fix: "check the service in the account and region, or remove the setting",
	}
	again := outageWait
	switch fault.Reason {
	case "":
		f.Reason = finding.ServiceUnavailable
	case finding.AccessDenied:
		f.Fix, f.Severity, again = wayOut(fault), finding.Error, deniedWait
	case finding.WebACLNotFound:
		f.Fix, f.Severity, again = "correct the name, or create the web ACL", finding.Error, missingWait
	default:
		again = deniedWait
	}
	if fault.Again > 0 {
		again = fault.Again
	}
	if o.want.Held.Creation && o.live == nil {
		f.Blocks = finding.BlocksStack
		f.Message += ", and without it the load balancer is not made"
	} else {
		f.Message += ", so that what the load balancer has stays"
	}
	if fault.Message != "" {
		o.found.Add(f)
	}
	if o.planned(stepID("associate", a)) {
		return
	}
	o.add(Step{
		ID: stepID("associate", a), Address: a, Verb: Update, Do: do, Wait: Wait{For: "an answer to " + of.Field, Again: again},
		Why: "from " + of.String(), Blames: []finding.Ref{f.Object},
	})
}
