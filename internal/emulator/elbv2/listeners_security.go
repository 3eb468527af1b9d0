package elbv2

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	mutualTLSOff         = "off"
	mutualTLSPassthrough = "passthrough"
	mutualTLSVerify      = "verify"
)

// usesCertificates reports whether listeners with a protocol have certificates (HTTPS and TLS).
func usesCertificates(p types.ProtocolEnum) bool {
	return p == types.ProtocolEnumHttps || p == types.ProtocolEnumTls
}

// tlsSettings contains the members of a listener request that concern TLS.
type tlsSettings struct {
	policy               *string
	alpn                 []string
	certificates         []types.Certificate
	mutualAuthentication *types.MutualAuthenticationAttributes
}

// setTLSSettings checks the protocol of listener l and the TLS settings in a request, and stores these settings in l.
func (s *listeners) setTLSSettings(c *store.Call, p *store.Partition, lb *store.LoadBalancer, l *store.Listener, in tlsSettings) error {
	if err := checkListenerProtocol(lb, l.Protocol); err != nil {
		return err
	}
	if !usesCertificates(l.Protocol) {
		switch {
		case len(in.certificates) > 0:
			return validationError(store.UnprovenSource, "Certificates cannot be specified for %s listeners", l.Protocol)
		case store.Value(in.policy) != "":
			return validationError(store.UnprovenSource, "An SSL policy cannot be specified for %s listeners.", l.Protocol)
		}
	}
	arn, given, err := certificateOfRequest(in.certificates)
	if err != nil {
		return err
	}
	if given {
		if err := checkCertificate(p, c, arn); err != nil {
			return err
		}
		l.Certificate = arn
	}
	if usesCertificates(l.Protocol) {
		if l.Certificate == "" {
			return validationError(store.ReportSource("pulumi/pulumi-awsx#1242"), "A certificate must be specified for %s listeners", l.Protocol)
		}
		if store.Value(in.policy) != "" {
			l.SSLPolicy = *in.policy
		}
		if l.SSLPolicy == "" {
			l.SSLPolicy = sslPolicyDefault
		}
		if !isSSLPolicy(l.SSLPolicy) {
			return store.Errorf(store.UnprovenSource, "SSLPolicyNotFound", "SSL policy '%s' not found", l.SSLPolicy)
		}
	}
	if err := setALPN(lb, l, in.alpn); err != nil {
		return err
	}
	return s.setMutualAuthentication(c, p, lb, l, in.mutualAuthentication)
}

// checkListenerProtocol returns an error unless the load balancer supports a protocol.
func checkListenerProtocol(lb *store.LoadBalancer, p types.ProtocolEnum) error {
	if lb.IsALB() {
		if !isHTTP(p) {
			return validationError(store.ReportSource("alphagov/gsp#351"), "Listener protocol '%s' must be one of 'HTTP, HTTPS'", p)
		}
		return nil
	}
	if isHTTP(p) || p == types.ProtocolEnumGeneve {
		return validationError(store.UnprovenSource, "Listener protocol '%s' must be one of 'UDP, TCP, TLS, TCP_UDP, QUIC, TCP_QUIC'", p)
	}
	if isQUIC(p) && len(lb.SecurityGroups) > 0 {
		return configurationError(store.UnprovenSource, "%s listeners are not supported on load balancers with security groups", p)
	}
	if lb.Addressing == types.IpAddressTypeIpv4 {
		return nil
	}
	if isQUIC(p) || isUDP(p) && lb.PrefixForSourceNAT != types.EnablePrefixForIpv6SourceNatEnumOn {
		return configurationError(store.UnprovenSource, "%s listeners are not supported on load balancers with IP address type '%s'", p, lb.Addressing)
	}
	return nil
}

func setALPN(lb *store.LoadBalancer, l *store.Listener, alpn []string) error {
	if len(alpn) == 0 {
		return nil
	}
	if l.Protocol != types.ProtocolEnumTls {
		return validationError(store.UnprovenSource, "You cannot set ALPN policy on load balancers of type '%s'", lb.Type)
	}
	known := []string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None"}
	if len(alpn) > 1 {
		return validationError(store.UnprovenSource, "You can specify only one ALPN policy")
	}
	if !slices.Contains(known, alpn[0]) {
		return store.Errorf(store.UnprovenSource, "ALPNPolicyNotFound", "ALPN policy '%s' not found", alpn[0])
	}
	l.ALPN = slices.Clone(alpn)
	return nil
}

// setMutualAuthentication checks the settings of mutual authentication in a request, and stores them in l. If in is nil, a
// new HTTPS listener gets the mode "off", as in AWS.
func (s *listeners) setMutualAuthentication(c *store.Call, p *store.Partition, lb *store.LoadBalancer, l *store.Listener, in *types.MutualAuthenticationAttributes) error {
	if l.Protocol != types.ProtocolEnumHttps {
		if in != nil {
			return validationError(store.UnprovenSource, "Mutual authentication cannot be specified for %s listeners", l.Protocol)
		}
		return nil
	}
	if in == nil {
		if l.Mutual == nil {
			l.Mutual = &types.MutualAuthenticationAttributes{Mode: new(mutualTLSOff)}
		}
		return nil
	}
	mode := store.Value(in.Mode)
	if !slices.Contains([]string{mutualTLSOff, mutualTLSPassthrough, mutualTLSVerify}, mode) {
		return validationError(store.UnprovenSource, "Mutual authentication mode '%s' must be one of 'off, passthrough, verify'", mode)
	}
	if mode != mutualTLSVerify {
		if store.Value(in.TrustStoreArn) != "" || in.IgnoreClientCertificateExpiry != nil && *in.IgnoreClientCertificateExpiry ||
			in.AdvertiseTrustStoreCaNames == types.AdvertiseTrustStoreCaNamesEnumOn {
			return validationError(store.UnprovenSource, "A trust store and its settings can only be specified with mutual authentication mode 'verify'")
		}
		l.Mutual = &types.MutualAuthenticationAttributes{Mode: new(mode)}
		return nil
	}
	if store.Value(in.TrustStoreArn) == "" {
		return validationError(store.UnprovenSource, "A trust store must be specified with mutual authentication mode 'verify'")
	}
	trusted, err := findTrustStore(p.ELB, in.TrustStoreArn)
	if err != nil {
		return err
	}
	if c.Now.Before(trusted.Active) {
		return store.Errorf(store.UnprovenSource, "TrustStoreNotReady", "Trust store '%s' is not active", trusted.ARN)
	}
	if l.Mutual == nil || store.Value(l.Mutual.Mode) != mutualTLSVerify {
		n := 0
		for _, other := range listenersOf(p.ELB, lb.ARN) {
			if other.Mutual != nil && store.Value(other.Mutual.Mode) == mutualTLSVerify {
				n++
			}
		}
		if most := s.quota(quotaMTLSVerifyListeners); n >= most {
			return configurationError(store.UnprovenSource, "The maximum number of listeners with mutual authentication mode 'verify' '%d' has been reached on load balancer '%s'", most, lb.ARN)
		}
	}
	l.Mutual = &types.MutualAuthenticationAttributes{
		Mode: new(mode), TrustStoreArn: new(trusted.ARN), IgnoreClientCertificateExpiry: new(store.Value(in.IgnoreClientCertificateExpiry)),
		AdvertiseTrustStoreCaNames: cmp.Or(in.AdvertiseTrustStoreCaNames, types.AdvertiseTrustStoreCaNamesEnumOff),
	}
	return nil
}
