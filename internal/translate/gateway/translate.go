package gateway

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Translate builds the desired state of a stack and what is wrong with it. Findings are sorted and without repeats. A
// view with an error makes the result meaningless. live is what is observed of the stack; nil: it is not known yet.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	l := f.load(v, id)
	t := &translation{
		Builder: assemble.Builder{
			Translation: members.Translation{ID: id, Live: live, BackendGroup: f.opt.BackendGroup, ClassField: classField, ClassKind: string(cluster.KindGatewayClass)},
			Options:     f.opt.Options,
		},
		opt: f.opt, view: v, gw: l.gw,
	}
	t.opt.ListenerSets = f.opt.ListenerSets && v.Installed(cluster.KindListenerSet)
	if id.Kind == model.NLBGateway {
		t.Type = model.Network
	}
	t.Found = l.found
	t.Stack.ID, t.Stack.Leaving, t.Stack.DeletionGuard, t.Stack.Unprotected = id, l.leaving, l.guard, l.unprotected
	t.Stack.BackendGroup = model.BackendGroupUse{Given: f.opt.BackendGroup, Tags: f.opt.DefaultTags, OthersLive: true}
	if l.class == nil {
		t.Stack.Held.Everything = l.excluded
		t.Stack.BackendGroup.OthersLive = ownership.OthersLive(v, id)
		return t.Stack, t.Found.Sorted()
	}
	t.Stack.DryRun = dryRun(l.gw, id)
	t.Stack.Describe = t.Stack.DryRun
	t.ref, t.OwnerUID = ownership.RefOf(l.gw), string(l.gw.UID)
	t.load(l.class)
	t.Stack.Attached = []string{l.gw.Namespace}
	t.noteAdoption()
	t.build()
	if t.Stack.DryRun && slices.ContainsFunc(t.Stack.Members, func(m model.Member) bool { return m.Claimed }) {
		t.Stack.BackendGroup.OthersLive = ownership.OthersLive(v, id) // it may have nothing but its finalizer
	}
	return t.Stack, t.Found.Sorted()
}

// translation is one run of Translate over a Gateway that is served.
type translation struct {
	assemble.Builder
	opt  Options
	view *cluster.View
	gw   *gwv1.Gateway
	ref  finding.Ref
	// strict follows the Gateway API where older controllers differ. It goes with the name of the controller that they do
	// not have, so that nothing is changed that they made.
	strict bool
	config gatewayconfig.Configuration
	set    gatewayconfig.Settings
	// member is the Gateway, the one member of the stack.
	member   *members.Member
	attached attach.Result
	groups   assemble.TargetGroups
	// targets are the configurations of target groups that were asked for.
	targets map[backendKey]gatewayconfig.Targets
	// encrypted are routes that HTTPS listeners serve.
	encrypted map[int]bool
	// parsed are routes by their number.
	parsed map[int]*parsed
	// outvoted are the ports of a network load balancer that each route loses to another one.
	outvoted map[int][]*port
	// fixed has the protocol of target groups where the listeners of a route leave no choice, and first the protocol of
	// QUIC of its first port, "" for others.
	fixed, first map[int]string
	// refused are TLS Secrets that may not be used where they are named, but elsewhere.
	refused map[assemble.TLSSecretUse]bool
	// held are live certificates that were imported for a listener, while TLS Secrets are not imported.
	held map[*attach.Listener][]string
	// liveGroups are the ids of live target groups by their ARNs.
	liveGroups map[string]string
	// rules counts the rules of each namespace.
	rules map[string]int
}

// preserveHost lets targets see the Host header as clients send it, unless a configuration says something else of it: by
// default AWS removes its port on ports 80 and 443 and adds one on others, and no filter of a route asks for that.
func (t *translation) preserveHost() {
	const key = "routing.http.preserve_host_header.enabled"
	a := &t.set.Shared.LoadBalancer.Attributes
	switch {
	case !a.Set:
		*a = settings.NewOpt(map[string]string{key: "true"}, finding.Origin{Object: t.ref, Field: "spec.gatewayClassName"})
	case a.Value[key] == "":
		a.Value[key] = "true"
	}
}

