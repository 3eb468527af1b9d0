package elbv2

import (
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	sslPolicyPrefix  = "ELBSecurityPolicy-"
	sslPolicyDefault = sslPolicyPrefix + "2016-08"
)

// sslPolicies returns the names of the predefined SSL policies, without sslPolicyPrefix.
func sslPolicies() []string {
	return []string{
		"TLS13-1-3-2021-06", "TLS13-1-2-2021-06", "TLS13-1-2-Res-2021-06", "TLS13-1-2-Ext1-2021-06", "TLS13-1-2-Ext2-2021-06",
		"TLS13-1-1-2021-06", "TLS13-1-0-2021-06",
		"TLS13-1-3-FIPS-2023-04", "TLS13-1-2-FIPS-2023-04", "TLS13-1-2-Res-FIPS-2023-04", "TLS13-1-2-Ext0-FIPS-2023-04",
		"TLS13-1-2-Ext1-FIPS-2023-04", "TLS13-1-2-Ext2-FIPS-2023-04", "TLS13-1-1-FIPS-2023-04", "TLS13-1-0-FIPS-2023-04",
		"TLS13-1-3-PQ-2025-09", "TLS13-1-2-PQ-2025-09", "TLS13-1-2-Res-PQ-2025-09", "TLS13-1-2-Ext1-PQ-2025-09",
		"TLS13-1-2-Ext2-PQ-2025-09", "TLS13-1-0-PQ-2025-09",
		"TLS13-1-3-FIPS-PQ-2025-09", "TLS13-1-2-FIPS-PQ-2025-09", "TLS13-1-2-Res-FIPS-PQ-2025-09", "TLS13-1-2-Ext0-FIPS-PQ-2025-09",
		"TLS13-1-2-Ext1-FIPS-PQ-2025-09", "TLS13-1-2-Ext2-FIPS-PQ-2025-09", "TLS13-1-0-FIPS-PQ-2025-09",
		"FS-1-2-Res-2020-10", "FS-1-2-Res-2019-08", "FS-1-2-2019-08", "FS-1-1-2019-08", "FS-2018-06",
		"TLS-1-2-Ext-2018-06", "TLS-1-2-2017-01", "TLS-1-1-2017-01", "2016-08", "TLS-1-0-2015-04", "2015-05",
	}
}

func isSSLPolicy(name string) bool {
	bare, ok := strings.CutPrefix(name, sslPolicyPrefix)
	return ok && slices.Contains(sslPolicies(), bare)
}

// policyProtocols returns the TLS versions of an SSL policy, newest first. bare is its name without sslPolicyPrefix.
func policyProtocols(bare string) []string {
	all := []string{"TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1"}
	if rest, ok := strings.CutPrefix(bare, "TLS13-1-"); ok {
		switch rest[0] {
		case '3':
			return all[:1]
		case '2':
			return all[:2]
		case '1':
			return all[:3]
		}
		return all
	}
	switch {
	case strings.Contains(bare, "1-2"):
		return all[1:2]
	case strings.Contains(bare, "1-1"):
		return all[1:3]
	}
	return all[1:]
}

// policyCiphers returns the ciphers of an SSL policy, newest first. It derives them from bare, the name without
// sslPolicyPrefix.
func policyCiphers(bare string) []string {
	var out []string
	tls13 := strings.HasPrefix(bare, "TLS13-")
	if tls13 {
		out = append(out, "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384")
		if !strings.Contains(bare, "FIPS") {
			out = append(out, "TLS_CHACHA20_POLY1305_SHA256")
		}
		if strings.HasPrefix(bare, "TLS13-1-3-") {
			return out
		}
	}
	out = append(out, "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384")
	if strings.Contains(bare, "-Res-") {
		return out
	}
	out = append(out, "ECDHE-ECDSA-AES128-SHA256", "ECDHE-RSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES256-SHA384")
	old := len(policyProtocols(bare)) > 2 || !tls13 && len(policyProtocols(bare)) > 1 || strings.Contains(bare, "Ext2") || strings.Contains(bare, "Ext-")
	if old {
		out = append(out, "ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA")
	}
	if !strings.HasPrefix(bare, "FS-") && (old || strings.Contains(bare, "Ext1") || bare == "TLS-1-2-2017-01") {
		out = append(out, "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES256-SHA256")
		if old {
			out = append(out, "AES128-SHA", "AES256-SHA")
		}
	}
	return out
}

// DescribeSSLPolicies lists the predefined SSL policies with the names in the request, or all of them.
func (s *listeners) DescribeSSLPolicies(c *store.Call, in *elb.DescribeSSLPoliciesInput) (*elb.DescribeSSLPoliciesOutput, error) {
	names := withoutDuplicates(in.Names)
	for _, n := range names {
		if !isSSLPolicy(n) {
			return nil, store.Errorf(store.UnprovenSource, "SSLPolicyNotFound", "SSL policy '%s' not found", n)
		}
	}
	if len(names) == 0 {
		for _, bare := range sslPolicies() {
			names = append(names, sslPolicyPrefix+bare)
		}
	}
	names, next, err := page(s.store, names, func(n string) string { return n }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeSSLPoliciesOutput{NextMarker: next}
	for _, n := range names {
		bare := strings.TrimPrefix(n, sslPolicyPrefix)
		p := types.SslPolicy{Name: new(n), SslProtocols: policyProtocols(bare), SupportedLoadBalancerTypes: []string{"application", "network"}}
		for i, cipher := range policyCiphers(bare) {
			p.Ciphers = append(p.Ciphers, types.Cipher{Name: new(cipher), Priority: new(int32(i + 1))})
		}
		out.SslPolicies = append(out.SslPolicies, p)
	}
	return out, nil
}
