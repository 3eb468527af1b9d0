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

// routeRule is a rule of a route, still without its matches, with where it comes from and the target groups that it names.
type routeRule struct {
	matches []match.Match
	rule    gwv1.HTTPRouteRule
	from    string
	targets []use
	answer  string
}

// rulesOf makes the rules of a route. Matches of one rule of the listener stay together.
func (g routeBuilder) rulesOf(m finding.Ref, a attached) []routeRule {
	var out []routeRule
	for i := 0; i < len(a.units); {
		u := a.units[i]
		n := i + 1
		for n < len(a.units) && a.units[n].Of == u.Of && a.units[n].Before == u.Before && u.Before < 0 && len(u.does.Transforms) == 0 {
			n++
		}
		out = append(out, g.ruleOf(m, a.units[i:n])...)
		i = n
	}
	return out
}

// A route has so many rules, a rule so many matches, and all rules together so many.
// https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec
const (
	mostRules          = 16
	mostMatchesOfRule  = 64
	mostMatchesOfRoute = 128
)

// joined returns rules with those joined that do the same, where that changes no order that decides.
func joined(rules []routeRule) []routeRule {
	var out []routeRule
	for _, r := range rules {
		takes := func(o routeRule) bool {
			return o.answer == r.answer && len(o.matches)+len(r.matches) <= mostMatchesOfRule
		}
		i := len(out) - 1
		for i >= 0 && !takes(out[i]) && !out[i].dependsOnOrder(r) {
			i--
		}
		if i < 0 || !takes(out[i]) {
			out = append(out, r)
			continue
		}
		out[i].matches = append(out[i].matches, r.matches...)
		out[i].from += ", " + r.from
	}
	return out
}

// dependsOnOrder reports whether it is the order in the route that decides between two rules for some requests.
func (r routeRule) dependsOnOrder(o routeRule) bool {
	return slices.ContainsFunc(r.matches, func(x match.Match) bool {
		return slices.ContainsFunc(o.matches, func(y match.Match) bool {
			if x.Compare(y) != 0 {
				return false
			}
			_, rel := x.Intersect(y)
			return rel != match.Disjoint
		})
	})
}

