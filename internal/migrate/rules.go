package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// routeRule is a rule of an HTTPRoute. Its matches are not in rule yet, so that rules can be joined.
type routeRule struct {
	matches []match.Match
	rule    gwv1.HTTPRouteRule
	origin  string      // the Ingress field that the rule comes from, for comments in manifests
	targets []targetUse // the target groups to which the rule forwards
	key     string      // identifies the actions and filters of the rule
}

// buildRules returns the rules of a route. The matches of one listener rule become one rule, except those that Arrange added
// and those with transforms.
func (g routeBuilder) buildRules(m finding.Ref, draft routeDraft) []routeRule {
	var out []routeRule
	for i := 0; i < len(draft.matches); {
		u := draft.matches[i]
		n := i + 1
		for n < len(draft.matches) && draft.matches[n].RuleIndex == u.RuleIndex && draft.matches[n].AddedBefore == u.AddedBefore && u.AddedBefore < 0 && len(u.listenerRule.Transforms) == 0 {
			n++
		}
		out = append(out, g.buildRule(m, draft.matches[i:n])...)
		i = n
	}
	return out
}

// The limits of the Gateway API: rules of a route, matches of a rule, and matches of all rules of a route.
// https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec
const (
	maxRules          = 16
	maxMatchesOfRule  = 64
	maxMatchesOfRoute = 128
)

// joinEqualRules joins rules with the same actions and filters, unless the new order of the rules would change the answer to
// a request.
func joinEqualRules(rules []routeRule) []routeRule {
	var out []routeRule
	for _, r := range rules {
		canJoin := func(o routeRule) bool {
			return o.key == r.key && len(o.matches)+len(r.matches) <= maxMatchesOfRule
		}
		i := len(out) - 1
		for i >= 0 && !canJoin(out[i]) && !out[i].dependsOnOrder(r) {
			i--
		}
		if i < 0 || !canJoin(out[i]) {
			out = append(out, r)
			continue
		}
		out[i].matches = append(out[i].matches, r.matches...)
		out[i].origin += ", " + r.origin
	}
	return out
}

// dependsOnOrder reports whether some requests may match both rules with equal precedence, so that the order of the rules in
// the route determines the answer.
func (r routeRule) dependsOnOrder(o routeRule) bool {
	return slices.ContainsFunc(r.matches, func(x match.Match) bool {
		return slices.ContainsFunc(o.matches, func(y match.Match) bool {
			if x.Compare(y) != 0 {
				return false
			}
			_, relation := x.Intersect(y)
			return relation != match.Disjoint
		})
	})
}

