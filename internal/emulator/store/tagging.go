package store

import "maps"

// TaggedResource is a resource as the tagging service lists it.
type TaggedResource struct {
	ARN string
	// Type is service and resource type, such as
	// elasticloadbalancing:targetgroup.
	Type string
	Tags map[string]string
}

// TagSource lists the taggable resources of one service in a partition, those
// without tags included. The service packages implement it; the result may be
// in any order and is not kept.
type TagSource interface {
	TaggedResources(p *Partition) []TaggedResource
}

// Tag sets tags of an EC2 resource, beside those it has.
func (p *Partition) Tag(id string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	if p.Tags[id] == nil {
		p.Tags[id] = map[string]string{}
	}
	maps.Copy(p.Tags[id], tags)
}
