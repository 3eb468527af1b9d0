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

// Headers that identify the user to targets. Only authentication sets them: headers of
// clients with these names are removed.
const (
	headerAccessToken = "X-Amzn-Oidc-Accesstoken"
	headerIdentity    = "X-Amzn-Oidc-Identity"
	headerClaims      = "X-Amzn-Oidc-Data"
)

var claimHeaders = []string{headerAccessToken, headerIdentity, headerClaims}

const (
	// callbackPath is the path to which identity providers redirect users after a login.
	callbackPath = "/oauth2/idpresponse"
	nonceCookie  = "AWSALBAuthNonce"
	// loginTime is the maximum duration of a login.
	loginTime = 15 * time.Minute
)

// login has the settings that OIDC and Cognito share.
type login struct {
	issuer, authorize, token, userInfo string
	clientID, clientSecret             string
	scope, cookie                      string
	timeout                            time.Duration
	extra                              map[string]string
	onUnauthenticated                  OnUnauthenticated
}

// loginOf returns the login settings of an authenticator, and false if the authenticator has none.
func loginOf(a Authenticator) (login, bool) {
	var l login
	switch a := a.(type) {
	case OIDC:
		l = login{
			issuer: a.Issuer, authorize: a.AuthorizationEndpoint, token: a.TokenEndpoint, userInfo: a.UserInfoEndpoint,
			clientID: a.ClientID, clientSecret: a.ClientSecret, scope: a.Scope, cookie: a.SessionCookie,
			timeout: a.SessionTimeout, extra: a.ExtraParams, onUnauthenticated: a.OnUnauthenticated,
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
		l = login{
			issuer:    "https://cognito-idp." + region + ".amazonaws.com/" + pool,
			authorize: base + "/oauth2/authorize", token: base + "/oauth2/token", userInfo: base + "/oauth2/userInfo",
			clientID: a.ClientID, clientSecret: a.ClientSecret, scope: a.Scope, cookie: a.SessionCookie,
			timeout: a.SessionTimeout, extra: a.ExtraParams, onUnauthenticated: a.OnUnauthenticated,
		}
	default:
		return login{}, false
	}
	l.scope = cmp.Or(l.scope, "openid")
	l.cookie = cmp.Or(l.cookie, "AWSELBAuthSessionCookie")
	l.timeout = cmp.Or(l.timeout, 7*24*time.Hour)
	l.onUnauthenticated = cmp.Or(l.onUnauthenticated, Authenticate)
	return l, true
}

// purpose returns a text that is sealed with sessions and states. It binds them to the load balancer and the client
// id.
func (l login) purpose(kind, lb string) string {
	return strings.Join([]string{kind, lb, l.issuer, l.authorize, l.clientID, l.cookie}, "\n")
}

// loginState is the state that the user's browser carries to the identity provider and back.
type loginState struct {
	URL    string    `json:"u"`
	Nonce  string    `json:"n"`
	Issued time.Time `json:"t"`
}

// authenticate reports whether the request is authenticated. If not, it has sent a response.
func (x *exchange) authenticate(a Authenticator) (pass bool) {
	if j, ok := a.(JWTValidation); ok {
		return x.validateToken(j)
	}
	l, _ := loginOf(a)
	if s, ok := x.readSession(l); ok {
		return x.addClaims(l, s)
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

// startLogin redirects the user to the provider.
func (x *exchange) startLogin(l login) {
	to, err := url.Parse(l.authorize)
	if err != nil {
		x.answer(http.StatusInternalServerError)
		return
	}
	nonce := newNonce()
	state, err := json.Marshal(loginState{URL: "https://" + x.r.Host + requestTarget(x.r), Nonce: nonce, Issued: x.started})
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	q := to.Query()
	for name, value := range l.extra {
		q.Set(name, value)
	}
	q.Set("client_id", l.clientID)
	q.Set("redirect_uri", x.callback())
	q.Set("response_type", "code")
	q.Set("scope", l.scope)
	q.Set("state", x.plane.secrets.seal(l.purpose("state", x.route.lb.arn), state))
	to.RawQuery = q.Encode()
	http.SetCookie(x.w, &http.Cookie{
		Name: nonceCookie, Value: nonce, Path: "/", Secure: true, HttpOnly: true, Expires: x.started.Add(loginTime),
	})
	x.w.Header().Set("Location", to.String())
	x.answer(http.StatusFound)
}

func (x *exchange) callback() string { return "https://" + x.r.Host + callbackPath }

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// finishLogin answers the request with which the provider redirects the user back. It applies to listeners whose
// rules have logins.
func (x *exchange) finishLogin() (answered bool) {
	if x.path != callbackPath {
		return false
	}
	var logins []login
	for _, r := range x.route.listener.rules {
		for _, a := range r.authenticate {
			if l, ok := loginOf(a); ok {
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
	s, status := x.plane.redeemCode(x.r.Context(), l, code, x.callback(), x.started)
	if status != 0 {
		x.answer(status)
		return true
	}
	x.writeSession(l, s)
	x.w.Header().Set("Location", state.URL)
	x.answer(http.StatusFound)
	return true
}

// openState finds the login that a state was created for. It fails if the login took
// too long or was begun in another browser.
func (x *exchange) openState(logins []login) (login, loginState, bool) {
	sealed := x.r.URL.Query().Get("state")
	nonces := x.r.CookiesNamed(nonceCookie)
	for _, l := range logins {
		raw, ok := x.plane.secrets.open(l.purpose("state", x.route.lb.arn), sealed)
		var s loginState
		if !ok || json.Unmarshal(raw, &s) != nil {
			continue
		}
		same := slices.ContainsFunc(nonces, func(c *http.Cookie) bool { return c.Value == s.Nonce })
		return l, s, same && x.started.Sub(s.Issued) < loginTime
	}
	return login{}, loginState{}, false
}
