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

// Translate builds the desired state of a stack and the findings about its objects, sorted and without duplicates. If the
// view has an error, the result must not be used. live is the observed state of the stack; nil if it is not known yet.
// Without live, settings on which members disagree are chosen as for a new load balancer, and Contested is set.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	g := f.loadIngresses(v, id)
	t := newTranslation(f.opt, v, id, live)
	t.setMembers(g.members, g.previous)
	t.Found = g.found
	t.Stack.ID, t.Stack.Leaving, t.Stack.DeletionGuard, t.Stack.Unprotected = id, g.leaving, g.deletionProtectionFinding, g.unprotected
	t.Stack.BackendSecurityGroup = model.BackendSecurityGroupUse{Given: f.opt.BackendSecurityGroup, Tags: f.opt.DefaultTags, MayBeNeededByOthers: true}
	t.Stack.Adopters, t.Stack.Isolated = ownership.Adopters(v, id), t.Isolated
	t.FindRetainedMember()
	if len(t.Members) == 0 {
		retainedBuilder{t}.retainPreviousMembers()
		// The load balancer of a single Ingress is held while the class of the Ingress has a fault.
		t.Stack.Held.AllResources = g.notAccepted || len(t.Previous) > 0 && id.Namespace != ""
		t.Stack.BackendSecurityGroup.MayBeNeededByOthers = ownership.HasObjectOfOtherStack(v, id)
		return t.Stack, t.Found.Sorted()
	}
	t.Stack.Describe = f.opt.DescribePlan
	t.build()
	return t.Stack, t.Found.Sorted()
}

// translation is the state of one call of Translate.
type translation struct {
	assemble.Builder
	opt  Options
	view *cluster.View
	// ingresses has an entry for each of Members, and previousIngresses one for each of Previous, in the same order.
	// ingressOf has the entry of each Member.
	ingresses, previousIngresses []*member
	ingressOf                    map[*members.Member]*member
	// owners has the owners of hosts in isolated tenancy. It is nil in cooperative tenancy.
	owners *hostOwners
	// ruleCounts has the number of rules of the Ingresses of each namespace.
	ruleCounts map[string]int
	// certificates has the certificates that the Ingresses of each namespace name.
	certificates      map[string]map[portCertificate]bool
	namedTargetGroups assemble.NamedTargetGroups
	targetGroups      assemble.TargetGroups
	// claimedHosts has the hosts that all members claim, and ageRank the rank of each member by age; both are nil until
	// certificateHostClaims is called.
	claimedHosts *assemble.HostClaims
	ageRank      map[*member]int
	backends     map[finding.Ref]settings.Backend
}

func newTranslation(opt Options, v *cluster.View, id model.StackID, live *observed.Stack) *translation {
	return &translation{
		Builder: assemble.Builder{
			Translation: members.Translation{
				ID: id, Live: live, Isolated: opt.Tenancy == Isolated && id.Namespace == "", // a single Ingress has no other tenants
				ClassField: classNameField, ClassKind: paramsKind, BackendSecurityGroup: opt.BackendSecurityGroup,
			},
			Options: opt.Options,
		},
		opt: opt, view: v, ingressOf: map[*members.Member]*member{},
		ruleCounts: map[string]int{}, certificates: map[string]map[portCertificate]bool{}, namedTargetGroups: assemble.NamedTargetGroups{}, backends: map[finding.Ref]settings.Backend{},
	}
}

// setMembers sets the members, in order of precedence, and the previous members.
func (t *translation) setMembers(ingresses, previous []*member) {
	t.ingresses, t.previousIngresses = ingresses, previous
	for _, m := range ingresses {
		t.Members, t.ingressOf[m.Member] = append(t.Members, m.Member), m
	}
	for _, m := range previous {
		t.Previous, t.ingressOf[m.Member] = append(t.Previous, m.Member), m
	}
}

// build translates a stack with at least one member.
func (t *translation) build() {
	for _, m := range t.ingresses {
		t.resolveMember(m)
		t.Stack.Held.Tags = t.Stack.Held.Tags || m.Undetermined || m.OwnTags.Fault != nil
	}
	t.MergePorts()
	hostAssigner{t}.assignHosts()
	alb := t.BuildLoadBalancer()
	t.Redirect = t.SSLRedirect()
	t.ReportMemberFaults()
	authBuilder{t}.reportUnauthenticated()
	t.MergeAddOns(alb)
	t.reportProbableMistakes()
	t.Stack.LoadBalancer = alb
	t.Stack.FrontendNLB = t.BuildFrontendNLB(alb)
	t.AddFrontendRules(alb, t.Stack.FrontendNLB)
	for _, p := range t.Ports {
		alb.Listeners = append(alb.Listeners, t.buildListener(p))
	}
	retainedBuilder{t}.retainPreviousMembers()
	retainedBuilder{t}.retainUndeterminedMembers()
	t.targetGroups.AddToStack(&t.Stack)
	t.AddManagedCertificates()
	var blocked bool
	t.Stack.Members, blocked = ownership.NewMembers(t.view, t.ID, t.ingresses, func(m *member) (cluster.Object, bool) { return m.ing, m.Blocked })
	t.Stack.Held.AllResources = blocked || t.Found.HoldsStack(t.opt.StrictGroups)
}

// resolveMember determines the settings of a member that do not depend on other members.
func (t *translation) resolveMember(m *member) {
	if len(m.Faults) > 0 {
		m.Blocked = true
	}
	t.SetMemberTags(m.Member)
	m.Hosts = certificateHosts(m.ing)
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
	t.enforceSizeLimits(m)
	certificateBuilder{t}.importCertificates(m)
	certificateBuilder{t}.reportTLSWithoutListener(m)
	for _, key := range slices.Sorted(maps.Keys(m.set.ListenerAttributes)) {
		used := slices.ContainsFunc(m.Ports, func(p settings.ListenPort) bool { return p.Key() == key })
		t.HoldMember(m.Member, m.set.ListenerAttributes[key].Check(), used)
	}
}

// redirectsToHTTPS reports whether all requests to a listener are redirected to HTTPS.
func (t *translation) redirectsToHTTPS(l model.Listener) bool { return t.Redirect.Set && l.TLS == nil }
