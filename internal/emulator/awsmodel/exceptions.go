package awsmodel

import "strings"

// Error codes that any operation may return although no model lists them, from AWS's pages "Common errors".
var (
	commonXMLErrors = []string{
		"AccessDenied", "AccessDeniedException", "ExpiredToken", "IncompleteSignature", "InternalError", "InternalFailure",
		"InvalidAction", "InvalidClientTokenId", "InvalidParameterCombination", "InvalidParameterValue", "InvalidQueryParameter",
		"MalformedQueryString", "MissingAction", "MissingAuthenticationToken", "MissingParameter", "OptInRequired",
		"RequestExpired", "ServiceUnavailable", "SignatureDoesNotMatch", "Throttling", "ValidationError",
	}
	commonJSONErrors = []string{
		"AccessDeniedException", "ExpiredTokenException", "IncompleteSignatureException", "InternalFailure", "InvalidSignatureException",
		"MissingAuthenticationTokenException", "OptInRequired", "RequestExpired", "SerializationException", "ServiceUnavailable",
		"ThrottlingException", "UnknownOperationException", "UnrecognizedClientException", "ValidationException",
	}
)

// Exception is a deviation from the model that AWS itself makes. An empty field other than Reason matches everything.
type Exception struct {
	Service, Operation string
	Side               string // "request" or "answer"
	Member             string // path of the member without the numbers of list items
	Value              string // prefix of the value
	Rule               string // prefix of the violated rule
	Reason             string // why AWS deviates
}

const reasonManyAttributes = "an ALB has 22 attributes and AWS returns all of them"

// reasonImportedName is the reason why the checks accept any name in an imported certificate. AWS's documentation requires
// "the fully qualified domain name (FQDN) or IP address", but ImportCertificate has no error for an invalid name. Names in
// requests for new certificates are checked.
const reasonImportedName = "ImportCertificate accepts any name in a certificate, such as an IP address or *.local, and ListCertificates and DescribeCertificate return it unchanged"

var exceptions = []Exception{
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.KeyAlgorithm", Value: "RSA-", Reason: "AWS uses a hyphen here, and an underscore everywhere else"},
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.KeyAlgorithm", Value: "EC-", Reason: "as RSA-"},
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.CertificateAuthorityArn", Value: "arn:aws:acm-pca:", Rule: "does not match", Reason: "the model has the pattern of ARNs of ACM, but the authority belongs to another service"},
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.SubjectAlternativeNames", Rule: "1", Reason: "for a certificate with more than 100 names ListCertificates refers to DescribeCertificate"},
	{Service: "acm", Operation: "ListCertificates", Side: "answer", Member: "CertificateSummaryList.DomainName", Rule: "does not match", Reason: reasonImportedName},
	{Service: "acm", Operation: "ListCertificates", Side: "answer", Member: "CertificateSummaryList.SubjectAlternativeNameSummaries", Rule: "does not match", Reason: reasonImportedName},
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.DomainName", Rule: "does not match", Reason: reasonImportedName},
	{Service: "acm", Operation: "DescribeCertificate", Side: "answer", Member: "Certificate.SubjectAlternativeNames", Rule: "does not match", Reason: reasonImportedName},
	{Service: "acm", Operation: "ListTagsForCertificate", Side: "answer", Member: "Tags", Rule: "0 items", Reason: "a certificate without tags has an empty list"},
	{Service: "ec2", Operation: "DescribeInternetGateways", Side: "answer", Member: "InternetGateways.Attachments.State", Value: "available", Reason: "the documentation says that a gateway is available where the model has attached"},
	{Service: "elasticloadbalancing", Operation: "DescribeTags", Side: "answer", Member: "TagDescriptions.Tags", Rule: "0 items", Reason: "a resource without tags has an empty list"},
	{Service: "elasticloadbalancing", Operation: "DescribeLoadBalancerAttributes", Side: "answer", Member: "Attributes", Rule: "2", Reason: reasonManyAttributes},
	{Service: "elasticloadbalancing", Operation: "ModifyLoadBalancerAttributes", Side: "answer", Member: "Attributes", Rule: "2", Reason: reasonManyAttributes},
	{Service: "elasticloadbalancing", Operation: "CreateListener", Side: "answer", Member: "Code", Value: "TooManyTargetGroups", Reason: "the quota of target groups in an action has one code in all operations; the model lists it for CreateRule"},
	{Service: "elasticloadbalancing", Operation: "ModifyListener", Side: "answer", Member: "Code", Value: "TooManyTargetGroups", Reason: "as CreateListener"},
	{Service: "elasticloadbalancing", Operation: "ModifyRule", Side: "answer", Member: "Code", Value: "TooManyTargetGroups", Reason: "as CreateListener"},
	{Service: "elasticloadbalancing", Operation: "ModifyIpPools", Side: "answer", Member: "Code", Value: "InvalidConfigurationRequest", Reason: "the model lists no error for a load balancer type without address pools"},
	{Service: "route53", Operation: "ListHostedZones", Side: "answer", Value: "Marker", Rule: "a required member", Reason: "the answer to the first page has no marker, as in the example of the documentation"},
	{Service: "route53", Operation: "CreateHostedZone", Side: "answer", Value: "DelegationSet", Rule: "a required member", Reason: "a private zone has no delegation set"},
}

func (e Exception) covers(service, operation, side, member, value, rule string) bool {
	matches := func(pattern, text string) bool { return pattern == "" || pattern == text }
	return matches(e.Service, service) && matches(e.Operation, operation) && matches(e.Side, side) && matches(e.Member, member) &&
		strings.HasPrefix(value, e.Value) && strings.HasPrefix(rule, e.Rule)
}
