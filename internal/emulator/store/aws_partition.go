package store

import "strings"

// AWSPartition is a partition of AWS: a set of regions with separate identities, ARNs and host names.
type AWSPartition struct {
	// Name is the second part of every ARN.
	Name string
	// Suffix is the suffix of the host names of endpoints and load balancers.
	Suffix string
	// Home is the region of global services, such as Route 53.
	Home string
	// Shield is set if the partition has Shield. Otherwise the name of its endpoint does not resolve.
	Shield bool
	// Accelerator is set if the partition has Global Accelerator. Otherwise the name of its endpoint does not resolve.
	Accelerator bool
	regions     []string // prefixes of the names of its regions
}

// AWSPartitions are the AWS partitions that the emulator supports.
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

// AWSPartitionByName returns a partition by its name, aws for "".
func AWSPartitionByName(name string) (AWSPartition, bool) {
	for _, p := range AWSPartitions {
		if p.Name == name || name == "" {
			return p, true
		}
	}
	return AWSPartition{}, false
}

// AWSPartitionOf returns the partition of a region.
func AWSPartitionOf(region string) AWSPartition {
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
func (p *Partition) AWSPartition() AWSPartition { return AWSPartitionOf(p.Region) }
