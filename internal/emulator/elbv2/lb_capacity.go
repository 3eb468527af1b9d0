package elbv2

import (
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxDecreasesPerDay is how often a capacity reservation can be decreased in one day (UTC).
const maxDecreasesPerDay = 2

// capacityView contains the response members that DescribeCapacityReservation and ModifyCapacityReservation have in common.
type capacityView struct {
	zones              []types.ZonalCapacityReservationState
	remainingDecreases *int32
	lastModified       *time.Time
	minimum            *types.MinimumLoadBalancerCapacity
}

func (s *loadBalancers) newCapacityView(c *store.Call, lb *store.LoadBalancer) capacityView {
	r := lb.Capacity
	remaining := int32(maxDecreasesPerDay)
	if r.DecreasesDay == utcDate(c.Now) {
		remaining -= r.Decreases
	}
	v := capacityView{remainingDecreases: &remaining}
	if !r.Changed.IsZero() {
		v.lastModified = new(r.Changed)
	}
	if r.Units == 0 {
		return v
	}
	v.minimum = &types.MinimumLoadBalancerCapacity{CapacityUnits: new(r.Units)}
	state, units := types.CapacityReservationStateEnumProvisioned, float64(r.Units)/float64(len(lb.Zones))
	if c.Now.Before(r.Ready) {
		state, units = types.CapacityReservationStateEnumPending, 0
	}
	for _, z := range lb.Zones {
		v.zones = append(v.zones, types.ZonalCapacityReservationState{
			AvailabilityZone: new(z.Zone), EffectiveCapacityUnits: new(units), State: &types.CapacityReservationStatus{Code: state},
		})
	}
	store.Shuffle(s.store, v.zones)
	return v
}

func utcDate(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// DescribeCapacityReservation returns the capacity reservation of a load balancer.
func (s *loadBalancers) DescribeCapacityReservation(c *store.Call, in *elb.DescribeCapacityReservationInput) (*elb.DescribeCapacityReservationOutput, error) {
	if err := requiredError("loadBalancerArn", in.LoadBalancerArn != nil); err != nil {
		return nil, err
	}
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	v := s.newCapacityView(c, lb)
	return &elb.DescribeCapacityReservationOutput{
		CapacityReservationState: v.zones, DecreaseRequestsRemaining: v.remainingDecreases,
		LastModifiedTime: v.lastModified, MinimumLoadBalancerCapacity: v.minimum,
	}, nil
}

// ModifyCapacityReservation sets or removes the minimum capacity of a load balancer.
func (s *loadBalancers) ModifyCapacityReservation(c *store.Call, in *elb.ModifyCapacityReservationInput) (*elb.ModifyCapacityReservationOutput, error) {
	if err := requiredError("loadBalancerArn", in.LoadBalancerArn != nil); err != nil {
		return nil, err
	}
	lb, err := findLoadBalancer(c.Partition.ELB, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	set := in.MinimumLoadBalancerCapacity != nil && in.MinimumLoadBalancerCapacity.CapacityUnits != nil
	reset := store.Value(in.ResetCapacityReservation)
	if set == reset {
		return nil, validationError(store.UnprovenSource, "You must specify either MinimumLoadBalancerCapacity or ResetCapacityReservation")
	}
	units := int32(0)
	if set {
		units = *in.MinimumLoadBalancerCapacity.CapacityUnits
		if units < 1 {
			return nil, validationError(store.UnprovenSource, "The capacity units must be at least '1'")
		}
	}
	if most := s.quota(quotaReservedCapacityUnits); int(units) > most {
		return nil, store.Errorf(store.UnprovenSource, "CapacityUnitsLimitExceeded", "The maximum number of capacity units '%d' has been exceeded", most)
	}
	// There is no proof that AWS returns this error, but clients must be able to handle it.
	if state, _ := lb.State(c.Now); s.store.Config.Strict && state == types.LoadBalancerStateEnumProvisioning {
		return nil, store.Errorf(store.UnprovenSource, "OperationNotPermitted", "Load balancer '%s' is not active", lb.ARN)
	}
	r := lb.Capacity
	if c.Now.Before(r.Ready) {
		return nil, store.Errorf(store.UnprovenSource, "PriorRequestNotComplete", "A prior capacity reservation request for load balancer '%s' is not complete", lb.ARN).WithStatus(429)
	}
	if units < r.Units {
		if r.DecreasesDay != utcDate(c.Now) {
			r.DecreasesDay, r.Decreases = utcDate(c.Now), 0
		}
		if r.Decreases >= maxDecreasesPerDay {
			return nil, store.Errorf(store.UnprovenSource, "CapacityDecreaseRequestLimitExceeded", "The capacity reservation of load balancer '%s' cannot be decreased again today", lb.ARN)
		}
		r.Decreases++
	}
	r.Units, r.Changed, r.Ready = units, c.Now, time.Time{}
	if units > 0 {
		r.Ready = c.Now.Add(s.store.Config.ELB.CapacityDelay)
	}
	lb.Capacity = r
	v := s.newCapacityView(c, lb)
	return &elb.ModifyCapacityReservationOutput{
		CapacityReservationState: v.zones, DecreaseRequestsRemaining: v.remainingDecreases,
		LastModifiedTime: v.lastModified, MinimumLoadBalancerCapacity: v.minimum,
	}, nil
}