// splitByRoute splits the rules of a route into lists that are short enough for one route each. If there are more than
// maxRules, it first joins equal rules.
func splitByRoute(rules []routeRule) [][]routeRule {
	if len(rules) > maxRules {
		rules = joinEqualRules(rules)
	}
	var out [][]routeRule
	matches := 0
	for _, r := range rules {
		if matches += len(r.matches); len(out) == 0 || len(out[len(out)-1]) == maxRules || matches > maxMatchesOfRoute {
			out, matches = append(out, nil), len(r.matches)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// buildRule returns the rule for matches with the same answer. If the rule must not rewrite some of the paths, another rule
// for these paths precedes it in the result. If a route cannot express the answer, the rule answers 503, and a note gives
// the reason.
func (g routeBuilder) buildRule(m finding.Ref, matches []routeMatch) []routeRule {
	u := matches[0]
	r := routeRule{origin: ruleOrigin(u)}
	for _, x := range matches {
		r.matches = append(r.matches, x.Match)
	}
	b := &ruleBuilder{generator: g.generator, member: m, routeMatch: u}
	rewrite := b.build()
	if b.fault != "" {
		g.addNote(Lost, m, u.listenerRule.Origin.Field, b.fault+"; requests are answered with status 503", "change this setting, or keep this Ingress")
		held := *u.listenerRule
		held.Actions, held.Transforms = []model.Action{plan.HeldResponse}, nil
		b = &ruleBuilder{generator: g.generator, member: m, routeMatch: routeMatch{Rule: u.Rule, listenerRule: &held}}
		rewrite = b.build()
	}
	b.addRuleConfiguration()
	r.rule, r.targets = b.rule, b.targets
	if rewrite.filter == nil {
		r.key = ruleKey(r.rule)
		return []routeRule{r}
	}
	unrewritten := r
	r.rule.Filters = append(slices.Clone(r.rule.Filters), gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite.filter})
	r.key = ruleKey(r.rule)
	if len(rewrite.exceptedPaths) == 0 {
		return []routeRule{r}
	}
	unrewritten.matches = nil
	for _, path := range rewrite.exceptedPaths {
		m := u.Match
		m.Path = match.Path{Kind: match.Exact, Value: path}
		unrewritten.matches = append(unrewritten.matches, m)
	}
	if host := rewrite.filter.Hostname; host != nil {
		unrewritten.rule.Filters = append(slices.Clone(unrewritten.rule.Filters), gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwv1.HTTPURLRewriteFilter{Hostname: host}})
	}
	unrewritten.origin += ", for paths that this rule does not rewrite"
	unrewritten.key = ruleKey(unrewritten.rule)
	return []routeRule{unrewritten, r}
}

// ruleKey returns a text that identifies the actions and filters of a rule.
func ruleKey(r gwv1.HTTPRouteRule) string {
	text, _ := json.Marshal(r)
	return string(text)
}

// ruleOrigin returns the field of the Ingress that a match comes from, for comments in manifests.
func ruleOrigin(u routeMatch) string {
	if u.AddedBefore >= 0 {
		return u.listenerRule.Origin.Field + ", which has precedence over the following rules for these requests"
	}
	return u.listenerRule.Origin.Field
}

// httpRouteMatch returns a match in the form of an HTTPRoute.
func httpRouteMatch(m match.Match) gwv1.HTTPRouteMatch {
	kinds := map[match.PathKind]gwv1.PathMatchType{
		match.Exact: gwv1.PathMatchExact, match.Prefix: gwv1.PathMatchPathPrefix, match.Regex: gwv1.PathMatchRegularExpression,
	}
	out := gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{Type: new(kinds[m.Path.Kind]), Value: &m.Path.Value}}
	if m.Method != "" {
		out.Method = new(gwv1.HTTPMethod(m.Method))
	}
	for _, h := range m.Headers {
		value, regex := h.Value()
		kind := gwv1.HeaderMatchExact
		if regex {
			kind = gwv1.HeaderMatchRegularExpression
		}
		out.Headers = append(out.Headers, gwv1.HTTPHeaderMatch{Type: &kind, Name: gwv1.HTTPHeaderName(h.Name), Value: value})
	}
	for _, q := range m.Queries {
		out.QueryParams = append(out.QueryParams, gwv1.HTTPQueryParamMatch{Type: new(gwv1.QueryParamMatchExact), Name: gwv1.HTTPHeaderName(q.Key), Value: q.Value})
	}
	return out
}

// ruleBuilder builds one rule of a route. fault is the reason why a route cannot express the rule; "" if it can.
type ruleBuilder struct {
	*generator
	member     finding.Ref
	routeMatch routeMatch
	rule       gwv1.HTTPRouteRule
	targets    []targetUse
	config     gwconfig.ListenerRuleConfigurationSpec
	fault      string
}

// build sets rule, targets, config and fault. It returns the rewrite, which the caller adds to the rule.
func (b *ruleBuilder) build() (rewrite requestRewrite) {
	rule := b.routeMatch.listenerRule
	for _, s := range b.routeMatch.Sources {
		b.config.Conditions = append(b.config.Conditions, gwconfig.Condition{Field: gwconfig.ConditionSourceIP, SourceIPConfig: &gwconfig.SourceIPConfig{Values: s}})
	}
	for _, a := range rule.Actions {
		b.addAction(a)
	}
	if len(b.rule.BackendRefs) == 0 {
		return requestRewrite{} // the rule does not forward requests
	}
	rewrite, fault := rewriteFilter(rule.Transforms, b.routeMatch.Match)
	b.fault = cmp.Or(b.fault, fault)
	return rewrite
}

// addRuleConfiguration adds a reference to a ListenerRuleConfiguration if the rule needs one, and notes about target groups
// of other owners.
func (b *ruleBuilder) addRuleConfiguration() {
	for _, to := range b.rule.BackendRefs {
		if to.Kind != nil && *to.Kind == targetGroupNameKind {
			b.addNote(Differs, b.member, b.routeMatch.listenerRule.Origin.Field, fmt.Sprintf("target group %q does not belong to the controller, and AWS attaches a target group to only one load balancer", to.Name),
				"give the Gateway a target group of its own, or keep this Ingress")
		}
	}
	tags := b.tagsOf(b.routeMatch.listenerRule.Tags, migratedFromIngress(b.member))
	if len(*tags) == 1 && len(b.config.Actions)+len(b.config.Conditions) == 0 {
		return // the only tag is the one with the origin, which needs no ListenerRuleConfiguration
	}
	b.config.Tags = tags
	ref := gwv1.LocalObjectReference{Group: gwv1.Group(gwconfig.GroupVersion.Group), Kind: "ListenerRuleConfiguration", Name: gwv1.ObjectName(b.ensureRuleConfig())}
	b.rule.Filters = append(b.rule.Filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &ref})
}

