package elbv2

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	// Defaults of authentication actions.
	defaultSessionCookie     = "AWSELBAuthSessionCookie"
	defaultScope             = "openid"
	defaultSessionTimeout    = 604800 // in seconds; also the maximum
	defaultOnUnauthenticated = "authenticate"

	maxExtraParams       = 10
	maxJWTTextLength     = 256 // characters
	maxJWTClaims         = 10
	maxJWTValuesPerClaim = 10
)

var userPoolARNPattern = regexp.MustCompile(`^arn:aws[a-z-]*:cognito-idp:([a-z0-9-]+):\d{12}:userpool/[\w-]+$`)

func checkAuthenticationSettings(timeout *int64, params map[string]string) error {
	if timeout != nil && (*timeout < 1 || *timeout > defaultSessionTimeout) {
		return validationError(store.UnprovenSource, "The session timeout '%d' must be between '1-%d' inclusive", *timeout, defaultSessionTimeout)
	}
	if len(params) > maxExtraParams {
		return validationError(store.UnprovenSource, "You cannot specify more than '%d' authentication request extra parameters", maxExtraParams)
	}
	return nil
}

func checkHTTPSURL(what string, u *string) error {
	parsed, err := url.Parse(store.Value(u))
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return store.Errorf(store.UnprovenSource, codeAction, "The %s '%s' must be a valid HTTPS URL", what, store.Value(u))
	}
	return nil
}

func textOrDefault(p *string, def string) *string {
	if p == nil {
		return new(def)
	}
	return new(*p)
}

func checkOIDC(sc actionScope, o types.AuthenticateOidcActionConfig) (*types.AuthenticateOidcActionConfig, error) {
	for _, u := range []struct {
		what string
		url  *string
	}{
		{"issuer", o.Issuer}, {"authorization endpoint", o.AuthorizationEndpoint},
		{"token endpoint", o.TokenEndpoint}, {"user info endpoint", o.UserInfoEndpoint},
	} {
		if err := checkHTTPSURL(u.what, u.url); err != nil {
			return nil, err
		}
	}
	if store.Value(o.ClientId) == "" {
		return nil, validationError(store.UnprovenSource, "A client ID must be specified")
	}
	if err := checkAuthenticationSettings(o.SessionTimeout, o.AuthenticationRequestExtraParams); err != nil {
		return nil, err
	}
	secret := o.ClientSecret
	if store.Value(o.UseExistingClientSecret) {
		if secret != nil {
			return nil, store.Errorf(store.ReportSource("ansible-collections/amazon.aws#1877"), codeAction, "You cannot both specify a client secret and set UseExistingClientSecret to true")
		}
		if secret = existingClientSecret(sc); secret == nil {
			return nil, validationError(store.UnprovenSource, "There is no existing client secret to use")
		}
	}
	if store.Value(secret) == "" {
		return nil, validationError(store.UnprovenSource, "A client secret must be specified")
	}
	return &types.AuthenticateOidcActionConfig{
		Issuer: new(*o.Issuer), AuthorizationEndpoint: new(*o.AuthorizationEndpoint), TokenEndpoint: new(*o.TokenEndpoint),
		UserInfoEndpoint: new(*o.UserInfoEndpoint), ClientId: new(*o.ClientId), ClientSecret: new(*secret),
		AuthenticationRequestExtraParams: maps.Clone(o.AuthenticationRequestExtraParams),
		OnUnauthenticatedRequest:         cmp.Or(o.OnUnauthenticatedRequest, defaultOnUnauthenticated),
		Scope:                            textOrDefault(o.Scope, defaultScope), SessionCookieName: textOrDefault(o.SessionCookieName, defaultSessionCookie),
		SessionTimeout: timeoutOrDefault(o.SessionTimeout),
	}, nil
}

func timeoutOrDefault(t *int64) *int64 {
	if t == nil {
		return new(int64(defaultSessionTimeout))
	}
	return new(*t)
}

// existingClientSecret returns the OIDC client secret of the rule whose actions are replaced, or nil if there is none.
func existingClientSecret(sc actionScope) *string {
	if sc.replacedRule == nil {
		return nil
	}
	for _, a := range sc.replacedRule.Actions {
		if a.AuthenticateOidcConfig != nil {
			return a.AuthenticateOidcConfig.ClientSecret
		}
	}
	return nil
}

