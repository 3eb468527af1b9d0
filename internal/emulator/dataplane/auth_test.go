package dataplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// identityProvider is an OIDC identity provider for tests.
type identityProvider struct {
	*httptest.Server
	failTokenRequests atomic.Bool
	refreshCount      atomic.Int64
	expiresIn         int
	padding           string

	mu           sync.Mutex
	authRequest  url.Values // the latest authorization request
	tokenRequest url.Values // the latest token request
}

func startIdentityProvider(t *testing.T) *identityProvider {
	t.Helper()
	p := &identityProvider{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		p.mu.Lock()
		p.authRequest = q
		p.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.mu.Lock()
		p.tokenRequest = r.PostForm
		p.mu.Unlock()
		if p.failTokenRequests.Load() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if r.PostForm.Get("grant_type") == "refresh_token" {
			p.refreshCount.Add(1)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "the-access-token", "refresh_token": "again", "expires_in": p.expiresIn})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-access-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sub": "user-1", "email": "user@example.com", "padding": p.padding})
	})
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *identityProvider) oidcConfig() OIDC {
	return OIDC{
		Issuer: p.URL, AuthorizationEndpoint: p.URL + "/authorize", TokenEndpoint: p.URL + "/token", UserInfoEndpoint: p.URL + "/userinfo",
		ClientID: "client-1", ClientSecret: "secret", Scope: "openid email", ExtraParams: map[string]string{"prompt": "login"},
	}
}

// cookieClient is an HTTP client that stores cookies and does not follow redirects.
type cookieClient struct {
	t       *testing.T
	client  *http.Client
	cookies map[string]string
}

func (v *cookieClient) get(url string) reply {
	v.t.Helper()
	req := newTestRequest(v.t, http.MethodGet, url, nil)
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	got := send(v.t, v.client, req)
	for _, c := range got.Cookies() {
		v.cookies[c.Name] = c.Value
	}
	return got
}

// startAuthPlane starts a data plane with an HTTPS listener whose default rule has authenticator a. It returns the data
// plane and the URL of the listener.
func startAuthPlane(t *testing.T, a Authenticator, identity *http.Client) (*Plane, string) {
	t.Helper()
	ca := newIssuer(t)
	b := startBackend(t, "b")
	p := startPlane(t, func(o *Options) { o.IdentityClient = identity })
	l := httpsListener(ca, t)
	l.DefaultRule = Rule{Authenticators: []Authenticator{a}, Action: forwardTo("g")}
	apply(t, p, albConfig(l, targetGroupOf("g", b)))
	return p, "https://" + firstListenerAddress(t, p)
}

func (v *cookieClient) login(base, target string) reply {
	v.t.Helper()
	first := v.get(base + target)
	if first.StatusCode != http.StatusFound {
		v.t.Fatalf("want a redirect to the provider, got %d", first.StatusCode)
	}
	second := v.get(first.Header.Get("Location"))
	return v.get(second.Header.Get("Location"))
}

func TestOIDCLogin(t *testing.T) {
	idp := startIdentityProvider(t)
	p, base := startAuthPlane(t, idp.oidcConfig(), idp.Client())
	v := &cookieClient{t, httpsClient(t, false), map[string]string{}}
	back := v.login(base, "/private?x=1")
	if back.StatusCode != http.StatusFound || back.Header.Get("Location") != base+"/private?x=1" {
		t.Fatalf("after the login: %d to %s", back.StatusCode, back.Header.Get("Location"))
	}
	wantAuth := url.Values{
		"client_id": {"client-1"}, "redirect_uri": {base + "/oauth2/idpresponse"}, "response_type": {"code"},
		"scope": {"openid email"}, "prompt": {"login"}, "state": idp.authRequest["state"],
	}
	if diff := cmp.Diff(wantAuth, idp.authRequest); diff != "" {
		t.Errorf("authorization request (-want +got):\n%s", diff)
	}
	wantForm := url.Values{
		"client_id": {"client-1"}, "client_secret": {"secret"}, "code": {"the-code"},
		"grant_type": {"authorization_code"}, "redirect_uri": {base + "/oauth2/idpresponse"},
	}
	if diff := cmp.Diff(wantForm, idp.tokenRequest); diff != "" {
		t.Errorf("token request (-want +got):\n%s", diff)
	}
	for _, c := range back.Cookies() {
		if !c.Secure || !c.HttpOnly || c.Name != "AWSELBAuthSessionCookie-0" {
			t.Errorf("session cookie %+v", c)
		}
	}

	e := v.get(base + "/private?x=1").parseEcho(t)
	if e.Header.Get("X-Amzn-Oidc-Identity") != "user-1" || e.Header.Get("X-Amzn-Oidc-Accesstoken") != "the-access-token" {
		t.Errorf("headers of the target: %v", e.Header)
	}
	checkClaims(t, p, e.Header.Get("X-Amzn-Oidc-Data"))
}

