package gateway

import (
	"fmt"
	"math"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// fixedResponse returns the actions of a rule that answers with a status and without a body.
func fixedResponse(status string) []model.Action {
	return []model.Action{model.FixedResponse{Status: status, ContentType: "text/plain"}}
}

// unusableRuleStatus is the HTTP status with which requests for a rule that cannot be built are answered.
const unusableRuleStatus = "500"

// buildRule builds the listener rule for an input on a port. If a value of the route cannot be translated, the rule is held.
func (t *translation) buildRule(p *port, u *ruleInput) model.Rule {
	if u.isolation != nil {
		return model.Rule{
			Conditions: []model.Condition{conditionBuilder{t}.hostCondition(u.host)}, Actions: fixedResponse("404"),
			Origin: u.isolation.at, Member: u.isolation.at.Object, Tags: t.WithDefaultTags(nil),
		}
	}
	b := &ruleBuilder{translation: t, port: p, input: u, filters: u.rule.sortFilters(), at: finding.Origin{Object: u.route, Field: u.rule.field()}}
	r := model.Rule{Origin: u.origin(), Member: u.route}
	config, usable := ruleConfigBuilder{t}.readRuleConfig(t.attached.Routes[u.routeIndex].Object, b.filters.extensions, b.at)
	b.config, b.configUsable = config, usable
	clients, err := config.clientConditions(u.match)
	if err != nil {
		b.Found.Add(finding.Finding{
			Object: b.at.Object, Field: b.at.Field, Reason: finding.RouteValueUnsupported, Blocks: finding.BlocksRule,
			Message: err.Error() + "; an existing rule stays unchanged, and requests for a new rule are answered with 503",
			Fix:     "correct ListenerRuleConfiguration " + config.name,
		})
		r.Held = model.HeldInvalid
	}
	c := conditionBuilder{t}.conditionsOf(u.host, u.match, u.rule.grpc, clients)
	r.Conditions = c.list
	r.Tags = t.WithDefaultTags(nil)
	if config != nil {
		at := finding.Origin{Object: t.ref, Field: "spec.tags of ListenerRuleConfiguration " + config.name}
		r.Tags = assemble.ResourceTags(&t.Builder, t.member, config.tags, at, "the rule")
	}
	if c.fault != "" {
		// AWS would refuse a rule with these conditions, and a rule with fewer conditions would match other requests.
		t.Found.Add(finding.Finding{Object: u.route, Field: b.at.Field, Reason: c.reason, Message: c.fault + "; a new rule is not created, and an existing rule stays unchanged", Fix: c.fix, Blocks: finding.BlocksRule})
		r.Held = model.HeldRefused
		return r
	}
	if c.inexactValue != "" {
		t.Found.Add(finding.Finding{
			Object: u.route, Field: b.at.Field, Reason: finding.RouteFieldIgnored, Severity: finding.Warning,
			Message: fmt.Sprintf("value %q needs an exact match, but AWS treats * and ? in it as wildcards", finding.TruncateValue(c.inexactValue)),
			Fix:     "remove the wildcards, or use a GatewayClass of controller " + string(gatewayconfig.FulcrumController),
		})
	}
	actions, rewrite, held := b.actions()
	r.Actions, r.Transforms, r.Held = actions, rewrite, r.Held|held
	return r
}

// origin returns the match of the route, with the hostname. It identifies the rule on a port.
func (u *ruleInput) origin() finding.Origin {
	field := u.rule.field()
	if u.match.index != math.MaxInt {
		field += fmt.Sprintf(".matches[%d]", u.match.index)
	}
	if u.host != "" {
		field += " for " + u.host
	}
	return finding.Origin{Object: u.route, Field: field}
}

// ruleBuilder builds the actions of a rule.
type ruleBuilder struct {
	*translation
	port    *port
	input   *ruleInput
	filters sortedFilters
	at      finding.Origin
	// config is nil if the rule names no ListenerRuleConfiguration. configUsable is false if the rule names one that cannot
	// be used.
	config       *ruleConfig
	configUsable bool
}

// reportUnsupported reports a value in the rule that application load balancers do not support.
func (b *ruleBuilder) reportUnsupported(what, fix string) { b.reportUnsupportedOn(0, what, fix) }

// reportUnsupportedOn is like reportUnsupported, for a value that is not supported on the given port. Port 0 means all
// ports.
func (b *ruleBuilder) reportUnsupportedOn(port int32, what, fix string) {
	b.Found.Add(finding.Finding{Object: b.at.Object, Field: b.at.Field, Reason: finding.RouteValueUnsupported, Message: what + "; requests for the rule are answered with 500", Fix: fix, Blocks: finding.BlocksRule, Port: port})
}

// actions returns the actions and the transforms of the rule, and the reason if the rule is held.
func (b *ruleBuilder) actions() ([]model.Action, []model.Transform, model.Held) {
	final, rewrite, held := b.finalAction()
	if b.config == nil || b.config.authentication == nil || held != 0 {
		return final, rewrite, held
	}
	if _, forwards := final[0].(model.Forward); !b.port.TLS && forwards {
		b.Found.Add(finding.Finding{
			Object: b.at.Object, Field: b.at.Field, Reason: finding.RouteValueUnsupported, Blocks: finding.BlocksRule,
			Message: fmt.Sprintf("the rule authenticates requests, which AWS supports only on HTTPS, and port %d is HTTP; an existing rule stays unchanged, and requests for a new rule are answered with 503", b.port.Number),
			Fix:     "attach the route only to the HTTPS listener by sectionName, and redirect to it from HTTP",
		})
		return nil, nil, model.HeldInvalid
	}
	switch {
	case !b.port.TLS:
		return final, rewrite, 0
	case b.config.authenticationHeld:
		return nil, nil, model.HeldInvalid
	}
	return append([]model.Action{b.config.authentication}, final...), rewrite, 0
}

// finalAction returns the last action of the rule. The target groups of the backends are built even if the last action does
// not use them.
func (b *ruleBuilder) finalAction() ([]model.Action, []model.Transform, model.Held) {
	if !b.configUsable {
		return b.unusableConfigActions()
	}
	forward, held := b.forwardToBackends()
	if b.config != nil && b.config.response != nil {
		return []model.Action{*b.config.response}, nil, 0
	}
	if len(b.filters.ignored) > 0 {
		b.Found.Add(finding.Finding{
			Object: b.at.Object, Field: b.at.Field, Reason: finding.RouteFieldIgnored, Severity: finding.Warning,
			Message: b.filters.ignored[0] + " has no effect, because the rule redirects", Fix: "remove it",
		})
	}
	if b.filters.unsupported != "" {
		b.reportUnsupported("application load balancers do not support "+b.filters.unsupported, "remove the filter, or implement it in the backend; some headers can be set by listenerAttributes of a LoadBalancerConfiguration")
		return fixedResponse(unusableRuleStatus), nil, 0
	}
	if b.filters.redirect != nil {
		return b.redirectActions()
	}
	if b.config != nil && b.config.hasRedirect && len(b.input.rule.filters) == 1 && !b.input.rule.grpc {
		b.reportUnsupported("ListenerRuleConfiguration "+b.config.name+" configures a redirect, but the rule has no RequestRedirect filter", "add the filter")
		return fixedResponse(unusableRuleStatus), nil, 0
	}
	if held != 0 {
		return nil, nil, held
	}
	rewrite, why := transformsOf(b.filters.rewrites, b.input.match)
	if why != "" {
		b.reportUnsupported(why, "change the filter")
		return fixedResponse(unusableRuleStatus), nil, 0
	}
	if forward == nil {
		return fixedResponse(unusableRuleStatus), rewrite, 0
	}
	if b.config != nil {
		forward.Stickiness = b.config.stickiness
	}
	return []model.Action{*forward}, rewrite, 0
}

// unusableConfigActions returns the actions of a rule whose ListenerRuleConfiguration cannot be used: the redirect of the
// rule, or a response with unusableRuleStatus if the rule has no redirect.
func (b *ruleBuilder) unusableConfigActions() ([]model.Action, []model.Transform, model.Held) {
	if b.filters.redirect != nil && b.filters.unsupported == "" {
		return b.redirectActions()
	}
	return fixedResponse(unusableRuleStatus), nil, 0
}

func (b *ruleBuilder) redirectActions() ([]model.Action, []model.Transform, model.Held) {
	var query *string
	if b.config != nil {
		query = b.config.redirectQuery
	}
	to, rewrite, fault := redirectOf(b.filters.redirect, b.port, b.input.host, b.input.match, query)
	if fault != nil {
		b.reportUnsupportedOn(fault.port, fault.why, fault.fix)
		return fixedResponse(unusableRuleStatus), nil, 0
	}
	return []model.Action{to}, rewrite, 0
}

// forwardToBackends returns the forward action to the backends of the rule; nil if no backend receives requests. The rule is
// held if a target group cannot be built.
func (b *ruleBuilder) forwardToBackends() (*model.Forward, model.Held) {
	refs := b.input.rule.backends
	groups := make([]model.TargetGroupRef, len(refs))
	var out model.Forward
	var held model.Held
	for i, ref := range refs {
		at := b.at
		at.Field += fmt.Sprintf(".backendRefs[%d]", i)
		group, ok, fault := b.backendTargetGroup(ref, at)
		held |= fault
		if ok {
			groups[i] = group
		}
	}
	var serving bool
	out.Groups, serving = weightedGroups(refs, groups)
	switch {
	case held != 0:
		return nil, held
	case !serving:
		if len(out.Groups) > 0 {
			at := b.at
			at.Field += ".backendRefs"
			b.Found.Add(finding.NewAllWeightsZeroFinding(at, "requests are answered with 500"))
		}
		return nil, 0
	case len(out.Groups) > maxTargetGroups:
		b.reportUnsupported(fmt.Sprintf("%d backends exceed the limit of %d target groups in a rule", len(out.Groups), maxTargetGroups), "name fewer backends")
		return nil, 0
	case len(out.Groups) > 1 && b.opt.NoWeightedTargetGroups:
		b.Found.Add(finding.Finding{
			Object: b.at.Object, Field: b.at.Field, Reason: finding.FeatureDisabled, Blocks: finding.BlocksRule,
			Message: "several target groups in one action are disabled; an existing rule stays unchanged, and requests for a new rule are answered with 503", Fix: "ask the operator to enable feature gate WeightedTargetGroups, or name one backend",
		})
		return nil, model.HeldInvalid
	}
	return &out, 0
}

// backendTargetGroup returns the target group for one backend. ok is false if the backend cannot be used.
func (b *ruleBuilder) backendTargetGroup(ref gwv1.BackendRef, at finding.Origin) (_ model.TargetGroupRef, ok bool, _ model.Held) {
	switch kind := backendKind(ref); kind {
	case serviceBackend:
		a, ok, held := b.serviceTarget(b.attached.Routes[b.input.routeIndex].Object, ref, at)
		if !ok {
			return model.TargetGroupRef{}, false, held
		}
		a.isHTTPS = b.port.TLS || b.input.rule.grpc && b.httpsRoutes[b.input.routeIndex]
		if b.input.rule.grpc && a.isHTTPS && !b.port.TLS {
			reportInvalidBackendOn(b.translation, b.port.Number, at, finding.RouteValueUnsupported, fmt.Sprintf("port %d is HTTP, and gRPC needs HTTPS", b.port.Number), "attach the route to the HTTPS listener alone by sectionName")
			return model.TargetGroupRef{}, false, 0
		}
		handle, ok := targetGroupBuilder{b.translation}.requestTargetGroup(a)
		if !ok {
			return model.TargetGroupRef{}, false, model.HeldInvalid
		}
		return model.TargetGroupRef{ID: handle}, true, 0
	case targetGroupBackend:
		group, ok := targetGroupBuilder{b.translation}.namedTargetGroup(ref, at)
		if !ok {
			return model.TargetGroupRef{}, false, model.HeldInvalid
		}
		return group, true, 0
	default:
		b.reportInvalidBackend(at, finding.BackendKindUnknown, fmt.Sprintf("application load balancers cannot forward to backends of kind %q", finding.TruncateValue(kind)), "name a Service, or a TargetGroupName")
		return model.TargetGroupRef{}, false, 0
	}
}
