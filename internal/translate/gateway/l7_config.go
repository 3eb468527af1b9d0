package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

func isRuleConfiguration(ref gwv1.LocalObjectReference) bool {
	return string(ref.Group) == gwconfig.GroupVersion.Group && string(ref.Kind) == cluster.KindListenerRuleConfiguration
}

// ruleConfig has the settings that a ListenerRuleConfiguration sets for a rule.
type ruleConfig struct {
	name string
	// fault is the reason why the settings are not read, and rules with the configuration are held; nil if there is none.
	fault error
	// authentication is the action that authenticates requests before the last action; nil if there is none.
	// authenticationHeld reports whether it cannot be built because its Secret cannot be read.
	authentication     model.Action
	authenticationHeld bool
	// response is the last action if that is a fixed response. stickiness applies if the last action is a forward, and
	// redirectQuery if it is a redirect.
	response      *model.FixedResponse
	stickiness    *model.TargetGroupStickiness
	hasRedirect   bool
	redirectQuery *string
	conditions    []gwconfig.Condition
	tags          map[string]string
}

// ruleConfigBuilder reads the ListenerRuleConfiguration of a rule.
type ruleConfigBuilder struct{ *translation }

// readRuleConfig returns the settings in the ListenerRuleConfiguration that a rule of the route obj names; nil if it names
// none. If the configuration cannot be used, it is reported and usable is false.
func (t ruleConfigBuilder) readRuleConfig(obj cluster.Object, named []gwv1.LocalObjectReference, at finding.Origin) (out *ruleConfig, usable bool) {
	fault := func(message, fix string) (*ruleConfig, bool) {
		t.Found.Add(finding.Finding{Object: at.Object, Field: at.Field, Reason: finding.RouteFiltersIncompatible, Message: message + "; requests for the rule are answered with 500, or redirected if the rule has a RequestRedirect filter", Fix: fix, Blocks: finding.BlocksRule})
		return nil, false
	}
	switch len(named) {
	case 0:
		return nil, true
	case 1:
	default:
		return fault(fmt.Sprintf("the rule names %d ListenerRuleConfigurations, and at most one is allowed", len(named)), "name only one")
	}
	namespace, name := at.Object.Namespace, string(named[0].Name)
	c, ok := cluster.GetReferenced[*gwconfig.ListenerRuleConfiguration](t.view, obj, cluster.KindListenerRuleConfiguration, namespace, name)
	if !ok {
		return fault(fmt.Sprintf("ListenerRuleConfiguration %q does not exist", namespace+"/"+finding.TruncateValue(name)), "create it, or correct the name")
	}
	out = &ruleConfig{name: namespace + "/" + name, conditions: c.Spec.Conditions, fault: checkRuleConfigSize(c.Spec)}
	if out.fault != nil {
		return out, true
	}
	if c.Spec.Tags != nil {
		out.tags = *c.Spec.Tags
	}
	for _, a := range c.Spec.Actions {
		t.readAction(out, a, at)
	}
	return out, true
}

// checkRuleConfigSize returns an error if a ListenerRuleConfiguration has more tags or values of token claims than
// settings.MaxRepeatedEntries, because each rule repeats them.
func checkRuleConfigSize(spec gwconfig.ListenerRuleConfigurationSpec) error {
	values := 0
	for _, a := range spec.Actions {
		if a.JWTValidationConfig != nil {
			for _, claim := range a.JWTValidationConfig.AdditionalClaims {
				values += max(1, len(claim.Values))
			}
		}
	}
	return checkEntries(max(len(valueOr(spec.Tags, nil)), values), "tags or claim values")
}

// checkEntries returns an error if n exceeds settings.MaxRepeatedEntries. what names the entries.
func checkEntries(n int, what string) error {
	if n > settings.MaxRepeatedEntries {
		return fmt.Errorf("%d %s exceed the limit of %d entries", n, what, settings.MaxRepeatedEntries)
	}
	return nil
}

