// Package shield implements the operations of Shield Advanced on protections of ALBs and Elastic IP addresses. The service
// is global: its state is in the home region of the AWS partition, whatever the region of the call.
package shield

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/shield/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

const (
	quotaProtections = "shield-protections-per-resource-type"
	maxPageSize      = 1000
)

var (
	namePattern = regexp.MustCompile(`^[ a-zA-Z0-9_\.\-]{1,128}$`)
	arnPattern  = regexp.MustCompile(`^arn:aws[a-z-]*:([a-z0-9-]+):([a-z0-9-]*):(\d{12}):(.+)$`)
)

// Service serves the operations of Shield Advanced.
type Service struct {
	store *store.Store
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	return []wire.Operation{
		wire.NewOperation("GetSubscriptionState", s.GetSubscriptionState, h()),
		wire.NewOperation("CreateSubscription", s.CreateSubscription, h()),
		wire.NewOperation("CreateProtection", s.CreateProtection, h("Name", "ResourceArn", "Tags")),
		wire.NewOperation("DescribeProtection", s.DescribeProtection, h("ProtectionId", "ResourceArn")),
		wire.NewOperation("DeleteProtection", s.DeleteProtection, h("ProtectionId")),
		wire.NewOperation("ListProtections", s.ListProtections, h("InclusionFilters.ResourceArns", "MaxResults", "NextToken")),
	}
}

func protectionNotFoundError() error {
	return store.Errorf(store.UnprovenSource, "ResourceNotFoundException", "The referenced protection does not exist.")
}

// currentState returns the account's state. It first removes protections of resources that do not exist any more.
func (s *Service) currentState(c *store.Call) *store.ShieldState {
	st := s.store.Partition(c.Account, s.store.AWSPartition().Home).Shield
	for id, p := range st.Protections {
		if s.checkResource(c, p.Resource) != nil {
			delete(st.Protections, id)
		}
	}
	return st
}

// checkResource returns an error if a resource does not exist or cannot have a protection.
func (s *Service) checkResource(c *store.Call, arn string) error {
	m := arnPattern.FindStringSubmatch(arn)
	if m == nil {
		return store.Errorf(store.UnprovenSource, "InvalidParameterException", "The resource ARN '%s' is not valid", arn)
	}
	service, region, account, resource := m[1], m[2], m[3], m[4]
	notThere := store.Errorf(store.UnprovenSource, "ResourceNotFoundException", "The referenced resource '%s' does not exist.", arn)
	if account != c.Account {
		return notThere
	}
	switch {
	case service == "elasticloadbalancing" && strings.HasPrefix(resource, "loadbalancer/app/"):
		if s.store.Partition(account, region).ELB.LoadBalancers[arn] == nil {
			return notThere
		}
		return nil
	case service == "ec2" && strings.HasPrefix(resource, "eip-allocation/"):
		if s.store.Partition(account, region).Addresses[strings.TrimPrefix(resource, "eip-allocation/")] == nil {
			return notThere
		}
		return nil
	}
	return store.Errorf(store.UnprovenSource, "InvalidOperationException", "Resources of the type of '%s' cannot be protected.", arn)
}

// GetSubscriptionState reports whether the account has Shield Advanced.
func (s *Service) GetSubscriptionState(c *store.Call, _ *shield.GetSubscriptionStateInput) (*shield.GetSubscriptionStateOutput, error) {
	out := &shield.GetSubscriptionStateOutput{SubscriptionState: types.SubscriptionStateInactive}
	if !s.currentState(c).Subscribed.IsZero() {
		out.SubscriptionState = types.SubscriptionStateActive
	}
	return out, nil
}

// CreateSubscription subscribes the account to Shield Advanced.
func (s *Service) CreateSubscription(c *store.Call, _ *shield.CreateSubscriptionInput) (*shield.CreateSubscriptionOutput, error) {
	st := s.currentState(c)
	if !st.Subscribed.IsZero() {
		return nil, store.Errorf(store.UnprovenSource, "ResourceAlreadyExistsException", "The subscription already exists.")
	}
	st.Subscribed = c.Now
	return &shield.CreateSubscriptionOutput{}, nil
}

