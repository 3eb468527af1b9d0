// Package services names the services of AWS.
package services

// Service ids as the SDK spells them. They are the keys of endpoint overrides and throttle tables
// and the labels of metrics.
const (
	ELB               = "Elastic Load Balancing v2"
	EC2               = "EC2"
	ACM               = "ACM"
	WAFv2             = "WAFV2"
	WAFRegional       = "WAF Regional"
	Shield            = "Shield"
	Tagging           = "Resource Groups Tagging API"
	STS               = "STS"
	IAM               = "IAM"
	Route53           = "Route 53"
	GlobalAccelerator = "Global Accelerator"
	IMDS              = "ec2imds"
)

// All are the ids that a configuration may name.
var All = []string{
	ELB, EC2, ACM, WAFv2, WAFRegional, Shield, Tagging,
	STS, IAM, Route53, GlobalAccelerator, IMDS,
}
