package dataplane

import "time"

// Authenticator is an authentication that a request must pass: OIDC, Cognito or JWTValidation.
type Authenticator interface{ authenticator() }

// OnUnauthenticated is the action for a request without a session.
type OnUnauthenticated string

// Actions for a request without a session; the empty value means Authenticate.
const (
	// Authenticate sends the client to the identity provider.
	Authenticate OnUnauthenticated = "authenticate"
	// Allow forwards the request without claims.
	Allow OnUnauthenticated = "allow"
	// Deny responds with status 401.
	Deny OnUnauthenticated = "deny"
)

// OIDC authenticates users with an OpenID Connect provider.
type OIDC struct {
	Issuer                string
	AuthorizationEndpoint string
	TokenEndpoint         string
	UserInfoEndpoint      string
	ClientID              string
	ClientSecret          string
	// Scope defaults to "openid".
	Scope string
	// SessionCookie defaults to "AWSELBAuthSessionCookie".
	SessionCookie string
	// SessionTimeout defaults to 7 days.
	SessionTimeout    time.Duration
	ExtraParams       map[string]string
	OnUnauthenticated OnUnauthenticated
}

// Cognito authenticates users with a Cognito user pool.
type Cognito struct {
	UserPoolARN string
	// Domain is the prefix of the user pool's domain, or a whole custom domain.
	Domain            string
	ClientID          string
	ClientSecret      string
	Scope             string
	SessionCookie     string
	SessionTimeout    time.Duration
	ExtraParams       map[string]string
	OnUnauthenticated OnUnauthenticated
}

// JWTValidation requires a valid JSON Web Token in the Authorization header.
type JWTValidation struct {
	Issuer       string
	JWKSEndpoint string
	Claims       []Claim
}

// Claim is a claim that a token must have.
type Claim struct {
	Name string
	// Format is "single-string", "string-array" or "space-separated-values".
	Format string
	// Values lists the required values. With the format "single-string", the token must have one of the values. With
	// other formats, it must have all values.
	Values []string
}

func (OIDC) authenticator()          {}
func (Cognito) authenticator()       {}
func (JWTValidation) authenticator() {}
