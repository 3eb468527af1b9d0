package dataplane

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxCookie is the maximum number of bytes of a session in one cookie; browsers accept 4096 bytes with name and
// attributes.
const maxCookie = 3800

// maxShards is the maximum number of cookies of a session that are read.
const maxShards = 10

// session is a user who has logged in. It is stored only in the user's cookies.
type session struct {
	Subject string          `json:"s"`
	Access  string          `json:"a"`
	Refresh string          `json:"r,omitempty"`
	Claims  json.RawMessage `json:"c"`
	// Until is the end of the session.
	Until time.Time `json:"u"`
	// Fresh is the time when the access token expires; zero if it does not expire.
	Fresh time.Time `json:"f,omitzero"`
}

// readSession returns the session of the request, false if there is none. It renews expired tokens; if that fails,
// the session has ended.
func (x *exchange) readSession(l login) (session, bool) {
	var sealed strings.Builder
	for i := range maxShards {
		c, err := x.r.Cookie(l.cookie + "-" + strconv.Itoa(i))
		if err != nil {
			break
		}
		sealed.WriteString(c.Value)
	}
	raw, ok := x.plane.secrets.open(l.purpose("session", x.route.lb.arn), sealed.String())
	var s session
	if !ok || json.Unmarshal(raw, &s) != nil || !x.started.Before(s.Until) {
		return session{}, false
	}
	if s.Fresh.IsZero() || x.started.Before(s.Fresh) {
		return s, true
	}
	if s.Refresh == "" {
		return s, true // the session lasts until its timeout
	}
	s, err := x.plane.refresh(x.r.Context(), l, s, x.started)
	if err != nil {
		return session{}, false
	}
	x.writeSession(l, s)
	return s, true
}

// writeSession sends the session to the client, in as many cookies as needed.
func (x *exchange) writeSession(l login, s session) {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // claims were marshalled before
	}
	sealed := x.plane.secrets.seal(l.purpose("session", x.route.lb.arn), raw)
	for i := 0; sealed != ""; i++ {
		n := min(len(sealed), maxCookie)
		http.SetCookie(x.w, &http.Cookie{
			Name: l.cookie + "-" + strconv.Itoa(i), Value: sealed[:n], Path: "/",
			Expires: s.Until, Secure: true, HttpOnly: true, SameSite: http.SameSiteNoneMode,
		})
		sealed = sealed[n:]
	}
}

// addClaims adds the headers about the user for the target.
func (x *exchange) addClaims(l login, s session) (pass bool) {
	token, err := x.plane.signer.sign(map[string]any{
		"typ": "JWT", "alg": "ES256", "iss": l.issuer, "client": l.clientID,
		"signer": x.route.lb.arn, "exp": x.started.Add(2 * time.Minute).Unix(),
	}, s.Claims)
	if err != nil {
		x.answer(http.StatusInternalServerError)
		return false
	}
	x.claims.Set(headerAccessToken, s.Access)
	x.claims.Set(headerIdentity, s.Subject)
	x.claims.Set(headerClaims, token)
	return true
}
