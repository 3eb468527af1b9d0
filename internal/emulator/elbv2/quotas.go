package elbv2

import (
	"strconv"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Names of quotas in DescribeAccountLimits. Config.Quotas can override the value of each of them.
const (
	quotaALBs                     = "application-load-balancers"
	quotaNLBs                     = "network-load-balancers"
	quotaListenersALB             = "listeners-per-application-load-balancer"
	quotaListenersNLB             = "listeners-per-network-load-balancer"
	quotaRulesPerALB              = "rules-per-application-load-balancer"
	quotaTargetGroups             = "target-groups"
	quotaTargetGroupsPerALB       = "target-groups-per-application-load-balancer"
	quotaTargetGroupsPerActionALB = "target-groups-per-action-on-application-load-balancer"
	quotaTargetGroupsPerActionNLB = "target-groups-per-action-on-network-load-balancer"
	quotaTargetsALB               = "targets-per-application-load-balancer"
	quotaTargetsNLB               = "targets-per-network-load-balancer"
	quotaTargetsPerZoneNLB        = "targets-per-availability-zone-per-network-load-balancer"
	quotaTargetsPerTargetGroup    = "targets-per-target-group"
	quotaRegistrationsPerTargetID = "target-id-registrations-per-application-load-balancer"
	quotaCertificatesALB          = "certificates-per-application-load-balancer"
	quotaCertificatesNLB          = "certificates-per-network-load-balancer"
	quotaConditionValues          = "condition-values-per-alb-rule"
	quotaConditionWildcards       = "condition-wildcards-per-alb-rule"
	quotaTrustStores              = "trust-stores-per-account"
	quotaMTLSVerifyListeners      = "mtls-verify-listeners-per-application-load-balancer"
	quotaENIsNLB                  = "network-load-balancer-enis-per-vpc"
	quotaNLBsPerALB               = "network-load-balancers-per-application-load-balancer"
	quotaRevocationEntries        = "revocation-entries-per-trust-store"
	quotaReservedCapacityUnits    = "reserved-capacity-units-per-application-load-balancer"
)

// quotaDefaults returns the quotas with their values in a new AWS account.
func quotaDefaults() []struct {
	name  string
	value int
} {
	return []struct {
		name  string
		value int
	}{
		{quotaALBs, 50}, {quotaNLBs, 50},
		{quotaListenersALB, 50}, {quotaListenersNLB, 50},
		{quotaRulesPerALB, 100},
		{quotaTargetGroups, 3000}, {quotaTargetGroupsPerALB, 100},
		{quotaTargetGroupsPerActionALB, 5}, {quotaTargetGroupsPerActionNLB, 5},
		{quotaTargetsALB, 1000}, {quotaTargetsNLB, 3000}, {quotaTargetsPerZoneNLB, 500},
		{quotaTargetsPerTargetGroup, 1000}, {quotaRegistrationsPerTargetID, 1000},
		{quotaCertificatesALB, 25}, {quotaCertificatesNLB, 25},
		{quotaENIsNLB, 1200}, {quotaNLBsPerALB, 2},
		{quotaConditionValues, 5}, {quotaConditionWildcards, 5},
		{quotaTrustStores, 20}, {quotaMTLSVerifyListeners, 2}, {quotaRevocationEntries, 500000},
		{quotaReservedCapacityUnits, 15000},
	}
}

// quota returns the value of a quota: that in Config.Quotas, or else its default.
func (s *core) quota(name string) int {
	for _, q := range quotaDefaults() {
		if q.name == name {
			return s.store.Quota(name, q.value)
		}
	}
	return s.store.Quota(name, 0)
}

// DescribeAccountLimits lists the quotas with their values.
func (s *Service) DescribeAccountLimits(c *store.Call, in *elb.DescribeAccountLimitsInput) (*elb.DescribeAccountLimitsOutput, error) {
	var all []types.Limit
	for _, q := range quotaDefaults() {
		all = append(all, types.Limit{Name: new(q.name), Max: new(strconv.Itoa(s.store.Quota(q.name, q.value)))})
	}
	all, next, err := page(s.store, all, func(l types.Limit) string { return *l.Name }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	return &elb.DescribeAccountLimitsOutput{Limits: all, NextMarker: next}, nil
}
