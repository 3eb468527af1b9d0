package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Replacement
//
// AWS can change neither the scheme nor the type of a load balancer, so another has to take its place. It is
// made beside the old one, the previous load balancer, with target groups of its own, since one can serve a single load
// balancer. Until the new one serves as well, the status shows the old one; then it shows the new one, and
// the old one is deleted when clients have had time to follow. The old one stays as it is meanwhile, but for
// rules of members that leave, and its bindings go on to follow the pods.
//
// How far this has come is seen in AWS alone: which load balancers there are, and two tags (naming). So an
// edit on the way is nothing special: of several load balancers, the one that is as desired is kept, and the
// others are previous load balancers.

// replacement is what a load balancer has to do with those whose place it takes.
type replacement struct {
	// previous load balancers are live load balancers that serve on until clients know the new one.
	predecessors []*observed.LoadBalancer
	// switched reports that the status shows the load balancer itself; otherwise until is what that
	// waits for.
	switched bool
	until    Wait
	// gap is what a new load balancer would need that the old one has, so that the old one goes first.
	gap string
}

// Serving is the load balancer of a resource id that the status shows: the one that takes the place of no
// other and whose place no other has taken, or else the first that takes another's. It is nil if there is
// none.
func Serving(have observed.Stack, resourceID string) *observed.LoadBalancer {
	rank := func(lb *observed.LoadBalancer) int {
		switch {
		case lb.Tags[naming.ReplacedTag] != "":
			return 2
		case lb.Tags[naming.SuccessorTag] != "":
			return 1
		}
		return 0
	}
	var best *observed.LoadBalancer
	for i := range have.LoadBalancers {
		lb := &have.LoadBalancers[i]
		if lb.ResourceID == resourceID && (best == nil || rank(lb) < rank(best)) {
			best = lb
		}
	}
	return best
}

// holdReplacements returns the stack with the schemes of live load balancers that are not replaced. One whose
// type is another cannot have the desired listeners, so everything stays.
func holdReplacements(want model.Stack, have observed.Stack) model.Stack {
	live := Serving(have, model.LoadBalancerID)
	if !want.Held.Replacement || want.LoadBalancer == nil || live == nil {
		return want
	}
	if live.Type != want.LoadBalancer.Type.String() {
		want.Held.Everything = true
		return want
	}
	lb := *want.LoadBalancer
	lb.Scheme, lb.Name = live.Scheme, live.Name
	want.LoadBalancer = &lb
	return want
}

// precede takes a load balancer that is not kept for a previous load balancer, and reports whether it is one. One that
// the status has never shown is not.
func (lb *loadBalancerPlan) precede(have observed.Stack, old observed.LoadBalancer) bool {
	if lb.desired == nil || old.ResourceID != lb.id {
		return false
	}
	if old.Tags[naming.SuccessorTag] != "" && Serving(have, lb.id).ARN != old.ARN {
		return false
	}
	if lb.live == nil {
		if lb.gap = cmp.Or(lb.gap, lb.excludes(old, have)); lb.gap != "" {
			return false
		}
	}
	lb.predecessors = append(lb.predecessors, &old)
	return true
}

// excludes is what two load balancers cannot have at a time, and both would; empty if there is nothing.
func (lb *loadBalancerPlan) excludes(old observed.LoadBalancer, have observed.Stack) string {
	w := lb.desired
	if lb.named() && w.Name == old.Name {
		return fmt.Sprintf("the name %q", w.Name)
	}
	if shared := lb.sharedAddress(old); shared != "" {
		return shared
	}
	used := map[string]bool{}
	eachForward(old.Listeners, func(arn string) { used[arn] = true })
	shared := ""
	note := func(as []model.Action) {
		f := forwardOf(as)
		if f == nil {
			return
		}
		for _, g := range f.Groups {
			if arn := cmp.Or(g.Group.ARN, have.Facts.TargetGroups[g.Group.Name]); arn != "" && used[arn] && shared == "" {
				shared = fmt.Sprintf("target group %q", cmp.Or(g.Group.Name, arn))
			}
		}
	}
	for _, l := range w.Listeners {
		note(l.Default)
		for _, r := range l.Rules {
			note(r.Actions)
		}
	}
	return shared
}

