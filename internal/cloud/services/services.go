// Package services has the IDs of the AWS services that the controller calls, the partitions of regions, and the partition
// in which Global Accelerator exists.
package services

import "strings"

// Service IDs as the SDK spells them. The IDs are the keys of endpoint overrides and throttle tables, and values of metric
// labels.
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

// AcceleratorRegion is the region in which AWS serves the Global Accelerator API, for clusters in all regions.
const AcceleratorRegion = "us-west-2"

// All has the service IDs that endpoint overrides and throttle tables may name.
var All = []string{
	ELB, EC2, ACM, WAFv2, WAFRegional, Shield, Tagging,
	STS, IAM, Route53, GlobalAccelerator, IMDS,
}

// standardPartition is the partition of most regions.
const standardPartition = "aws"

// partitions maps prefixes of region names to the partition of these regions. It omits the regions of the standard
// partition.
var partitions = map[string]string{
	"cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc",
	"us-iso-": "aws-iso", "us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e", "us-isof-": "aws-iso-f",
}

// Partition returns the partition of a region.
func Partition(region string) string {
	region = strings.ToLower(region)
	for prefix, name := range partitions {
		if strings.HasPrefix(region, prefix) {
			return name
		}
	}
	return standardPartition
}

// HasAccelerators reports whether Global Accelerator exists in a partition.
// https://docs.aws.amazon.com/general/latest/gr/global_accelerator.html
func HasAccelerators(partition string) bool { return partition == standardPartition }
