package acceptance

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// startTestProxy starts a proxy to an AWS endpoint that the handler serves.
func startTestProxy(t *testing.T, to http.Handler) (*proxy, *run) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "USERKEY", "AWS_SECRET_ACCESS_KEY": "usersecret", "AWS_SESSION_TOKEN": "usertoken", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"),
	} {
		t.Setenv(name, value)
	}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	r := &run{Options: Options{Region: "eu-west-1"}, dir: t.TempDir(), state: state{StartedAt: time.Now()}}
	p, err := startProxy(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, r
}

// TestProxySignsAndRecordsCalls checks that the proxy signs calls with the user's credentials, and that the file of
// calls contains neither the credentials nor a private key.
func TestProxySignsAndRecordsCalls(t *testing.T) {
	em := emulator.New(emulator.Options{})
	var seen []string
	p, r := startTestProxy(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen = append(seen, req.Header.Get("Authorization"))
		if req.Header.Get("X-Amz-Security-Token") != "usertoken" {
			t.Errorf("the session token is %q", req.Header.Get("X-Amz-Security-Token"))
		}
		em.Handler().ServeHTTP(w, req)
	}))
	p.setPart("ingress")
	if _, err := ec2.NewFromConfig(p.config()).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Fatal(err)
	}
	// The proxy passes a refusal of AWS to the caller.
	_, refused := acm.NewFromConfig(p.config()).ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: []byte("one"), PrivateKey: []byte("the private key")})
	if refused == nil || !strings.Contains(refused.Error(), "ValidationException") {
		t.Errorf("the refusal is %v", refused)
	}
	for _, s := range seen {
		if !strings.Contains(s, "Credential=USERKEY/") || !strings.Contains(s, "/eu-west-1/") {
			t.Errorf("AWS has got the signature %s", s)
		}
	}
	calls, err := readCalls(r.filePath("calls.jsonl"))
	if err != nil || len(calls) != 2 {
		t.Fatalf("%d calls are recorded, %v", len(calls), err)
	}
	if c := calls[0]; c.Operation != "DescribeVpcs" || c.Phase != "ingress" || c.Caller != "run" || c.Status != 200 || c.Answer.Child("vpcSet") == nil {
		t.Errorf("recorded: %+v", c)
	}
	text, err := os.ReadFile(r.filePath("calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"USERKEY", "usersecret", "usertoken", p.runPath, p.controllerPath, "dGhlIHByaXZhdGUga2V5"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the file has %q", secret)
		}
	}
}

// TestProxyAcceptsOnlyCallsOfTheRun checks that another program on this machine cannot use the user's credentials
// through the proxy.
func TestProxyAcceptsOnlyCallsOfTheRun(t *testing.T) {
	p, _ := startTestProxy(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("AWS was called") }))
	signed := "AWS4-HMAC-SHA256 Credential=USERKEY/20260101/eu-west-1/ec2/aws4_request, SignedHeaders=host, Signature=0"
	for name, x := range map[string]struct{ path, authorization string }{
		"no path":                  {"/", signed},
		"another path":             {"/controller/", signed},
		"a path that begins alike": {p.runPath + "X/", signed},
		"below another":            {"/x" + p.runPath + "/", signed},
		"not signed":               {p.runPath + "/", ""},
		"a scope that is not one":  {p.runPath + "/", "AWS4-HMAC-SHA256 Credential=USERKEY/ec2"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.address+x.path, strings.NewReader("Action=DescribeVpcs&Version=2016-11-15"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", x.authorization)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
}

// TestLostAnswerBreaksConnection checks that the controller sees a broken connection, and no error response of the
// proxy, if AWS does not respond, and that the run reports AWS as unreachable after a while.
func TestLostAnswerBreaksConnection(t *testing.T) {
	p, _ := startTestProxy(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	cfg := p.config()
	cfg.RetryMaxAttempts = 1
	_, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("the controller gets %v", err)
	}
	if !p.isFailing() || p.checkReachable() != nil {
		t.Errorf("right after the first call failing is %v, reachable %v", p.isFailing(), p.checkReachable())
	}
	p.mu.Lock()
	p.failingSince = time.Now().Add(-maxOutage)
	p.mu.Unlock()
	if err := p.checkReachable(); err == nil || !strings.Contains(err.Error(), "AWS cannot be reached") {
		t.Errorf("after a while: %v", err)
	}
	if calls := p.recordedCalls(); len(calls) != 1 || calls[0].Status != 0 {
		t.Errorf("recorded: %+v", calls)
	}
}

// TestEndpoints checks that the endpoint of each service that the controller calls is the documented one, in each
// partition.
func TestEndpoints(t *testing.T) {
	for at, want := range map[[2]string]string{
		{"ec2", "eu-west-1"}:                     "https://ec2.eu-west-1.amazonaws.com",
		{"elasticloadbalancing", "eu-west-1"}:    "https://elasticloadbalancing.eu-west-1.amazonaws.com",
		{"elasticloadbalancing", "cn-north-1"}:   "https://elasticloadbalancing.cn-north-1.amazonaws.com.cn",
		{"acm", "us-gov-west-1"}:                 "https://acm.us-gov-west-1.amazonaws.com",
		{"iam", "us-east-1"}:                     "https://iam.amazonaws.com",
		{"route53", "us-east-1"}:                 "https://route53.amazonaws.com",
		{"shield", "us-east-1"}:                  "https://shield.us-east-1.amazonaws.com",
		{"sts", "eu-west-1"}:                     "https://sts.eu-west-1.amazonaws.com",
		{"tagging", "eu-west-1"}:                 "https://tagging.eu-west-1.amazonaws.com",
		{"waf-regional", "eu-west-1"}:            "https://waf-regional.eu-west-1.amazonaws.com",
		{"wafv2", "eu-west-1"}:                   "https://wafv2.eu-west-1.amazonaws.com",
		{"globalaccelerator", "us-west-2"}:       "https://globalaccelerator.us-west-2.amazonaws.com",
		{"lambda", "eu-west-1"}:                  "",
		{"elasticloadbalancing", "evil.test/x#"}: "",
	} {
		got, err := endpointURL(context.Background(), at[0], at[1])
		switch {
		case want == "" && err == nil:
			t.Errorf("%v leads to %s", at, got)
		case want != "" && (err != nil || got.String() != want):
			t.Errorf("%v leads to %v, %v; want %s", at, got, err, want)
		}
	}
}