// addAction adds an action of the listener rule to the rule of the route or to its ListenerRuleConfiguration.
func (b *ruleBuilder) addAction(a model.Action) {
	switch a := a.(type) {
	case model.Forward:
		b.addForward(a)
	case model.Redirect:
		f, query, fault := redirectFilter(a)
		b.fault = cmp.Or(b.fault, fault)
		if f != nil {
			b.rule.Filters = append(b.rule.Filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterRequestRedirect, RequestRedirect: f})
		}
		if query != nil {
			b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionRedirect, RedirectConfig: &gwconfig.RedirectConfig{Query: query}})
		}
	case model.FixedResponse:
		status, err := strconv.ParseInt(a.Status, 10, 32)
		if err != nil || status < 200 || status > 599 || status/100 == 3 {
			b.fault = fmt.Sprintf("status %q of a fixed response is not a number from 200 to 299 or from 400 to 599", a.Status)
		} else if !slices.Contains(contentTypes, a.ContentType) {
			b.fault = fmt.Sprintf("content type %q of a fixed response is not supported by AWS", a.ContentType)
		}
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionFixedResponse, FixedResponseConfig: &gwconfig.FixedResponseConfig{
			StatusCode: int32(status), ContentType: nilIfEmpty(a.ContentType), MessageBody: nilIfEmpty(a.Body),
		}})
	case model.AuthOIDC:
		b.addAuthOIDC(a)
	case model.AuthCognito:
		c := &gwconfig.AuthenticateCognitoConfig{UserPoolARN: a.UserPoolARN, UserPoolClientID: a.ClientID, UserPoolDomain: a.Domain}
		setAuthCommon(a.AuthCommon, &c.OnUnauthenticatedRequest, &c.Scope, &c.SessionCookieName, &c.SessionTimeout, &c.AuthenticationRequestExtraParams)
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionAuthenticateCognito, AuthenticateCognitoConfig: c})
	case model.ValidateJWT:
		c := &gwconfig.JWTValidationConfig{Issuer: a.Issuer, JWKSEndpoint: a.JWKSEndpoint}
		for _, x := range a.Claims {
			c.AdditionalClaims = append(c.AdditionalClaims, gwconfig.JWTAdditionalClaim{Format: gwconfig.JWTClaimFormat(x.Format), Name: x.Name, Values: x.Values})
		}
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionJWTValidation, JWTValidationConfig: c})
	}
}

// contentTypes are the content types of fixed responses in AWS; "" for the default.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_FixedResponseActionConfig.html
var contentTypes = []string{"", "text/plain", "text/css", "text/html", "application/javascript", "application/json"}

// setAuthCommon copies the settings that OIDC and Cognito have in common.
func setAuthCommon(a model.AuthCommon, unauthenticated **gwconfig.UnauthenticatedRequest, scope, cookie **string, timeout **int64, extra **map[string]string) {
	if a.OnUnauthenticated != "" {
		*unauthenticated = new(gwconfig.UnauthenticatedRequest(a.OnUnauthenticated))
	}
	*scope, *cookie = nilIfEmpty(a.Scope), nilIfEmpty(a.SessionCookie)
	if a.SessionTimeout != 0 {
		*timeout = &a.SessionTimeout
	}
	if len(a.ExtraParams) > 0 {
		*extra = &a.ExtraParams
	}
}

// addAuthOIDC adds authentication by OIDC. It only refers to the Secret of the OIDC client, and never writes the content of
// the Secret.
func (b *ruleBuilder) addAuthOIDC(a model.AuthOIDC) {
	c := &gwconfig.AuthenticateOIDCConfig{
		Issuer: a.Issuer, AuthorizationEndpoint: a.AuthorizationEndpoint, TokenEndpoint: a.TokenEndpoint, UserInfoEndpoint: a.UserInfoEndpoint,
		Secret: gwconfig.Secret{Name: b.oidcSecret()},
	}
	setAuthCommon(a.AuthCommon, &c.OnUnauthenticatedRequest, &c.Scope, &c.SessionCookieName, &c.SessionTimeout, &c.AuthenticationRequestExtraParams)
	b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionAuthenticateOIDC, AuthenticateOIDCConfig: c})
}

// oidcSecret returns the name of the Secret of the OIDC client. Annotations of the Service have precedence over those of the
// Ingress.
func (b *ruleBuilder) oidcSecret() string {
	ing := b.ingresses[b.member]
	auth := settings.ParseIngress(ing.Annotations, b.member).Auth
	if svc := b.forwardedService(ing); svc != nil {
		ref := finding.Ref{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name}
		auth = settings.ParseService(svc.Annotations, ref).Auth.WithDefaults(auth)
	}
	return auth.OIDC.Value.SecretName
}