// checkClaims verifies the signature and the content of the claims header as a target does.
func checkClaims(t *testing.T, p *Plane, data string) {
	t.Helper()
	parts := strings.Split(data, ".")
	if len(parts) != 3 {
		t.Fatalf("claims: %q", data)
	}
	var raw [3][]byte
	for i, part := range parts {
		b, err := base64.URLEncoding.DecodeString(part)
		if err != nil {
			t.Fatalf("part %d is not padded base64url: %v", i, err)
		}
		raw[i] = b
	}
	var header, claims map[string]any
	_, _ = json.Unmarshal(raw[0], &header), json.Unmarshal(raw[1], &claims)
	if header["alg"] != "ES256" || header["signer"] != "lb" || header["client"] != "client-1" || claims["email"] != "user@example.com" {
		t.Errorf("header %v, claims %v", header, claims)
	}
	kid, _ := header["kid"].(string)
	text, ok := p.PublicKey(kid)
	if !ok {
		t.Fatalf("key %q is not known", kid)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !isSignedBy(key, "ES", crypto.SHA256, sum[:], raw[2]) {
		t.Error("the signature does not verify")
	}
}

func TestOIDCWithoutSession(t *testing.T) {
	idp := startIdentityProvider(t)
	for on, want := range map[OnUnauthenticated]int{Allow: 200, Deny: 401, Authenticate: 302} {
		cfg := idp.oidcConfig()
		cfg.OnUnauthenticated = on
		_, base := startAuthPlane(t, cfg, idp.Client())
		v := &cookieClient{t, httpsClient(t, false), map[string]string{"AWSELBAuthSessionCookie-0": "forged"}}
		if got := v.get(base + "/"); got.StatusCode != want {
			t.Errorf("%s: want %d, got %d", on, want, got.StatusCode)
		}
	}
}

func TestOIDCFailures(t *testing.T) {
	idp := startIdentityProvider(t)
	_, base := startAuthPlane(t, idp.oidcConfig(), idp.Client())
	fresh := func() *cookieClient { return &cookieClient{t, httpsClient(t, false), map[string]string{}} }

	idp.failTokenRequests.Store(true)
	if got := fresh().login(base, "/"); got.StatusCode != 561 {
		t.Errorf("provider's error: want 561, got %d", got.StatusCode)
	}
	idp.failTokenRequests.Store(false)
	idp.padding = strings.Repeat("x", maxClaimsBytes)
	if got := fresh().login(base, "/"); got.StatusCode != 500 {
		t.Errorf("claims too large: want 500, got %d", got.StatusCode)
	}
	idp.padding = strings.Repeat("x", maxClaimsBytes-200)
	v := fresh()
	v.login(base, "/")
	if len(v.cookies) < 4 { // nonce and at least three parts
		t.Errorf("a large session is in %d cookies", len(v.cookies))
	}
	if got := v.get(base + "/"); got.StatusCode != 200 {
		t.Errorf("session in parts: %d", got.StatusCode)
	}
	if got := fresh().get(base + "/oauth2/idpresponse?code=x&state=forged"); got.StatusCode != 401 {
		t.Errorf("forged state: want 401, got %d", got.StatusCode)
	}
	v = fresh()
	state := v.get(base + "/").Header.Get("Location")
	stolen := fresh().get(base + "/oauth2/idpresponse?code=x&" + state[strings.Index(state, "state="):])
	if stolen.StatusCode != 401 {
		t.Errorf("another browser's state: want 401, got %d", stolen.StatusCode)
	}
	idp.Close()
	v = fresh()
	first := v.get(base + "/")
	to, _ := url.Parse(first.Header.Get("Location"))
	if got := v.get(base + "/oauth2/idpresponse?code=x&state=" + url.QueryEscape(to.Query().Get("state"))); got.StatusCode != 500 {
		t.Errorf("provider unreachable: want 500, got %d", got.StatusCode)
	}
}

func TestOIDCRefreshesTokens(t *testing.T) {
	idp := startIdentityProvider(t)
	idp.expiresIn = 1
	_, base := startAuthPlane(t, idp.oidcConfig(), idp.Client())
	v := &cookieClient{t, httpsClient(t, false), map[string]string{}}
	v.login(base, "/")
	eventually(t, "tokens renewed", func() bool { return v.get(base+"/").StatusCode == 200 && idp.refreshCount.Load() > 0 })
}

func TestCognitoEndpoints(t *testing.T) {
	got, ok := loginSettingsOf(Cognito{UserPoolARN: "arn:aws:cognito-idp:eu-west-1:123456789012:userpool/eu-west-1_abc", Domain: "my-app", ClientID: "c"})
	want := loginSettings{
		issuer:       "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_abc",
		authorizeURL: "https://my-app.auth.eu-west-1.amazoncognito.com/oauth2/authorize",
		tokenURL:     "https://my-app.auth.eu-west-1.amazoncognito.com/oauth2/token",
		userInfoURL:  "https://my-app.auth.eu-west-1.amazoncognito.com/oauth2/userInfo",
		clientID:     "c", scope: "openid", sessionCookie: "AWSELBAuthSessionCookie", sessionTimeout: 7 * 24 * time.Hour, onUnauthenticated: Authenticate,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(loginSettings{})); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, _ := loginSettingsOf(Cognito{Domain: "login.example.com"}); got.authorizeURL != "https://login.example.com/oauth2/authorize" {
		t.Errorf("custom domain: %s", got.authorizeURL)
	}
}

// signTestToken returns a JSON Web Token with these claims. If key is nil, the signature is empty.
func signTestToken(t *testing.T, alg, kid string, key any, claims map[string]any) string {
	t.Helper()
	head, _ := json.Marshal(map[string]any{"alg": alg, "kid": kid})
	body, _ := json.Marshal(claims)
	enc := base64.RawURLEncoding
	text := enc.EncodeToString(head) + "." + enc.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	var sig []byte
	switch k := key.(type) {
	case *rsa.PrivateKey:
		var err error
		if sig, err = rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:]); err != nil {
			t.Fatal(err)
		}
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		sig = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	return text + "." + enc.EncodeToString(sig)
}

