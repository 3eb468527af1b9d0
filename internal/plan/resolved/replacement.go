package resolved

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
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
	Previous []*observed.LoadBalancer
	// Switched reports that the status shows the load balancer itself; otherwise until is what that
	// waits for.
	Switched   bool
	SwitchWait plan.Wait
	// Gap is what a new load balancer would need that the old one has, so that the old one goes first.
	Conflict string
}

// Precede takes a load balancer that is not kept for a previous load balancer, and reports whether it is one. One that
// the status has never shown is not.
func (lb *LoadBalancer) AddPrevious(have observed.Stack, old observed.LoadBalancer) bool {
	if lb.Desired == nil || old.ResourceID != lb.ID {
		return false
	}
	if old.Tags[naming.SuccessorTag] != "" && plan.ShownLoadBalancer(have, lb.ID).ARN != old.ARN {
		return false
	}
	if lb.Live == nil {
		if lb.Conflict = cmp.Or(lb.Conflict, lb.conflictWith(old, have)); lb.Conflict != "" {
			return false
		}
	}
	lb.Previous = append(lb.Previous, &old)
	return true
}

// conflictWith returns what two load balancers cannot have at a time, and both would; empty if there is nothing.
func (lb *LoadBalancer) conflictWith(old observed.LoadBalancer, have observed.Stack) string {
	w := lb.Desired
	if lb.HasGivenName() && w.Name == old.Name {
		return fmt.Sprintf("the name %q", w.Name)
	}
	if shared := lb.sharedAddress(old); shared != "" {
		return shared
	}
	used := map[string]bool{}
	equal.EachForward(old.Listeners, func(arn string) { used[arn] = true })
	shared := ""
	note := func(as []model.Action) {
		f := equal.ForwardOf(as)
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

// sharedAddress returns an address that is asked for and that another load balancer has; empty if there is none.
func (lb *LoadBalancer) sharedAddress(old observed.LoadBalancer) string {
	w := lb.Desired
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

// Named reports whether the name is asked for, so that no other will do.
func (lb *LoadBalancer) HasGivenName() bool { return lb.Desired.Origins["name"] != finding.Origin{} }

// FreeName returns the name for a new load balancer.
func (lb *LoadBalancer) FreeName(have observed.Stack) string {
	if lb.HasGivenName() {
		return lb.Desired.Name
	}
	return FirstFreeName(lb.Desired.Name, func(name string) bool {
		return slices.Contains(lb.Desired.NamesTaken, name) || slices.ContainsFunc(have.LoadBalancers, func(o observed.LoadBalancer) bool { return o.Name == name })
	})
}

// FirstFree returns the first of the names for which a generated name stands that is not taken.
func FirstFreeName(name string, taken func(string) bool) string {
	for n := 1; n < naming.Alternatives; n++ {
		if free := naming.Alternative(name, n); !taken(free) {
			return free
		}
	}
	return naming.Alternative(name, naming.Alternatives)
}

// Serving returns the previous load balancer that the status shows; nil if there is none.
func (lb *LoadBalancer) ShownPrevious(have observed.Stack) *observed.LoadBalancer {
	if len(lb.Previous) == 0 {
		return nil
	}
	shown := plan.ShownLoadBalancer(have, lb.ID)
	for _, old := range lb.Previous {
		if old.ARN == shown.ARN {
			return old
		}
	}
	return lb.Previous[0]
}

// ImmutableDifference names in what a live load balancer differs from the desired one that AWS cannot change.
func (lb *LoadBalancer) ImmutableDifference(old *observed.LoadBalancer) string {
	if old.Type != lb.Desired.Type.String() {
		return "type"
	}
	return "scheme"
}

// WithProgressTags adds to the desired tags those that say how far the replacement is. Steps of their own change these.
func (lb *LoadBalancer) WithProgressTags(tags plan.Tags) plan.Tags {
	for _, k := range []string{naming.SuccessorTag, naming.ReplacedTag} {
		if v, ok := lb.Live.Tags[k]; ok {
			tags[k] = v
		}
	}
	draft.TrimTags(tags)
	return tags
}

// Shows returns the ARN of the load balancer that the status shows in place of this one; empty if it shows
// this one.
func (lb *LoadBalancer) ShownInstead(have observed.Stack) string {
	old := lb.ShownPrevious(have)
	if old == nil || lb.Switched {
		return ""
	}
	return old.ARN
}
