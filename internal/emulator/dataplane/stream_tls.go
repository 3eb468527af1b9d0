package dataplane

import (
	"crypto/tls"
	"fmt"
	"slices"
)

// setTLS sets the TLS configuration of a TLS listener.
func (lv *listenerView) setTLS(l Listener) error {
	policy, err := parseSSLPolicy(l.SSLPolicy)
	if err != nil {
		return err
	}
	chooser, err := newCertificateSelector(l.Certificates)
	if err != nil {
		return err
	}
	protocols, err := alpnProtocols(l.ALPN)
	if err != nil {
		return err
	}
	withoutALPN := &tls.Config{
		MinVersion: policy.min, MaxVersion: policy.max, CipherSuites: policy.suites, GetCertificate: chooser.choose,
	}
	withALPN := withoutALPN.Clone()
	withALPN.NextProtos = protocols
	lv.tls = &tls.Config{
		MinVersion: policy.min, MaxVersion: policy.max,
		// If the ALPN policy and the client have no protocol in common, the server does not use ALPN, because crypto/tls
		// would end the handshake.
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if slices.ContainsFunc(protocols, func(p string) bool { return slices.Contains(hello.SupportedProtos, p) }) {
				return withALPN, nil
			}
			return withoutALPN, nil
		},
	}
	lv.maxTargetTLSVersion = policy.max
	return nil
}

// alpnProtocols returns the protocols of an ALPN policy, the preferred protocol first.
func alpnProtocols(policy string) ([]string, error) {
	switch policy {
	case "", "None":
		return nil, nil
	case "HTTP1Only":
		return []string{"http/1.1", "http/1.0"}, nil
	case "HTTP2Only":
		return []string{"h2"}, nil
	case "HTTP2Optional":
		return []string{"http/1.1", "http/1.0", "h2"}, nil
	case "HTTP2Preferred":
		return []string{"h2", "http/1.1", "http/1.0"}, nil
	}
	return nil, fmt.Errorf("unknown ALPN policy %q", policy)
}
