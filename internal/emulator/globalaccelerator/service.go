package globalaccelerator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Error codes that more than one operation returns.
const (
	codeInvalid            = "InvalidArgumentException"
	codeLimit              = "LimitExceededException"
	codeBusy               = "TransactionInProgressException"
	codeNotDisabled        = "AcceleratorNotDisabledException"
	codePortRange          = "InvalidPortRangeException"
	codeNoAccelerator      = "AcceleratorNotFoundException"
	codeNoListener         = "ListenerNotFoundException"
	codeNoEndpointGroup    = "EndpointGroupNotFoundException"
	codeIncorrectCIDRState = "IncorrectCidrStateException"
)

// Service serves the operations of Global Accelerator.
type Service struct {
	store *store.Store
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service { return &Service{store: w} }

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	h := wire.HandledMembers
	configurations := []string{"EndpointConfigurations.EndpointId", "EndpointConfigurations.Weight", "EndpointConfigurations.ClientIPPreservationEnabled"}
	group := slices.Concat(configurations, []string{
		"TrafficDialPercentage", "HealthCheckPort", "HealthCheckProtocol", "HealthCheckPath", "HealthCheckIntervalSeconds", "ThresholdCount", "PortOverrides",
	})
	return []wire.Operation{
		wire.NewOperation("CreateAccelerator", accelerators{s}.CreateAccelerator, h("Name", "IpAddressType", "IpAddresses", "Enabled", "Tags", "IdempotencyToken")),
		wire.NewOperation("UpdateAccelerator", accelerators{s}.UpdateAccelerator, h("AcceleratorArn", "Name", "IpAddressType", "IpAddresses", "Enabled")),
		wire.NewOperation("DescribeAccelerator", accelerators{s}.DescribeAccelerator, h("AcceleratorArn")),
		wire.NewOperation("DeleteAccelerator", accelerators{s}.DeleteAccelerator, h("AcceleratorArn")),
		wire.NewOperation("ListAccelerators", accelerators{s}.ListAccelerators, h("MaxResults", "NextToken")),
		wire.NewOperation("CreateListener", listeners{s}.CreateListener, h("AcceleratorArn", "PortRanges", "Protocol", "ClientAffinity", "IdempotencyToken")),
		wire.NewOperation("UpdateListener", listeners{s}.UpdateListener, h("ListenerArn", "PortRanges", "Protocol", "ClientAffinity")),
		wire.NewOperation("DescribeListener", listeners{s}.DescribeListener, h("ListenerArn")),
		wire.NewOperation("DeleteListener", listeners{s}.DeleteListener, h("ListenerArn")),
		wire.NewOperation("ListListeners", listeners{s}.ListListeners, h("AcceleratorArn", "MaxResults", "NextToken")),
		wire.NewOperation("CreateEndpointGroup", endpointGroups{s}.CreateEndpointGroup, h(slices.Concat(group, []string{"ListenerArn", "EndpointGroupRegion", "IdempotencyToken"})...)),
		wire.NewOperation("UpdateEndpointGroup", endpointGroups{s}.UpdateEndpointGroup, h(slices.Concat(group, []string{"EndpointGroupArn"})...)),
		wire.NewOperation("DescribeEndpointGroup", endpointGroups{s}.DescribeEndpointGroup, h("EndpointGroupArn")),
		wire.NewOperation("DeleteEndpointGroup", endpointGroups{s}.DeleteEndpointGroup, h("EndpointGroupArn")),
		wire.NewOperation("ListEndpointGroups", endpointGroups{s}.ListEndpointGroups, h("ListenerArn", "MaxResults", "NextToken")),
		wire.NewOperation("AddEndpoints", endpoints{s}.AddEndpoints, h(slices.Concat(configurations, []string{"EndpointGroupArn"})...)),
		wire.NewOperation("RemoveEndpoints", endpoints{s}.RemoveEndpoints, h("EndpointGroupArn", "EndpointIdentifiers.EndpointId", "EndpointIdentifiers.ClientIPPreservationEnabled")),
		wire.NewOperation("TagResource", s.TagResource, h("ResourceArn", "Tags")),
		wire.NewOperation("UntagResource", s.UntagResource, h("ResourceArn", "TagKeys")),
		wire.NewOperation("ListTagsForResource", s.ListTagsForResource, h("ResourceArn")),
		wire.NewOperation("ListByoipCidrs", s.ListByoipCidrs, h("MaxResults", "NextToken")),
		wire.NewOperation("ProvisionByoipCidr", s.ProvisionByoipCidr, h("Cidr", "CidrAuthorizationContext")),
		wire.NewOperation("AdvertiseByoipCidr", s.AdvertiseByoipCidr, h("Cidr")),
	}
}

// TaggedResources implements [store.TagSource].
func (s *Service) TaggedResources(p *store.Partition) []store.TaggedResource {
	var out []store.TaggedResource
	for arn, a := range p.Accelerators.Accelerators {
		out = append(out, store.TaggedResource{ARN: arn, Type: "globalaccelerator:accelerator", Tags: a.Tags})
	}
	return out
}

func invalidArgumentError(from store.Source, format string, args ...any) error {
	return store.Errorf(from, codeInvalid, format, args...)
}

