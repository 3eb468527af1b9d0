package acceptance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

const (
	maxMessageSize = 16 << 20
	// maxOutage is how long AWS may be unreachable before a run is interrupted.
	maxOutage = 45 * time.Second
)

// proxy forwards calls to AWS and records them.
type proxy struct {
	server  *http.Server
	address string
	// controllerPath and runPath are URL path prefixes, by which the proxy distinguishes the callers. They are random
	// and not in command lines, because other users of the machine who know one of them can use the credentials of the
	// run. They are not sent to AWS.
	controllerPath, runPath string

	client    *http.Client
	signer    *v4.Signer
	aws       aws.Config // with the user's credentials
	startedAt time.Time  // start of the run
	endpoint  func(ctx context.Context, service, region string) (*url.URL, error)

	mu           sync.Mutex
	part         string
	file         *os.File
	calls        []recording.Call
	failingSince time.Time // time of the first failure if all calls since then have failed, else zero
	lastError    error
}

// startProxy starts a proxy on a loopback port, with the calls that an interrupted run has recorded.
func startProxy(ctx context.Context, r *run) (*proxy, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(r.Region))
	if err != nil {
		return nil, fmt.Errorf("read the configuration of AWS: %w", err)
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("there are no credentials for AWS; set AWS_PROFILE, or log in: %w", err)
	}
	p := &proxy{controllerPath: "/" + rand.Text(), runPath: "/" + rand.Text(), client: &http.Client{Timeout: time.Minute}, signer: v4.NewSigner(), aws: cfg, startedAt: r.state.StartedAt, endpoint: endpointURL}
	// Do not follow redirects, so that signed requests go only to AWS.
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if cfg.BaseEndpoint != nil {
		at, err := url.Parse(*cfg.BaseEndpoint)
		if err != nil {
			return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
		}
		p.endpoint = func(context.Context, string, string) (*url.URL, error) { return at, nil }
	}
	if p.calls, err = readCalls(r.filePath("calls.jsonl")); err != nil {
		return nil, err
	}
	if p.file, err = os.OpenFile(r.filePath("calls.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		p.file.Close()
		return nil, err
	}
	p.address = "http://" + l.Addr().String()
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(l)
	return p, nil
}

// Close stops the proxy.
func (p *proxy) Close() {
	p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file.Close()
}

// config returns the configuration for SDK clients of the run. Their credentials are placeholders; the proxy signs
// the calls.
func (p *proxy) config() aws.Config {
	return aws.Config{
		Region: p.aws.Region, BaseEndpoint: aws.String(p.address + p.runPath), HTTPClient: &http.Client{Timeout: 2 * time.Minute},
		Credentials: credentials.NewStaticCredentialsProvider("RUN", "none", ""),
	}
}

// readCalls reads recorded calls. It skips lines that are incomplete.
func readCalls(name string) ([]recording.Call, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []recording.Call
	for line := range bytes.Lines(text) {
		var c recording.Call
		if json.Unmarshal(line, &c) == nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// ServeHTTP forwards a call. If AWS does not answer, it closes the connection without an answer.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	by := ""
	for caller, prefix := range map[string]string{"controller": p.controllerPath, "run": p.runPath} {
		if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			by, r.URL.Path, r.URL.RawPath = caller, "/"+strings.TrimPrefix(rest, "/"), ""
		}
	}
	if by == "" {
		http.Error(w, "only the acceptance run and its controller may use this proxy", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessageSize))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c, err := recording.NewCall(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	began := time.Now()
	c.Caller, c.StartMillis = by, began.Sub(p.startedAt).Milliseconds()
	res, answer, err := p.forward(r, c, body)
	c.DurationMillis = time.Since(began).Milliseconds()
	if err == nil {
		c.Status = res.StatusCode
		if c.Answer, err = recording.ParseResponseBody(answer); err != nil {
			c.Answer, err = &recording.Node{Text: "cannot be read"}, nil
		}
	}
	p.record(c, err)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, name := range []string{"Content-Type", "X-Amzn-Requestid", "X-Amzn-Errortype", "Retry-After"} {
		if v := res.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	w.Write(answer)
}

// forward signs a request with the user's credentials and sends it to AWS.
func (p *proxy) forward(r *http.Request, c recording.Call, body []byte) (*http.Response, []byte, error) {
	ctx := r.Context()
	at, err := p.endpoint(ctx, c.Service, c.Region)
	if err != nil {
		return nil, nil, err
	}
	to := *r.URL
	to.Scheme, to.Host = at.Scheme, at.Host
	out, err := http.NewRequestWithContext(ctx, r.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"Content-Type", "X-Amz-Target", "User-Agent", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "X-Amzn-Query-Mode"} {
		if v := r.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	who, err := p.aws.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("credentials for AWS: %w", err)
	}
	sum := sha256.Sum256(body)
	if err := p.signer.SignHTTP(ctx, who, out, hex.EncodeToString(sum[:]), c.Service, c.Region, time.Now()); err != nil {
		return nil, nil, err
	}
	res, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxMessageSize))
	return res, answer, err
}

// record adds a call to the recording and to the file. err is the error of a call that got no answer from AWS.
func (p *proxy) record(c recording.Call, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.failingSince = time.Time{}
	case !errors.Is(err, context.Canceled):
		p.lastError = err
		if p.failingSince.IsZero() {
			p.failingSince = time.Now()
		}
	}
	c.Phase = p.part
	p.calls = append(p.calls, c)
	// If the file cannot be written, the call is still in memory. It is lost only if the run is interrupted.
	if line, err := json.Marshal(c); err == nil {
		p.file.Write(append(line, '\n'))
	}
}

// setPart sets the part to which the next calls belong.
func (p *proxy) setPart(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = part
}

// countChanges returns the number of mutating calls of the controller.
func (p *proxy) countChanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.calls {
		if c.Caller == "controller" && c.IsMutating() {
			n++
		}
	}
	return n
}

// recordedCalls returns the calls so far.
func (p *proxy) recordedCalls() []recording.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]recording.Call(nil), p.calls...)
}

// isFailing reports whether the last call that was not canceled got no answer from AWS.
func (p *proxy) isFailing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.failingSince.IsZero()
}

// checkReachable returns an error if AWS has been unreachable for maxOutage.
func (p *proxy) checkReachable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failingSince.IsZero() || time.Since(p.failingSince) < maxOutage {
		return nil
	}
	return fmt.Errorf("%w for %s: %w", errUnreachable, maxOutage, cmp.Or(p.lastError, errors.New("no answer")))
}

// errUnreachable is the error of a run that an outage of AWS interrupts. The run can be continued.
var errUnreachable = errors.New("AWS cannot be reached")
