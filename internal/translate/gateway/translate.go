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

// Translate builds the desired state of a stack and the findings about its objects, sorted and without duplicates. If the
// view has an error, the result must not be used. live is the observed state of the stack; nil if it is not known yet.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	l := f.loadGateway(v, id)
	t := &translation{
		Builder: assemble.Builder{
			Translation: members.Translation{ID: id, Live: live, BackendSecurityGroup: f.opt.BackendSecurityGroup, ClassField: classField, ClassKind: cluster.KindGatewayClass},
			Options:     f.opt.Options,
		},
		opt: f.opt, view: v, gw: l.gw,
	}
	t.opt.ListenerSets = f.readsListenerSets(v)
	if id.Kind == model.NLBGateway {
		t.Type = model.Network
	}
	t.Found = l.found
	t.Stack.ID, t.Stack.Leaving, t.Stack.DeletionGuard, t.Stack.Unprotected = id, l.leaving, l.deletionGuard, l.unprotected
	t.Stack.BackendSecurityGroup = model.BackendSecurityGroupUse{Given: f.opt.BackendSecurityGroup, Tags: f.opt.DefaultTags, MayBeNeededByOthers: true}
	if l.class == nil {
		t.Stack.Held.AllResources = l.excluded
		t.Stack.BackendSecurityGroup.MayBeNeededByOthers = ownership.HasObjectOfOtherStack(v, id)
		return t.Stack, t.Found.Sorted()
	}
	t.Stack.DryRun = isDryRun(l.gw, id)
	t.Stack.Describe = t.Stack.DryRun
	t.ref, t.OwnerUID = cluster.RefOf(l.gw), string(l.gw.UID)
	t.loadConfiguration(l.class)
	t.Stack.Attached = []string{l.gw.Namespace}
	t.setAdoption()
	t.build()
	if t.Stack.DryRun && slices.ContainsFunc(t.Stack.Members, func(m model.Member) bool { return m.Claimed }) {
		t.Stack.BackendSecurityGroup.MayBeNeededByOthers = ownership.HasObjectOfOtherStack(v, id) // in a dry run, the finalizer does not prove that the Gateway has a load balancer
	}
	return t.Stack, t.Found.Sorted()
}

// translation is the state of one call of Translate for a Gateway that is served.
type translation struct {
	assemble.Builder
	opt  Options
	view *cluster.View
	gw   *gwv1.Gateway
	ref  finding.Ref
	// strictConformance reports whether the translation follows the Gateway API even where AWS Load Balancer Controller
	// deviates from it. It is set only for controller name gateway.fulcrum.dev/aws, so that load balancers that AWS Load
	// Balancer Controller created do not change.
	strictConformance bool
	config            gatewayconfig.Configuration
	set               gatewayconfig.Settings
	// member is the Gateway, the only member of the stack.
	member            *members.Member
	attached          attach.Result
	targetGroups      assemble.TargetGroups
	namedTargetGroups assemble.NamedTargetGroups
	// targetConfigs has the merged configuration of target groups for each backend, so that it is read once.
	targetConfigs map[backendKey]gatewayconfig.TargetGroupProperties
	// httpsRoutes has the indexes, in attached.Routes, of routes that are attached to HTTPS listeners.
	httpsRoutes map[int]bool
	// parsedRoutes has the parsed rules of routes, by index in attached.Routes.
	parsedRoutes map[int]*parsedRoute
	// unservedPorts has, by index of a route in attached.Routes, the ports of a network load balancer that do not serve the
	// route because they serve another one.
	unservedPorts map[int][]*port
	// fixedProtocol has, by index of a route, the protocol of its target groups if its listeners require one. firstPort has
	// the lowest port of a network load balancer that serves the route.
	fixedProtocol map[int]string
	firstPort     map[int]*port
	// refusedSecrets has the references to TLS Secrets that must not be used, although other references to the same Secret
	// may be used.
	refusedSecrets map[assemble.TLSSecretUse]bool
	// heldCertificates has the ARNs of existing certificates that were imported for a listener and are held while TLS
	// Secrets are not imported.
	heldCertificates map[*attach.Listener][]string
	// liveTargetGroups has the existing target groups of the stack by ARN. liveTargetGroupRoutes caches the results of
	// routesOfName by ARN.
	liveTargetGroups      map[string]*observed.TargetGroup
	liveTargetGroupRoutes map[string][]finding.Ref
	// ruleCounts has the number of rules of the routes of each namespace.
	ruleCounts map[string]int
}

// setPreserveHost sets the load balancer attribute that preserves the Host header of requests to targets, unless the
// configuration sets the attribute. By default, AWS removes the port from the Host header on ports 80 and 443 and adds it on
// other ports, although no filter of a route requests this.
func (t *translation) setPreserveHost() {
	const key = "routing.http.preserve_host_header.enabled"
	a := &t.set.Shared.LoadBalancer.Attributes
	switch {
	case !a.Set:
		*a = settings.NewOpt(map[string]string{key: "true"}, finding.Origin{Object: t.ref, Field: "spec.gatewayClassName"})
	case a.Value[key] == "":
		a.Value[key] = "true"
	}
}

