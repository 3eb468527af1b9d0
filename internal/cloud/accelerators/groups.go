package accelerators

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func (w writer) createEndpointGroup(ctx context.Context, do plan.CreateEndpointGroup) (plan.StepResult, error) {
	listener, err := w.lookup(do.Listener, func(arn string) error { return w.checkRegionOwner(arn, do.Region) })
	if err != nil {
		return plan.StepResult{}, err
	}
	in := &ga.CreateEndpointGroupInput{
		ListenerArn: aws.String(listener), EndpointGroupRegion: aws.String(do.Region), TrafficDialPercentage: aws.Float32(float32(do.TrafficDial)),
		EndpointConfigurations: endpointsToAWS(do.Endpoints), IdempotencyToken: aws.String(do.Token),
	}
	if len(do.Overrides) > 0 {
		in.PortOverrides = overridesToAWS(do.Overrides)
	}
	out, err := w.API.Accelerators.CreateEndpointGroup(ctx, in)
	if err != nil {
		return plan.StepResult{}, w.handleWriteError("create an endpoint group in "+do.Region, listener, err)
	}
	if out.EndpointGroup == nil {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, listener, "AWS returned no endpoint group")
	}
	made := endpointGroupFromAWS(*out.EndpointGroup)
	w.cacheOwnChange(acceleratorARN(listener), withInProgressState(func(a *observed.Accelerator) {
		for i := range a.Listeners {
			l := &a.Listeners[i]
			if l.ARN != listener || slices.ContainsFunc(l.Groups, func(g observed.EndpointGroup) bool { return g.ARN == made.ARN }) {
				continue
			}
			l.Groups = append(l.Groups, made)
			slices.SortFunc(l.Groups, func(a, b observed.EndpointGroup) int { return strings.Compare(a.Region, b.Region) })
		}
	}))
	return plan.StepResult{ID: made.ARN}, nil
}

func (w writer) changeEndpointGroup(ctx context.Context, do plan.ChangeEndpointGroup) error {
	arn, err := w.lookupEndpointGroup(do.Group)
	if err != nil {
		return err
	}
	in := &ga.UpdateEndpointGroupInput{EndpointGroupArn: aws.String(arn)}
	if do.TrafficDial != nil {
		in.TrafficDialPercentage = aws.Float32(float32(*do.TrafficDial))
	}
	if do.Overrides != nil {
		in.PortOverrides = overridesToAWS(*do.Overrides)
	}
	if _, err := w.API.Accelerators.UpdateEndpointGroup(ctx, in); err != nil {
		return w.handleWriteError("change endpoint group "+arn, arn, err)
	}
	w.cacheOwnChange(acceleratorARN(arn), endpointGroupChange(arn, func(g *observed.EndpointGroup) {
		if do.TrafficDial != nil {
			g.Dial = float64(*do.TrafficDial)
		}
		if do.Overrides != nil {
			g.Overrides = slices.Clone(*do.Overrides)
			sortOverrides(g.Overrides)
		}
	}))
	return nil
}

func (w writer) deleteEndpointGroup(ctx context.Context, do plan.DeleteEndpointGroup) error {
	if err := w.checkEndpointGroupOwner(do.ARN); err != nil {
		return sdk.IgnoreGone(err)
	}
	_, err := w.API.Accelerators.DeleteEndpointGroup(ctx, &ga.DeleteEndpointGroupInput{EndpointGroupArn: aws.String(do.ARN)})
	if err != nil && !sdk.IsGone(err) {
		return w.handleWriteError("delete endpoint group "+do.ARN, do.ARN, err)
	}
	w.cacheOwnChange(acceleratorARN(do.ARN), withInProgressState(func(a *observed.Accelerator) {
		for i := range a.Listeners {
			a.Listeners[i].Groups = slices.DeleteFunc(a.Listeners[i].Groups, func(g observed.EndpointGroup) bool { return g.ARN == do.ARN })
		}
	}))
	return nil
}

