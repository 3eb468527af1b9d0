package dataplane

import (
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// maxRequestsPerConn is the number of requests after which a load balancer closes a connection.
const maxRequestsPerConn = 10000

// AccessEntry describes a finished request. For a flow through a Network Load Balancer, Rule, Method, Host, URI and Status
// are not set.
type AccessEntry struct {
	LoadBalancer, Listener, Rule string // ARNs
	TargetGroup                  string // ARN; empty if the request was not forwarded
	Target                       netip.AddrPort
	Client                       netip.AddrPort
	Method, Host, URI            string
	// Status is the status in the response, or 460 if the client closed the connection before it got a response.
	Status int
	Took   time.Duration
}

// exchange contains a request and its response while the load balancer handles them.
type exchange struct {
	plane  *Plane
	socket *listenerSocket
	route  *route
	rule   *ruleView
	w      *statusWriter
	r      *http.Request

	client netip.AddrPort // address for conditions and headers
	path   string         // as the client sent it
	query  string         // as the client sent it
	isGRPC bool

	// claimHeaders are the headers that authentication adds to the request to the target.
	claimHeaders http.Header
	accessEntry  AccessEntry
	startTime    time.Time
}

// serve handles one request of a client.
func (f *listenerSocket) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		plane: f.plane, socket: f, route: f.route.Load(), r: r, startTime: time.Now(),
		w: &statusWriter{ResponseWriter: w}, claimHeaders: http.Header{},
	}
	x.client = f.plane.clientAddress(r.RemoteAddr)
	x.path, x.query, _ = strings.Cut(requestTarget(r), "?")
	x.isGRPC = r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
	x.accessEntry = AccessEntry{
		LoadBalancer: x.route.lb.arn, Listener: x.route.listener.arn, Client: x.client,
		Method: r.Method, Host: r.Host, URI: r.RequestURI,
	}
	defer x.logAccess()
	x.limitConnection()
	if status := x.rejectStatus(); status != 0 {
		w.Header().Set("Connection", "close")
		x.answer(status)
		return
	}
	x.dropInvalidHeaders()
	if x.finishLogin() {
		return
	}
	x.applyRules()
}

// applyRules performs the authentications and the action of the first matching rule.
func (x *exchange) applyRules() {
	r := x.r
	facts := RequestFacts{Host: r.Host, Path: x.path, Query: x.query, Method: r.Method, Header: r.Header, Source: x.client.Addr()}
	rules := x.route.listener.rules
	for i := range rules {
		if !rules[i].matcher.Match(facts) {
			continue
		}
		x.rule = &rules[i]
		x.accessEntry.Rule = x.rule.arn
		break
	}
	if x.rule == nil {
		x.answer(http.StatusInternalServerError) // the default rule is invalid
		return
	}
	for _, a := range x.rule.authenticators {
		if !x.authenticate(a) {
			return
		}
	}
	switch then := x.rule.action.(type) {
	case FixedResponse:
		x.answerFixed(then)
	case Redirect:
		x.redirect(then)
	case Forward:
		x.forward(then)
	}
}

// switchToCurrentRoute reports whether the route has changed since the request arrived. If it has, the exchange uses the
// current route from now on. Target groups change before the routes to them, so a target group of the old route may be out
// of use.
func (x *exchange) switchToCurrentRoute() bool {
	x.plane.mu.Lock() // wait until an Apply that is running has finished
	current := x.socket.route.Load()
	x.plane.mu.Unlock()
	if current == x.route {
		return false
	}
	x.route, x.rule, x.accessEntry.Listener = current, nil, current.listener.arn
	return true
}

// requestTarget returns the path and the query as the client sent them.
func requestTarget(r *http.Request) string {
	uri := r.RequestURI
	if strings.HasPrefix(uri, "/") || uri == "*" {
		return uri
	}
	if _, rest, absolute := strings.Cut(uri, "://"); absolute {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			if rest[i] == '?' {
				return "/" + rest[i:]
			}
			return rest[i:]
		}
	}
	return "/"
}

// rejectStatus returns the HTTP status with which the request is rejected, or 0 if it is accepted.
func (x *exchange) rejectStatus() int {
	r := x.r
	if len(r.RequestURI) > maxHeaderLine {
		return http.StatusRequestURITooLong
	}
	if r.Method == http.MethodTrace {
		return http.StatusMethodNotAllowed
	}
	for name, values := range r.Header {
		for _, v := range values {
			if len(name)+len(v) > maxHeaderLine {
				return http.StatusBadRequest
			}
		}
	}
	forwarded := strings.Join(r.Header["X-Forwarded-For"], ",")
	if strings.Count(forwarded, ",") >= 30 {
		return 463
	}
	if x.route.listener.protocol == HTTPS && r.TLS == nil {
		return http.StatusBadRequest
	}
	return 0
}

var validHeaderName = regexp.MustCompile(`^[-A-Za-z0-9]+$`)

// dropInvalidHeaders removes headers with invalid names if an attribute of the load balancer requires it. It runs before the
// rules are evaluated.
func (x *exchange) dropInvalidHeaders() {
	if !x.route.lb.attr.dropInvalidHeader {
		return
	}
	for name := range x.r.Header {
		if !validHeaderName.MatchString(name) {
			x.r.Header.Del(name)
			delete(x.r.Header, name)
		}
	}
}

// limitConnection closes the client's connection after this request if the connection is too old or has had too many
// requests.
func (x *exchange) limitConnection() {
	c, ok := x.r.Context().Value(clientConnKey{}).(*clientConn)
	if !ok {
		return
	}
	if c.requests.Add(1) >= maxRequestsPerConn || x.startTime.Sub(c.openedAt) > x.route.lb.attr.clientKeepAlive {
		x.w.Header().Set("Connection", "close")
	}
}

// answerFixed answers the request with a fixed-response action.
func (x *exchange) answerFixed(f FixedResponse) {
	switch {
	case f.ContentType != "":
		x.w.Header().Set("Content-Type", f.ContentType)
	case f.Body != "":
		x.w.Header().Set("Content-Type", "text/plain")
	default:
		x.w.Header()["Content-Type"] = nil // otherwise net/http would guess a type
	}
	x.sendAnswer(f.Status, f.Body)
}

func (x *exchange) logAccess() {
	if x.plane.opt.LogAccess == nil {
		return
	}
	if x.accessEntry.Status == 0 {
		x.accessEntry.Status = x.w.status
	}
	x.accessEntry.Took = time.Since(x.startTime)
	x.plane.opt.LogAccess(x.accessEntry)
}

// clientAddress returns the client address in the emulated network for the remote address of a connection.
func (p *Plane) clientAddress(remote string) netip.AddrPort {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		host, _, _ := net.SplitHostPort(remote)
		addr, _ := netip.ParseAddr(host)
		at = netip.AddrPortFrom(addr, 0)
	}
	return p.clientOf(at).client
}

// statusWriter records the status of the response. http.ResponseController calls Unwrap to get the wrapped writer, which
// can flush and hijack.
type statusWriter struct {
	http.ResponseWriter
	status int
	// bodyIsEmpty is set if the response has no body. The headers of such a response must not be flushed separately, because
	// they would then not end the HTTP/2 stream. gRPC signals an error by headers that end the stream.
	bodyIsEmpty bool
}

// FlushError flushes the response, unless bodyIsEmpty is set. http.ResponseController calls it.
func (w *statusWriter) FlushError() error {
	if w.bodyIsEmpty {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
