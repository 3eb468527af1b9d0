package dataplane

import (
	"fmt"
	"strconv"
	"time"
)

// attributes reads typed values from AWS's map of attribute strings. It collects an error for each invalid value.
type attributes struct {
	resource string
	values   map[string]string
	errs     []error
}

func (a *attributes) text(key, byDefault string) string {
	if v, ok := a.values[key]; ok {
		return v
	}
	return byDefault
}

func (a *attributes) bool(key string, byDefault bool) bool {
	v, ok := a.values[key]
	if !ok {
		return byDefault
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		a.errs = append(a.errs, fmt.Errorf("%s: attribute %s: %q is neither true nor false", a.resource, key, v))
		return byDefault
	}
	return b
}

// number returns the value of a numeric attribute. The value "off" means 0. For an invalid value it records an error and
// returns byDefault.
func (a *attributes) number(key string, byDefault int) int {
	v, ok := a.values[key]
	if !ok {
		return byDefault
	}
	if v == "off" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		a.errs = append(a.errs, fmt.Errorf("%s: attribute %s: %q is not a number of 0 or more", a.resource, key, v))
		return byDefault
	}
	return n
}

func (a *attributes) seconds(key string, byDefault int) time.Duration {
	return time.Duration(a.number(key, byDefault)) * time.Second
}

// lbAttributes are the attributes of a load balancer that affect traffic.
type lbAttributes struct {
	idleTimeout       time.Duration
	clientKeepAlive   time.Duration
	http2             bool
	dropInvalidHeader bool
	preserveHost      bool
	addTLSHeaders     bool
	addClientPort     bool
	forwardedForMode  string
	crossZone         bool
}

func parseLBAttributes(of string, lb LoadBalancer) (lbAttributes, []error) {
	a := &attributes{resource: of, values: lb.Attributes}
	return lbAttributes{
		idleTimeout:       a.seconds("idle_timeout.timeout_seconds", 60),
		clientKeepAlive:   a.seconds("client_keep_alive.seconds", 3600),
		http2:             a.bool("routing.http2.enabled", true),
		dropInvalidHeader: a.bool("routing.http.drop_invalid_header_fields.enabled", false),
		preserveHost:      a.bool("routing.http.preserve_host_header.enabled", false),
		addTLSHeaders:     a.bool("routing.http.x_amzn_tls_version_and_cipher_suite.enabled", false),
		addClientPort:     a.bool("routing.http.xff_client_port.enabled", false),
		forwardedForMode:  a.text("routing.http.xff_header_processing.mode", "append"),
		crossZone:         a.bool("load_balancing.cross_zone.enabled", !lb.IsNetwork),
	}, a.errs
}

// tgAttributes are the attributes of a target group that affect traffic.
type tgAttributes struct {
	algorithm         string
	slowStart         time.Duration
	isSticky          bool
	stickyType        string
	lbCookieDuration  time.Duration
	appCookieName     string
	appCookieDuration time.Duration
	crossZone         string
	minHealthy        int
	minHealthyPercent int // percent; 0 means off
	multiValueHeaders bool

	// The following attributes affect only target groups of Network Load Balancers. Their stickiness is always by source
	// address.
	dnsMinHealthy        int
	dnsMinHealthyPercent int // percent; 0 means off
	preserveClientIP     bool
	proxyProtocol        bool
	resetDeregistered    bool // reset connections when deregistration ends
	resetUnhealthy       bool // reset connections when a target becomes unhealthy
}