func (w writer) addEndpoints(ctx context.Context, do plan.AddEndpoints) error {
	arn, err := w.lookupEndpointGroup(do.Group)
	if err != nil {
		return err
	}
	out, err := w.API.Accelerators.AddEndpoints(ctx, &ga.AddEndpointsInput{EndpointGroupArn: aws.String(arn), EndpointConfigurations: endpointsToAWS(do.Endpoints)})
	if err != nil {
		return w.handleWriteError("add endpoints to endpoint group "+arn, arn, err)
	}
	w.cacheOwnChange(acceleratorARN(arn), endpointGroupChange(arn, func(g *observed.EndpointGroup) {
		for _, e := range out.EndpointDescriptions {
			x := endpointFromAWS(e)
			g.Endpoints = append(slices.DeleteFunc(g.Endpoints, func(o observed.Endpoint) bool { return o.ID == x.ID }), x)
		}
		sortEndpoints(g.Endpoints)
	}))
	return nil
}

// setEndpoints changes some endpoints of an endpoint group. AWS replaces the whole list, so the call also contains the
// endpoints that do not change.
func (w writer) setEndpoints(ctx context.Context, do plan.SetEndpoints) error {
	arn, err := w.lookupEndpointGroup(do.Group)
	if err != nil {
		return err
	}
	var list []plan.EndpointSettings
	w.WithLock(func() {
		w.editCached(acceleratorARN(arn), endpointGroupChange(arn, func(g *observed.EndpointGroup) {
			for _, e := range g.Endpoints {
				list = append(list, plan.EndpointSettings{ID: e.ID, Weight: e.Weight, PreserveClientIP: clientIPPreservation(e)})
			}
		}))
	})
	if len(list) == 0 {
		return sdk.NewError(failure.Conflict, arn, "no endpoints of the endpoint group are known, so none is changed")
	}
	for _, e := range do.Endpoints {
		if i := slices.IndexFunc(list, func(o plan.EndpointSettings) bool { return o.ID == e.ID }); i >= 0 {
			list[i].Weight = e.Weight
			if e.PreserveClientIP != nil {
				list[i].PreserveClientIP = e.PreserveClientIP
			}
		}
	}
	out, err := w.API.Accelerators.UpdateEndpointGroup(ctx, &ga.UpdateEndpointGroupInput{EndpointGroupArn: aws.String(arn), EndpointConfigurations: endpointsToAWS(list)})
	if err != nil {
		return w.handleWriteError("change the endpoints of endpoint group "+arn, arn, err)
	}
	w.cacheOwnChange(acceleratorARN(arn), endpointGroupChange(arn, func(g *observed.EndpointGroup) {
		if out.EndpointGroup != nil {
			*g = endpointGroupFromAWS(*out.EndpointGroup)
		}
	}))
	return nil
}

// clientIPPreservation returns the current client IP preservation setting of an endpoint, so that a call can send the same
// value again. It returns nil for an endpoint that is not a load balancer, because AWS accepts only one value for such
// endpoints.
func clientIPPreservation(e observed.Endpoint) *bool {
	if !strings.HasPrefix(e.ID, "arn:") {
		return nil
	}
	return aws.Bool(e.ClientIP)
}

func (w writer) removeEndpoints(ctx context.Context, do plan.RemoveEndpoints) error {
	arn, err := w.lookupEndpointGroup(do.Group)
	if err != nil {
		return err
	}
	var list []types.EndpointIdentifier
	for _, id := range do.IDs {
		list = append(list, types.EndpointIdentifier{EndpointId: aws.String(id)})
	}
	if _, err := w.API.Accelerators.RemoveEndpoints(ctx, &ga.RemoveEndpointsInput{EndpointGroupArn: aws.String(arn), EndpointIdentifiers: list}); err != nil {
		return w.handleWriteError("remove endpoints from endpoint group "+arn, arn, err)
	}
	w.cacheOwnChange(acceleratorARN(arn), endpointGroupChange(arn, func(g *observed.EndpointGroup) {
		g.Endpoints = slices.DeleteFunc(g.Endpoints, func(e observed.Endpoint) bool { return slices.Contains(do.IDs, e.ID) })
	}))
	return nil
}
