package ingress

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Translate builds the desired state of a stack and what is wrong with it. Findings are sorted and
// without repeats. A view with an error makes the result meaningless. live is what is observed of the
// stack; nil: it is not known yet, and what members disagree on is decided as for a new load balancer,
// with Contested set.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	g := f.load(v, id)
	t := newTranslation(f.opt, v, id, live)
	t.setMembers(g.members, g.previous)
	t.Found = g.found
	t.Stack.ID, t.Stack.Leaving, t.Stack.DeletionGuard, t.Stack.Unprotected = id, g.leaving, g.guard, g.unprotected
	t.Stack.BackendGroup = model.BackendGroupUse{Given: f.opt.BackendGroup, Tags: f.opt.DefaultTags, OthersLive: true}
	t.Stack.Adopters, t.Stack.Isolated = ownership.Adopters(v, id), t.Isolated
	t.FindMemberWithoutClass()
	if len(t.Members) == 0 {
		retainedBuilder{t}.retainPrevious()
		// A load balancer of one Ingress alone stays as it is while that cannot be placed.
		t.Stack.Held.Everything = g.notAccepted || len(t.Previous) > 0 && id.Namespace != ""
		t.Stack.BackendGroup.OthersLive = ownership.OthersLive(v, id)
		return t.Stack, t.Found.Sorted()
	}
	t.Stack.Describe = f.opt.DescribePlan
	t.build()
	return t.Stack, t.Found.Sorted()
}

// translation is one run of Translate over a stack with members.
type translation struct {
	assemble.Builder
	opt  Options
	view *cluster.View
	// ingresses and formerIngresses are Members and Former as the Ingresses that they are, of has each.
	ingresses, previousIngresses []*member
	of                           map[*members.Member]*member
	// owners has the owners of hosts in isolated tenancy; nil in cooperative tenancy.
	owners *hostOwners
	// rules counts the rules of each namespace.
	rules map[string]int
	// named are the target groups of others that each namespace names.
	named  map[string]map[string]bool
	groups assemble.TargetGroups
	// hosts are the hosts of all members, ages the places of these by age; nil until they are needed.
	hosts    *assemble.HostClaims
	ages     map[*member]int
	backends map[finding.Ref]settings.Backend
}

func newTranslation(opt Options, v *cluster.View, id model.StackID, live *observed.Stack) *translation {
	return &translation{
		Builder: assemble.Builder{
			Translation: members.Translation{
				ID: id, Live: live, Isolated: opt.Tenancy == Isolated && id.Namespace == "", // one alone has no others
				ClassField: classNameField, ClassKind: paramsKind, BackendGroup: opt.BackendGroup,
			},
			Options: opt.Options,
		},
		opt: opt, view: v, of: map[*members.Member]*member{},
		rules: map[string]int{}, named: map[string]map[string]bool{}, backends: map[finding.Ref]settings.Backend{},
	}
}

// setMembers sets the members, in group order, and the former ones.
func (t *translation) setMembers(ingresses, previous []*member) {
	t.ingresses, t.previousIngresses = ingresses, previous
	for _, m := range ingresses {
		t.Members, t.of[m.Member] = append(t.Members, m.Member), m
	}
	for _, m := range previous {
		t.Previous, t.of[m.Member] = append(t.Previous, m.Member), m
	}
}

func (t *translation) build() {
	for _, m := range t.ingresses {
		t.prepare(m)
		t.Stack.Held.Tags = t.Stack.Held.Tags || m.Undetermined || m.OwnTags.Fault != nil
	}
	t.MergePorts()
	hostBuilder{t}.assignHosts()
	alb := t.LoadBalancer()
	t.Redirect = t.SSLRedirect()
	t.MemberFaults()
	authBuilder{t}.reportUnauthenticated()
	t.AddOns(alb)
	t.reportUnknown()
	t.Stack.LoadBalancer = alb
	t.Stack.FrontendNLB = t.FrontendNLB(alb)
	t.FrontendSources(alb, t.Stack.FrontendNLB)
	for _, p := range t.Ports {
		alb.Listeners = append(alb.Listeners, t.listener(p))
	}
	retainedBuilder{t}.retainPrevious()
	retainedBuilder{t}.retainUndetermined()
	t.groups.Finish(&t.Stack)
	t.ManagedCertificates()
	var blocked bool
	t.Stack.Members, blocked = ownership.Members(t.view, t.ID, t.ingresses, func(m *member) (cluster.Object, bool) { return m.ing, m.Blocked })
	t.Stack.Held.Everything = blocked || t.Found.Stops(t.opt.StrictGroups)
}

// prepare resolves the settings of a member that concern no other.
func (t *translation) prepare(m *member) {
	if len(m.Faults) > 0 {
		m.Blocked = true
	}
	t.MemberTags(m.Member)
	m.Hosts = hostsOf(m.ing)
	m.HostFields = hostFields(m.ing, m.Hosts)
	t.RequestCertificate(m.Member)
	switch p := m.set.ListenPorts; {
	case m.Undetermined:
	case p.Fault != nil:
		m.Undetermined = true
	case p.Set:
		m.Ports = p.Value
	default:
		m.Ports = certificateBuilder{t}.defaultPorts(m)
	}
	t.limitSize(m)
	certificateBuilder{t}.importCertificates(m)
	certificateBuilder{t}.reportNoTLS(m)
	for _, key := range slices.Sorted(maps.Keys(m.set.ListenerAttributes)) {
		used := slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.Key() == key })
		t.HoldMember(m.Member, m.set.ListenerAttributes[key].Check(), used)
	}
}

func (t *translation) redirects(l model.Listener) bool { return t.Redirect.Set && l.TLS == nil }
