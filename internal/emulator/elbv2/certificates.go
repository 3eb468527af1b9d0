package elbv2

import (
	"regexp"
	"slices"
	"strings"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var (
	acmARNPattern = regexp.MustCompile(`^arn:aws[a-z-]*:acm:([a-z0-9-]+):(\d{12}):certificate/[\w-]+$`)
	iamARNPattern = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):server-certificate/.+$`)
)

// hasQualifiedName reports whether a certificate is for a fully qualified domain name, which AWS requires. Such a name
// contains a dot, and its leftmost label may be an asterisk: "www.example.com", "example.com" and "*.example.com", but not
// "default" or "*". AWS does not document which names of a certificate it checks. Here one fully qualified name is enough,
// because clients ignore the common name if there are alternative names.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/https-listener-certificates.html
func hasQualifiedName(cert *store.Certificate) bool {
	return slices.ContainsFunc(append([]string{cert.Domain}, cert.Names...), func(name string) bool {
		first, rest, ok := strings.Cut(name, ".")
		return ok && first != "" && strings.Trim(rest, ".") != "" && !strings.Contains(rest, "*")
	})
}

// checkCertificate returns an error unless a listener can use the certificate with an ARN. It accepts all ARNs of IAM server
// certificates, because the emulator does not have these certificates.
func checkCertificate(p *store.Partition, c *store.Call, arn string) error {
	if iamARNPattern.MatchString(arn) {
		return nil
	}
	m := acmARNPattern.FindStringSubmatch(arn)
	if m == nil || m[1] != p.Region {
		return validationError(store.UnprovenSource, "Certificate ARN '%s' is not valid", arn)
	}
	cert := p.ACM.Certificates[arn]
	if cert == nil {
		return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#11334"), "CertificateNotFound", "Certificate '%s' not found", arn)
	}
	if p.CertificateStatus(cert, c.Now) != acmtypes.CertificateStatusIssued || !hasQualifiedName(cert) || !isSupportedKey(cert.Algorithm) {
		return store.Errorf(store.ReportSource("medplum/medplum#5804"), "UnsupportedCertificate", "The certificate '%s' must have a fully-qualified domain name, a supported signature, and a supported key size.", arn)
	}
	return nil
}

func isSupportedKey(k acmtypes.KeyAlgorithm) bool {
	return slices.Contains([]acmtypes.KeyAlgorithm{
		acmtypes.KeyAlgorithmRsa2048, acmtypes.KeyAlgorithmRsa3072, acmtypes.KeyAlgorithmRsa4096,
		acmtypes.KeyAlgorithmEcPrime256v1, acmtypes.KeyAlgorithmEcSecp384r1, acmtypes.KeyAlgorithmEcSecp521r1,
	}, k)
}

// certificateOfRequest returns the ARN of the certificate in a request. given is false if the request contains no
// certificate. More than one certificate is an error.
func certificateOfRequest(in []types.Certificate) (arn string, given bool, err error) {
	for _, c := range in {
		if c.IsDefault != nil {
			return "", false, validationError(store.UnprovenSource, "'IsDefault' cannot be specified for a certificate")
		}
	}
	switch {
	case len(in) == 0:
		return "", false, nil
	case len(in) > 1:
		return "", false, store.Errorf(store.ReportSource("aws/aws-cdk#16509"), "TooManyCertificates", "Up to '1' certificate ARNs can be specified, but '%d' were specified", len(in))
	}
	return store.Value(in[0].CertificateArn), true, nil
}

// AddListenerCertificates adds a certificate to the SNI list of a listener, unless the list contains it.
func (s *listeners) AddListenerCertificates(c *store.Call, in *elb.AddListenerCertificatesInput) (*elb.AddListenerCertificatesOutput, error) {
	var sh validation
	sh.checkPresent("listenerArn", in.ListenerArn != nil)
	sh.checkPresent("certificates", in.Certificates != nil)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	l, err := findListener(st, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	if !usesCertificates(l.Protocol) {
		return nil, validationError(store.UnprovenSource, "Certificates cannot be specified for %s listeners", l.Protocol)
	}
	arn, given, err := certificateOfRequest(in.Certificates)
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, validationError(store.UnprovenSource, "A certificate must be specified")
	}
	if err := checkCertificate(p, c, arn); err != nil {
		return nil, err
	}
	if !slices.Contains(l.SNI, arn) {
		lb := st.LoadBalancers[l.LoadBalancer]
		name := quotaCertificatesALB
		if !lb.IsALB() {
			name = quotaCertificatesNLB
		}
		n := 0
		for _, other := range listenersOf(st, lb.ARN) {
			n += len(other.SNI)
		}
		if n >= s.quota(name) {
			return nil, store.Errorf(store.UnprovenSource, "TooManyCertificates", "You've reached the limit on the number of certificates per load balancer")
		}
		l.SNI = append(l.SNI, arn)
	}
	return &elb.AddListenerCertificatesOutput{Certificates: []types.Certificate{{CertificateArn: new(arn), IsDefault: new(false)}}}, nil
}

// RemoveListenerCertificates removes certificates from the SNI list of a listener.
func (s *listeners) RemoveListenerCertificates(c *store.Call, in *elb.RemoveListenerCertificatesInput) (*elb.RemoveListenerCertificatesOutput, error) {
	var sh validation
	sh.checkPresent("listenerArn", in.ListenerArn != nil)
	sh.checkPresent("certificates", in.Certificates != nil)
	if err := sh.err(); err != nil {
		return nil, err
	}
	l, err := findListener(c.Partition.ELB, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	var drop []string
	for _, cert := range in.Certificates {
		arn := store.Value(cert.CertificateArn)
		if !slices.Contains(l.SNI, arn) && arn == l.Certificate {
			return nil, store.Errorf(store.UnprovenSource, codeNotPermitted, "Default certificate '%s' cannot be removed", arn)
		}
		drop = append(drop, arn)
	}
	l.SNI = slices.DeleteFunc(l.SNI, func(arn string) bool { return slices.Contains(drop, arn) })
	return &elb.RemoveListenerCertificatesOutput{}, nil
}

// DescribeListenerCertificates lists the default certificate and the SNI list of a listener. A default certificate that is
// also in the SNI list is returned twice.
func (s *listeners) DescribeListenerCertificates(c *store.Call, in *elb.DescribeListenerCertificatesInput) (*elb.DescribeListenerCertificatesOutput, error) {
	if err := requiredError("listenerArn", in.ListenerArn != nil); err != nil {
		return nil, err
	}
	l, err := findListener(c.Partition.ELB, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	var all []types.Certificate
	if l.Certificate != "" {
		all = append(all, types.Certificate{CertificateArn: new(l.Certificate), IsDefault: new(true)})
	}
	for _, arn := range l.SNI {
		all = append(all, types.Certificate{CertificateArn: new(arn), IsDefault: new(false)})
	}
	key := func(c types.Certificate) string {
		if *c.IsDefault {
			return "default " + *c.CertificateArn
		}
		return "list " + *c.CertificateArn
	}
	all, next, err := page(s.store, all, key, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	return &elb.DescribeListenerCertificatesOutput{Certificates: all, NextMarker: next}, nil
}