// readAction adds the settings in one action of a ListenerRuleConfiguration to out.
func (t ruleConfigBuilder) readAction(out *ruleConfig, a gwconfig.Action, at finding.Origin) {
	switch {
	case a.Type == gwconfig.ActionForward && a.ForwardConfig != nil:
		out.stickiness = &model.TargetGroupStickiness{Enabled: new(false), Duration: new(int32(3600))}
		if s := a.ForwardConfig.TargetGroupStickinessConfig; s != nil {
			if s.Enabled != nil {
				out.stickiness.Enabled = new(*s.Enabled)
			}
			if s.DurationSeconds != nil {
				out.stickiness.Duration = new(*s.DurationSeconds)
			}
		}
	case a.Type == gwconfig.ActionRedirect && a.RedirectConfig != nil:
		out.hasRedirect, out.redirectQuery = true, a.RedirectConfig.Query
	case a.Type == gwconfig.ActionFixedResponse && a.FixedResponseConfig != nil:
		f := a.FixedResponseConfig
		out.response = &model.FixedResponse{Status: strconv.Itoa(int(f.StatusCode)), ContentType: valueOr(f.ContentType, "text/plain"), Body: valueOr(f.MessageBody, "")}
	case a.Type == gwconfig.ActionAuthenticateCognito && a.AuthenticateCognitoConfig != nil:
		c := a.AuthenticateCognitoConfig
		out.authentication = model.AuthCognito{
			AuthCommon:  authCommon(c.OnUnauthenticatedRequest, c.Scope, c.SessionCookieName, c.SessionTimeout, c.AuthenticationRequestExtraParams),
			UserPoolARN: c.UserPoolARN, ClientID: c.UserPoolClientID, Domain: c.UserPoolDomain,
		}
	case a.Type == gwconfig.ActionJWTValidation && a.JWTValidationConfig != nil:
		c := a.JWTValidationConfig
		v := model.ValidateJWT{JWKSEndpoint: c.JWKSEndpoint, Issuer: c.Issuer}
		for _, claim := range c.AdditionalClaims {
			v.Claims = append(v.Claims, model.JWTClaim{Format: string(claim.Format), Name: claim.Name, Values: claim.Values})
		}
		out.authentication = v
	case a.Type == gwconfig.ActionAuthenticateOIDC && a.AuthenticateOIDCConfig != nil:
		t.readOIDC(out, a.AuthenticateOIDCConfig, at)
	}
}

func (t ruleConfigBuilder) readOIDC(out *ruleConfig, c *gwconfig.AuthenticateOIDCConfig, at finding.Origin) {
	id, secret, ok := assemble.ReadClientSecret(&t.Builder, at.Object.Namespace, c.Secret.Name, at, t.readSecret)
	out.authenticationHeld = out.authenticationHeld || !ok
	out.authentication = model.AuthOIDC{
		AuthCommon: authCommon(c.OnUnauthenticatedRequest, c.Scope, c.SessionCookieName, c.SessionTimeout, c.AuthenticationRequestExtraParams),
		Issuer:     c.Issuer, AuthorizationEndpoint: c.AuthorizationEndpoint, TokenEndpoint: c.TokenEndpoint, UserInfoEndpoint: c.UserInfoEndpoint,
		ClientID: id, ClientSecret: secret,
	}
}

func authCommon(unauthenticated *gwconfig.UnauthenticatedRequest, scope, cookie *string, timeout *int64, extra *map[string]string) model.AuthCommon {
	out := model.AuthCommon{OnUnauthenticated: "authenticate", Scope: valueOr(scope, "openid"), SessionCookie: valueOr(cookie, "AWSELBAuthSessionCookie"), SessionTimeout: valueOr(timeout, 604800)}
	if unauthenticated != nil {
		out.OnUnauthenticated = string(*unauthenticated)
	}
	if extra != nil {
		out.ExtraParams = *extra
	}
	return out
}

// valueOr returns the value that v points to, or def if v is nil.
func valueOr[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// readSecret reads a Secret through the view, so that a change of the Secret starts a new translation.
func (t ruleConfigBuilder) readSecret(namespace, name string) (*corev1.Secret, bool) {
	return cluster.Get[*corev1.Secret](t.view, cluster.KindSecret, namespace, name)
}

// clientConditions returns the conditions on client addresses that apply to a match. fault is not nil if an address range is
// not valid, if there are too many, or if c has a fault. c can be nil.
func (c *ruleConfig) clientConditions(m *match) (out []model.SourceIP, fault error) {
	if c == nil {
		return nil, nil
	}
	n := 0
	for _, x := range c.conditions {
		if x.SourceIPConfig == nil || !appliesToMatch(x, m.index) {
			continue
		}
		for _, v := range x.SourceIPConfig.Values {
			n += 1 + strings.Count(v, ",")
			if err := checkEntries(n, "or more address ranges"); err != nil {
				return nil, err
			}
		}
		ranges, err := settings.ParseCIDRValues(x.SourceIPConfig.Values)
		if err != nil {
			return nil, err
		}
		out = append(out, model.SourceIP{CIDRs: ranges})
	}
	return out, c.fault
}

// appliesToMatch reports whether a condition of a ListenerRuleConfiguration applies to the match with the given index in the
// rule.
func appliesToMatch(c gwconfig.Condition, index int) bool {
	return c.MatchIndexes == nil || slices.Contains(*c.MatchIndexes, index)
}
