package dataplane

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// defaultSSLPolicy is the security policy of a listener for which none is configured.
const defaultSSLPolicy = "ELBSecurityPolicy-2016-08"

// sslPolicy contains the settings of a security policy that crypto/tls supports.
type sslPolicy struct {
	min, max uint16
	// suites lists the cipher suites for TLS 1.2 and below. It is nil for policies that allow only TLS 1.3.
	suites []uint16
}

// Groups of cipher suites from which parseSSLPolicy composes the suites of a policy. crypto/tls has no ECDHE suites with
// SHA-384 and CBC.
var (
	suitesGCM = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	}
	suitesCBC = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	}
	suitesStaticRSA = []uint16{
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	}
	suitesSHA1 = []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	}
	suitesStaticSHA1 = []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA}
)

// parseSSLPolicy derives TLS versions and cipher suites from the name of a security policy: "TLS13-1-x" policies allow TLS
// 1.x to TLS 1.3, other policies allow at most TLS 1.2, and words such as "Res" or "Ext1" select the suites.
func parseSSLPolicy(name string) (sslPolicy, error) {
	if name == "" {
		name = defaultSSLPolicy
	}
	rest, ok := strings.CutPrefix(name, "ELBSecurityPolicy-")
	if !ok {
		return sslPolicy{}, fmt.Errorf("unknown security policy %q", name)
	}
	p := sslPolicy{min: tls.VersionTLS10, max: tls.VersionTLS12}
	family, restricted := rest, strings.Contains(rest, "Res")
	if after, is13 := strings.CutPrefix(rest, "TLS13-"); is13 {
		family, p.max = after, tls.VersionTLS13
	} else if after, isFS := strings.CutPrefix(rest, "FS-"); isFS {
		family = after
	} else if after, isTLS := strings.CutPrefix(rest, "TLS-"); isTLS {
		family = after
	}
	switch {
	case strings.HasPrefix(family, "1-3"):
		p.min = tls.VersionTLS13
		return p, nil
	case strings.HasPrefix(family, "1-2"):
		p.min = tls.VersionTLS12
	case strings.HasPrefix(family, "1-1"):
		p.min = tls.VersionTLS11
	case strings.HasPrefix(family, "1-0"), family == "2016-08", family == "2015-05", family == "2018-06":
	default:
		return sslPolicy{}, fmt.Errorf("unknown security policy %q", name)
	}
	forwardSecrecy := strings.HasPrefix(rest, "FS-")
	p.suites = append(p.suites, suitesGCM...)
	if restricted {
		return p, nil
	}
	p.suites = append(p.suites, suitesCBC...)
	switch {
	case strings.Contains(rest, "Ext0"):
		p.suites = append(p.suites, suitesSHA1...)
	case strings.Contains(rest, "Ext1"):
		p.suites = append(p.suites, suitesStaticRSA...)
	case strings.Contains(rest, "Ext"):
		p.suites = append(append(append(p.suites, suitesSHA1...), suitesStaticRSA...), suitesStaticSHA1...)
	case p.min < tls.VersionTLS12:
		p.suites = append(p.suites, suitesSHA1...)
		if !forwardSecrecy {
			p.suites = append(append(p.suites, suitesStaticRSA...), suitesStaticSHA1...)
		}
	case strings.HasPrefix(rest, "TLS-1-2"):
		p.suites = append(p.suites, suitesStaticRSA...)
	case rest == "FS-1-2-2019-08":
		p.suites = append(p.suites, suitesSHA1...)
	}
	return p, nil
}

// cipherSuiteNames maps cipher suites to their names in headers for targets.
var cipherSuiteNames = map[uint16]string{
	tls.TLS_AES_128_GCM_SHA256:                  "TLS_AES_128_GCM_SHA256",
	tls.TLS_AES_256_GCM_SHA384:                  "TLS_AES_256_GCM_SHA384",
	tls.TLS_CHACHA20_POLY1305_SHA256:            "TLS_CHACHA20_POLY1305_SHA256",
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:   "ECDHE-RSA-AES128-GCM-SHA256",
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384:   "ECDHE-RSA-AES256-GCM-SHA384",
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: "ECDHE-ECDSA-AES128-SHA256",
	tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256:   "ECDHE-RSA-AES128-SHA256",
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA:    "ECDHE-ECDSA-AES128-SHA",
	tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA:      "ECDHE-RSA-AES128-SHA",
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA:    "ECDHE-ECDSA-AES256-SHA",
	tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA:      "ECDHE-RSA-AES256-SHA",
	tls.TLS_RSA_WITH_AES_128_GCM_SHA256:         "AES128-GCM-SHA256",
	tls.TLS_RSA_WITH_AES_256_GCM_SHA384:         "AES256-GCM-SHA384",
	tls.TLS_RSA_WITH_AES_128_CBC_SHA256:         "AES128-SHA256",
	tls.TLS_RSA_WITH_AES_128_CBC_SHA:            "AES128-SHA",
	tls.TLS_RSA_WITH_AES_256_CBC_SHA:            "AES256-SHA",
}

var tlsVersionNames = map[uint16]string{
	tls.VersionTLS10: "TLSv1", tls.VersionTLS11: "TLSv1.1", tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3",
}
