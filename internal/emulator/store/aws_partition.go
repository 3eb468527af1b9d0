package store

import "strings"

// AWSPartition is a partition of AWS: a set of regions with separate identities, ARNs and host names.
type AWSPartition struct {
	// Name is the second part of every ARN.
	Name string
	// Suffix is the suffix of the host names of endpoints and load balancers.
	Suffix string
	// Home is the region with the state of global services, such as Route 53.
	Home string
	// Shield reports whether the partition has Shield. If it is false, the host name of the Shield API does not resolve.
	Shield bool
	// Accelerator reports whether the partition has Global Accelerator. If it is false, the host name of its API does not
	// resolve.
	Accelerator bool
	regions     []string // prefixes of region names
}

// AWSPartitions lists the AWS partitions that the emulator supports. The first one is "aws".
var AWSPartitions = []AWSPartition{
	{Name: "aws", Suffix: "amazonaws.com", Home: GlobalRegion, Shield: true, Accelerator: true},
	{Name: "aws-cn", Suffix: "amazonaws.com.cn", Home: "cn-northwest-1", regions: []string{"cn-"}},
	{Name: "aws-us-gov", Suffix: "amazonaws.com", Home: "us-gov-west-1", regions: []string{"us-gov-"}},
	{Name: "aws-eusc", Suffix: "amazonaws.eu", Home: "eusc-de-east-1", regions: []string{"eusc-"}},
	{Name: "aws-iso", Suffix: "c2s.ic.gov", Home: "us-iso-east-1", regions: []string{"us-iso-"}},
	{Name: "aws-iso-b", Suffix: "sc2s.sgov.gov", Home: "us-isob-east-1", regions: []string{"us-isob-"}},
	{Name: "aws-iso-e", Suffix: "cloud.adc-e.uk", Home: "eu-isoe-west-1", regions: []string{"eu-isoe-"}},
	{Name: "aws-iso-f", Suffix: "csp.hci.ic.gov", Home: "us-isof-south-1", regions: []string{"us-isof-"}},
}

// AWSPartitionByName returns the AWS partition with a name, and whether it exists. For "", it returns the partition "aws".
func AWSPartitionByName(name string) (AWSPartition, bool) {
	for _, p := range AWSPartitions {
		if p.Name == name || name == "" {
			return p, true
		}
	}
	return AWSPartition{}, false
}

// AWSPartitionOfRegion returns the AWS partition of a region. For an unknown region, it returns the partition "aws".
func AWSPartitionOfRegion(region string) AWSPartition {
	for _, p := range AWSPartitions {
		for _, prefix := range p.regions {
			if strings.HasPrefix(region, prefix) {
				return p
			}
		}
	}
	return AWSPartitions[0]
}

// AWSPartition returns the AWS partition of the emulator.
func (w *Store) AWSPartition() AWSPartition { return w.awsPartition }

// AWSPartition returns the AWS partition of the region.
func (p *Partition) AWSPartition() AWSPartition { return AWSPartitionOfRegion(p.Region) }
