package dataplane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// forward sends the request to a target of one of the target groups and sends the response to the client. If there is no
// target, or the target fails, it sends an error response.
func (x *exchange) forward(to Forward) {
	now := x.startTime
	choice := x.chooseTargetGroup(to, now)
	g := x.route.targetGroups[choice.arn]
	if g == nil {
		x.answer(http.StatusServiceUnavailable)
		return
	}
	x.accessEntry.TargetGroup = g.arn
	v := g.view.Load()
	if !x.supportsProtocolVersion(v.cfg.ProtocolVersion) {
		x.answer(464)
		return
	}
	host, target, ok := applyRewrites(x.rule.transforms, x.r.Host, requestTarget(x.r))
	if !ok {
		x.answer(http.StatusInternalServerError)
		return
	}
	at := receivingNode{address: x.route.node, zone: x.route.zone, crossZone: x.route.lb.attr.crossZone}
	t, stay := x.stickyTarget(g, v, at, now)
	if t == nil {
		t = g.chooseTarget(v, at, now)
	}
	if t == nil && x.switchToCurrentRoute() {
		x.applyRules()
		return
	}
	if t == nil {
		x.answer(http.StatusServiceUnavailable)
		return
	}
	x.accessEntry.Target = t.addr

	ctx, end := x.plane.calls.begin(x.r.Context(), t)
	defer end()
	if v.cfg.IsLambda {
		x.invokeLambda(ctx, g, v, t, target)
		return
	}
	body := &requestBody{ReadCloser: x.r.Body, controller: http.NewResponseController(x.w)}
	if x.r.ProtoMajor == 1 {
		body.limit = x.route.lb.attr.idleTimeout
	}
	in := x.r.WithContext(ctx)
	if x.r.Body != nil && x.r.Body != http.NoBody {
		in.Body = body
	}
	proxy := httputil.ReverseProxy{
		Transport:     g.nodeTransport(x.plane, x.route.node, v, x.route.lb.attr.idleTimeout),
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(x.plane.opt.Log.Handler(), slog.LevelDebug),
		Rewrite: func(pr *httputil.ProxyRequest) {
			x.prepareTargetRequest(pr, v, t, host, target)
		},
		ModifyResponse: func(resp *http.Response) error {
			x.prepareResponse(resp, choice, stay, g, v, t)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			x.answerFailure(ctx, body, err)
		},
	}
	proxy.ServeHTTP(x.w, in)
}

// supportsProtocolVersion reports whether a target group with a protocol version can serve a request with the client's
// protocol.
func (x *exchange) supportsProtocolVersion(version ProtocolVersion) bool {
	switch version {
	case GRPC:
		return x.r.ProtoMajor == 2 && x.r.Method == http.MethodPost
	case HTTP2:
		return x.r.ProtoMajor == 2
	default:
		return !x.isGRPC
	}
}

// prepareTargetRequest sets the URL and the headers of the request to target t. host and target are the host and the request
// target after transforms.
func (x *exchange) prepareTargetRequest(pr *httputil.ProxyRequest, v *targetGroupView, t *target, host, target string) {
	out := pr.Out
	out.URL = targetURL(strings.ToLower(string(v.cfg.Protocol)), t.addr.String(), target)
	out.Host = host
	if host == x.r.Host && !x.route.lb.attr.preserveHost {
		out.Host = targetHost(host, x.route.listener.port)
	}
	// httputil.ReverseProxy removes the headers Forwarded and X-Forwarded-Host, but a load balancer forwards them.
	if f := pr.In.Header["Forwarded"]; f != nil {
		out.Header["Forwarded"] = f
	}
	if f := pr.In.Header["X-Forwarded-Host"]; f != nil {
		out.Header["X-Forwarded-Host"] = f
	}
	out.Header.Del("Expect") // the load balancer has answered this header
	x.setForwardedHeaders(out.Header, pr.In.Header)
	x.setTLSHeaders(out.Header)
	for _, name := range claimHeaders {
		out.Header.Del(name)
	}
	for name, values := range x.claimHeaders {
		out.Header[name] = values
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // net/http would set its own
	}
}

// targetURL returns a URL with the path and the query of target unchanged. Exception: net/url encodes characters in a path
// that begins with two slashes.
func targetURL(scheme, host, target string) *url.URL {
	path, query, hasQuery := strings.Cut(target, "?")
	u := &url.URL{Scheme: scheme, Host: host, RawQuery: query, ForceQuery: hasQuery && query == ""}
	if parsed, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = parsed, path
	} else {
		u.Path = path
	}
	if u.EscapedPath() != path && !strings.HasPrefix(path, "//") {
		u.Opaque = path
	}
	return u
}

// prepareResponse changes the headers of the target's response before the client receives them.
func (x *exchange) prepareResponse(resp *http.Response, choice targetGroupChoice, stay bool, g *targetGroup, v *targetGroupView, t *target) {
	x.w.bodyIsEmpty = resp.ContentLength == 0
	x.addResponseHeaders(resp.Header)
	if x.route.listener.attr.hideServerHeader {
		resp.Header.Del("Server")
	}
	for _, c := range x.stickyCookies(resp, choice, stay, g, v, t) {
		resp.Header.Add("Set-Cookie", c.String())
	}
}

// answerFailure answers a request if its target has failed to answer. If the client has closed the connection, it aborts the
// handler.
func (x *exchange) answerFailure(ctx context.Context, body *requestBody, err error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTargetRemoved), errors.Is(cause, errPlaneClosed):
		x.answer(http.StatusBadGateway)
	case body.hasTimedOut():
		x.w.Header().Set("Connection", "close")
		x.answer(http.StatusRequestTimeout)
	case x.r.Context().Err() != nil:
		x.accessEntry.Status = 460 // the client has closed the connection
		panic(http.ErrAbortHandler)
	case body.isBroken():
		x.w.Header().Set("Connection", "close")
		x.answer(http.StatusBadRequest)
	case isTimeout(err):
		x.answer(http.StatusGatewayTimeout)
	default:
		x.answer(http.StatusBadGateway)
	}
}

// requestBody reads the client's request body and records why reading failed.
type requestBody struct {
	io.ReadCloser
	// limit is the timeout of each read. It is 0 for HTTP/2, because an HTTP/2 stream may be idle in one direction.
	limit      time.Duration
	controller *http.ResponseController
	state      bodyState
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.limit > 0 {
		_ = b.controller.SetReadDeadline(time.Now().Add(b.limit))
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if err == io.EOF {
		if b.limit > 0 {
			_ = b.controller.SetReadDeadline(time.Time{})
		}
	} else {
		if isTimeout(err) {
			b.state.set(bodyTimedOut)
		} else {
			b.state.set(bodyBroken)
		}
	}
	return n, err
}

func (b *requestBody) hasTimedOut() bool { return b.state.get() == bodyTimedOut }
func (b *requestBody) isBroken() bool    { return b.state.get() == bodyBroken }