func (s *Service) acceleratorState(c *store.Call) *store.AcceleratorState {
	return s.store.AcceleratorState(c.Account)
}

// findAccelerator returns the accelerator with an ARN.
func (s *Service) findAccelerator(c *store.Call, arn *string) (*store.Accelerator, error) {
	if err := firstError(checkPresent("AcceleratorArn", arn != nil), checkShortText("AcceleratorArn", arn)); err != nil {
		return nil, err
	}
	if a := s.acceleratorState(c).Accelerators[*arn]; a != nil {
		return a, nil
	}
	return nil, store.Errorf(store.UnprovenSource, codeNoAccelerator, "The accelerator '%s' was not found", *arn)
}

// findListener returns the listener with an ARN, and its accelerator.
func (s *Service) findListener(c *store.Call, arn *string) (*store.Accelerator, *store.AcceleratorListener, error) {
	if err := firstError(checkPresent("ListenerArn", arn != nil), checkShortText("ListenerArn", arn)); err != nil {
		return nil, nil, err
	}
	a, l, _ := s.acceleratorState(c).ResolveARN(*arn)
	if l == nil || l.ARN != *arn {
		return nil, nil, store.Errorf(store.UnprovenSource, codeNoListener, "The listener '%s' was not found", *arn)
	}
	return a, l, nil
}

// endpointGroupPath is an endpoint group with the accelerator and the listener to which it belongs.
type endpointGroupPath struct {
	accelerator   *store.Accelerator
	listener      *store.AcceleratorListener
	endpointGroup *store.EndpointGroup
}

// findEndpointGroup returns the endpoint group with an ARN.
func (s *Service) findEndpointGroup(c *store.Call, arn *string) (endpointGroupPath, error) {
	if err := firstError(checkPresent("EndpointGroupArn", arn != nil), checkShortText("EndpointGroupArn", arn)); err != nil {
		return endpointGroupPath{}, err
	}
	a, l, g := s.acceleratorState(c).ResolveARN(*arn)
	if g == nil {
		return endpointGroupPath{}, store.Errorf(store.UnprovenSource, codeNoEndpointGroup, "The endpoint group '%s' was not found", *arn)
	}
	return endpointGroupPath{a, l, g}, nil
}

// recordChange records that an accelerator or a part of it has changed. The deployment of this change and of earlier changes
// ends after DeploymentDelay. recordChange also updates the ENIs.
func (s *Service) recordChange(c *store.Call, a *store.Accelerator) {
	a.Modified = c.Now
	a.Deployed = c.Now.Add(s.store.Config.Accelerator.DeploymentDelay)
	s.updateENIs(c)
}

// checkNoTransaction returns an error if the last change of the accelerator is more recent than TransactionTime. If
// TransactionTime is zero, it returns nil.
func (s *Service) checkNoTransaction(c *store.Call, a *store.Accelerator) error {
	if c.Now.Before(a.Modified.Add(s.store.Config.Accelerator.TransactionTime)) {
		return transactionInProgressError(a)
	}
	return nil
}

func transactionInProgressError(a *store.Accelerator) error {
	return store.Errorf(store.UnprovenSource, codeBusy, "There is already a transaction in progress for the accelerator '%s'", a.ARN)
}

// idempotentCreation identifies a call that creates a resource: key is the operation with the idempotency token, input the
// request as JSON.
type idempotentCreation struct {
	key, input string
	arn        string // ARN of the resource that an equal call has created, if it exists
}

// findByIdempotencyToken returns the creation for a call. in is the input without the token. If an equal call has created a
// resource that still exists, arn is set. It returns an error if the token was used with another input.
func (s *Service) findByIdempotencyToken(c *store.Call, token *string, in any) (idempotentCreation, error) {
	if err := firstError(checkPresent("IdempotencyToken", token != nil), checkShortText("IdempotencyToken", token)); err != nil {
		return idempotentCreation{}, err
	}
	text, err := json.Marshal(in)
	if err != nil {
		return idempotentCreation{}, err
	}
	out := idempotentCreation{key: c.Operation + " " + *token, input: string(text)}
	st := s.acceleratorState(c)
	before, ok := st.Creations[out.key]
	if !ok || !st.HasARN(before.ARN) {
		return out, nil
	}
	if before.Input != out.input {
		return idempotentCreation{}, invalidArgumentError(store.UnprovenSource, "The idempotency token '%s' was used with other parameters", *token)
	}
	out.arn = before.ARN
	return out, nil
}

// storeIdempotencyToken stores the ARN of the resource that a call has created, for later calls with the same token.
func (s *Service) storeIdempotencyToken(c *store.Call, made idempotentCreation, arn string) {
	s.acceleratorState(c).Creations[made.key] = store.AcceleratorCreation{Input: made.input, ARN: arn}
}

// isAccelerator reports whether an ARN is the ARN of an accelerator of any account. It returns false for listeners
// and endpoint groups.
func isAccelerator(arn string) bool {
	return strings.Contains(arn, ":globalaccelerator::") && strings.Contains(arn, ":accelerator/") && strings.Count(arn, "/") == 1
}
