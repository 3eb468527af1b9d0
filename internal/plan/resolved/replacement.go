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

// replacement has the previous load balancers of a load balancer, and the progress of their replacement. See package
// plan/replacement.
type replacement struct {
	// Previous are the previous load balancers, which are kept until clients have resolved the DNS name of the new load
	// balancer.
	Previous []*observed.LoadBalancer
	// StatusSwitched is set if the status shows the new load balancer. If it is not set, SwitchWait is the wait until the
	// status is switched.
	StatusSwitched bool
	SwitchWait     plan.Wait
	// Conflict is a property that two load balancers cannot share, such as a name or an address. If it is not empty, the
	// existing load balancer is deleted first.
	Conflict string
}

// AddPrevious adds an existing load balancer that is not kept to Previous, and reports whether it did so. It does not add a
// load balancer that the status has never shown, or that conflicts with the desired load balancer. It records the conflict
// in Conflict.
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

// conflictWith returns a property that the desired and an existing load balancer need and cannot share; empty if there is
// none.
func (lb *LoadBalancer) conflictWith(old observed.LoadBalancer, have observed.Stack) string {
	w := lb.Desired
	if lb.HasGivenName() && w.Name == old.Name {
		return fmt.Sprintf("the name %q", w.Name)
	}
	if shared := lb.sharedAddress(old); shared != "" {
		return shared
	}
	used := map[string]bool{}
	equal.EachForwardedARN(old.Listeners, func(arn string) { used[arn] = true })
	shared := ""
	note := func(as []model.Action) {
		for _, g := range model.ForwardedTargetGroups(as) {
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

// sharedAddress returns a desired address that an existing load balancer has; empty if there is none.
func (lb *LoadBalancer) sharedAddress(old observed.LoadBalancer) string {
	w := lb.Desired
	for _, a := range w.Addresses {
		if slices.Contains(old.Addresses, a) {
			return fmt.Sprintf("the Elastic IP address %q", a)
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

// HasGivenName reports whether an object sets the name of the load balancer, so that the controller must not choose another
// name.
func (lb *LoadBalancer) HasGivenName() bool { return lb.Desired.Origins["name"] != finding.Origin{} }

// FreeName returns the name for a new load balancer: the name that an object sets, or a generated name that no load balancer
// has.
func (lb *LoadBalancer) FreeName(have observed.Stack) string {
	if lb.HasGivenName() {
		return lb.Desired.Name
	}
	return FirstFreeName(lb.Desired.Name, func(name string) bool {
		return slices.Contains(lb.Desired.NamesTaken, name) || slices.ContainsFunc(have.LoadBalancers, func(o observed.LoadBalancer) bool { return o.Name == name })
	})
}

// FirstFreeName returns the first alternative of a generated name that is not taken.
func FirstFreeName(name string, taken func(string) bool) string {
	for n := 1; n < naming.AlternativeCount; n++ {
		if free := naming.AlternativeName(name, n); !taken(free) {
			return free
		}
	}
	return naming.AlternativeName(name, naming.AlternativeCount)
}

// ShownPrevious returns the previous load balancer whose name the status shows, or the first one; nil if there is no
// previous load balancer.
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

// ImmutableDifference returns the property in which an existing load balancer differs from the desired load balancer, and
// which AWS cannot change: "type" or "scheme".
func (lb *LoadBalancer) ImmutableDifference(old *observed.LoadBalancer) string {
	if old.Type != lb.Desired.Type.String() {
		return "type"
	}
	return "scheme"
}

// WithProgressTags returns the desired tags with those tags of the existing load balancer that record the progress of a
// replacement, so that they are retained. Separate steps change them.
func (lb *LoadBalancer) WithProgressTags(tags plan.Tags) plan.Tags {
	for _, k := range []string{naming.SuccessorTag, naming.ReplacedTag} {
		if v, ok := lb.Live.Tags[k]; ok {
			tags[k] = v
		}
	}
	draft.TrimTags(tags)
	return tags
}

// ShownPreviousARN returns the ARN of the previous load balancer that the status still shows; empty if the status shows lb.
func (lb *LoadBalancer) ShownPreviousARN(have observed.Stack) string {
	old := lb.ShownPrevious(have)
	if old == nil || lb.StatusSwitched {
		return ""
	}
	return old.ARN
}