// splitByRoute returns the rules of one route each.
func splitByRoute(rules []routeRule) [][]routeRule {
	if len(rules) > mostRules {
		rules = joined(rules)
	}
	var out [][]routeRule
	matches := 0
	for _, r := range rules {
		if matches += len(r.matches); len(out) == 0 || len(out[len(out)-1]) == mostRules || matches > mostMatchesOfRoute {
			out, matches = append(out, nil), len(r.matches)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// ruleOf returns the rule of some matches with one answer, or two where some paths are not rewritten.
func (g routeBuilder) ruleOf(m finding.Ref, units []unit) []routeRule {
	u := units[0]
	r := routeRule{from: fromText(u)}
	for _, x := range units {
		r.matches = append(r.matches, x.Match)
	}
	b := &answering{grouping: g.grouping, member: m, unit: u}
	rewrite := b.build()
	if b.fault != "" {
		g.note(Lost, m, u.does.Origin.Field, b.fault+"; requests are answered 503", "change it, or keep this Ingress")
		held := *u.does
		held.Actions, held.Transforms = []model.Action{plan.HeldResponse}, nil
		b = &answering{grouping: g.grouping, member: m, unit: unit{Rule: u.Rule, does: &held}}
		rewrite = b.build()
	}
	b.configure()
	r.rule, r.targets = b.rule, b.targets
	if rewrite.filter == nil {
		r.answer = answerText(r.rule)
		return []routeRule{r}
	}
	plain := r
	r.rule.Filters = append(slices.Clone(r.rule.Filters), gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: rewrite.filter})
	r.answer = answerText(r.rule)
	if len(rewrite.except) == 0 {
		return []routeRule{r}
	}
	plain.matches = nil
	for _, path := range rewrite.except {
		m := u.Match
		m.Path = match.Path{Kind: match.Exact, Value: path}
		plain.matches = append(plain.matches, m)
	}
	if host := rewrite.filter.Hostname; host != nil {
		plain.rule.Filters = append(slices.Clone(plain.rule.Filters), gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwv1.HTTPURLRewriteFilter{Hostname: host}})
	}
	plain.from += ", for paths that it does not rewrite"
	plain.answer = answerText(plain.rule)
	return []routeRule{plain, r}
}

func answerText(r gwv1.HTTPRouteRule) string {
	text, _ := json.Marshal(r)
	return string(text)
}

func fromText(u unit) string {
	if u.Before >= 0 {
		return u.does.Origin.Field + ", which comes before what follows for these requests"
	}
	return u.does.Origin.Field
}

// matchOf returns a match as a route has it.
func matchOf(m match.Match) gwv1.HTTPRouteMatch {
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

// answering makes what a rule does.
type answering struct {
	*grouping
	member  finding.Ref
	unit    unit
	rule    gwv1.HTTPRouteRule
	targets []use
	config  gwconfig.ListenerRuleConfigurationSpec
	fault   string
}

// build fills in filters, backends and what is to be configured, and returns the rewrite, which the caller adds.
func (b *answering) build() (rewrite rewriting) {
	rule := b.unit.does
	for _, s := range b.unit.Sources {
		b.config.Conditions = append(b.config.Conditions, gwconfig.Condition{Field: gwconfig.ConditionSourceIP, SourceIPConfig: &gwconfig.SourceIPConfig{Values: s}})
	}
	for _, a := range rule.Actions {
		b.action(a)
	}
	if len(b.rule.BackendRefs) == 0 {
		return rewriting{} // nothing is forwarded
	}
	rewrite, fault := rewriteFilter(rule.Transforms, b.unit.Match)
	b.fault = cmp.Or(b.fault, fault)
	return rewrite
}

// configure makes the ListenerRuleConfiguration, if there is something for it, and notes what a person has to decide.
func (b *answering) configure() {
	for _, to := range b.rule.BackendRefs {
		if to.Kind != nil && *to.Kind == targetGroupName {
			b.note(Differs, b.member, b.unit.does.Origin.Field, fmt.Sprintf("target group %q is not the controller's, and AWS attaches a target group to one load balancer at a time", to.Name),
				"give the Gateway a target group of its own, or keep this Ingress")
		}
	}
	tags := b.tagsOf(b.unit.does.Tags, originOf(b.member))
	if len(*tags) == 1 && len(b.config.Actions)+len(b.config.Conditions) == 0 {
		return // the tag of the origin alone is not worth an object
	}
	b.config.Tags = tags
	ref := gwv1.LocalObjectReference{Group: gwv1.Group(gwconfig.GroupVersion.Group), Kind: "ListenerRuleConfiguration", Name: gwv1.ObjectName(b.configName())}
	b.rule.Filters = append(b.rule.Filters, gwv1.HTTPRouteFilter{Type: gwv1.HTTPRouteFilterExtensionRef, ExtensionRef: &ref})
}

func (b *answering) action(a model.Action) {
	switch a := a.(type) {
	case model.Forward:
		b.forward(a)
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
		if err != nil {
			b.fault = fmt.Sprintf("status %q of a fixed response is no number", a.Status)
		}
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionFixedResponse, FixedResponseConfig: &gwconfig.FixedResponseConfig{
			StatusCode: int32(status), ContentType: notEmpty(a.ContentType), MessageBody: notEmpty(a.Body),
		}})
	case model.AuthOIDC:
		b.authOIDC(a)
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

func setAuthCommon(a model.AuthCommon, unauthenticated **gwconfig.UnauthenticatedRequest, scope, cookie **string, timeout **int64, extra **map[string]string) {
	if a.OnUnauthenticated != "" {
		*unauthenticated = new(gwconfig.UnauthenticatedRequest(a.OnUnauthenticated))
	}
	*scope, *cookie = notEmpty(a.Scope), notEmpty(a.SessionCookie)
	if a.SessionTimeout != 0 {
		*timeout = &a.SessionTimeout
	}
	if len(a.ExtraParams) > 0 {
		*extra = &a.ExtraParams
	}
}

// authOIDC names the Secret of the client. The action has what is in it, which is written nowhere.
func (b *answering) authOIDC(a model.AuthOIDC) {
	c := &gwconfig.AuthenticateOIDCConfig{
		Issuer: a.Issuer, AuthorizationEndpoint: a.AuthorizationEndpoint, TokenEndpoint: a.TokenEndpoint, UserInfoEndpoint: a.UserInfoEndpoint,
		Secret: gwconfig.Secret{Name: b.oidcSecret()},
	}
	setAuthCommon(a.AuthCommon, &c.OnUnauthenticatedRequest, &c.Scope, &c.SessionCookieName, &c.SessionTimeout, &c.AuthenticationRequestExtraParams)
	b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionAuthenticateOIDC, AuthenticateOIDCConfig: c})
}