// load reads the configuration.
func (t *translation) load(class *gwv1.GatewayClass) {
	t.targets, t.encrypted, t.parsed, t.rules = map[backendKey]gatewayconfig.Targets{}, map[int]bool{}, map[int]*parsed{}, map[string]int{}
	t.held = map[*attach.Listener][]string{}
	t.strict = class.Spec.ControllerName == gatewayconfig.AnyController
	config, faults := gatewayconfig.Resolve(t.view, t.gw, class)
	t.config, t.set = config, config.Settings(t.ref, t.ID.Kind)
	if t.strict && t.ID.Kind == model.ALBGateway {
		t.preserveHost()
	}
	t.member = &members.Member{Ref: t.ref, Created: t.gw.CreationTimestamp.Time, ClaimedAt: t.gw.CreationTimestamp.Time, Set: t.set.Shared, OwnTags: t.set.Tags}
	t.Members = []*members.Member{t.member}
	t.Found.Add(faults...)
	for _, fault := range t.set.Faults {
		x := fault.Finding(finding.BlocksMember)
		x.Reason = finding.ParametersInvalid
		t.Found.Add(x)
		faults = append(faults, x)
	}
	t.member.Blocked = len(faults) > 0
	t.NoClients = t.set.NoClients
	known := settings.ALBAttributeKeys
	if t.Type == model.Network {
		known = settings.NLBAttributeKeys
	}
	attributes := t.set.Shared.LoadBalancer.Attributes
	t.Found.Add(known.Advice(attributes.Value, t.ref, attributes.Origin.Field, finding.ParametersInvalid)...)
	t.reportIgnored()
}

// Fields of a Gateway that nothing is made of.
const (
	frontendTLSField  = "spec.tls.frontend"
	backendTLSField   = "spec.tls.backend"
	defaultScopeField = "spec.defaultScope"
)

// reportIgnored names the fields of the Gateway that have no effect.
func (t *translation) reportIgnored() {
	ignored := func(field string, severity finding.Severity, message, fix string) {
		t.Found.Add(finding.Finding{Object: t.ref, Field: field, Reason: finding.GatewayFieldIgnored, Severity: severity, Message: message, Fix: fix})
	}
	if tls := t.gw.Spec.TLS; tls != nil && tls.Frontend != nil {
		ignored(frontendTLSField, finding.Error, "tls.frontend has no effect, because certificates of clients are validated by a trust store of AWS alone; the listeners serve clients without a certificate",
			"remove the field, and set mutualAuthentication in a LoadBalancerConfiguration")
	}
	if tls := t.gw.Spec.TLS; tls != nil && tls.Backend != nil {
		ignored(backendTLSField, finding.Error, "tls.backend has no effect, because load balancers have no certificate of their own for connections to backends; backends that demand one are not reached", "remove the field")
	}
	if scope := t.gw.Spec.DefaultScope; scope != "" && scope != gwv1.GatewayDefaultScopeNone {
		ignored(defaultScopeField, finding.Warning, fmt.Sprintf("defaultScope %q has no effect; the Gateway serves the routes that name it in parentRefs", finding.Cut(string(scope))),
			"remove the field, and name the Gateway in the routes")
	}
}

func (t *translation) build() {
	if !t.member.Blocked {
		t.MemberTags(t.member)
		t.attached = attach.Evaluate(t.view, t.gw, t.ID.Kind, attach.Options{ListenerSets: t.opt.ListenerSets, Live: incumbentBuilder{t}})
		incumbentBuilder{t}.holdRepeated()
		t.noteAttached()
		t.buildLoadBalancer()
	}
	var blocked bool
	t.Stack.Members, blocked = ownership.Members(t.view, t.ID, t.Members, func(m *members.Member) (cluster.Object, bool) { return t.gw, m.Blocked })
	t.Stack.Held.Everything = blocked || t.Found.Stops(t.opt.StrictGroups)
}

// buildLoadBalancer builds the load balancer. A port has a listener only where a route is attached; clients are
// admitted to all.
func (t *translation) buildLoadBalancer() {
	var ports []*port
	if t.Type == model.Network {
		ports = networkBuilder{t}.networkPorts()
	} else {
		ports = t.applicationPorts()
	}
	for _, p := range ports {
		t.Ports = append(t.Ports, p.Port)
	}
	t.addOnSettings()
	lb := t.LoadBalancer()
	if t.Type == model.Application {
		t.AddOns(lb)
	}
	t.Stack.LoadBalancer = lb
	certificateBuilder{t}.importCertificates(ports)
	for _, p := range ports {
		var l model.Listener
		made := false
		if t.Type == model.Network {
			l, made = networkBuilder{t}.networkListener(p)
		} else {
			l, made = t.applicationListener(p)
		}
		if made {
			lb.Listeners = append(lb.Listeners, l)
		}
	}
	t.groups.Finish(&t.Stack)
}