// forwardedService returns the Service to which the rule forwards; nil if it forwards to none or to more than one.
func (b *ruleBuilder) forwardedService(ing *networkingv1.Ingress) *corev1.Service {
	groups := model.ForwardedTargetGroups(b.routeMatch.listenerRule.Actions)
	if len(groups) != 1 {
		return nil
	}
	t := b.IngressStack.TargetGroup(groups[0].Group.ID)
	if t == nil || t.Binding == nil {
		return nil
	}
	svc, _ := cluster.Get[*corev1.Service](b.view, cluster.KindService, ing.Namespace, t.Binding.Service)
	return svc
}

// targetGroupNameKind is the kind of a backend that names an existing target group.
const targetGroupNameKind = "TargetGroupName"

// addForward adds the target groups of a forward as backends, and its stickiness to the ListenerRuleConfiguration.
func (b *ruleBuilder) addForward(a model.Forward) {
	for _, g := range a.Groups {
		ref := gwv1.HTTPBackendRef{}
		if len(a.Groups) > 1 {
			ref.Weight = g.Weight
		}
		switch {
		case g.Group.ID != "":
			t := b.IngressStack.TargetGroup(g.Group.ID)
			if t == nil || t.Binding == nil {
				b.fault = "target group " + g.Group.ID + " is held"
				continue
			}
			port, ok := b.servicePort(t.Binding)
			if !ok {
				b.fault = fmt.Sprintf("Service %s/%s has no port %s", t.Binding.Namespace, t.Binding.Service, t.Binding.Port.String())
				continue
			}
			ref.Name, ref.Port = gwv1.ObjectName(t.Binding.Service), new(gwv1.PortNumber(port))
			b.targets = append(b.targets, targetUse{generator: b.generator, service: finding.Ref{Kind: "Service", Namespace: t.Binding.Namespace, Name: t.Binding.Service}, member: b.member, targetGroup: t})
		default:
			name := g.Group.Name
			if _, rest, ok := strings.Cut(g.Group.ARN, "targetgroup/"); ok {
				name, _, _ = strings.Cut(rest, "/")
			} else if g.Group.ARN != "" {
				b.fault = fmt.Sprintf("%q is not the ARN of a target group", g.Group.ARN)
				continue
			}
			ref.Kind, ref.Name = new(gwv1.Kind(targetGroupNameKind)), gwv1.ObjectName(name)
		}
		b.rule.BackendRefs = append(b.rule.BackendRefs, ref)
	}
	if s := a.Stickiness; s != nil {
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionForward, ForwardConfig: &gwconfig.ForwardConfig{
			TargetGroupStickinessConfig: &gwconfig.TargetGroupStickinessConfig{Enabled: s.Enabled, DurationSeconds: s.Duration},
		}})
	}
}

// servicePort returns the number of the Service port of a binding; false if the Service has no such port.
func (g *generator) servicePort(b *model.Binding) (int32, bool) {
	return cluster.ServicePortNumber(g.view, b.Namespace, b.Service, b.Port)
}

// backendName returns the name of the Service or action to which a field of an Ingress refers; "default" if there is none.
func (g *generator) backendName(m finding.Ref, field string) string {
	ing := g.ingresses[m]
	if field == defaultBackendField && ing.Spec.DefaultBackend != nil && ing.Spec.DefaultBackend.Service != nil {
		return ing.Spec.DefaultBackend.Service.Name
	}
	for i, r := range ing.Spec.Rules {
		if r.HTTP == nil {
			continue
		}
		for j, p := range r.HTTP.Paths {
			if field == fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, j) && p.Backend.Service != nil {
				return p.Backend.Service.Name
			}
		}
	}
	return "default"
}

// ensureRuleConfig returns the name of a ListenerRuleConfiguration with the content of config. If there is none yet, it adds
// one to Objects.
func (b *ruleBuilder) ensureRuleConfig() string {
	text, _ := json.Marshal(b.config)
	namespace := b.member.Namespace
	base := b.member.Name + "-" + b.backendName(b.member, b.routeMatch.listenerRule.Origin.Field)
	key := namespace + "\n" + base + "\n" + string(text)
	if existing := b.ruleConfigNames[key]; existing != "" {
		return existing
	}
	plain, other := objectName(namespace, base, ruleConfigSuffix), distinctObjectName(namespace, base, ruleConfigSuffix, string(text))
	out := b.reserveName("ListenerRuleConfiguration", namespace, plain, other)
	b.ruleConfigNames[key] = out
	b.Objects = append(b.Objects, Object{Origin: fmt.Sprintf("Ingress %s/%s, %s", namespace, b.member.Name, b.routeMatch.listenerRule.Origin.Field), Object: &gwconfig.ListenerRuleConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "ListenerRuleConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: out}, Spec: b.config,
	}})
	return out
}