// CreateProtection creates a protection of an ALB or an Elastic IP address.
func (s *Service) CreateProtection(c *store.Call, in *shield.CreateProtectionInput) (*shield.CreateProtectionOutput, error) {
	st := s.currentState(c)
	if !namePattern.MatchString(store.Value(in.Name)) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterException", "The protection name '%s' is not valid", store.Value(in.Name))
	}
	if st.Subscribed.IsZero() {
		return nil, store.Errorf(store.UnprovenSource, "ResourceNotFoundException", "The subscription does not exist.")
	}
	if err := s.checkResource(c, store.Value(in.ResourceArn)); err != nil {
		return nil, err
	}
	for _, p := range st.Protections {
		if p.Resource == *in.ResourceArn {
			return nil, store.Errorf(store.UnprovenSource, "ResourceAlreadyExistsException", "The protection already exists.")
		}
	}
	if quota := s.store.Quota(quotaProtections, 1000); len(st.Protections) >= quota {
		return nil, store.Errorf(store.UnprovenSource, "LimitsExceededException", "The maximum number of protections '%d' has been reached", quota)
	}
	id := s.store.RandomUUID()
	p := &store.Protection{
		ID: id, ARN: "arn:" + s.store.AWSPartition().Name + ":shield::" + c.Account + ":protection/" + id, Name: *in.Name, Resource: *in.ResourceArn, Tags: map[string]string{},
	}
	for _, t := range in.Tags {
		p.Tags[store.Value(t.Key)] = store.Value(t.Value)
	}
	st.Protections[id] = p
	return &shield.CreateProtectionOutput{ProtectionId: new(id)}, nil
}

func describeProtection(p *store.Protection) types.Protection {
	return types.Protection{Id: new(p.ID), ProtectionArn: new(p.ARN), Name: new(p.Name), ResourceArn: new(p.Resource), HealthCheckIds: []string{}}
}

// DescribeProtection returns the protection with an ID or of a resource.
func (s *Service) DescribeProtection(c *store.Call, in *shield.DescribeProtectionInput) (*shield.DescribeProtectionOutput, error) {
	if (in.ProtectionId == nil) == (in.ResourceArn == nil) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterException", "You must specify either a protection ID or a resource ARN")
	}
	st := s.currentState(c)
	for _, id := range store.SortedKeys(st.Protections) {
		p := st.Protections[id]
		if in.ProtectionId != nil && p.ID == *in.ProtectionId || in.ResourceArn != nil && p.Resource == *in.ResourceArn {
			return &shield.DescribeProtectionOutput{Protection: new(describeProtection(p))}, nil
		}
	}
	return nil, protectionNotFoundError()
}

// DeleteProtection deletes a protection.
func (s *Service) DeleteProtection(c *store.Call, in *shield.DeleteProtectionInput) (*shield.DeleteProtectionOutput, error) {
	st := s.currentState(c)
	if st.Protections[store.Value(in.ProtectionId)] == nil {
		return nil, protectionNotFoundError()
	}
	delete(st.Protections, *in.ProtectionId)
	return &shield.DeleteProtectionOutput{}, nil
}

// ListProtections lists a page of the protections. Within a page the order is random.
func (s *Service) ListProtections(c *store.Call, in *shield.ListProtectionsInput) (*shield.ListProtectionsOutput, error) {
	st := s.currentState(c)
	var wanted []string
	if in.InclusionFilters != nil {
		wanted = in.InclusionFilters.ResourceArns
	}
	after := ""
	if in.NextToken != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*in.NextToken)
		if err != nil {
			return nil, store.Errorf(store.UnprovenSource, "InvalidPaginationTokenException", "The token is not valid")
		}
		after = string(raw)
	}
	limit := s.store.PageLimit(int(store.Value(in.MaxResults)), maxPageSize)
	out := &shield.ListProtectionsOutput{Protections: []types.Protection{}}
	for _, id := range store.SortedKeys(st.Protections) {
		p := st.Protections[id]
		if id <= after || len(wanted) > 0 && !slices.Contains(wanted, p.Resource) {
			continue
		}
		if len(out.Protections) == limit {
			out.NextToken = new(base64.RawURLEncoding.EncodeToString([]byte(*out.Protections[limit-1].Id)))
			break
		}
		out.Protections = append(out.Protections, describeProtection(p))
	}
	store.Shuffle(s.store, out.Protections)
	return out, nil
}
