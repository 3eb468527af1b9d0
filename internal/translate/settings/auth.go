package settings

import (
	"errors"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// AuthType is how requests are authenticated before a rule forwards, redirects or answers them.
type AuthType string

// The values of the auth-type annotation.
const (
	AuthNone    AuthType = "none"
	AuthOIDC    AuthType = "oidc"
	AuthCognito AuthType = "cognito"
)

// Auth has the settings of an Ingress or a Service for the authentication of users.
type Auth struct {
	Type              Opt[AuthType]
	Cognito           Opt[CognitoIDP]
	OIDC              Opt[OIDCIDP]
	OnUnauthenticated Opt[string]
	Scope             Opt[string]
	SessionCookie     Opt[string]
	SessionTimeout    Opt[int64] // seconds
}

// WithDefaults returns a copy of a. Settings that a does not have are taken from defaults.
func (a Auth) WithDefaults(defaults Auth) Auth { return overrideSettings(a, defaults) }

// Faults returns the faults of the settings of a that are not valid.
func (a Auth) Faults() []Fault { return faultsOf(a) }

// CognitoIDP is an Amazon Cognito user pool, in the form of annotation auth-idp-cognito.
type CognitoIDP struct {
	UserPoolARN, UserPoolClientID, UserPoolDomain string
	AuthenticationRequestExtraParams              map[string]string
}

// OIDCIDP is an OpenID Connect provider, in the form of annotation auth-idp-oidc. SecretName names the Secret with the
// client id and the client secret.
type OIDCIDP struct {
	Issuer, AuthorizationEndpoint, TokenEndpoint, UserInfoEndpoint, SecretName string
	AuthenticationRequestExtraParams                                           map[string]string
}

// parseCognito and parseOIDC parse the values of the annotations with an identity provider.
var (
	parseCognito = jsonParser(cognitoForm, func(idp CognitoIDP) error { return checkExtraParams(idp.AuthenticationRequestExtraParams) })
	parseOIDC    = jsonParser(oidcForm, func(idp OIDCIDP) error { return checkExtraParams(idp.AuthenticationRequestExtraParams) })
)

func checkExtraParams(params map[string]string) error {
	if err := checkEntryLimit(len(params)); err != nil {
		return fmt.Errorf("authenticationRequestExtraParams: %w", err)
	}
	return nil
}

type jwtJSON struct {
	JWKSEndpoint, Issuer string
	AdditionalClaims     []struct {
		Format, Name string
		Values       []string
	}
}

// ParseJWT parses the value of a jwt-validation annotation.
func ParseJWT(raw string) (model.ValidateJWT, error) {
	var in jwtJSON
	if err := decodeAnnotation(raw, &in, jwtForm); err != nil {
		return model.ValidateJWT{}, err
	}
	if in.JWKSEndpoint == "" || in.Issuer == "" {
		return model.ValidateJWT{}, errors.New("needs a jwksEndpoint and an issuer")
	}
	out := model.ValidateJWT{JWKSEndpoint: in.JWKSEndpoint, Issuer: in.Issuer}
	values := 0
	for i, c := range in.AdditionalClaims {
		if c.Format == "" || c.Name == "" || len(c.Values) == 0 {
			return model.ValidateJWT{}, fmt.Errorf("additionalClaims[%d] needs a format, a name and values", i)
		}
		values += len(c.Values)
		out.Claims = append(out.Claims, model.JWTClaim{Format: c.Format, Name: c.Name, Values: c.Values})
	}
	if err := checkEntryLimit(values); err != nil {
		return model.ValidateJWT{}, fmt.Errorf("values of additionalClaims: %w", err)
	}
	return out, nil
}
