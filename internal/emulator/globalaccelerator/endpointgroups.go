package globalaccelerator

import (
	"cmp"
	"slices"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaEndpointGroups = "endpoint-groups-per-accelerator"
	quotaPortOverrides  = "port-overrides-per-endpoint-group"
	maxPortOverrides    = 10
)

// endpointGroupSettings contains the members that the requests to create and to update an endpoint group have in common.
// Members that are not in the request are nil or empty, and do not change the endpoint group.
type endpointGroupSettings struct {
	endpoints   []types.EndpointConfiguration // nil if not in the request
	overrides   []types.PortOverride          // nil if not in the request
	trafficDial *float32

	checkPort, checkInterval, threshold *int32
	checkProtocol                       types.HealthCheckProtocol
	checkPath                           *string
}

// endpointGroups implements the operations on endpoint groups.
type endpointGroups struct{ *Service }

// CreateEndpointGroup adds an endpoint group to a listener.
func (s endpointGroups) CreateEndpointGroup(c *store.Call, in *ga.CreateEndpointGroupInput) (*ga.CreateEndpointGroupOutput, error) {
	a, l, err := s.findListener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	region := store.Value(in.EndpointGroupRegion)
	if err := firstError(checkPresent("EndpointGroupRegion", region != ""), checkShortText("EndpointGroupRegion", &region), checkRegion(s.store, region)); err != nil {
		return nil, err
	}
	given := *in
	given.IdempotencyToken = nil
	made, err := s.findByIdempotencyToken(c, in.IdempotencyToken, given)
	if err != nil {
		return nil, err
	}
	if made.arn != "" {
		found, err := s.findEndpointGroup(c, &made.arn)
		if err != nil {
			return nil, err
		}
		return &ga.CreateEndpointGroupOutput{EndpointGroup: s.describeEndpointGroup(c, found)}, nil
	}
	if slices.ContainsFunc(l.Groups, func(g *store.EndpointGroup) bool { return g.Region == region }) {
		return nil, store.Errorf(store.UnprovenSource, "EndpointGroupAlreadyExistsException", "The listener '%s' has an endpoint group in %s already", l.ARN, region)
	}
	groups := 0
	for _, x := range a.Listeners {
		groups += len(x.Groups)
	}
	if most := s.store.Quota(quotaEndpointGroups, 42); groups >= most {
		return nil, store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d endpoint groups of an accelerator has been reached", most)
	}
	g := &store.EndpointGroup{
		ARN: l.ARN + "/endpoint-group/" + s.store.RandomHex(12), Region: region, Dial: 100,
		CheckProtocol: types.HealthCheckProtocolTcp, CheckInterval: 30, Threshold: 3,
	}
	err = s.updateSettings(c, endpointGroupPath{a, l, g}, endpointGroupSettings{
		in.EndpointConfigurations, in.PortOverrides, in.TrafficDialPercentage, in.HealthCheckPort, in.HealthCheckIntervalSeconds, in.ThresholdCount,
		in.HealthCheckProtocol, in.HealthCheckPath,
	})
	if err != nil {
		return nil, err
	}
	l.Groups = append(l.Groups, g)
	s.storeIdempotencyToken(c, made, g.ARN)
	s.recordChange(c, a)
	return &ga.CreateEndpointGroupOutput{EndpointGroup: s.describeEndpointGroup(c, endpointGroupPath{a, l, g})}, nil
}

// UpdateEndpointGroup changes the settings of an endpoint group that are in the request. A list in the request replaces the
// whole list of the endpoint group.
func (s endpointGroups) UpdateEndpointGroup(c *store.Call, in *ga.UpdateEndpointGroupInput) (*ga.UpdateEndpointGroupOutput, error) {
	of, err := s.findEndpointGroup(c, in.EndpointGroupArn)
	if err != nil {
		return nil, err
	}
	err = s.updateSettings(c, of, endpointGroupSettings{
		in.EndpointConfigurations, in.PortOverrides, in.TrafficDialPercentage, in.HealthCheckPort, in.HealthCheckIntervalSeconds, in.ThresholdCount,
		in.HealthCheckProtocol, in.HealthCheckPath,
	})
	if err != nil {
		return nil, err
	}
	s.recordChange(c, of.accelerator)
	return &ga.UpdateEndpointGroupOutput{EndpointGroup: s.describeEndpointGroup(c, of)}, nil
}