// loadConfiguration reads the configuration of the Gateway into t, with the Gateway as the only member of the stack, and
// reports invalid values.
func (t *translation) loadConfiguration(class *gwv1.GatewayClass) {
	t.targetConfigs, t.httpsRoutes, t.parsedRoutes, t.ruleCounts = map[backendKey]gatewayconfig.TargetGroupProperties{}, map[int]bool{}, map[int]*parsedRoute{}, map[string]int{}
	t.heldCertificates, t.namedTargetGroups = map[*attach.Listener][]string{}, assemble.NamedTargetGroups{}
	t.strictConformance = class.Spec.ControllerName == gatewayconfig.FulcrumController
	config, faults := gatewayconfig.Resolve(t.view, t.gw, class)
	t.config, t.set = config, config.Settings(t.ref, t.ID.Kind)
	if t.strictConformance && t.ID.Kind == model.ALBGateway {
		t.setPreserveHost()
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
	t.AdmitsNoClients = t.set.AdmitsNoClients
	known := settings.ALBAttributeKeys
	if t.Type == model.Network {
		known = settings.NLBAttributeKeys
	}
	attributes := t.set.Shared.LoadBalancer.Attributes
	t.Found.Add(known.FindProbableMistakes(attributes.Value, t.ref, attributes.Origin.Field, finding.ParametersInvalid)...)
	t.reportIgnoredFields()
}

// Fields of a Gateway that have no effect.
const (
	frontendTLSField  = "spec.tls.frontend"
	backendTLSField   = "spec.tls.backend"
	defaultScopeField = "spec.defaultScope"
)

// reportIgnoredFields reports fields of the Gateway that have no effect.
func (t *translation) reportIgnoredFields() {
	ignored := func(field string, severity finding.Severity, message, fix string) {
		t.Found.Add(finding.Finding{Object: t.ref, Field: field, Reason: finding.GatewayFieldIgnored, Severity: severity, Message: message, Fix: fix})
	}
	if tls := t.gw.Spec.TLS; tls != nil && tls.Frontend != nil {
		ignored(frontendTLSField, finding.Error, "tls.frontend has no effect, because AWS validates client certificates only with a trust store; the listeners serve clients without a certificate",
			"remove the field, and set mutualAuthentication in a LoadBalancerConfiguration")
	}
	if tls := t.gw.Spec.TLS; tls != nil && tls.Backend != nil {
		ignored(backendTLSField, finding.Error, "tls.backend has no effect, because load balancers do not present a client certificate to backends; backends that require one cannot be reached", "remove the field")
	}
	if scope := t.gw.Spec.DefaultScope; scope != "" && scope != gwv1.GatewayDefaultScopeNone {
		ignored(defaultScopeField, finding.Warning, fmt.Sprintf("defaultScope %q has no effect; the Gateway serves the routes that name it in parentRefs", finding.TruncateValue(string(scope))),
			"remove the field, and name the Gateway in the routes")
	}
}

func (t *translation) build() {
	if !t.member.Blocked {
		t.SetMemberTags(t.member)
		t.attached = attach.Evaluate(t.view, t.gw, t.ID.Kind, attach.Options{ListenerSets: t.opt.ListenerSets, Live: observedRoutes{t}})
		limitSize(t)
	}
	if !t.member.Blocked {
		observedRoutes{t}.holdRulesOfDuplicates()
		t.setAttachedNamespaces()
		t.buildLoadBalancer()
	}
	var blocked bool
	t.Stack.Members, blocked = ownership.NewMembers(t.view, t.ID, t.Members, func(m *members.Member) (cluster.Object, bool) { return t.gw, m.Blocked })
	t.Stack.Held.AllResources = blocked || t.Found.HoldsStack(t.opt.StrictGroups)
}

// buildLoadBalancer builds the load balancer. Some ports get no listener, for example because no route is attached, but the
// security group admits clients to all ports.
func (t *translation) buildLoadBalancer() {
	var ports []*port
	if t.Type == model.Network {
		ports = networkListenerBuilder{t}.networkPorts()
	} else {
		ports = t.applicationPorts()
	}
	for _, p := range ports {
		t.Ports = append(t.Ports, p.Port)
	}
	t.setAddOns()
	lb := t.BuildLoadBalancer()
	if t.Type == model.Application {
		t.MergeAddOns(lb)
	}
	t.Stack.LoadBalancer = lb
	certificateBuilder{t}.importCertificates(ports)
	for _, p := range ports {
		var l model.Listener
		made := false
		if t.Type == model.Network {
			l, made = networkListenerBuilder{t}.networkListener(p)
		} else {
			l, made = t.applicationListener(p)
		}
		if made {
			lb.Listeners = append(lb.Listeners, l)
		}
	}
	t.targetGroups.AddToStack(&t.Stack)
}