func TestJWTValidation(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	point, err := ecKey.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	jwks := map[string]any{"keys": []map[string]any{
		{"kty": "RSA", "kid": "r", "alg": "RS256", "n": enc(rsaKey.N.Bytes()), "e": enc([]byte{1, 0, 1})},
		{"kty": "EC", "kid": "e", "crv": "P-256", "x": enc(point[1:33]), "y": enc(point[33:])},
		{"kty": "oct", "kid": "ignored"},
	}}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/jwks" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(jwks)
	}))
	defer srv.Close()
	rule := JWTValidation{Issuer: "https://issuer", JWKSEndpoint: srv.URL + "/jwks", Claims: []Claim{
		{Name: "aud", Format: "single-string", Values: []string{"app", "other"}},
		{Name: "groups", Format: "string-array", Values: []string{"admin"}},
		{Name: "scope", Format: "space-separated-values", Values: []string{"read", "write"}},
	}}
	p, base := startAuthPlane(t, rule, srv.Client())
	now := time.Now().Unix()
	claims := func(change map[string]any) map[string]any {
		c := map[string]any{"iss": "https://issuer", "exp": now + 600, "iat": now, "aud": "app", "groups": []string{"x", "admin"}, "scope": "write read"}
		maps.Copy(c, change)
		return c
	}
	good := signTestToken(t, "RS256", "r", rsaKey, claims(nil))
	for name, c := range map[string]struct {
		header string
		want   int
	}{
		"RSA":                      {"Bearer " + good, 200},
		"scheme in lower case":     {"bearer " + good, 200},
		"ECDSA":                    {"Bearer " + signTestToken(t, "ES256", "e", ecKey, claims(nil)), 200},
		"no header":                {"", 401},
		"not a token":              {"Bearer abc", 401},
		"another scheme":           {"Basic " + good, 401},
		"changed signature":        {"Bearer " + good[:len(good)-6] + "AAAAAA", 401},
		"key of another algorithm": {"Bearer " + signTestToken(t, "RS256", "e", ecKey, claims(nil)), 401},
		"algorithm none":           {"Bearer " + signTestToken(t, "none", "r", nil, claims(nil)), 401},
		"unknown key":              {"Bearer " + signTestToken(t, "RS256", "z", rsaKey, claims(nil)), 401},
		"expired":                  {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"exp": now - 600})), 401},
		"no expiry":                {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"exp": nil})), 401},
		"not yet":                  {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"nbf": now + 600})), 401},
		"another issuer":           {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"iss": "x"})), 401},
		"another audience":         {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"aud": "x"})), 401},
		"not in the claims group":  {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"groups": []string{"x"}})), 401},
		"scope missing":            {"Bearer " + signTestToken(t, "RS256", "r", rsaKey, claims(map[string]any{"scope": "read"})), 401},
	} {
		req := newTestRequest(t, http.MethodGet, base+"/", nil)
		if c.header != "" {
			req.Header.Set("Authorization", c.header)
		}
		if got := send(t, httpsClient(t, false), req); got.StatusCode != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got.StatusCode)
		}
	}
	_, err = p.keys.get(t.Context(), srv.URL+"/missing", "r")
	if err == nil {
		t.Error("a missing document has keys")
	}
}