// sharedAddress is an address that is asked for and that another load balancer has; empty if there is none.
func (lb *loadBalancerPlan) sharedAddress(old observed.LoadBalancer) string {
	w := lb.desired
	for _, a := range w.Addresses {
		if slices.Contains(old.Addresses, a) {
			return fmt.Sprintf("the elastic address %q", a)
		}
	}
	for _, m := range old.Mappings {
		switch {
		case m.PrivateIPv4 != "" && slices.Contains(w.PrivateIPv4, m.PrivateIPv4):
			return fmt.Sprintf("the private address %q", m.PrivateIPv4)
		case m.IPv6 != "" && slices.Contains(w.IPv6, m.IPv6):
			return fmt.Sprintf("the IPv6 address %q", m.IPv6)
		case m.SourceNATPrefix != "" && slices.Contains(w.SourceNATPrefixes, m.SourceNATPrefix):
			return fmt.Sprintf("the source NAT prefix %q", m.SourceNATPrefix)
		}
	}
	return ""
}

// named reports whether the name is asked for, so that no other will do.
func (lb *loadBalancerPlan) named() bool { return lb.desired.Origins["name"] != finding.Origin{} }

// freeName is the name for a new load balancer.
func (lb *loadBalancerPlan) freeName(have observed.Stack) string {
	if lb.named() {
		return lb.desired.Name
	}
	return firstFree(lb.desired.Name, func(name string) bool {
		return slices.ContainsFunc(have.LoadBalancers, func(o observed.LoadBalancer) bool { return o.Name == name })
	})
}

// firstFree is the first of the names for which a generated name stands that is not taken.
func firstFree(name string, taken func(string) bool) string {
	for n := 1; n < naming.Alternatives; n++ {
		if free := naming.Alternative(name, n); !taken(free) {
			return free
		}
	}
	return naming.Alternative(name, naming.Alternatives)
}

// serving is the previous load balancer that the status shows; nil if there is none.
func (lb *loadBalancerPlan) serving(have observed.Stack) *observed.LoadBalancer {
	if len(lb.predecessors) == 0 {
		return nil
	}
	shown := Serving(have, lb.id)
	for _, old := range lb.predecessors {
		if old.ARN == shown.ARN {
			return old
		}
	}
	return lb.predecessors[0]
}

// unlike names in what a live load balancer differs from the desired one that AWS cannot change.
func (lb *loadBalancerPlan) unlike(old *observed.LoadBalancer) string {
	if old.Type != lb.desired.Type.String() {
		return "type"
	}
	return "scheme"
}

// marked adds to the desired tags those that say how far the replacement is. Steps of their own change these.
func (lb *loadBalancerPlan) marked(tags Tags) Tags {
	for _, k := range []string{naming.SuccessorTag, naming.ReplacedTag} {
		if v, ok := lb.live.Tags[k]; ok {
			tags[k] = v
		}
	}
	withRoom(tags)
	return tags
}

// withRoom removes the last tags of users by key while there are more than AWS accepts, and returns their keys.
// The tags of a replacement are needed to finish it; the user's come back when these go.
func withRoom(tags Tags) (removed []string) {
	keys := slices.Sorted(maps.Keys(tags))
	excess := tagsOverLimit(tags, nil)
	for i := len(keys) - 1; i >= 0 && excess > 0; i-- {
		if k := keys[i]; !naming.ReservedTag(k) && !strings.HasPrefix(k, "aws:") {
			delete(tags, k)
			removed = append(removed, k)
			excess--
		}
	}
	return removed
}

// shows returns the ARN of the load balancer that the status shows in place of this one; empty if it shows
// this one.
func (lb *loadBalancerPlan) shows(have observed.Stack) string {
	old := lb.serving(have)
	if old == nil || lb.switched {
		return ""
	}
	return old.ARN
}

// eachForward calls f for each target group to which listeners forward, by ARN.
func eachForward(ls []observed.Listener, f func(arn string)) {
	note := func(as []model.Action) {
		if to := forwardOf(as); to != nil {
			for _, g := range to.Groups {
				if g.Group.ARN != "" {
					f(g.Group.ARN)
				}
			}
		}
	}
	for _, l := range ls {
		note(l.Default)
		for _, r := range l.Rules {
			note(r.Actions)
		}
	}
}

