package bindingplan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// InterfaceQuery asks for network interfaces.
type InterfaceQuery struct {
	Instances []string // by instance id
	// Carried are addresses that the interfaces of an instance are expected to carry. Addresses
	// come and go with pods, so an answer from memory that lacks one has to be read again.
	Carried   map[string][]string
	IDs       []string // by id of the interface
	Addresses []string // by a private IPv4 or IPv6 address of the interface itself
	// MaxAge of the answer, if above zero.
	MaxAge time.Duration
}

// Interfaces is the answer. An instance's interfaces include their addresses and prefixes.
type Interfaces struct {
	OfInstance map[string][]network.Interface
	ByID       map[string]network.Interface
	ByAddress  map[string]network.Interface
}

// EndpointGroup is a security group of nodes or pods.
type EndpointGroup struct {
	ID      string
	Ingress []model.IngressRule
}

// RuleOptions are settings that the rules depend on.
type RuleOptions struct {
	ClusterName string
	GroupTags   map[string]string
	// Unmerged keeps every rule apart instead of joining the ports of one source to a range.
	Unmerged bool
	// Now is the time, by which endpoints are new.
	Now time.Time
}

// Demand is what one binding asks of the security groups of its endpoints.
type Demand struct {
	Key Key
	Ref finding.Ref
	targets.Demand
	Leaving bool // it is being deleted
}

// RuleSet is what a binding asks of which security groups.
type RuleSet map[GroupRule]struct{}

// GroupRule is a rule of a security group.
type GroupRule struct {
	Group string
	Rule  model.IngressRule
}

func (s RuleSet) add(group string, rules []model.IngressRule) {
	for _, r := range rules {
		s[GroupRule{group, r}] = struct{}{}
	}
}

// Within reports whether another set has all rules.
func (s RuleSet) Within(o RuleSet) bool {
	for r := range s {
		if _, ok := o[r]; !ok {
			return false
		}
	}
	return true
}

// added is what was added last. The nodes of a binding share one list of rules, and most of them a security group.
type added struct {
	group string
	first *model.IngressRule
	n     int
}

// differs notes a list of rules, and reports whether it is another than the last one.
func (l *added) differs(group string, rules []model.IngressRule) bool {
	next := added{group: group, n: len(rules)}
	if len(rules) > 0 {
		next.first = &rules[0]
	}
	was := *l
	*l = next
	return was != next
}

// AskedRules are the rules that a binding asks for, as far as they are known.
type AskedRules struct {
	Rules    RuleSet
	Complete bool
	Absent   bool         // the security group of an endpoint is not known at all, so that no rule is taken away
	Findings finding.List // why it is not complete
	Unseen   finding.List // and what AWS does not show, as in Opening
}

// RulesAsked finds the security groups of the endpoints of one binding.
func RulesAsked(d Demand, found Interfaces, o RuleOptions) AskedRules {
	a := AskedRules{Rules: RuleSet{}, Complete: !d.Lost && !d.Faulty, Absent: d.Lost}
	a.Findings.Add(d.Findings...)
	var last added
	for n := range d.All() {
		group, candidates, err := o.groupOf(n, found)
		if err != nil {
			a.Complete = false
			a.Absent = a.Absent || len(candidates) == 0
			o.noteUnclear(&a.Findings, &a.Unseen, n, unclear(d.Ref, err), err)
			continue
		}
		if last.differs(group, n.Rules) {
			a.Rules.add(group, n.Rules)
		}
	}
	a.Findings, a.Unseen = a.Findings.Sorted(), a.Unseen.Sorted()
	return a
}

// noteUnclear adds the finding about an endpoint whose security group is not known. The address of a pod that has just
// come, or is about to go, may well be missing for a moment.
func (o RuleOptions) noteUnclear(found, unseen *finding.List, n targets.Need, f finding.Finding, err error) {
	if errors.Is(err, errNoInterface) && o.Now.Sub(n.ChangedAt) < unseenFor {
		found = unseen
	}
	found.Add(f)
}

// RuleDemand is what all bindings ask of security groups together, on behalf of one of them.
type RuleDemand struct {
	// Asked are the rules by security group.
	Asked map[string][]model.IngressRule
	held  map[string]bool // groups from which nothing may be taken away
	lost  bool            // nothing may be taken away from any group
	// Mine are the groups of the binding on whose behalf it is made.
	Mine map[string]bool
	// Known are the rules of the other bindings that are there once the plan is carried out; none where a rule that
	// no binding asks for may be left.
	Known map[Key]RuleSet
	// Rules are those of the binding, as far as they are known, and Opening what will have become of them.
	Rules   RuleSet
	Opening Opening
}

// DemandOf joins what bindings ask for. With keep, old targets of some binding serve on, so that no rule is taken away.
func DemandOf(me Key, asks []Demand, found Interfaces, keep bool, o RuleOptions) RuleDemand {
	d := RuleDemand{
		Asked: map[string][]model.IngressRule{}, held: map[string]bool{}, lost: keep, Mine: map[string]bool{},
		Known: map[Key]RuleSet{}, Opening: Opening{Done: true},
	}
	for _, a := range asks {
		d.add(a, a.Key == me, found, o)
	}
	d.Opening.Findings, d.Opening.Unseen = d.Opening.Findings.Sorted(), d.Opening.Unseen.Sorted()
	if d.lost || len(d.held) > 0 {
		d.Known = nil
	}
	return d
}

