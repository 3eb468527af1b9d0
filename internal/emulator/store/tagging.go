package store

import "maps"

// TaggedResource is a resource as the Resource Groups Tagging API lists it.
type TaggedResource struct {
	ARN string
	// Type consists of the service and the resource type, such as "elasticloadbalancing:targetgroup".
	Type string
	Tags map[string]string
}

// TagSource lists the resources of one AWS service in a partition that can have tags. The list is in any order, and includes
// resources without tags. The packages of the AWS services implement TagSource.
type TagSource interface {
	TaggedResources(p *Partition) []TaggedResource
}

// AddTags adds tags to an EC2 resource. It replaces tags with the same key.
func (p *Partition) AddTags(id string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	if p.Tags[id] == nil {
		p.Tags[id] = map[string]string{}
	}
	maps.Copy(p.Tags[id], tags)
}
