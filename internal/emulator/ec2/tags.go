package ec2

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	maxTags            = 50
	maxTagKeyLength    = 128
	maxTagValueLength  = 256
	maxTaggedResources = 1000
)

// CreateTags sets tags on resources. It sets none if it returns an error.
func (s *Service) CreateTags(c *store.Call, in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
	if err := s.checkTaggable(c, in.Resources); err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter tag")
	}
	add, err := readTags(in.Tags)
	if err != nil {
		return nil, err
	}
	p := c.Partition
	for _, id := range in.Resources {
		after := maps.Clone(p.Tags[id])
		if after == nil {
			after = map[string]string{}
		}
		maps.Copy(after, add)
		if countUserTags(after) > maxTags {
			return nil, tagLimitError()
		}
	}
	for _, id := range in.Resources {
		p.AddTags(id, add)
	}
	return &ec2.CreateTagsOutput{}, nil
}

// DeleteTags removes tags from resources. If a tag in the request has a value, the tag is only removed from resources that
// have this value. If the request contains no tags, all user tags are removed. After an error no tag is removed.
func (s *Service) DeleteTags(c *store.Call, in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
	if err := s.checkTaggable(c, in.Resources); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(in.Tags, func(t types.Tag) bool { return isReservedTagKey(aws.ToString(t.Key)) }) {
		return nil, reservedTagError()
	}
	for _, id := range in.Resources {
		have := c.Partition.Tags[id]
		if len(in.Tags) == 0 {
			maps.DeleteFunc(have, func(key, _ string) bool { return !isReservedTagKey(key) })
		}
		for _, t := range in.Tags {
			key := aws.ToString(t.Key)
			if t.Value == nil || have[key] == *t.Value {
				delete(have, key)
			}
		}
		if len(have) == 0 {
			delete(c.Partition.Tags, id)
		}
	}
	return &ec2.DeleteTagsOutput{}, nil
}

// DescribeTags lists the tags of all resources.
func (s *Service) DescribeTags(c *store.Call, in *ec2.DescribeTagsInput) (*ec2.DescribeTagsOutput, error) {
	byKey := map[string]types.TagDescription{}
	for id, tags := range c.Partition.Tags {
		for key, value := range tags {
			byKey[id+"\x00"+key] = types.TagDescription{
				Key: aws.String(key), Value: aws.String(value), ResourceId: aws.String(id),
				ResourceType: types.ResourceType(resourceTypeOf(id)),
			}
		}
	}
	keys, err := filterItems(store.SortedKeys(byKey), in.Filters, filters[string]{
		"key":           func(k string) []string { return textValue(*byKey[k].Key) },
		"value":         func(k string) []string { return []string{*byKey[k].Value} },
		"resource-id":   func(k string) []string { return textValue(*byKey[k].ResourceId) },
		"resource-type": func(k string) []string { return textValue(string(byKey[k].ResourceType)) },
	}, func(k string) map[string]string {
		t := byKey[k]
		return map[string]string{*t.Key: *t.Value}
	})
	if err != nil {
		return nil, err
	}
	keys, next, err := page(s.store, kindTag, keys, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeTagsOutput{NextToken: next, Tags: []types.TagDescription{}}
	for _, k := range keys {
		out.Tags = append(out.Tags, byKey[k])
	}
	store.Shuffle(s.store, out.Tags)
	return out, nil
}

func (s *core) checkTaggable(c *store.Call, ids []string) *store.Error {
	if len(ids) == 0 {
		return store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter resourceIdSet")
	}
	if len(ids) > maxTaggedResources {
		return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The maximum number of resources is %d", maxTaggedResources)
	}
	for _, id := range ids {
		i := slices.IndexFunc(kindsByIdentifier, func(k resourceKind) bool { return strings.HasPrefix(id, k.prefix) })
		if i < 0 {
			return store.Errorf(store.UnprovenSource, "InvalidID", "The ID '%s' is not valid", id)
		}
		k := kindsByIdentifier[i]
		if err := k.checkID(id); err != nil {
			return err
		}
		if !resourceExists(c.Partition, id) {
			return k.notFoundError(id)
		}
	}
	return nil
}

func resourceExists(p *store.Partition, id string) bool {
	switch resourceTypeOf(id) {
	case "vpc":
		return p.VPCs[id] != nil
	case "subnet":
		return p.Subnets[id] != nil
	case "security-group":
		return p.SecurityGroups[id] != nil
	case "security-group-rule":
		return ruleExists(p, id)
	case "instance":
		return p.Instances[id] != nil
	case "network-interface":
		return p.NetworkInterfaces[id] != nil
	case "route-table":
		return p.RouteTables[id] != nil
	case "internet-gateway":
		return p.InternetGateways[id] != nil
	case "elastic-ip":
		return p.Addresses[id] != nil
	case "prefix-list":
		return p.PrefixLists[id] != nil
	case "ipam-pool":
		return p.IPAMPools[id] != nil
	case "coip-pool":
		return p.CoIPPools[id] != nil
	}
	return false
}

func isReservedTagKey(key string) bool { return strings.HasPrefix(strings.ToLower(key), "aws:") }

func reservedTagError() *store.Error {
	return store.Errorf(store.ReportSource("jcjorel/ec2-spot-converter#13"), "InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
}

func tagLimitError() *store.Error {
	return store.Errorf(store.UnprovenSource, "TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
}

func countUserTags(tags map[string]string) int {
	n := 0
	for key := range tags {
		if !isReservedTagKey(key) {
			n++
		}
	}
	return n
}

// readTags returns the tags of a request as a map, or an error if a tag is invalid.
func readTags(list []types.Tag) (map[string]string, *store.Error) {
	out := map[string]string{}
	for _, t := range list {
		key, value := aws.ToString(t.Key), aws.ToString(t.Value)
		switch {
		case key == "":
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Tag key cannot be empty")
		case isReservedTagKey(key):
			return nil, reservedTagError()
		case utf8.RuneCountInString(key) > maxTagKeyLength:
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Tag key exceeds the maximum length of %d characters", maxTagKeyLength)
		case utf8.RuneCountInString(value) > maxTagValueLength:
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Tag value exceeds the maximum length of %d characters", maxTagValueLength)
		}
		if _, twice := out[key]; twice {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		out[key] = value
	}
	if len(out) > maxTags {
		return nil, tagLimitError()
	}
	return out, nil
}

// tagsFor returns the tags in a create request for resources of the type wanted. others are the other resource types for
// which the request may contain tags.
func tagsFor(specs []types.TagSpecification, wanted types.ResourceType, others ...types.ResourceType) (map[string]string, *store.Error) {
	var list []types.Tag
	for _, spec := range specs {
		if spec.ResourceType == "" {
			return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter resourceType")
		}
		if spec.ResourceType == wanted {
			list = append(list, spec.Tags...)
			continue
		}
		if !slices.Contains(others, spec.ResourceType) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", spec.ResourceType)
		}
	}
	return readTags(list)
}

// tagList returns the tags of a resource in the form of the EC2 API.
func (s *core) tagList(p *store.Partition, id string) []types.Tag {
	tags := p.Tags[id]
	out := make([]types.Tag, 0, len(tags))
	for _, key := range store.SortedKeys(tags) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return store.Shuffle(s.store, out)
}
