package globalaccelerator

import (
	"strings"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const maxTags = 50

// findTaggableAccelerator returns the accelerator for an operation on tags. Other resources have no tags and are an error.
func (s *Service) findTaggableAccelerator(c *store.Call, arn *string) (*store.Accelerator, error) {
	if err := firstError(checkPresent("ResourceArn", store.Value(arn) != ""), checkShortText("ResourceArn", arn)); err != nil {
		return nil, err
	}
	if !isAccelerator(*arn) {
		return nil, invalidArgumentError(store.UnprovenSource, "The resource '%s' is not an accelerator", *arn)
	}
	return s.findAccelerator(c, arn)
}

// TagResource adds tags to an accelerator, or changes their values.
func (s *Service) TagResource(c *store.Call, in *ga.TagResourceInput) (*ga.TagResourceOutput, error) {
	a, err := s.findTaggableAccelerator(c, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if err := firstError(checkPresent("Tags", in.Tags != nil), checkTags(in.Tags, a.Tags)); err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		a.Tags[*t.Key] = *t.Value
	}
	return &ga.TagResourceOutput{}, nil
}

// UntagResource removes tags. It also succeeds if the tags or the accelerator do not exist.
func (s *Service) UntagResource(c *store.Call, in *ga.UntagResourceInput) (*ga.UntagResourceOutput, error) {
	if err := firstError(checkPresent("TagKeys", in.TagKeys != nil), checkMaxItems("TagKeys", len(in.TagKeys), 200)); err != nil {
		return nil, err
	}
	a, err := s.findTaggableAccelerator(c, in.ResourceArn)
	if err != nil {
		if isAccelerator(store.Value(in.ResourceArn)) {
			return &ga.UntagResourceOutput{}, nil
		}
		return nil, err
	}
	for _, key := range in.TagKeys {
		if strings.HasPrefix(key, reservedTagPrefix) {
			return nil, invalidArgumentError(store.UnprovenSource, "The tag key '%s' begins with aws:, which is reserved", key)
		}
	}
	for _, key := range in.TagKeys {
		delete(a.Tags, key)
	}
	return &ga.UntagResourceOutput{}, nil
}

// ListTagsForResource lists the tags of an accelerator.
func (s *Service) ListTagsForResource(c *store.Call, in *ga.ListTagsForResourceInput) (*ga.ListTagsForResourceOutput, error) {
	a, err := s.findTaggableAccelerator(c, in.ResourceArn)
	if err != nil {
		return nil, err
	}
	out := &ga.ListTagsForResourceOutput{Tags: []types.Tag{}}
	for _, key := range store.SortedKeys(a.Tags) {
		out.Tags = append(out.Tags, types.Tag{Key: new(key), Value: new(a.Tags[key])})
	}
	store.Shuffle(s.store, out.Tags)
	return out, nil
}
