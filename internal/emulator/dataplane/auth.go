package dataplane

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Headers that identify the user to targets. Only the load balancer sets them, after authentication. It removes headers with
// these names from the requests of clients.
const (
	headerAccessToken = "X-Amzn-Oidc-Accesstoken"
	headerIdentity    = "X-Amzn-Oidc-Identity"
	headerClaims      = "X-Amzn-Oidc-Data"
)

var claimHeaders = []string{headerAccessToken, headerIdentity, headerClaims}

const (
	// callbackPath is the path to which the identity provider redirects users after a login.
	callbackPath = "/oauth2/idpresponse"
	nonceCookie  = "AWSALBAuthNonce"
	// maxLoginDuration is the maximum time between the redirect to the identity provider and the redirect back.
	maxLoginDuration = 15 * time.Minute
)

// loginSettings contains the settings that OIDC and Cognito authentication share.
type loginSettings struct {
	issuer, authorizeURL, tokenURL, userInfoURL string
	clientID, clientSecret                      string
	scope, sessionCookie                        string
	sessionTimeout                              time.Duration
	extraParams                                 map[string]string
	onUnauthenticated                           OnUnauthenticated
}

// loginSettingsOf returns the login settings of an authenticator, or false if it is neither OIDC nor Cognito.
func loginSettingsOf(a Authenticator) (loginSettings, bool) {
	var l loginSettings
	switch a := a.(type) {
	case OIDC:
		l = loginSettings{
			issuer: a.Issuer, authorizeURL: a.AuthorizationEndpoint, tokenURL: a.TokenEndpoint, userInfoURL: a.UserInfoEndpoint,
			clientID: a.ClientID, clientSecret: a.ClientSecret, scope: a.Scope, sessionCookie: a.SessionCookie,
			sessionTimeout: a.SessionTimeout, extraParams: a.ExtraParams, onUnauthenticated: a.OnUnauthenticated,
		}
	case Cognito:
		region, pool := "", ""
		if parts := strings.Split(a.UserPoolARN, ":"); len(parts) == 6 {
			region, pool = parts[3], strings.TrimPrefix(parts[5], "userpool/")
		}
		base := "https://" + a.Domain
		if !strings.Contains(a.Domain, ".") {
			base += ".auth." + region + ".amazoncognito.com"
		}
		l = loginSettings{
			issuer:       "https://cognito-idp." + region + ".amazonaws.com/" + pool,
			authorizeURL: base + "/oauth2/authorize", tokenURL: base + "/oauth2/token", userInfoURL: base + "/oauth2/userInfo",
			clientID: a.ClientID, clientSecret: a.ClientSecret, scope: a.Scope, sessionCookie: a.SessionCookie,
			sessionTimeout: a.SessionTimeout, extraParams: a.ExtraParams, onUnauthenticated: a.OnUnauthenticated,
		}
	default:
		return loginSettings{}, false
	}
	l.scope = cmp.Or(l.scope, "openid")
	l.sessionCookie = cmp.Or(l.sessionCookie, "AWSELBAuthSessionCookie")
	l.sessionTimeout = cmp.Or(l.sessionTimeout, 7*24*time.Hour)
	l.onUnauthenticated = cmp.Or(l.onUnauthenticated, Authenticate)
	return l, true
}

// sealPurpose returns the purpose for which cookieCipher seals a session or a login state. A sealed value is valid only for
// the same purpose, and therefore only for one load balancer and client ID.
func (l loginSettings) sealPurpose(kind, lb string) string {
	return strings.Join([]string{kind, lb, l.issuer, l.authorizeURL, l.clientID, l.sessionCookie}, "\n")
}

// loginState is the state that the browser of the user carries to the identity provider and back. URL is the page to
// which the load balancer redirects the user after the login.
type loginState struct {
	URL      string    `json:"u"`
	Nonce    string    `json:"n"`
	IssuedAt time.Time `json:"t"`
}

// authenticate reports whether the request may continue, because it is authenticated or because authenticator a allows
// requests without a session. If it returns false, it has sent a response.
func (x *exchange) authenticate(a Authenticator) (pass bool) {
	if j, ok := a.(JWTValidation); ok {
		return x.validateToken(j)
	}
	l, _ := loginSettingsOf(a)
	if s, ok := x.readSession(l); ok {
		return x.addClaimHeaders(l, s)
	}
	switch l.onUnauthenticated {
	case Allow:
		return true
	case Deny:
		x.answer(http.StatusUnauthorized)
	default:
		x.startLogin(l)
	}
	return false
}

// startLogin redirects the user to the identity provider.
func (x *exchange) startLogin(l loginSettings) {
	to, err := url.Parse(l.authorizeURL)
	if err != nil {
		x.answer(http.StatusInternalServerError)
		return
	}
	nonce := newNonce()
	state, err := json.Marshal(loginState{URL: "https://" + x.r.Host + requestTarget(x.r), Nonce: nonce, IssuedAt: x.startTime})
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	q := to.Query()
	for name, value := range l.extraParams {
		q.Set(name, value)
	}
	q.Set("client_id", l.clientID)
	q.Set("redirect_uri", x.callbackURL())
	q.Set("response_type", "code")
	q.Set("scope", l.scope)
	q.Set("state", x.plane.cookieCipher.seal(l.sealPurpose("state", x.route.lb.arn), state))
	to.RawQuery = q.Encode()
	http.SetCookie(x.w, &http.Cookie{
		Name: nonceCookie, Value: nonce, Path: "/", Secure: true, HttpOnly: true, Expires: x.startTime.Add(maxLoginDuration),
	})
	x.w.Header().Set("Location", to.String())
	x.answer(http.StatusFound)
}

func (x *exchange) callbackURL() string { return "https://" + x.r.Host + callbackPath }

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// finishLogin answers the request with which the identity provider redirects the user back. It returns false, without an
// answer, for all other requests and if no rule of the listener has a login.
func (x *exchange) finishLogin() (answered bool) {
	if x.path != callbackPath {
		return false
	}
	var logins []loginSettings
	for _, r := range x.route.listener.rules {
		for _, a := range r.authenticators {
			if l, ok := loginSettingsOf(a); ok {
				logins = append(logins, l)
			}
		}
	}
	if len(logins) == 0 {
		return false
	}
	l, state, ok := x.openState(logins)
	if !ok {
		x.answer(http.StatusUnauthorized)
		return true
	}
	code := x.r.URL.Query().Get("code")
	if code == "" {
		x.answer(561)
		return true
	}
	s, status := x.plane.redeemCode(x.r.Context(), l, code, x.callbackURL(), x.startTime)
	if status != 0 {
		x.answer(status)
		return true
	}
	x.writeSession(l, s)
	x.w.Header().Set("Location", state.URL)
	x.answer(http.StatusFound)
	return true
}

// openState returns the login settings for which the state in the request was created, and the state. It returns false if
// there are none, if the login took too long, or if another browser began the login.
func (x *exchange) openState(logins []loginSettings) (loginSettings, loginState, bool) {
	sealed := x.r.URL.Query().Get("state")
	nonces := x.r.CookiesNamed(nonceCookie)
	for _, l := range logins {
		raw, ok := x.plane.cookieCipher.open(l.sealPurpose("state", x.route.lb.arn), sealed)
		var s loginState
		if !ok || json.Unmarshal(raw, &s) != nil {
			continue
		}
		same := slices.ContainsFunc(nonces, func(c *http.Cookie) bool { return c.Value == s.Nonce })
		return l, s, same && x.startTime.Sub(s.IssuedAt) < maxLoginDuration
	}
	return loginSettings{}, loginState{}, false
}
