package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// Tenancy is how far the members of an IngressGroup are isolated from each other.
type Tenancy string

// The values of Tenancy.
const (
	// Cooperative permits a member to place its rules before those of other members by annotation group.order, as in AWS
	// Load Balancer Controller.
	Cooperative Tenancy = "cooperative"
	// Isolated assigns each host to the namespace of the accepted Ingress that used it first. Only the class sets the
	// load-balancer-wide settings.
	Isolated Tenancy = "isolated"
)

// anyHost is the host pattern that matches every host. It is the pattern of a rule without a host, of a regular expression,
// and of a default backend.
const anyHost = "*"

// hostClaim is a host pattern that a namespace uses.
type hostClaim struct {
	namespace, pattern string
	oldestMember       *member // the oldest member of the namespace with the host
	isLive             bool    // an existing rule of the namespace has the host
}

// hostOwners has the namespaces that own host patterns. A pattern without wildcards has at most one owner.
type hostOwners struct {
	exact            map[string]*hostClaim
	plain, wildcards []*hostClaim // patterns without and with wildcards, in the order in which they were granted
	// overLimit has the pairs of a namespace and a host pattern that exceed maxWildcardHosts.
	overLimit map[[2]string]bool
	// foreign has the results of hostsOfOtherNamespaces by namespace.
	foreign map[string][]string
}

// maxWildcardHosts is the maximum number of host patterns with wildcards that a namespace may have in an IngressGroup. It
// limits the time of a translation, because each host is compared with all of these patterns.
const maxWildcardHosts = 200

func hasWildcard(host string) bool { return strings.ContainsAny(host, "*?") }

// grantPattern makes the namespace of a claim the owner of its host pattern.
func (o *hostOwners) grantPattern(c *hostClaim) {
	if hasWildcard(c.pattern) {
		o.wildcards = append(o.wildcards, c)
		return
	}
	o.exact[c.pattern], o.plain = c, append(o.plain, c)
}

// hostAssigner determines which namespace owns each host pattern, in isolated tenancy.
type hostAssigner struct{ *translation }

// assignHosts sets the owners of the hosts in the rules of all members. The owner of a host is the namespace that has
// existing rules for it, otherwise the namespace of the oldest Ingress with the host. A namespace cannot own a pattern that
// overlaps a pattern of another namespace.
func (t hostAssigner) assignHosts() {
	if !t.Isolated {
		return
	}
	t.owners = &hostOwners{exact: map[string]*hostClaim{}, overLimit: map[[2]string]bool{}, foreign: map[string][]string{}}
	wild := map[string]int{}
	for _, c := range t.hostClaims() {
		if hasWildcard(c.pattern) {
			if wild[c.namespace]++; wild[c.namespace] > maxWildcardHosts {
				t.owners.overLimit[[2]string{c.namespace, c.pattern}] = true
				continue
			}
		}
		if t.owners.conflictingClaim(c.namespace, c.pattern) != nil {
			t.Stack.Contested = true // existing rules may show that the host belongs to the other namespace
			continue
		}
		t.owners.grantPattern(c)
	}
}

// hostClaims returns the claims of namespaces to the hosts of their members, in the order in which they are granted.
func (t hostAssigner) hostClaims() []*hostClaim {
	live := t.liveHosts()
	byKey := map[[2]string]*hostClaim{}
	claimants := slices.Clone(t.ingresses)
	for _, m := range t.previousIngresses {
		if m.RetainsRights { // for example, an Ingress that its class does not admit claims no host
			claimants = append(claimants, m)
		}
	}
	for _, m := range claimants {
		for _, h := range t.usedHostPatterns(m) {
			key := [2]string{m.Ref.Namespace, h}
			if (m.Oversized || m.RetainsRights) && !live[key] {
				continue // no rule is built for the host
			}
			c := byKey[key]
			if c == nil {
				c = &hostClaim{namespace: m.Ref.Namespace, pattern: h, oldestMember: m, isLive: live[key]}
				byKey[key] = c
			}
			if members.CompareAge(m.Member, c.oldestMember.Member) < 0 {
				c.oldestMember = m
			}
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *hostClaim) int {
		switch {
		case a.isLive != b.isLive && a.isLive:
			return -1
		case a.isLive != b.isLive:
			return 1
		}
		return cmp.Or(members.CompareAge(a.oldestMember.Member, b.oldestMember.Member), cmp.Compare(a.pattern, b.pattern))
	})
}

