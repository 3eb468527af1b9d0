package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// securityGroupIDs returns the IDs of security groups without duplicates. It returns an error if a security group of the
// plan was not created.
func securityGroupIDs(groups []plan.SecurityGroupRef, known plan.KnownIDs) ([]string, error) {
	var out []string
	for _, g := range groups {
		id := g.ID
		if id == "" {
			var err error
			if id, err = lookupID(known, g.Address); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// subnetMappings converts subnets, with the IP addresses that the user has chosen in them, for a request.
func subnetMappings(subnets []model.SubnetMapping) []elbtypes.SubnetMapping {
	var out []elbtypes.SubnetMapping
	for _, m := range subnets {
		out = append(out, elbtypes.SubnetMapping{
			SubnetId: aws.String(m.Subnet), AllocationId: convert.NilIfEmpty(m.Allocation), PrivateIPv4Address: convert.NilIfEmpty(m.PrivateIPv4), IPv6Address: convert.NilIfEmpty(m.IPv6),
			SourceNatIpv6Prefix: convert.NilIfEmpty(m.SourceNATPrefix),
		})
	}
	return out
}

// loadBalancerWriter creates, changes and deletes load balancers.
type loadBalancerWriter struct {
	*dependencies
}

func (w *loadBalancerWriter) createLoadBalancer(ctx context.Context, id model.StackID, a plan.CreateLoadBalancer, known plan.KnownIDs) (plan.StepResult, error) {
	groups, err := securityGroupIDs(a.SecurityGroups, known)
	if err != nil {
		return plan.StepResult{}, err
	}
	in := &elb.CreateLoadBalancerInput{
		Name: aws.String(a.Name), Type: elbtypes.LoadBalancerTypeEnum(a.Type.String()), Scheme: elbtypes.LoadBalancerSchemeEnum(a.Scheme),
		IpAddressType: elbtypes.IpAddressType(a.AddressType), SecurityGroups: groups,
		CustomerOwnedIpv4Pool: convert.NilIfEmpty(a.CoIPPool), Tags: convert.TagsToAWS(a.Tags), EnablePrefixForIpv6SourceNat: elbtypes.EnablePrefixForIpv6SourceNatEnum(a.SourceNAT),
	}
	in.SubnetMappings = subnetMappings(a.Subnets)
	if a.IPAMPool != "" {
		in.IpamPools = &elbtypes.IpamPools{Ipv4IpamPoolId: aws.String(a.IPAMPool)}
	}
	what := "create load balancer " + a.Name
	out, err := w.API.ELB.CreateLoadBalancer(ctx, in)
	if sdk.Code(err) == "DuplicateLoadBalancerName" {
		return plan.StepResult{}, w.handleLoadBalancerNameConflict(ctx, id, a.Name, what)
	}
	if err != nil {
		return plan.StepResult{}, w.handleFailure(what, w.securityGroupFailure(groups, err), time.Time{}, forgetFunc(plan.LoadBalancer, ""))
	}
	if len(out.LoadBalancers) != 1 {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, what, "AWS returned %d load balancers", len(out.LoadBalancers))
	}
	made := out.LoadBalancers[0]
	lb := convert.LoadBalancerFromAWS(made)
	// AWS returns an existing load balancer if one has the same name and settings.
	if err := w.checkLoadBalancer(ctx, id, lb.ARN, aws.ToTime(made.CreatedTime), what); err != nil {
		return plan.StepResult{}, err
	}
	now := w.Config.Clock.Now()
	lb.Tags = a.Tags
	w.inv.WithWriteLock(func() {
		if e := w.inv.LoadBalancers.Get(lb.ARN); e != nil && e.Seen.Tags != nil {
			return // the load balancer existed before the call, and its entry has more values than the answer of AWS
		}
		w.inv.SetAccount(lb.ARN)
		w.inv.LoadBalancers.Put(lb.ARN, &inventory.LoadBalancer{Seen: lb, ReadAt: now, TagsAt: now, DetailAt: now, RuleTagsAt: now, MadeAt: now, WrittenAt: now, Listeners: map[string]*inventory.Listener{}})
	})
	return plan.StepResult{ID: lb.ARN, DNSName: lb.DNSName}, nil
}

// checkLoadBalancer returns an error if a load balancer existed before the call and does not belong to the stack. created is
// the creation time that AWS returned.
func (w *loadBalancerWriter) checkLoadBalancer(ctx context.Context, id model.StackID, arn string, created time.Time, what string) error {
	known, _ := w.inv.Resource(plan.LoadBalancer, arn)
	tags := known.Tags
	if tags == nil {
		if w.Config.Clock.Now().Sub(created) < durations.JustCreatedAge {
			return nil
		}
		got, err := observe.DescribeTags(ctx, w.Client, []string{arn})
		// The load balancer may have listeners that are not in the inventory, so the next run reads the load balancer again.
		w.inv.WithWriteLock(func() { w.inv.Forget(plan.LoadBalancer, arn) })
		if err != nil {
			return err
		}
		tags = got[arn]
	}
	if !naming.HasAllTags(tags, naming.StackTags(w.Config.Cluster, id)) {
		return nameTakenError(what, "a load balancer of this name exists and belongs to %w", ownerError(tags, id))
	}
	return nil
}

// handleLoadBalancerNameConflict returns an error that names the owner of the load balancer with the given name. If the
// owner is the stack itself, the answer to an earlier call was lost, and the next run finds the load balancer.
func (w *loadBalancerWriter) handleLoadBalancerNameConflict(ctx context.Context, id model.StackID, name, what string) error {
	out, err := w.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		return w.handleFailure(what, err, time.Time{}, forgetFunc(plan.LoadBalancer, ""))
	}
	if len(out.LoadBalancers) != 1 {
		return sdk.NewError(failure.Conflict, what, "a resource with this name existed during the call, but was not found afterwards")
	}
	return w.handleNameConflict(ctx, id, plan.LoadBalancer, aws.ToString(out.LoadBalancers[0].LoadBalancerArn), what, "a load balancer of this name exists and belongs to %w")
}

// handleNameConflict returns the error for a load balancer or target group that cannot be created, because another resource
// has the same name. If the stack owns the existing resource, but the inventory does not contain it or has old tags of it,
// the class of the error is Conflict, and the next run finds the resource. In all other cases, the error has the given
// message, in which %w is replaced by the owner.
func (w *dependencies) handleNameConflict(ctx context.Context, id model.StackID, kind plan.ResourceKind, arn, what, message string) error {
	tags, err := observe.DescribeTags(ctx, w.Client, []string{arn})
	if err != nil {
		return err
	}
	stack := naming.StackTags(w.Config.Cluster, id)
	r, known := w.inv.Resource(kind, arn)
	if known && r.VPC == w.VPC && !naming.HasAllTags(r.Tags, stack) {
		known = false
		w.inv.WithWriteLock(func() { w.inv.ForgetTags(kind, arn) }) // the tags in the inventory are missing or old
	}
	if !known && naming.HasAllTags(tags[arn], stack) {
		w.inv.WithWriteLock(func() { w.inv.Forget(kind, arn) })
		return sdk.NewError(failure.Conflict, what, "the resource already exists; the next run uses it")
	}
	return nameTakenError(what, message, ownerError(tags[arn], id))
}

// nameTakenError returns the error for a resource that cannot be created, because a resource of another owner has its name.
func nameTakenError(what, format string, args ...any) error {
	return sdk.NewError(failure.Invalid, what, format, args...).WithReason(finding.NameTaken)
}

// ownerError returns an error that names the owner of a resource. It is a failure.OtherOwnerError if the tags name another
// stack, and a failure.NoStackError if they name a cluster and no stack. In all other cases the error has neither type,
// because AWS may not return all tags yet, and the stack itself may own the resource.
func ownerError(tags map[string]string, id model.StackID) error {
	owner := describeOwner(tags)
	for _, k := range model.Kinds {
		if s := tags[naming.StackTag(k)]; tags[naming.ClusterTag] != "" && s != "" && !strings.EqualFold(s, naming.StackTagValue(id)) {
			return failure.OtherOwnerError(owner)
		}
	}
	if tags[naming.ClusterTag] != "" && !slices.ContainsFunc(model.Kinds, func(k model.Kind) bool { return tags[naming.StackTag(k)] != "" }) {
		return failure.NoStackError(owner)
	}
	return errors.New(owner)
}

// describeOwner describes, for messages, the owner of a resource that has the given tags.
func describeOwner(tags map[string]string) string {
	cluster := tags[naming.ClusterTag]
	if cluster == "" {
		return "another owner (the resource has no cluster tag)"
	}
	for _, k := range model.Kinds {
		if s := tags[naming.StackTag(k)]; s != "" {
			return string(k) + " " + s + " of cluster " + cluster
		}
	}
	return "cluster " + cluster
}

// changeLoadBalancer calls write with the ARN of a load balancer. If write succeeds, changeLoadBalancer applies the function
// that write returned to the load balancer in the inventory.
func (w *loadBalancerWriter) changeLoadBalancer(known plan.KnownIDs, a plan.Address, what string, write func(arn string) (func(*inventory.LoadBalancer), error)) error {
	arn, made, err := w.lookupOwnedID(known, a)
	if err != nil {
		return err
	}
	enter, err := write(arn)
	if err != nil {
		return w.handleFailure(what+" of "+arn, err, made, forgetFunc(plan.LoadBalancer, arn))
	}
	w.inv.WithWriteLock(func() {
		w.inv.LoadBalancers.Edit(arn, func(e *inventory.LoadBalancer) {
			enter(e)
			e.WrittenAt = w.Config.Clock.Now()
		})
	})
	return nil
}

func (w *loadBalancerWriter) setSecurityGroups(ctx context.Context, a plan.SetSecurityGroups, known plan.KnownIDs) error {
	groups, err := securityGroupIDs(a.Groups, known)
	if err != nil {
		return err
	}
	return w.changeLoadBalancer(known, a.LoadBalancer, "set the security groups", func(arn string) (func(*inventory.LoadBalancer), error) {
		_, err := w.API.ELB.SetSecurityGroups(ctx, &elb.SetSecurityGroupsInput{
			LoadBalancerArn: aws.String(arn), SecurityGroups: groups,
			EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic: elbtypes.EnforceSecurityGroupInboundRulesOnPrivateLinkTrafficEnum(a.PrivateLinkRules),
		})
		return func(e *inventory.LoadBalancer) {
			e.Seen.SecurityGroups = slices.Sorted(slices.Values(groups))
			e.Seen.PrivateLinkRules = cmp.Or(a.PrivateLinkRules, e.Seen.PrivateLinkRules)
		}, w.securityGroupFailure(groups, err)
	})
}

// securityGroupFailure returns the error of a call with security groups. If AWS does not find one of the security groups,
// and this process created one of them within the settle window, the error has the class NotReady.
func (w *loadBalancerWriter) securityGroupFailure(groups []string, err error) error {
	switch sdk.Code(err) {
	case "InvalidSecurityGroup", "InvalidGroup.NotFound", "InvalidSecurityGroupID.NotFound":
		for _, id := range groups {
			if g, _ := w.inv.Resource(plan.SecurityGroup, id); w.IsYounger(g.MadeAt, durations.SettleWindow) {
				return sdk.Wrap(failure.NotReady, "security group "+id+" was just created", err)
			}
		}
	}
	return err
}

func (w *loadBalancerWriter) setSubnets(ctx context.Context, a plan.SetSubnets, known plan.KnownIDs) error {
	return w.changeLoadBalancer(known, a.LoadBalancer, "set the subnets", func(arn string) (func(*inventory.LoadBalancer), error) {
		out, err := w.API.ELB.SetSubnets(ctx, &elb.SetSubnetsInput{
			LoadBalancerArn: aws.String(arn), SubnetMappings: subnetMappings(a.Subnets),
			EnablePrefixForIpv6SourceNat: elbtypes.EnablePrefixForIpv6SourceNatEnum(a.SourceNAT), IpAddressType: elbtypes.IpAddressType(a.AddressType),
		})
		return func(e *inventory.LoadBalancer) {
			e.Seen.Subnets, e.Seen.Addresses = convert.SubnetsFromAWS(out.AvailabilityZones), convert.AddressesFromAWS(out.AvailabilityZones)
			if e.Seen.Type == model.Network.String() {
				e.Seen.Mappings = convert.SubnetMappingsFromAWS(out.AvailabilityZones)
			}
			e.Seen.SourceNAT, e.Seen.AddressType = cmp.Or(a.SourceNAT, e.Seen.SourceNAT), cmp.Or(a.AddressType, e.Seen.AddressType)
		}, err
	})
}

func (w *loadBalancerWriter) setAddressType(ctx context.Context, a plan.SetAddressType, known plan.KnownIDs) error {
	return w.changeLoadBalancer(known, a.LoadBalancer, "set the address type", func(arn string) (func(*inventory.LoadBalancer), error) {
		_, err := w.API.ELB.SetIpAddressType(ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: aws.String(arn), IpAddressType: elbtypes.IpAddressType(a.Type)})
		return func(e *inventory.LoadBalancer) {
			e.Seen.AddressType = a.Type
			if !a.Type.HasIPv6() {
				e.Seen.Mappings = withoutIPv6(e.Seen.Mappings)
			}
		}, err
	})
}

