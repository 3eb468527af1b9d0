package dataplane

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxCookieBytes is the maximum size in bytes of the part of a sealed session in one cookie. Browsers accept 4096 bytes,
// including the name and the attributes of the cookie.
const maxCookieBytes = 3800

// maxCookieShards is the maximum number of cookies from which a session is read.
const maxCookieShards = 10

// session is the session of a user who has logged in. It is stored only in the user's cookies.
type session struct {
	Subject      string          `json:"s"`
	AccessToken  string          `json:"a"`
	RefreshToken string          `json:"r,omitempty"`
	Claims       json.RawMessage `json:"c"`
	// ExpiresAt is the time at which the session ends.
	ExpiresAt time.Time `json:"u"`
	// TokenExpiresAt is the time at which the access token expires. It is zero if the token does not expire.
	TokenExpiresAt time.Time `json:"f,omitzero"`
}

// readSession returns the session of the request, or false if there is none. If the access token has expired, it
// refreshes the session. It returns false if the refresh fails.
func (x *exchange) readSession(l loginSettings) (session, bool) {
	var sealed strings.Builder
	for i := range maxCookieShards {
		c, err := x.r.Cookie(l.sessionCookie + "-" + strconv.Itoa(i))
		if err != nil {
			break
		}
		sealed.WriteString(c.Value)
	}
	raw, ok := x.plane.cookieCipher.open(l.sealPurpose("session", x.route.lb.arn), sealed.String())
	var s session
	if !ok || json.Unmarshal(raw, &s) != nil || !x.startTime.Before(s.ExpiresAt) {
		return session{}, false
	}
	if s.TokenExpiresAt.IsZero() || x.startTime.Before(s.TokenExpiresAt) {
		return s, true
	}
	if s.RefreshToken == "" {
		return s, true // without a refresh token, the session lasts until ExpiresAt
	}
	s, err := x.plane.refreshSession(x.r.Context(), l, s, x.startTime)
	if err != nil {
		return session{}, false
	}
	x.writeSession(l, s)
	return s, true
}

// writeSession stores the session in cookies of the response. The number of cookies depends on the size of the session.
func (x *exchange) writeSession(l loginSettings, s session) {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // the claims are valid JSON
	}
	sealed := x.plane.cookieCipher.seal(l.sealPurpose("session", x.route.lb.arn), raw)
	for i := 0; sealed != ""; i++ {
		n := min(len(sealed), maxCookieBytes)
		http.SetCookie(x.w, &http.Cookie{
			Name: l.sessionCookie + "-" + strconv.Itoa(i), Value: sealed[:n], Path: "/",
			Expires: s.ExpiresAt, Secure: true, HttpOnly: true, SameSite: http.SameSiteNoneMode,
		})
		sealed = sealed[n:]
	}
}

// addClaimHeaders adds the headers that identify the user to the target. If it returns false, it has sent an error response.
func (x *exchange) addClaimHeaders(l loginSettings, s session) (pass bool) {
	token, err := x.plane.signer.sign(map[string]any{
		"typ": "JWT", "alg": "ES256", "iss": l.issuer, "client": l.clientID,
		"signer": x.route.lb.arn, "exp": x.startTime.Add(2 * time.Minute).Unix(),
	}, s.Claims)
	if err != nil {
		x.answer(http.StatusInternalServerError)
		return false
	}
	x.claimHeaders.Set(headerAccessToken, s.AccessToken)
	x.claimHeaders.Set(headerIdentity, s.Subject)
	x.claimHeaders.Set(headerClaims, token)
	return true
}
