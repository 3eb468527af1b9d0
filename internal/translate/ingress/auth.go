package ingress

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// authBuilder builds the actions that authenticate requests.
type authBuilder struct{ *translation }

// authActions builds the actions that precede the last action on an HTTPS listener: none, an action that authenticates
// users, or an action that validates a token. The annotations of service, which is the backend, have precedence over those
// of the Ingress. service can be nil.
func (t authBuilder) authActions(m *member, service *corev1.Service, at finding.Origin) ([]model.Action, bool) {
	s := m.set.Auth
	if service != nil {
		s = t.backendSettings(service).Auth.WithDefaults(s)
	}
	jwt := m.set.JWT
	faults := append(s.Faults(), settings.NonNilFaults(jwt.Check())...)
	for _, f := range faults {
		t.ReportFault(m.Member, f, finding.BlocksRule)
	}
	if len(faults) > 0 {
		return nil, false
	}
	kind := s.Type.ValueOr(settings.AuthNone)
	if jwt.Set && kind != settings.AuthNone {
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: members.FieldForObject(m.Ref, jwt.Origin), Reason: finding.AnnotationInvalid,
			Message: fmt.Sprintf("%s has both jwt-validation and auth-type %s, and AWS allows only one of them%s", at.Field, kind, assemble.RuleHeldText),
			Fix:     "remove one of them", Blocks: finding.BlocksRule,
		})
		return nil, false
	}
	common := model.AuthCommon{
		OnUnauthenticated: s.OnUnauthenticated.ValueOr("authenticate"), Scope: s.Scope.ValueOr("openid"),
		SessionCookie: s.SessionCookie.ValueOr("AWSELBAuthSessionCookie"), SessionTimeout: s.SessionTimeout.ValueOr(604800),
	}
	switch {
	case jwt.Set:
		return []model.Action{jwt.Value}, true
	case kind == settings.AuthCognito:
		return t.cognitoActions(s, common)
	case kind == settings.AuthOIDC:
		return t.oidcActions(m, s, common)
	}
	return nil, true
}

// reportUnauthenticated reports members that set authentication but are also served over HTTP. Requests over HTTP are not
// authenticated, because AWS authenticates only on HTTPS listeners. For a member without HTTPS ports, it also reports faults
// in the settings.
func (t authBuilder) reportUnauthenticated() {
	for _, m := range t.ingresses {
		by := m.set.Auth.Type.Origin
		if m.set.JWT.IsPresent() {
			by = m.set.JWT.Origin
		}
		authenticates := m.set.JWT.IsPresent() || m.set.Auth.Type.ValueOr(settings.AuthNone) != settings.AuthNone
		var httpPorts []string
		hasHTTPS := false
		for _, p := range m.Ports {
			if p.TLS {
				hasHTTPS = true
			} else {
				httpPorts = append(httpPorts, fmt.Sprintf("port %d", p.Port))
			}
		}
		if !hasHTTPS {
			t.HoldMember(m.Member, m.set.Auth.Type.Check(), false) // with an HTTPS port, each rule reports the fault
			t.HoldMember(m.Member, m.set.JWT.Check(), false)
		}
		if authenticates && len(httpPorts) > 0 && !t.Redirect.Set {
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: members.FieldForObject(m.Ref, by), Reason: finding.AnnotationInvalid,
				Message: fmt.Sprintf("requests over HTTP are served without authentication, because AWS authenticates only on HTTPS listeners (%s)", strings.Join(httpPorts[:min(len(httpPorts), 10)], ", ")),
				Fix:     "add an HTTPS port to listen-ports, and set ssl-redirect to it or remove HTTP",
			})
		}
	}
}

// reportMissingProvider reports that there is an auth-type annotation, but no annotation for its identity provider. key is
// the key of the missing annotation without prefix.
func (t authBuilder) reportMissingProvider(s settings.Auth, key string) {
	object, field := s.Type.Origin.Object, s.Type.Origin.Field
	t.Found.Add(finding.Finding{
		Object: object, Field: field, Reason: finding.AnnotationInvalid,
		Message: fmt.Sprintf("auth-type %s needs annotation %s%s%s", s.Type.Value, settings.Prefix, key, assemble.RuleHeldText),
		Fix:     "add the annotation", Blocks: finding.BlocksRule,
	})
}

func (t authBuilder) cognitoActions(s settings.Auth, common model.AuthCommon) ([]model.Action, bool) {
	if !s.Cognito.Set {
		t.reportMissingProvider(s, "auth-idp-cognito")
		return nil, false
	}
	c := s.Cognito.Value
	common.ExtraParams = c.AuthenticationRequestExtraParams
	return []model.Action{model.AuthCognito{AuthCommon: common, UserPoolARN: c.UserPoolARN, ClientID: c.UserPoolClientID, Domain: c.UserPoolDomain}}, true
}

func (t authBuilder) oidcActions(m *member, s settings.Auth, common model.AuthCommon) ([]model.Action, bool) {
	if !s.OIDC.Set {
		t.reportMissingProvider(s, "auth-idp-oidc")
		return nil, false
	}
	c := s.OIDC.Value
	common.ExtraParams = c.AuthenticationRequestExtraParams
	id, secret, ok := assemble.ReadClientSecret(&t.Builder, m.Ref.Namespace, c.SecretName, s.OIDC.Origin, t.readSecret)
	if !ok {
		return nil, false
	}
	return []model.Action{model.AuthOIDC{
		AuthCommon: common, Issuer: c.Issuer, AuthorizationEndpoint: c.AuthorizationEndpoint, TokenEndpoint: c.TokenEndpoint,
		UserInfoEndpoint: c.UserInfoEndpoint, ClientID: id, ClientSecret: secret,
	}}, true
}

// readSecret reads a Secret through the view, so that a change of the Secret starts a new translation.
func (t authBuilder) readSecret(namespace, name string) (*corev1.Secret, bool) {
	return cluster.Get[*corev1.Secret](t.view, cluster.KindSecret, namespace, name)
}
