package document

import "github.com/fulcrum-lb/fulcrum/internal/model"

// redacted replaces confidential client ids and client secrets of OIDC actions in documents.
const redacted = "[REDACTED]"

// actionSpec is an action of a listener or rule in a document. Only the field for its type is set.
type actionSpec struct {
	Type          string             `json:"type"`
	OIDC          *oidcSpec          `json:"authenticateOIDCConfig,omitempty"`
	Cognito       *cognitoSpec       `json:"authenticateCognitoConfig,omitempty"`
	JWT           *jwtSpec           `json:"jwtValidationConfig,omitempty"`
	Forward       *forwardSpec       `json:"forwardConfig,omitempty"`
	Redirect      *redirectSpec      `json:"redirectConfig,omitempty"`
	FixedResponse *fixedResponseSpec `json:"fixedResponseConfig,omitempty"`
}

type forwardSpec struct {
	TargetGroups []weightedTargetGroupSpec `json:"targetGroups"`
	Stickiness   *stickinessSpec           `json:"targetGroupStickinessConfig,omitempty"`
}

type weightedTargetGroupSpec struct {
	ARN    textOrReference `json:"targetGroupARN"`
	Weight *int32          `json:"weight,omitempty"`
}

type stickinessSpec struct {
	Enabled  *bool  `json:"enabled,omitempty"`
	Duration *int32 `json:"durationSeconds,omitempty"`
}

type redirectSpec struct {
	Host     string  `json:"host,omitempty"`
	Path     string  `json:"path,omitempty"`
	Port     string  `json:"port,omitempty"`
	Protocol string  `json:"protocol,omitempty"`
	Query    *string `json:"query,omitempty"` // empty if the redirect drops the query
	Status   string  `json:"statusCode"`
}

type fixedResponseSpec struct {
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"messageBody,omitempty"`
	Status      string `json:"statusCode"`
}

type authSpec struct {
	ExtraParams       map[string]string `json:"authenticationRequestExtraParams,omitempty"`
	OnUnauthenticated string            `json:"onUnauthenticatedRequest,omitempty"`
	Scope             string            `json:"scope,omitempty"`
	SessionCookie     string            `json:"sessionCookieName,omitempty"`
	SessionTimeout    int64             `json:"sessionTimeout,omitempty"`
}

type oidcSpec struct {
	Issuer                string `json:"issuer"`
	AuthorizationEndpoint string `json:"authorizationEndpoint"`
	TokenEndpoint         string `json:"tokenEndpoint"`
	UserInfoEndpoint      string `json:"userInfoEndpoint"`
	ClientID              string `json:"clientID"`
	ClientSecret          string `json:"clientSecret"`
	authSpec
}

type cognitoSpec struct {
	UserPool string `json:"userPoolARN"`
	Client   string `json:"userPoolClientID"`
	Domain   string `json:"userPoolDomain"`
	authSpec
}

type jwtSpec struct {
	JWKS   string      `json:"jwksEndpoint"`
	Issuer string      `json:"issuer"`
	Claims []claimSpec `json:"additionalClaims,omitempty"`
}

type claimSpec struct {
	Format string   `json:"format"`
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// actionSpecs converts actions to their form in a document.
func (d *Describer) actionSpecs(as []model.Action) []actionSpec {
	out := make([]actionSpec, 0, len(as))
	for _, a := range as {
		out = append(out, d.actionOf(a))
	}
	return out
}

// actionOf converts an action to its form in a document.
func (d *Describer) actionOf(a model.Action) actionSpec {
	switch a := a.(type) {
	case model.Forward:
		f := &forwardSpec{TargetGroups: []weightedTargetGroupSpec{}}
		for _, g := range a.Groups {
			f.TargetGroups = append(f.TargetGroups, weightedTargetGroupSpec{d.targetGroupReference(g.Group), g.Weight})
		}
		if s := a.Stickiness; s != nil {
			f.Stickiness = &stickinessSpec{s.Enabled, s.Duration}
		}
		return actionSpec{Type: "forward", Forward: f}
	case model.Redirect:
		var query *string
		if a.DropQuery || a.Query != "" {
			query = &a.Query
		}
		return actionSpec{Type: "redirect", Redirect: &redirectSpec{a.Host, a.Path, a.Port, a.Protocol, query, a.Status}}
	case model.FixedResponse:
		return actionSpec{Type: "fixed-response", FixedResponse: &fixedResponseSpec{a.ContentType, a.Body, a.Status}}
	case model.AuthOIDC:
		return actionSpec{Type: "authenticate-oidc", OIDC: &oidcSpec{
			a.Issuer, a.AuthorizationEndpoint, a.TokenEndpoint, a.UserInfoEndpoint, redacted, redacted, authOf(a.AuthCommon),
		}}
	case model.AuthCognito:
		return actionSpec{Type: "authenticate-cognito", Cognito: &cognitoSpec{a.UserPoolARN, a.ClientID, a.Domain, authOf(a.AuthCommon)}}
	case model.ValidateJWT:
		j := &jwtSpec{JWKS: a.JWKSEndpoint, Issuer: a.Issuer}
		for _, c := range a.Claims {
			j.Claims = append(j.Claims, claimSpec(c))
		}
		return actionSpec{Type: "jwt-validation", JWT: j}
	}
	return actionSpec{}
}

// authOf converts the settings that OIDC and Cognito actions have in common.
func authOf(c model.AuthCommon) authSpec {
	return authSpec{c.ExtraParams, c.OnUnauthenticated, c.Scope, c.SessionCookie, c.SessionTimeout}
}