// updateSettings changes the settings of an endpoint group. It changes none if it returns an error.
func (s endpointGroups) updateSettings(c *store.Call, of endpointGroupPath, in endpointGroupSettings) error {
	if in.trafficDial != nil && !(*in.trafficDial >= 0 && *in.trafficDial <= 100) {
		return invalidArgumentError(store.UnprovenSource, "The traffic dial percentage %v is not between 0 and 100", *in.trafficDial)
	}
	err := firstError(checkMaxItems("EndpointConfigurations", len(in.endpoints), maxEndpoints), checkMaxItems("PortOverrides", len(in.overrides), maxPortOverrides),
		checkRange("HealthCheckPort", in.checkPort, 1, maxPort), checkRange("HealthCheckIntervalSeconds", in.checkInterval, 10, 30),
		checkRange("ThresholdCount", in.threshold, 1, 10), checkEnum("HealthCheckProtocol", in.checkProtocol, in.checkProtocol.Values()),
		checkShortText("HealthCheckPath", in.checkPath))
	if err != nil {
		return err
	}
	if in.checkPath != nil && !pathPattern.MatchString(*in.checkPath) {
		return invalidArgumentError(store.UnprovenSource, "The health check path '%s' is not valid", *in.checkPath)
	}
	if s.store.Config.Strict && in.checkInterval != nil && *in.checkInterval != 10 && *in.checkInterval != 30 {
		return invalidArgumentError(store.UnprovenSource, "The health check interval must be 10 or 30 seconds")
	}
	next := *of.endpointGroup
	if in.overrides != nil {
		next.Overrides = nil
		for _, o := range in.overrides {
			err := firstError(checkPresent("PortOverrides.ListenerPort", o.ListenerPort != nil), checkPresent("PortOverrides.EndpointPort", o.EndpointPort != nil),
				checkRange("PortOverrides.ListenerPort", o.ListenerPort, 1, maxPort), checkRange("PortOverrides.EndpointPort", o.EndpointPort, 1, maxPort))
			if err != nil {
				return err
			}
			next.Overrides = append(next.Overrides, store.PortOverride{Listener: *o.ListenerPort, Endpoint: *o.EndpointPort})
		}
		if most := s.store.Quota(quotaPortOverrides, 10); len(next.Overrides) > most {
			return store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d port overrides of an endpoint group has been reached", most)
		}
		if err := checkPortOverrides(endpointGroupPath{of.accelerator, of.listener, &next}); err != nil {
			return err
		}
	}
	if in.endpoints != nil {
		if next.Endpoints, err = endpoints(s).mergeEndpoints(c, of, in.endpoints, nil); err != nil {
			return err
		}
	}
	assignIfSet(&next.Dial, in.trafficDial)
	assignIfSet(&next.CheckPort, in.checkPort)
	assignIfSet(&next.CheckInterval, in.checkInterval)
	assignIfSet(&next.Threshold, in.threshold)
	assignIfSet(&next.CheckPath, in.checkPath)
	if in.checkProtocol != "" {
		next.CheckProtocol = in.checkProtocol
	}
	*of.endpointGroup = next
	return nil
}

