package store

import "maps"

// TaggedResource is a resource for the Resource Groups Tagging API.
type TaggedResource struct {
	ARN string
	// Type has service and resource type, such as
	// elasticloadbalancing:targetgroup.
	Type string
	Tags map[string]string
}

// TagSource lists the taggable resources of one service in a partition, including those without tags, in any order.
// The packages of the services implement TagSource.
type TagSource interface {
	TaggedResources(p *Partition) []TaggedResource
}

// AddTags adds or replaces tags of an EC2 resource.
func (p *Partition) AddTags(id string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	if p.Tags[id] == nil {
		p.Tags[id] = map[string]string{}
	}
	maps.Copy(p.Tags[id], tags)
}
