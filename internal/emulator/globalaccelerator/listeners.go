package globalaccelerator

import (
	"slices"

	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaListeners = "listeners-per-accelerator"
	maxPortRanges  = 10
	maxPort        = 65535
)

// listeners implements the operations on listeners.
type listeners struct{ *Service }

// CreateListener adds a listener to an accelerator.
func (s listeners) CreateListener(c *store.Call, in *ga.CreateListenerInput) (*ga.CreateListenerOutput, error) {
	a, err := s.findAccelerator(c, in.AcceleratorArn)
	if err != nil {
		return nil, err
	}
	err = firstError(checkPresent("Protocol", in.Protocol != ""), checkEnum("Protocol", in.Protocol, in.Protocol.Values()),
		checkEnum("ClientAffinity", in.ClientAffinity, in.ClientAffinity.Values()))
	if err != nil {
		return nil, err
	}
	given := *in
	given.IdempotencyToken = nil
	made, err := s.findByIdempotencyToken(c, in.IdempotencyToken, given)
	if err != nil {
		return nil, err
	}
	if made.arn != "" {
		_, l, _ := s.acceleratorState(c).ResolveARN(made.arn)
		return &ga.CreateListenerOutput{Listener: s.describeListener(l)}, nil
	}
	l := &store.AcceleratorListener{ARN: a.ARN + "/listener/" + s.store.RandomHex(8), Protocol: in.Protocol, Affinity: types.ClientAffinityNone}
	if in.ClientAffinity != "" {
		l.Affinity = in.ClientAffinity
	}
	if l.Ranges, err = parsePortRanges(in.PortRanges); err != nil {
		return nil, err
	}
	if err := checkPorts(a, l); err != nil {
		return nil, err
	}
	if most := s.store.Quota(quotaListeners, 10); len(a.Listeners) >= most {
		return nil, store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d listeners of an accelerator has been reached", most)
	}
	a.Listeners = append(a.Listeners, l)
	s.storeIdempotencyToken(c, made, l.ARN)
	s.recordChange(c, a)
	return &ga.CreateListenerOutput{Listener: s.describeListener(l)}, nil
}

func parsePortRanges(in []types.PortRange) ([]store.PortRange, error) {
	if err := firstError(checkNotEmpty("PortRanges", len(in)), checkMaxItems("PortRanges", len(in), maxPortRanges)); err != nil {
		return nil, err
	}
	var out []store.PortRange
	for _, r := range in {
		err := firstError(checkPresent("PortRanges.FromPort", r.FromPort != nil), checkPresent("PortRanges.ToPort", r.ToPort != nil),
			checkRange("PortRanges.FromPort", r.FromPort, 1, maxPort), checkRange("PortRanges.ToPort", r.ToPort, 1, maxPort))
		if err != nil {
			return nil, err
		}
		out = append(out, store.PortRange{From: *r.FromPort, To: *r.ToPort})
	}
	return out, nil
}

// checkPorts returns an error if a port range of listener l is not valid or in use. A port is in use if it is in another
// range of the same protocol, or if it is the endpoint port of a port override of the accelerator.
func checkPorts(a *store.Accelerator, l *store.AcceleratorListener) error {
	taken := []store.PortRange{}
	for _, other := range a.Listeners {
		if other.ARN != l.ARN && other.Protocol == l.Protocol {
			taken = append(taken, other.Ranges...)
		}
		for _, g := range other.Groups {
			for _, o := range g.Overrides {
				if l.HasPort(o.Endpoint) {
					return store.Errorf(store.UnprovenSource, codePortRange, "Port %d is the endpoint port of a port override", o.Endpoint)
				}
			}
		}
	}
	for _, r := range l.Ranges {
		if r.From > r.To {
			return store.Errorf(store.UnprovenSource, codePortRange, "The port range %d-%d is not valid", r.From, r.To)
		}
		if slices.ContainsFunc(taken, r.Overlaps) {
			return store.Errorf(store.UnprovenSource, codePortRange, "The port range %d-%d overlaps with another port range of the accelerator", r.From, r.To)
		}
		taken = append(taken, r)
	}
	return nil
}

// UpdateListener changes the ports, the protocol or the client affinity of a listener.
func (s listeners) UpdateListener(c *store.Call, in *ga.UpdateListenerInput) (*ga.UpdateListenerOutput, error) {
	a, l, err := s.findListener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	err = firstError(checkEnum("Protocol", in.Protocol, in.Protocol.Values()), checkEnum("ClientAffinity", in.ClientAffinity, in.ClientAffinity.Values()))
	if err != nil {
		return nil, err
	}
	next := *l
	if in.PortRanges != nil {
		if next.Ranges, err = parsePortRanges(in.PortRanges); err != nil {
			return nil, err
		}
	}
	if in.Protocol != "" {
		next.Protocol = in.Protocol
	}
	if in.ClientAffinity != "" {
		next.Affinity = in.ClientAffinity
	}
	if err := checkPorts(a, &next); err != nil {
		return nil, err
	}
	*l = next
	s.recordChange(c, a)
	return &ga.UpdateListenerOutput{Listener: s.describeListener(l)}, nil
}

// DescribeListener returns a listener.
func (s listeners) DescribeListener(c *store.Call, in *ga.DescribeListenerInput) (*ga.DescribeListenerOutput, error) {
	_, l, err := s.findListener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	return &ga.DescribeListenerOutput{Listener: s.describeListener(l)}, nil
}

// DeleteListener deletes a listener that has no endpoint groups.
func (s listeners) DeleteListener(c *store.Call, in *ga.DeleteListenerInput) (*ga.DeleteListenerOutput, error) {
	a, l, err := s.findListener(c, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	if len(l.Groups) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "AssociatedEndpointGroupFoundException", "The listener '%s' has endpoint groups", l.ARN)
	}
	a.Listeners = slices.DeleteFunc(a.Listeners, func(x *store.AcceleratorListener) bool { return x == l })
	s.recordChange(c, a)
	return &ga.DeleteListenerOutput{}, nil
}

// ListListeners lists the listeners of an accelerator.
func (s listeners) ListListeners(c *store.Call, in *ga.ListListenersInput) (*ga.ListListenersOutput, error) {
	a, err := s.findAccelerator(c, in.AcceleratorArn)
	if err != nil {
		return nil, err
	}
	list, next, err := page(s.store, a.ARN, a.Listeners, func(l *store.AcceleratorListener) string { return lastARNPart(l.ARN) }, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ga.ListListenersOutput{NextToken: next, Listeners: []types.Listener{}}
	for _, l := range list {
		out.Listeners = append(out.Listeners, *s.describeListener(l))
	}
	return out, nil
}

func (s listeners) describeListener(l *store.AcceleratorListener) *types.Listener {
	out := &types.Listener{ListenerArn: new(l.ARN), Protocol: l.Protocol, ClientAffinity: l.Affinity}
	for _, r := range l.Ranges {
		out.PortRanges = append(out.PortRanges, types.PortRange{FromPort: new(r.From), ToPort: new(r.To)})
	}
	store.Shuffle(s.store, out.PortRanges)
	return out
}