func assignIfSet[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// checkPortOverrides returns an error if the listener does not have the listener port of a port override, if a listener port
// has two port overrides, or if an endpoint port is already in use in the accelerator.
func checkPortOverrides(of endpointGroupPath) error {
	listener, endpoint := map[int32]bool{}, map[int32]bool{}
	for _, o := range of.endpointGroup.Overrides {
		switch {
		case !of.listener.HasPort(o.Listener):
			return invalidArgumentError(store.UnprovenSource, "The listener port %d of a port override is not a port of the listener", o.Listener)
		case listener[o.Listener]:
			return invalidArgumentError(store.UnprovenSource, "The listener port %d has more than one port override", o.Listener)
		case endpoint[o.Endpoint]:
			return invalidArgumentError(store.UnprovenSource, "The endpoint port %d is used by more than one port override", o.Endpoint)
		}
		listener[o.Listener], endpoint[o.Endpoint] = true, true
		for _, l := range of.accelerator.Listeners {
			if l.HasPort(o.Endpoint) {
				return invalidArgumentError(store.UnprovenSource, "The endpoint port %d of a port override is a port of a listener of the accelerator", o.Endpoint)
			}
			if l != of.listener && slices.ContainsFunc(l.Groups, func(g *store.EndpointGroup) bool {
				return slices.ContainsFunc(g.Overrides, func(x store.PortOverride) bool { return x.Endpoint == o.Endpoint })
			}) {
				return invalidArgumentError(store.UnprovenSource, "The endpoint port %d is used by more than one port override", o.Endpoint)
			}
		}
	}
	return nil
}

// DescribeEndpointGroup returns an endpoint group with the health of its endpoints.
func (s endpointGroups) DescribeEndpointGroup(c *store.Call, in *ga.DescribeEndpointGroupInput) (*ga.DescribeEndpointGroupOutput, error) {
	of, err := s.findEndpointGroup(c, in.EndpointGroupArn)
	if err != nil {
		return nil, err
	}
	return &ga.DescribeEndpointGroupOutput{EndpointGroup: s.describeEndpointGroup(c, of)}, nil
}

// DeleteEndpointGroup deletes an endpoint group with its endpoints.
func (s endpointGroups) DeleteEndpointGroup(c *store.Call, in *ga.DeleteEndpointGroupInput) (*ga.DeleteEndpointGroupOutput, error) {
	of, err := s.findEndpointGroup(c, in.EndpointGroupArn)
	if err != nil {
		return nil, err
	}
	of.listener.Groups = slices.DeleteFunc(of.listener.Groups, func(g *store.EndpointGroup) bool { return g == of.endpointGroup })
	s.recordChange(c, of.accelerator)
	return &ga.DeleteEndpointGroupOutput{}, nil
}

// ListEndpointGroups lists the endpoint groups of a listener.
func (s endpointGroups) ListEndpointGroups(c *store.Call, in *ga.ListEndpointGroupsInput) (*ga.ListEndpointGroupsOutput, error) {
	a, l, err := s.findListener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	list, next, err := page(s.store, l.ARN, l.Groups, func(g *store.EndpointGroup) string { return lastARNPart(g.ARN) }, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ga.ListEndpointGroupsOutput{NextToken: next, EndpointGroups: []types.EndpointGroup{}}
	for _, g := range list {
		out.EndpointGroups = append(out.EndpointGroups, *s.describeEndpointGroup(c, endpointGroupPath{a, l, g}))
	}
	return out, nil
}

func (s endpointGroups) describeEndpointGroup(c *store.Call, of endpointGroupPath) *types.EndpointGroup {
	g := of.endpointGroup
	out := &types.EndpointGroup{
		EndpointGroupArn: new(g.ARN), EndpointGroupRegion: new(g.Region), TrafficDialPercentage: new(g.Dial),
		HealthCheckPort: new(cmp.Or(g.CheckPort, of.listener.Ranges[0].From)), HealthCheckProtocol: g.CheckProtocol, HealthCheckIntervalSeconds: new(g.CheckInterval),
		ThresholdCount: new(g.Threshold), EndpointDescriptions: []types.EndpointDescription{}, PortOverrides: []types.PortOverride{},
	}
	if g.CheckPath != "" || g.CheckProtocol != types.HealthCheckProtocolTcp {
		out.HealthCheckPath = new(cmp.Or(g.CheckPath, "/"))
	}
	for _, e := range g.Endpoints {
		out.EndpointDescriptions = append(out.EndpointDescriptions, endpoints(s).describeEndpoint(c, g, e))
	}
	store.Shuffle(s.store, out.EndpointDescriptions)
	for _, o := range g.Overrides {
		out.PortOverrides = append(out.PortOverrides, types.PortOverride{ListenerPort: new(o.Listener), EndpointPort: new(o.Endpoint)})
	}
	store.Shuffle(s.store, out.PortOverrides)
	return out
}