// oidcSecret returns the name of the Secret that the authentication of a rule names: that of the Service behind it, or
// else that of the Ingress.
func (b *answering) oidcSecret() string {
	ing := b.of[b.member]
	auth := settings.ParseIngress(ing.Annotations, b.member).Auth
	if svc := b.service(ing); svc != nil {
		ref := finding.Ref{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name}
		auth = settings.ParseService(svc.Annotations, ref).Auth.WithDefaults(auth)
	}
	return auth.OIDC.Value.SecretName
}

// service returns the one Service to which a rule forwards, nil if there is not exactly one.
func (b *answering) service(ing *networkingv1.Ingress) *corev1.Service {
	var f model.Forward
	for _, a := range b.unit.does.Actions {
		if to, ok := a.(model.Forward); ok {
			f = to
		}
	}
	if len(f.Groups) != 1 {
		return nil
	}
	t := b.From.TargetGroup(f.Groups[0].Group.ID)
	if t == nil || t.Binding == nil {
		return nil
	}
	svc, _ := cluster.Get[*corev1.Service](b.view, cluster.KindService, ing.Namespace, t.Binding.Service)
	return svc
}

// targetGroupName is the kind of a backend that is a target group which exists.
const targetGroupName = "TargetGroupName"

func (b *answering) forward(a model.Forward) {
	for _, g := range a.Groups {
		ref := gwv1.HTTPBackendRef{}
		if len(a.Groups) > 1 {
			ref.Weight = g.Weight
		}
		switch {
		case g.Group.ID != "":
			t := b.From.TargetGroup(g.Group.ID)
			if t == nil || t.Binding == nil {
				b.fault = "target group " + g.Group.ID + " is held"
				continue
			}
			port, ok := b.port(t.Binding)
			if !ok {
				b.fault = fmt.Sprintf("Service %s/%s has no port %s", t.Binding.Namespace, t.Binding.Service, t.Binding.Port.String())
				continue
			}
			ref.Name, ref.Port = gwv1.ObjectName(t.Binding.Service), new(gwv1.PortNumber(port))
			b.targets = append(b.targets, use{by: b.grouping, service: finding.Ref{Kind: "Service", Namespace: t.Binding.Namespace, Name: t.Binding.Service}, member: b.member, group: t})
		default:
			name := g.Group.Name
			if _, rest, ok := strings.Cut(g.Group.ARN, "targetgroup/"); ok {
				name, _, _ = strings.Cut(rest, "/")
			} else if g.Group.ARN != "" {
				b.fault = fmt.Sprintf("%q is no ARN of a target group", g.Group.ARN)
				continue
			}
			ref.Kind, ref.Name = new(gwv1.Kind(targetGroupName)), gwv1.ObjectName(name)
		}
		b.rule.BackendRefs = append(b.rule.BackendRefs, ref)
	}
	if s := a.Stickiness; s != nil {
		b.config.Actions = append(b.config.Actions, gwconfig.Action{Type: gwconfig.ActionForward, ForwardConfig: &gwconfig.ForwardConfig{
			TargetGroupStickinessConfig: &gwconfig.TargetGroupStickinessConfig{Enabled: s.Enabled, DurationSeconds: s.Duration},
		}})
	}
}

// port returns the number of the port of a Service that a binding names.
func (g *grouping) port(b *model.Binding) (int32, bool) {
	return cluster.PortNumber(g.view, b.Namespace, b.Service, b.Port)
}

// backendName returns the Service or action that a rule of an Ingress names.
func (g *grouping) backendName(m finding.Ref, field string) string {
	ing := g.of[m]
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

// configName returns the name of a ListenerRuleConfiguration with the content that is built. One that is there is used
// again.
func (b *answering) configName() string {
	text, _ := json.Marshal(b.config)
	namespace := b.member.Namespace
	base := b.member.Name + "-" + b.backendName(b.member, b.unit.does.Origin.Field)
	key := namespace + "\n" + base + "\n" + string(text)
	if known := b.configs[key]; known != "" {
		return known
	}
	plain, other := name(namespace, base, ruleConfigSuffix), nameOf(namespace, base, ruleConfigSuffix, string(text))
	out := b.unique("ListenerRuleConfiguration", namespace, plain, other)
	b.configs[key] = out
	b.Objects = append(b.Objects, Object{From: fmt.Sprintf("Ingress %s/%s, %s", namespace, b.member.Name, b.unit.does.Origin.Field), Object: &gwconfig.ListenerRuleConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: gwconfig.GroupVersion.String(), Kind: "ListenerRuleConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: out}, Spec: b.config,
	}})
	return out
}