func parseTGAttributes(of string, tg TargetGroup) (tgAttributes, []error) {
	a := &attributes{resource: of, values: tg.Attributes}
	udp := tg.Protocol.hasDatagrams()
	attr := tgAttributes{
		algorithm:         a.text("load_balancing.algorithm.type", "round_robin"),
		slowStart:         a.seconds("slow_start.duration_seconds", 0),
		isSticky:          a.bool("stickiness.enabled", false),
		stickyType:        a.text("stickiness.type", "lb_cookie"),
		lbCookieDuration:  a.seconds("stickiness.lb_cookie.duration_seconds", 86400),
		appCookieName:     a.text("stickiness.app_cookie.cookie_name", ""),
		appCookieDuration: a.seconds("stickiness.app_cookie.duration_seconds", 86400),
		crossZone:         a.text("load_balancing.cross_zone.enabled", "use_load_balancer_configuration"),
		minHealthy:        a.number("target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", 1),
		minHealthyPercent: a.number("target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage", 0),
		multiValueHeaders: a.bool("lambda.multi_value_headers.enabled", false),

		dnsMinHealthy:        a.number("target_group_health.dns_failover.minimum_healthy_targets.count", 1),
		dnsMinHealthyPercent: a.number("target_group_health.dns_failover.minimum_healthy_targets.percentage", 0),
		preserveClientIP:     a.bool("preserve_client_ip.enabled", udp),
		proxyProtocol:        a.bool("proxy_protocol_v2.enabled", false),
		resetDeregistered:    a.bool("deregistration_delay.connection_termination.enabled", udp),
		resetUnhealthy:       a.bool("target_health_state.unhealthy.connection_termination.enabled", !udp),
	}
	if tg.IsALB {
		attr.preserveClientIP, attr.proxyProtocol = true, false
	}
	return attr, a.errs
}

// listenerAttributes are the attributes of a listener that affect traffic.
type listenerAttributes struct {
	hideServerHeader bool
	// responseHeaders maps the name of a response header to the value that the listener sets.
	responseHeaders map[string]string
	// tcpIdleTimeout is the time without traffic after which a connection is reset.
	tcpIdleTimeout time.Duration
	// requestHeaderNames maps the default name of a header in requests to targets to the name that the user chose.
	requestHeaderNames map[string]string
}

// responseHeaders maps the variable part of a listener attribute to the response header that the attribute sets. The
// attribute of "x_frame_options" is "routing.http.response.x_frame_options.header_value".
var responseHeaders = map[string]string{
	"strict_transport_security":        "Strict-Transport-Security",
	"access_control_allow_origin":      "Access-Control-Allow-Origin",
	"access_control_allow_methods":     "Access-Control-Allow-Methods",
	"access_control_allow_headers":     "Access-Control-Allow-Headers",
	"access_control_allow_credentials": "Access-Control-Allow-Credentials",
	"access_control_expose_headers":    "Access-Control-Expose-Headers",
	"access_control_max_age":           "Access-Control-Max-Age",
	"content_security_policy":          "Content-Security-Policy",
	"x_content_type_options":           "X-Content-Type-Options",
	"x_frame_options":                  "X-Frame-Options",
}

// requestHeaders maps the variable part of a listener attribute to the request header that the attribute renames. The
// attribute of "x_amzn_tls_version" is "routing.http.request.x_amzn_tls_version.header_name".
var requestHeaders = map[string]string{
	"x_amzn_mtls_clientcert_serial_number": headerClientCertSerial,
	"x_amzn_mtls_clientcert_issuer":        headerClientCertIssuer,
	"x_amzn_mtls_clientcert_subject":       headerClientCertSubject,
	"x_amzn_mtls_clientcert_validity":      headerClientCertValidity,
	"x_amzn_mtls_clientcert_leaf":          headerClientCertLeaf,
	"x_amzn_mtls_clientcert":               headerClientCert,
	"x_amzn_tls_version":                   headerTLSVersion,
	"x_amzn_tls_cipher_suite":              headerTLSCipher,
}

func parseListenerAttributes(of string, values map[string]string) (listenerAttributes, []error) {
	a := &attributes{resource: of, values: values}
	l := listenerAttributes{
		hideServerHeader:   !a.bool("routing.http.response.server.enabled", true),
		responseHeaders:    map[string]string{},
		tcpIdleTimeout:     a.seconds("tcp.idle_timeout.seconds", 350),
		requestHeaderNames: map[string]string{},
	}
	for part, header := range responseHeaders {
		if v := a.text("routing.http.response."+part+".header_value", ""); v != "" {
			l.responseHeaders[header] = v
		}
	}
	for part, header := range requestHeaders {
		if v := a.text("routing.http.request."+part+".header_name", ""); v != "" {
			l.requestHeaderNames[header] = v
		}
	}
	return l, a.errs
}

// requestHeader returns the name under which targets receive a header: the name that the user chose, or the default name.
func (l listenerAttributes) requestHeader(name string) string {
	if renamed, ok := l.requestHeaderNames[name]; ok {
		return renamed
	}
	return name
}