// planSwitch has the status show a load balancer instead of its previous load balancers, once it serves as they do. made
// are the steps that bring it about.
func (b *builder) planSwitch(lb *loadBalancerPlan, made []Step) {
	lb.switched = true
	old := lb.serving(b.have)
	if old != nil && lb.live != nil && Serving(b.have, lb.id).ARN != lb.live.ARN {
		if lb.until = b.readiness(lb, old, made); lb.until.For != "" {
			lb.switched = false
			return
		}
	}
	if lb.live == nil {
		lb.switched = old == nil
		lb.until = Wait{For: "the new load balancer to be made"}
		return
	}
	var marks []StepID
	for _, o := range lb.predecessors {
		if o.Tags[naming.ReplacedTag] != "" {
			continue
		}
		a := Address{Kind: LoadBalancer, ID: o.ARN}
		since := b.have.Facts.Now.UTC().Format(time.RFC3339)
		tags := Tags{naming.ReplacedTag: since}
		for k, v := range o.Tags {
			if !strings.HasPrefix(k, "aws:") { // these do not count
				tags[k] = v
			}
		}
		remove := withRoom(tags)
		changes := []Change{{Path: "tags." + naming.ReplacedTag, To: since}}
		for _, k := range remove {
			changes = append(changes, Change{Path: "tags." + k, From: o.Tags[k]})
		}
		marks = append(marks, b.add(Step{
			ID: stepID("replaced", a), Address: a, Verb: Update,
			Do:      SetTags{Of: a, Put: Tags{naming.ReplacedTag: since}, Remove: remove, RemoveFirst: len(remove) > 0},
			Changes: changes,
			Why:     "the status shows " + lb.live.Name + " from now on", Impact: ReplaceImpact, Blames: b.members(),
		}))
	}
	b.unmark(lb, marks)
}

// unmark takes the tags of a replacement off a load balancer that the status shows.
func (b *builder) unmark(lb *loadBalancerPlan, after []StepID) {
	var remove []string
	var changes []Change
	for _, k := range []string{naming.ReplacedTag, naming.SuccessorTag} {
		if v := lb.live.Tags[k]; v != "" {
			remove = append(remove, k)
			changes = append(changes, Change{Path: "tags." + k, From: v})
		}
	}
	if len(remove) == 0 {
		return
	}
	a := lb.address()
	b.add(Step{
		ID: stepID("serving", a), Address: a, Verb: Update, Do: SetTags{Of: a, Remove: remove}, Changes: changes,
		Why: "the status shows it", After: after, Blames: b.members(),
	})
}

// readiness is what a new load balancer lacks to serve as its previous load balancer does; a zero Wait if nothing.
func (b *builder) readiness(lb *loadBalancerPlan, old *observed.LoadBalancer, made []Step) Wait {
	live := lb.live
	if live.State == observed.Provisioning || live.State == "failed" {
		b.ask(model.AskState{ARN: live.ARN})
		wait := b.wait("active "+live.ARN, "the new load balancer to be active", longestWait)
		return Wait{For: "the new load balancer to be active", Again: max(wait.Again, 2*firstPoll)}
	}
	if lacks := lacks(lb, old, made); lacks != "" {
		// What AWS refuses for one member must not keep the others from theirs.
		if wait := b.wait("complete "+live.ARN, "the new load balancer to have "+lacks, longestWait); wait.For != "" {
			return wait
		}
		b.found.Add(finding.Finding{
			Object: b.blameable(finding.Ref{}), Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancer %q takes the place of %q after %s although it does not have %s yet", live.Name, old.Name, longestWait, lacks),
			Fix:     "correct what the other findings name",
		})
	}
	pending := b.unready(lb, old)
	if len(pending) == 0 {
		return Wait{}
	}
	deadline := b.traffic.targetsDeadline(pending)
	wait := b.wait("serve "+live.ARN, "healthy targets in "+refTexts(pending), deadline)
	if wait.For == "" {
		b.expired(finding.Origin{}, b.members(), "the load balancer that takes the place of "+old.Name, pending, deadline)
	}
	return wait
}

// lacks is what a new load balancer does not have yet; empty if it is complete.
func lacks(lb *loadBalancerPlan, old *observed.LoadBalancer, made []Step) string {
	for _, l := range lb.listeners {
		if l.live == nil && slices.ContainsFunc(old.Listeners, func(o observed.Listener) bool { return o.Port == l.desired.Port }) {
			return fmt.Sprintf("a listener on port %d", l.desired.Port)
		}
	}
	if slices.ContainsFunc(made, concerns) {
		return "all that was planned for it"
	}
	return ""
}

// concerns reports whether a step changes what a new load balancer does.
func concerns(s Step) bool {
	if s.Verb == Delete {
		return false
	}
	switch s.Address.Kind {
	case SecurityGroup, BackendGroup, TargetGroup, LoadBalancer, Listener, Rule, Binding, WebACL, ClassicACL, Protection, ALBTarget:
		return true
	}
	return false
}

