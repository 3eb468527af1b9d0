package elbv2

import (
	"slices"
	"strconv"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const attrTCPIdle = "tcp.idle_timeout.seconds"

func responseHeaderKey(name string) string {
	return "routing.http.response." + name + ".header_value"
}

func requestHeaderKey(name string) string {
	return "routing.http.request." + name + ".header_name"
}

// requestHeaderAttributes returns the attributes that set the names of request headers with TLS information.
func requestHeaderAttributes() []attribute {
	var out []attribute
	for _, n := range []string{
		"x_amzn_mtls_clientcert_serial_number", "x_amzn_mtls_clientcert_issuer", "x_amzn_mtls_clientcert_subject",
		"x_amzn_mtls_clientcert_validity", "x_amzn_mtls_clientcert_leaf", "x_amzn_mtls_clientcert",
		"x_amzn_tls_version", "x_amzn_tls_cipher_suite",
	} {
		out = append(out, attribute{requestHeaderKey(n), "", acceptAnyText})
	}
	return out
}

// listenerAttributes returns the attributes of listeners of all protocols.
func listenerAttributes() []attribute {
	return append([]attribute{
		{attrTCPIdle, "350", checkNumberIn(60, 6000)},
		{"routing.http.response.server.enabled", "true", checkBoolean},
		{responseHeaderKey("strict_transport_security"), "", acceptAnyText},
		{responseHeaderKey("access_control_allow_origin"), "", acceptAnyText},
		{responseHeaderKey("access_control_allow_methods"), "", checkAllowMethods},
		{responseHeaderKey("access_control_allow_headers"), "", acceptAnyText},
		{responseHeaderKey("access_control_allow_credentials"), "", checkOneOf("", "true")},
		{responseHeaderKey("access_control_expose_headers"), "", acceptAnyText},
		{responseHeaderKey("access_control_max_age"), "", checkMaxAge},
		{responseHeaderKey("content_security_policy"), "", acceptAnyText},
		{responseHeaderKey("x_content_type_options"), "", checkOneOf("", "nosniff")},
		{responseHeaderKey("x_frame_options"), "", checkFrameOptions},
	}, requestHeaderAttributes()...)
}

func checkAllowMethods(key, value string) error {
	if value == "" || value == "*" {
		return nil
	}
	for m := range strings.SplitSeq(value, ",") {
		if err := checkOneOf("GET", "HEAD", "POST", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PUT", "PATCH")(key, strings.TrimSpace(m)); err != nil {
			return err
		}
	}
	return nil
}

func checkMaxAge(key, value string) error {
	if n, err := strconv.Atoi(value); value != "" && (err != nil || n < 0 || n > 86400) {
		return validationError(store.UnprovenSource, "'%s' value '%s' must be between '0-86400' inclusive", key, value)
	}
	return nil
}

// checkFrameOptions checks a value of the header X-Frame-Options, which may be "ALLOW-FROM" and an origin.
func checkFrameOptions(key, value string) error {
	if strings.HasPrefix(value, "ALLOW-FROM ") {
		return nil
	}
	return checkOneOf("", "DENY", "SAMEORIGIN")(key, value)
}

// listenerAttributeSchema returns the schema with the attributes that listener l of load balancer lb has.
func listenerAttributeSchema(lb *store.LoadBalancer, l *store.Listener) attributeSchema {
	return attributeSchema{
		title:      "Listener",
		attributes: listenerAttributes(),
		isSupported: func(key string) bool {
			if key == attrTCPIdle {
				return l.Protocol == types.ProtocolEnumTcp || l.Protocol == types.ProtocolEnumTcpUdp
			}
			if !lb.IsALB() {
				return false
			}
			tlsOnly := slices.ContainsFunc(requestHeaderAttributes(), func(a attribute) bool { return a.key == key })
			return !tlsOnly || l.Protocol == types.ProtocolEnumHttps
		},
		unsupportedError: func(key string) error {
			return configurationError(store.UnprovenSource, "Listener attribute key '%s' is not supported for %s listeners on load balancers with type '%s'", key, l.Protocol, lb.Type)
		},
	}
}

// retainAttributes returns the attributes that a schema supports. Attributes in have keep their values. Other attributes
// get their initial values.
func retainAttributes(sp attributeSchema, have map[string]string) map[string]string {
	out := sp.initialValues()
	for k := range out {
		if v, ok := have[k]; ok {
			out[k] = v
		}
	}
	return out
}

func (s *listeners) listenerAttributeList(l *store.Listener) []types.ListenerAttribute {
	var out []types.ListenerAttribute
	for _, k := range store.SortedKeys(l.Attributes) {
		out = append(out, types.ListenerAttribute{Key: new(k), Value: new(l.Attributes[k])})
	}
	return store.Shuffle(s.store, out)
}

// DescribeListenerAttributes returns all attributes of a listener.
func (s *listeners) DescribeListenerAttributes(c *store.Call, in *elb.DescribeListenerAttributesInput) (*elb.DescribeListenerAttributesOutput, error) {
	if err := requiredError("listenerArn", in.ListenerArn != nil); err != nil {
		return nil, err
	}
	l, err := findListener(c.Partition.ELB, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	return &elb.DescribeListenerAttributesOutput{Attributes: s.listenerAttributeList(l)}, nil
}

// ModifyListenerAttributes sets attributes of a listener. It sets none if it returns an error.
func (s *listeners) ModifyListenerAttributes(c *store.Call, in *elb.ModifyListenerAttributesInput) (*elb.ModifyListenerAttributesOutput, error) {
	settings := make([]attributeSetting, len(in.Attributes))
	for i, a := range in.Attributes {
		settings[i] = attributeSetting{a.Key, a.Value}
	}
	var sh validation
	sh.checkPresent("listenerArn", in.ListenerArn != nil)
	sh.checkPresent("attributes", in.Attributes != nil)
	sh.validateAttributes(settings, 1<<20)
	if err := sh.err(); err != nil {
		return nil, err
	}
	st := c.Partition.ELB
	l, err := findListener(st, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	next, err := listenerAttributeSchema(st.LoadBalancers[l.LoadBalancer], l).merge(l.Attributes, settings)
	if err != nil {
		return nil, err
	}
	l.Attributes = next
	return &elb.ModifyListenerAttributesOutput{Attributes: s.listenerAttributeList(l)}, nil
}