// withoutIPv6 returns subnet mappings without their IPv6 addresses.
func withoutIPv6(mappings []model.SubnetMapping) (out []model.SubnetMapping) {
	for _, m := range mappings {
		m.IPv6, m.SourceNATPrefix = "", ""
		out = append(out, m)
	}
	return out
}

func (w *loadBalancerWriter) setIPAMPool(ctx context.Context, a plan.SetIPAMPool, known plan.KnownIDs) error {
	return w.changeLoadBalancer(known, a.LoadBalancer, "set the IPAM pool", func(arn string) (func(*inventory.LoadBalancer), error) {
		in := &elb.ModifyIpPoolsInput{LoadBalancerArn: aws.String(arn)}
		if a.Pool == "" {
			in.RemoveIpamPools = []elbtypes.RemoveIpamPoolEnum{elbtypes.RemoveIpamPoolEnumIpv4}
		} else {
			in.IpamPools = &elbtypes.IpamPools{Ipv4IpamPoolId: aws.String(a.Pool)}
		}
		_, err := w.API.ELB.ModifyIpPools(ctx, in)
		return func(e *inventory.LoadBalancer) { e.Seen.IPAMPool = a.Pool }, err
	})
}

func (w *loadBalancerWriter) modifyCapacity(ctx context.Context, a plan.SetCapacity, known plan.KnownIDs) error {
	units := a.Units
	return w.changeLoadBalancer(known, a.LoadBalancer, "set the capacity", func(arn string) (func(*inventory.LoadBalancer), error) {
		in := &elb.ModifyCapacityReservationInput{LoadBalancerArn: aws.String(arn)}
		if units == 0 {
			in.ResetCapacityReservation = aws.Bool(true)
		} else {
			in.MinimumLoadBalancerCapacity = &elbtypes.MinimumLoadBalancerCapacity{CapacityUnits: aws.Int32(units)}
		}
		_, err := w.API.ELB.ModifyCapacityReservation(ctx, in)
		if err != nil {
			w.inv.WithWriteLock(func() {
				if e := w.inv.LoadBalancers.Get(arn); e != nil {
					e.CapacityAt = time.Time{}
				}
			})
		}
		return func(e *inventory.LoadBalancer) { e.Seen.Capacity, e.CapacityAt = &units, w.Config.Clock.Now() }, err
	})
}

// deleteLoadBalancer deletes a load balancer with its listeners and rules. It succeeds if the load balancer does not
// exist any more.
func (w *loadBalancerWriter) deleteLoadBalancer(ctx context.Context, a plan.DeleteLoadBalancer) error {
	if _, err := w.checkOwned(plan.LoadBalancer, a.ARN); err != nil {
		return sdk.IgnoreGone(err)
	}
	what := "delete load balancer " + a.ARN
	_, err := w.API.ELB.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(a.ARN)})
	switch {
	case sdk.Code(err) == "OperationNotPermitted":
		return sdk.Wrap(failure.Invalid, what, err).WithReason(finding.DeletionProtected)
	case err != nil && !sdk.IsGone(err):
		return w.handleFailure(what, err, time.Time{}, forgetFunc(plan.LoadBalancer, a.ARN))
	}
	w.inv.WithWriteLock(func() {
		w.inv.DropLoadBalancer(a.ARN)
		w.inv.AddTombstone(a.ARN, w.Config.Clock.Now())
	})
	return nil
}