// unready are the target groups of a new load balancer that have no healthy targets while those of its
// previous load balancer for the same backend have.
func (b *builder) unready(lb *loadBalancerPlan, old *observed.LoadBalancer) []model.GroupRef {
	before := map[string][]string{}
	eachForward(old.Listeners, func(arn string) {
		if id := b.idOf[arn]; id != "" && !slices.Contains(before[id], arn) {
			before[id] = append(before[id], arn)
		}
	})
	var out []model.GroupRef
	seen := map[string]bool{}
	eachForward(lb.live.Listeners, func(arn string) {
		id := b.idOf[arn]
		if seen[arn] || len(before[id]) == 0 {
			return
		}
		seen[arn] = true
		if !b.traffic.ready(arn) && b.traffic.serving(before[id]) {
			out = append(out, model.GroupRef{ID: id})
		}
	})
	return out
}

// planPredecessors deletes load balancers whose place others have taken, when clients have had time to
// follow. One in front of another goes before that.
func (b *builder) planPredecessors() {
	var frontend Wait
	for _, lb := range []*loadBalancerPlan{&b.frontend.loadBalancerPlan, &b.loadBalancerPlan} {
		for _, old := range lb.predecessors {
			wait := b.deletionWait(lb, old)
			if wait.For == "" && !lb.isFrontend() {
				wait = frontend
			}
			if wait.For == "" {
				b.deleteLoadBalancer(*old, "clients have had time to resolve "+lb.desired.Name, b.detachEverywhere(old.ARN, nil))
				continue
			}
			if lb.isFrontend() {
				frontend = wait
			}
			b.keepServing(lb, old)
			a := Address{Kind: LoadBalancer, ID: old.ARN}
			b.add(Step{
				ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteLoadBalancer{ARN: old.ARN},
				Changes: []Change{{Path: "name", From: old.Name}}, Why: "another load balancer replaces it",
				Impact: ReplaceImpact, Wait: wait, Blames: b.members(),
			})
		}
		b.reportReplacement(lb)
	}
}

// deletionWait is what the deletion of a previous load balancer waits for.
func (b *builder) deletionWait(lb *loadBalancerPlan, old *observed.LoadBalancer) Wait {
	if !lb.switched {
		return lb.until
	}
	rest := max(b.opt.DeletionDelay, time.Second)
	if since, err := time.Parse(time.RFC3339, old.Tags[naming.ReplacedTag]); err == nil {
		rest = min(b.opt.DeletionDelay, since.Add(b.opt.DeletionDelay).Sub(b.have.Facts.Now))
	}
	if rest <= 0 {
		return Wait{}
	}
	return Wait{For: "clients to follow DNS to the new load balancer", Again: rest}
}

// keepServing keeps what a previous load balancer forwards to. Rules of members that leave go at once.
func (b *builder) keepServing(lb *loadBalancerPlan, old *observed.LoadBalancer) {
	leaving := map[finding.Ref]bool{}
	for _, m := range b.want.Leaving {
		leaving[m.Ref] = true
	}
	left := func(as []model.Action) bool {
		owners := b.ownersOf(as)
		return len(owners) > 0 && !slices.ContainsFunc(owners, func(r finding.Ref) bool { return !leaving[r] })
	}
	for i := range old.Listeners {
		l := listenerPlan{lb: lb, live: &old.Listeners[i]}
		if len(leaving) > 0 && old.Type == model.Application.String() {
			l.strangeDefault = left(l.live.Default)
			for _, r := range l.live.Rules {
				if left(r.Actions) {
					l.foreignMembers = append(l.foreignMembers, r)
				}
			}
			b.listenerPlanner(&l, nil).removeForeignMembers(nil)
		}
		stays := l.staying()
		b.keep(stays.Default)
		for _, r := range stays.Rules {
			b.keep(r.Actions)
		}
	}
}

// reportReplacement reports that a load balancer is being replaced.
func (b *builder) reportReplacement(lb *loadBalancerPlan) {
	old := lb.serving(b.have)
	if lb.gap != "" && len(b.want.Members) > 0 {
		b.found.Add(finding.Finding{
			Object: b.want.Members[0].Ref, Reason: finding.ReplacedWithGap, Severity: finding.Warning,
			Message: fmt.Sprintf("two load balancers cannot both have %s; the live one is deleted before its successor is made, and nothing serves meanwhile", lb.gap),
			Fix:     "to replace a load balancer without a gap, change or remove that setting in the same edit",
		})
	}
	if old == nil || len(b.want.Members) == 0 {
		return
	}
	b.found.Add(finding.Finding{
		Object: b.want.Members[0].Ref, Reason: finding.LoadBalancerReplaced,
		Message: fmt.Sprintf("load balancer %q cannot change its %s; a new load balancer replaces it, the status shows the new one when it serves, and %q is deleted %s later",
			old.Name, lb.unlike(old), old.Name, b.opt.DeletionDelay),
		Fix: "to go back without a new load balancer, restore the former value before the old one is deleted",
	})
}