// add takes the demand of one binding up.
func (d *RuleDemand) add(a Demand, isMine bool, found Interfaces, o RuleOptions) {
	d.lost = d.lost || a.Lost
	if isMine {
		d.Opening.Findings.Add(a.Findings...)
		d.Opening.Done, d.Opening.Faulty = !a.Lost && !a.Faulty, a.Faulty
	}
	rules, complete := RuleSet{}, !a.Leaving && !a.Lost && !a.Faulty
	var last added
	for n := range a.All() {
		group, candidates, err := o.groupOf(n, found)
		if err != nil {
			complete = false
			d.lost = d.lost || len(candidates) == 0
			for _, c := range candidates {
				d.held[c.ID] = true
			}
			if isMine {
				d.Opening.Done = false
				o.noteUnclear(&d.Opening.Findings, &d.Opening.Unseen, n, unclear(a.Ref, err), err)
			}
			continue
		}
		if !last.differs(group, n.Rules) {
			continue
		}
		d.Asked[group] = append(d.Asked[group], n.Rules...)
		if a.Faulty {
			d.held[group] = true
		}
		d.Mine[group] = d.Mine[group] || isMine
		rules.add(group, n.Rules)
	}
	switch {
	case isMine:
		d.Rules = rules
	case complete:
		d.Known[a.Key] = rules
	}
}

// GroupChange is what has to change in one security group.
type GroupChange struct {
	Group             string
	Authorize, Revoke []model.IngressRule
	Total             int // rules that the group has then
}

// PlanRules compares what all bindings ask for with what security groups have, in the order of their ids.
func PlanRules(d RuleDemand, groups []EndpointGroup, o RuleOptions) []GroupChange {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b EndpointGroup) int { return cmp.Compare(a.ID, b.ID) })
	var out []GroupChange
	for _, g := range groups {
		want := network.AggregateRules(d.Asked[g.ID], !o.Unmerged)
		authorize, revoke := network.EndpointDiff(want, g.Ingress, !d.lost && !d.held[g.ID])
		if len(authorize)+len(revoke) > 0 {
			out = append(out, GroupChange{g.ID, authorize, revoke, len(g.Ingress) + len(authorize) - len(revoke)})
		}
	}
	return out
}

func unclear(b finding.Ref, err error) finding.Finding {
	fix := "tag exactly one of the security groups for the cluster"
	if errors.Is(err, errNoInterface) {
		fix = "this is tried again; if it lasts, check that the address belongs to the VPC"
	}
	return finding.Finding{
		Object: b, Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
		Message: err.Error(), Fix: fix,
	}
}

// errNoInterface says that AWS does not know the address of an endpoint, which may be a moment old.
var errNoInterface = errors.New("AWS has no network interface with the address")

// QueryFor gathers the places of all endpoints into one question.
func QueryFor(asks ...Demand) InterfaceQuery {
	q := InterfaceQuery{Carried: map[string][]string{}}
	for _, a := range asks {
		for n := range a.All() {
			for i, p := range n.Places {
				switch {
				case p.Instance != "":
					q.Instances = append(q.Instances, p.Instance)
					// Behind another place it is expected to carry nothing.
					if p.On != "" && i == 0 {
						q.Carried[p.Instance] = append(q.Carried[p.Instance], p.On)
					}
				case p.Interface != "":
					q.IDs = append(q.IDs, p.Interface)
				case p.Address != "":
					q.Addresses = append(q.Addresses, p.Address)
				}
			}
		}
	}
	for i := range q.Carried {
		q.Carried[i] = unique(q.Carried[i])
	}
	q.Instances, q.IDs, q.Addresses = unique(q.Instances), unique(q.IDs), unique(q.Addresses)
	return q
}

// unique sorts a list and drops repeats.
func unique(list []string) []string {
	if !slices.IsSorted(list) {
		slices.Sort(list)
	}
	return slices.Compact(list)
}

// groupOf finds the security group that carries the rules of an endpoint, and the groups among
// which it is.
func (o RuleOptions) groupOf(n targets.Need, found Interfaces) (string, []network.InterfaceGroup, error) {
	for _, p := range n.Places {
		if eni, ok := interfaceAt(p, found); ok {
			group, err := network.ChooseEndpointGroup(o.ClusterName, eni.ID, eni.Groups, o.GroupTags)
			return group, eni.Groups, err
		}
	}
	return "", nil, fmt.Errorf("%w of %s, so no security group is opened for it", errNoInterface, n.Endpoint)
}

func interfaceAt(p targets.Place, found Interfaces) (network.Interface, bool) {
	switch {
	case p.Interface != "":
		eni, ok := found.ByID[p.Interface]
		return eni, ok && eni.Carries(p.On)
	case p.Address != "":
		eni, ok := found.ByAddress[p.Address]
		return eni, ok && (p.On == "" || eni.Carries(p.On))
	case p.On != "":
		return network.InterfaceOf(p.On, found.OfInstance[p.Instance])
	}
	return network.Primary(found.OfInstance[p.Instance])
}
