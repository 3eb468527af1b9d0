package dataplane

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// statusProviderError is the HTTP status with which AWS answers if the identity provider reports an error.
const statusProviderError = 561

// maxClaimsBytes is the maximum size of a user's claims in bytes, encoded as JSON.
const maxClaimsBytes = 11 << 10

var errProvider = errors.New("the identity provider reported an error")

// redeemCode exchanges the authorization code for tokens and fetches the user's claims. It returns the session and 0, or
// the HTTP status for the client if one of the two requests fails.
func (p *Plane) redeemCode(ctx context.Context, l loginSettings, code, callback string, now time.Time) (session, int) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback},
		"client_id": {l.clientID}, "client_secret": {l.clientSecret},
	}
	s, err := p.fetchTokens(ctx, l, form, now)
	if err == nil {
		s.ExpiresAt = now.Add(l.sessionTimeout)
		err = p.fetchClaims(ctx, l, &s)
	}
	switch {
	case errors.Is(err, errProvider):
		return session{}, statusProviderError
	case err != nil:
		p.opt.Log.Debug("login failed", "issuer", l.issuer, "error", err)
		return session{}, http.StatusInternalServerError
	}
	return s, 0
}

// refreshSession returns the session old with new tokens and claims. The end of the session does not change.
func (p *Plane) refreshSession(ctx context.Context, l loginSettings, old session, now time.Time) (session, error) {
	form := url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {old.RefreshToken},
		"client_id": {l.clientID}, "client_secret": {l.clientSecret},
	}
	s, err := p.fetchTokens(ctx, l, form, now)
	if err != nil {
		return session{}, err
	}
	if s.RefreshToken == "" {
		s.RefreshToken = old.RefreshToken
	}
	s.ExpiresAt = old.ExpiresAt
	return s, p.fetchClaims(ctx, l, &s)
}

func (p *Plane) fetchTokens(ctx context.Context, l loginSettings, form url.Values, now time.Time) (session, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return session{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	raw, err := p.callProvider(req)
	if err != nil {
		return session{}, err
	}
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Expires int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(raw, &tokens); err != nil || tokens.Access == "" {
		return session{}, errProvider
	}
	s := session{AccessToken: tokens.Access, RefreshToken: tokens.Refresh}
	if tokens.Expires > 0 {
		s.TokenExpiresAt = now.Add(time.Duration(tokens.Expires) * time.Second)
	}
	return s, nil
}

func (p *Plane) fetchClaims(ctx context.Context, l loginSettings, s *session) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.userInfoURL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.AccessToken)
	raw, err := p.callProvider(req)
	if err != nil {
		return err
	}
	var claims map[string]any
	if err := json.Unmarshal(raw, &claims); err != nil {
		return errProvider
	}
	if s.Claims, err = json.Marshal(claims); err != nil {
		return err
	}
	if len(s.Claims) > maxClaimsBytes {
		return errors.New("the claims of the user are too large")
	}
	s.Subject, _ = claims["sub"].(string)
	return nil
}

// callProvider sends a request to the identity provider and returns the body of the response. If the response has no 2xx
// status, the error is errProvider.
func (p *Plane) callProvider(req *http.Request) ([]byte, error) {
	resp, err := p.opt.IdentityClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, errProvider
	}
	return raw, nil
}