func checkCognito(sc actionScope, o types.AuthenticateCognitoActionConfig) (*types.AuthenticateCognitoActionConfig, error) {
	m := userPoolARNPattern.FindStringSubmatch(store.Value(o.UserPoolArn))
	if m == nil {
		return nil, store.Errorf(store.UnprovenSource, codeAction, "The user pool ARN '%s' is not valid", store.Value(o.UserPoolArn))
	}
	if m[1] != sc.partition.Region {
		return nil, store.Errorf(store.UnprovenSource, codeAction, "The user pool '%s' must be in the region '%s'", *o.UserPoolArn, sc.partition.Region)
	}
	if store.Value(o.UserPoolClientId) == "" || store.Value(o.UserPoolDomain) == "" {
		return nil, validationError(store.UnprovenSource, "A user pool client ID and a user pool domain must be specified")
	}
	if err := checkAuthenticationSettings(o.SessionTimeout, o.AuthenticationRequestExtraParams); err != nil {
		return nil, err
	}
	return &types.AuthenticateCognitoActionConfig{
		UserPoolArn: new(*o.UserPoolArn), UserPoolClientId: new(*o.UserPoolClientId), UserPoolDomain: new(*o.UserPoolDomain),
		AuthenticationRequestExtraParams: maps.Clone(o.AuthenticationRequestExtraParams),
		OnUnauthenticatedRequest:         cmp.Or(o.OnUnauthenticatedRequest, defaultOnUnauthenticated),
		Scope:                            textOrDefault(o.Scope, defaultScope), SessionCookieName: textOrDefault(o.SessionCookieName, defaultSessionCookie),
		SessionTimeout: timeoutOrDefault(o.SessionTimeout),
	}, nil
}

func checkJWT(j types.JwtValidationActionConfig) (*types.JwtValidationActionConfig, error) {
	if u, err := url.Parse(store.Value(j.JwksEndpoint)); err != nil || u.Scheme != "https" || u.Host == "" || len(*j.JwksEndpoint) > maxJWTTextLength {
		return nil, validationError(store.UnprovenSource, "The JWKS endpoint '%s' must be an HTTPS URL of at most %d characters", store.Value(j.JwksEndpoint), maxJWTTextLength)
	}
	if n := len(store.Value(j.Issuer)); n == 0 || n > maxJWTTextLength {
		return nil, validationError(store.UnprovenSource, "The issuer must have between 1 and %d characters", maxJWTTextLength)
	}
	if len(j.AdditionalClaims) > maxJWTClaims {
		return nil, validationError(store.UnprovenSource, "You cannot specify more than '%d' additional claims", maxJWTClaims)
	}
	out := &types.JwtValidationActionConfig{JwksEndpoint: new(*j.JwksEndpoint), Issuer: new(*j.Issuer)}
	for _, c := range j.AdditionalClaims {
		name := store.Value(c.Name)
		if name == "" || slices.Contains([]string{"exp", "iss", "nbf", "iat"}, name) {
			return nil, validationError(store.UnprovenSource, "The additional claim '%s' is not allowed", name)
		}
		if !slices.Contains(c.Format.Values(), c.Format) {
			return nil, validationError(store.UnprovenSource, "The format '%s' of the additional claim '%s' is not valid", c.Format, name)
		}
		if n := len(c.Values); n == 0 || n > maxJWTValuesPerClaim {
			return nil, validationError(store.UnprovenSource, "The additional claim '%s' must have between 1 and %d values", name, maxJWTValuesPerClaim)
		}
		for _, v := range c.Values {
			if len(v) > maxJWTTextLength || strings.TrimSpace(v) == "" {
				return nil, validationError(store.UnprovenSource, "A value of the additional claim '%s' is not valid", name)
			}
		}
		out.AdditionalClaims = append(out.AdditionalClaims, types.JwtValidationActionAdditionalClaim{
			Name: new(name), Format: c.Format, Values: slices.Clone(c.Values),
		})
	}
	return out, nil
}