// conflictingClaim returns a granted claim of another namespace that overlaps a host; nil if there is none.
func (o *hostOwners) conflictingClaim(namespace, host string) *hostClaim {
	conflicts := func(c *hostClaim) bool { return c.namespace != namespace && overlap.HostsOverlap(c.pattern, host) }
	others := o.wildcards
	switch c := o.exact[host]; {
	case hasWildcard(host):
		others = append(slices.Clone(o.plain), o.wildcards...)
	case c != nil && c.namespace == namespace:
		return nil // a pattern that overlaps one of another namespace is never granted
	case c != nil:
		return c
	}
	if i := slices.IndexFunc(others, conflicts); i >= 0 {
		return others[i]
	}
	return nil
}

// usedHostPatterns returns the host patterns in the rules and the default backend of a member, sorted and without duplicates.
func (t hostAssigner) usedHostPatterns(m *member) []string {
	var out []string
	if m.ing.Spec.DefaultBackend != nil {
		out = append(out, anyHost)
	}
	for _, r := range m.ing.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for _, p := range r.HTTP.Paths {
			var extra []model.Condition
			if svc := p.Backend.Service; svc != nil {
				extra = m.set.Conditions[svc.Name].Value
			}
			out = append(out, hostPatterns(r.Host, extra)...)
		}
	}
	return members.SortedUnique(out)
}

// hostPatterns returns the host patterns of a rule, in lower case: host, if it is not empty, and the hosts in the conditions
// extra. A regular expression counts as anyHost. If there are no hosts, the result is anyHost.
func hostPatterns(host string, extra []model.Condition) []string {
	var out []string
	if host != "" {
		out = append(out, strings.ToLower(host))
	}
	for _, c := range extra {
		h, ok := c.(model.HostHeader)
		if !ok {
			continue
		}
		for _, v := range h.Values {
			out = append(out, strings.ToLower(v))
		}
		if len(h.Regex) > 0 {
			out = append(out, anyHost)
		}
	}
	if len(out) == 0 {
		return []string{anyHost}
	}
	return out
}

// liveHosts returns the hosts of existing rules. Each key has a namespace that may own the target groups of the rule, and a
// host of the rule.
func (t hostAssigner) liveHosts() map[[2]string]bool {
	out := map[[2]string]bool{}
	lb := t.LiveLoadBalancer()
	if lb == nil {
		return out
	}
	for _, l := range lb.Listeners {
		for _, of := range plan.OwnerNamespaces(*t.Live, l.Default) {
			out[[2]string{of, anyHost}] = true
		}
		for _, r := range l.Rules {
			for _, of := range plan.OwnerNamespaces(*t.Live, r.Actions) {
				for _, h := range hostPatterns("", r.Conditions) {
					out[[2]string{of, h}] = true
				}
			}
		}
	}
	return out
}

// mayUseHosts reports whether a member may have a rule with the conditions. If it may not, because another namespace owns a
// host or the namespace has too many wildcards, mayUseHosts adds a finding on the field.
func (t hostAssigner) mayUseHosts(m *member, field string, conditions []model.Condition) bool {
	return t.mayUsePatterns(m, field, hostPatterns("", conditions))
}

// mayUsePatterns is like mayUseHosts, for host patterns in place of conditions.
func (t hostAssigner) mayUsePatterns(m *member, field string, hosts []string) bool {
	if t.owners == nil {
		return true
	}
	for _, h := range hosts {
		if t.owners.overLimit[[2]string{m.Ref.Namespace, h}] {
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: field, Reason: finding.HostNotOwned,
				Message: fmt.Sprintf("host %q exceeds the limit of %d hosts with wildcards for namespace %q in the IngressGroup; the rule is held", h, maxWildcardHosts, m.Ref.Namespace),
				Fix:     "use fewer hosts with wildcards, or another IngressGroup", Blocks: finding.BlocksRule,
			})
			return false
		}
		c := t.owners.conflictingClaim(m.Ref.Namespace, h)
		if c == nil {
			continue
		}
		what := fmt.Sprintf("host %q overlaps with host %q, which", h, c.pattern)
		if h == c.pattern {
			what = fmt.Sprintf("host %q", h)
		}
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: field, Reason: finding.HostNotOwned,
			Message: fmt.Sprintf("%s belongs to namespace %q, whose %s used the host first; the rule is held", what, c.namespace, c.oldestMember.Ref),
			Fix:     "use another host, or another IngressGroup", Blocks: finding.BlocksRule,
		})
		return false
	}
	return true
}

// hostsOfOtherNamespaces returns the host patterns that namespaces other than the given one own; nil in cooperative tenancy.
func (t hostAssigner) hostsOfOtherNamespaces(namespace string) []string {
	if t.owners == nil {
		return nil
	}
	if known, ok := t.owners.foreign[namespace]; ok {
		return known
	}
	var out []string
	for _, c := range append(slices.Clone(t.owners.plain), t.owners.wildcards...) {
		if c.namespace != namespace {
			out = append(out, c.pattern)
		}
	}
	t.owners.foreign[namespace] = members.SortedUnique(out)
	return t.owners.foreign[namespace]
}
