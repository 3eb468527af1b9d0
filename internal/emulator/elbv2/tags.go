package elbv2

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	maxTagsPerResource = 50
	maxARNsPerTagsCall = 20
	reservedTagPrefix  = "aws:"
)

var tagPattern = regexp.MustCompile(`^([\p{L}\p{Z}\p{N}_.:/=+\-@]*)$`)

// validateTags checks that a list of tags satisfies the constraints of the API model. It accepts nil.
func (s *validation) validateTags(tags []types.Tag) {
	if tags == nil {
		return
	}
	s.checkCount("tags", len(tags), 1, 1<<20)
	for i, t := range tags {
		at := fmt.Sprintf("tags.%d.member.", i+1)
		s.checkPresent(at+"key", t.Key != nil)
		s.checkLength(at+"key", t.Key, 1, 128)
		s.checkLength(at+"value", t.Value, 0, 256)
		if !s.anyTagCharacters {
			s.checkPattern(at+"key", t.Key, tagPattern)
			s.checkPattern(at+"value", t.Value, tagPattern)
		}
	}
}

// newTags returns the tags of a create request as a map, or an error if they are invalid.
func newTags(tags []types.Tag) (map[string]string, error) {
	return addTags(map[string]string{}, tags)
}

// addTags returns a copy of have with tags added. It returns an error if a tag is invalid, or if there would be too many
// tags.
func addTags(have map[string]string, tags []types.Tag) (map[string]string, error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	seen := map[string]bool{}
	for _, t := range tags {
		k := store.Value(t.Key)
		if seen[k] {
			return nil, store.Errorf(store.UnprovenSource, "DuplicateTagKeys", "Tag key '%s' was specified more than once", k)
		}
		seen[k] = true
		if strings.HasPrefix(strings.ToLower(k), reservedTagPrefix) {
			return nil, validationError(store.UnprovenSource, "Tag keys beginning with '%s' are reserved: '%s'", reservedTagPrefix, k)
		}
		out[k] = store.Value(t.Value)
	}
	if len(out) > maxTagsPerResource {
		return nil, store.Errorf(store.UnprovenSource, "TooManyTags", "The maximum number of tags per resource is '%d'", maxTagsPerResource)
	}
	return out, nil
}

// tagList returns tags in the form of the API, in random order.
func (s *core) tagList(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, k := range store.SortedKeys(tags) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return store.Shuffle(s.store, out)
}

// findTags returns a pointer to the tags of the resource with an ARN.
func findTags(st *store.ELBState, arn string) (*map[string]string, error) {
	for _, k := range []struct {
		kind resourceKind
		mark string
		tags *map[string]string
	}{
		{kindLoadBalancer, ":loadbalancer/", tagsByARN(st.LoadBalancers, arn, func(r *store.LoadBalancer) *map[string]string { return &r.Tags })},
		{kindTargetGroup, ":targetgroup/", tagsByARN(st.TargetGroups, arn, func(r *store.TargetGroup) *map[string]string { return &r.Tags })},
		{kindListener, ":listener/", tagsByARN(st.Listeners, arn, func(r *store.Listener) *map[string]string { return &r.Tags })},
		{kindRule, ":listener-rule/", tagsByARN(st.Rules, arn, func(r *store.Rule) *map[string]string { return &r.Tags })},
		{kindTrustStore, ":truststore/", tagsByARN(st.TrustStores, arn, func(r *store.TrustStore) *map[string]string { return &r.Tags })},
	} {
		if !strings.Contains(arn, k.mark) {
			continue
		}
		if err := k.kind.checkARN(st, arn); err != nil {
			return nil, err
		}
		if k.tags == nil {
			return nil, k.kind.notFoundError(arn)
		}
		return k.tags, nil
	}
	return nil, validationError(store.UnprovenSource, "'%s' is not a valid ARN", arn)
}

// tagsByARN returns a pointer to the tags of the resource with an ARN, or nil if there is no such resource. tags returns
// this pointer for a resource.
func tagsByARN[T any](all map[string]*T, arn string, tags func(*T) *map[string]string) *map[string]string {
	if r := all[arn]; r != nil {
		return tags(r)
	}
	return nil
}

// tagMaps returns pointers to the tags of the resources with the ARNs, in the order of the ARNs.
func tagMaps(st *store.ELBState, arns []string) ([]*map[string]string, error) {
	if len(arns) > maxARNsPerTagsCall {
		return nil, validationError(store.UnprovenSource, "Cannot have more than %d resources described", maxARNsPerTagsCall)
	}
	out := make([]*map[string]string, len(arns))
	for i, arn := range arns {
		tags, err := findTags(st, arn)
		if err != nil {
			return nil, err
		}
		out[i] = tags
	}
	return out, nil
}

// AddTags adds or replaces tags of resources. It changes no resource if it returns an error.
func (s *Service) AddTags(c *store.Call, in *elb.AddTagsInput) (*elb.AddTagsOutput, error) {
	sh := s.newValidation()
	sh.checkPresent("resourceArns", in.ResourceArns != nil)
	sh.checkPresent("tags", in.Tags != nil)
	sh.validateTags(in.Tags)
	if err := sh.err(); err != nil {
		return nil, err
	}
	have, err := tagMaps(c.Partition.ELB, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	next := make([]map[string]string, len(have))
	for i, tags := range have {
		if next[i], err = addTags(*tags, in.Tags); err != nil {
			return nil, err
		}
	}
	for i, tags := range have {
		*tags = next[i]
	}
	return &elb.AddTagsOutput{}, nil
}

// RemoveTags removes tags from resources. It ignores keys that a resource does not have.
func (s *Service) RemoveTags(c *store.Call, in *elb.RemoveTagsInput) (*elb.RemoveTagsOutput, error) {
	var sh validation
	sh.checkPresent("resourceArns", in.ResourceArns != nil)
	sh.checkPresent("tagKeys", in.TagKeys != nil)
	for i := range in.TagKeys {
		sh.checkLength(fmt.Sprintf("tagKeys.%d.member", i+1), &in.TagKeys[i], 1, 128)
		sh.checkPattern(fmt.Sprintf("tagKeys.%d.member", i+1), &in.TagKeys[i], tagPattern)
	}
	if err := sh.err(); err != nil {
		return nil, err
	}
	have, err := tagMaps(c.Partition.ELB, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	for _, tags := range have {
		for _, k := range in.TagKeys {
			delete(*tags, k)
		}
	}
	return &elb.RemoveTagsOutput{}, nil
}

// DescribeTags returns the tags of up to 20 resources.
func (s *Service) DescribeTags(c *store.Call, in *elb.DescribeTagsInput) (*elb.DescribeTagsOutput, error) {
	if err := requiredError("resourceArns", in.ResourceArns != nil); err != nil {
		return nil, err
	}
	have, err := tagMaps(c.Partition.ELB, in.ResourceArns)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTagsOutput{}
	seen := map[string]bool{}
	for i, tags := range have {
		arn := in.ResourceArns[i]
		if seen[arn] {
			continue
		}
		seen[arn] = true
		out.TagDescriptions = append(out.TagDescriptions, types.TagDescription{ResourceArn: new(arn), Tags: s.tagList(*tags)})
	}
	store.Shuffle(s.store, out.TagDescriptions)
	return out, nil
}
