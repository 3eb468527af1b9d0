package apply

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// securityGroupWriter creates and deletes security groups, and changes their rules.
type securityGroupWriter struct {
	*dependencies
}

func (w *securityGroupWriter) createSecurityGroup(ctx context.Context, a plan.CreateSecurityGroup) (plan.StepResult, error) {
	what := "create security group " + a.Name
	out, err := w.API.EC2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String(a.Name), Description: aws.String(a.Description), VpcId: aws.String(w.VPC),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: convert.EC2TagsToAWS(a.Tags)}},
	})
	if sdk.Code(err) == "InvalidGroup.Duplicate" {
		return plan.StepResult{}, w.handleSecurityGroupNameConflict(ctx, a, what)
	}
	if err != nil {
		return plan.StepResult{}, w.handleFailure(what, err, time.Time{}, forgetFunc(plan.SecurityGroup, ""))
	}
	g := observed.SecurityGroup{ID: aws.ToString(out.GroupId), Name: a.Name, VPC: w.VPC, Tags: a.Tags}
	now := w.Config.Clock.Now()
	w.inv.WithWriteLock(func() {
		w.inv.SecurityGroups.Put(g.ID, &inventory.SecurityGroup{Seen: g, ReadAt: now, MadeAt: now, WrittenAt: now})
	})
	return plan.StepResult{ID: g.ID}, nil
}

// handleSecurityGroupNameConflict returns an error that names the owner of the security group with the given name. If an
// earlier call created this security group for the same step and its answer was lost, the next run finds the security group.
func (w *securityGroupWriter) handleSecurityGroupNameConflict(ctx context.Context, a plan.CreateSecurityGroup, what string) error {
	out, err := w.API.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: append(sdk.Filters("vpc-id", w.VPC), sdk.Filter("group-name", a.Name)),
	})
	if err != nil {
		return w.handleFailure(what, err, time.Time{}, forgetFunc(plan.SecurityGroup, ""))
	}
	if len(out.SecurityGroups) == 0 {
		return sdk.NewError(failure.Conflict, what, "a resource with this name existed during the call, but was not found afterwards")
	}
	g := convert.SecurityGroupFromAWS(out.SecurityGroups[0])
	known, fresh := false, false
	w.inv.WithReadLock(func() {
		if e := w.inv.SecurityGroups.Get(g.ID); e != nil {
			known, fresh = true, w.IsYounger(e.MadeAt, durations.SettleWindow) // another worker has created the security group in the meantime
		}
	})
	if (!known || fresh) && naming.HasAllTags(g.Tags, trackingTags(a.Tags)) {
		if !known {
			w.inv.WithWriteLock(func() {
				w.inv.SecurityGroups.Put(g.ID, &inventory.SecurityGroup{Seen: g, ReadAt: w.Config.Clock.Now(), WrittenAt: w.Config.Clock.Now()})
			})
		}
		return sdk.NewError(failure.Conflict, what, "the resource already exists; the next run uses it")
	}
	return nameTakenError(what, "a security group of this name exists and belongs to %s", describeOwner(g.Tags))
}

// changeIngress authorizes new rules before it revokes old rules, so that traffic is not interrupted. If the quota does not
// permit old and new rules together, it revokes the old rules first, and then authorizes as many new rules as the quota
// permits. It does not send all new rules in one call again, because AWS would refuse the whole call, and the security group
// would permit no traffic.
func (w *securityGroupWriter) changeIngress(ctx context.Context, a plan.ChangeIngress, known plan.KnownIDs) error {
	id, _, err := w.lookupOwnedID(known, a.Group)
	if err != nil {
		return err
	}
	authorize, err := resolveSources(a.Authorize, known)
	if err != nil {
		return err
	}
	revoke, err := resolveSources(a.Revoke, known)
	if err != nil {
		return err
	}
	isQuota := func(err error) bool { return sdk.Code(err) == "RulesPerSecurityGroupLimitExceeded" }
	err = w.authorize(ctx, id, authorize)
	if isQuota(err) && len(revoke) > 0 {
		if err := w.revoke(ctx, id, revoke); err != nil {
			return err
		}
		_, err := network.AuthorizeUpToQuota(authorize, func(rules []model.IngressRule) error { return w.authorize(ctx, id, rules) }, isQuota)
		return err
	}
	if err != nil {
		return err
	}
	return w.revoke(ctx, id, revoke)
}

// resolveSources returns the rules, in which the placeholders for security groups of the stack are replaced by the IDs of
// these security groups.
func resolveSources(rules []model.IngressRule, known plan.KnownIDs) ([]model.IngressRule, error) {
	out := slices.Clone(rules)
	for i, r := range out {
		var a plan.Address
		switch r.Group {
		case model.ManagedSecurityGroupID:
			a = plan.Address{Kind: plan.SecurityGroup, ID: model.ManagedSecurityGroupID}
		case model.BackendSecurityGroupID:
			a = plan.Address{Kind: plan.BackendSecurityGroup, ID: model.BackendSecurityGroupID}
		default:
			continue
		}
		id, err := lookupID(known, a)
		if err != nil {
			return nil, err
		}
		out[i].Group = id
	}
	return out, nil
}

func (w *securityGroupWriter) authorize(ctx context.Context, id string, rules []model.IngressRule) error {
	if len(rules) == 0 {
		return nil
	}
	_, err := w.API.EC2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(id), IpPermissions: convert.IngressToAWS(rules)})
	return w.finishIngressChange(id, "authorize ingress to "+id, err, func(have []model.IngressRule) []model.IngressRule {
		return append(slices.Clone(have), rules...)
	})
}

func (w *securityGroupWriter) revoke(ctx context.Context, id string, rules []model.IngressRule) error {
	if len(rules) == 0 {
		return nil
	}
	_, err := w.API.EC2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(id), IpPermissions: convert.IngressToAWS(rules)})
	return w.finishIngressChange(id, "revoke ingress to "+id, err, func(have []model.IngressRule) []model.IngressRule {
		return slices.DeleteFunc(slices.Clone(have), func(h model.IngressRule) bool {
			return slices.ContainsFunc(rules, func(r model.IngressRule) bool { return convert.CompareIngressRules(h, r) == 0 })
		})
	})
}

// finishIngressChange applies change to the rules of a security group in the inventory. If the call failed with err, it
// returns the error as handleFailure does.
func (w *securityGroupWriter) finishIngressChange(id, what string, err error, change func([]model.IngressRule) []model.IngressRule) error {
	var made time.Time
	w.inv.WithWriteLock(func() {
		e := w.inv.SecurityGroups.Get(id)
		if e == nil {
			return
		}
		made = e.MadeAt
		if err == nil {
			e.Seen.Ingress = change(e.Seen.Ingress)
			slices.SortFunc(e.Seen.Ingress, convert.CompareIngressRules)
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
	if err != nil {
		return w.handleFailure(what, err, made, forgetFunc(plan.SecurityGroup, id))
	}
	return nil
}

// deleteSecurityGroup deletes a security group. It fails while an ENI still has the security group, such as an ENI of a load
// balancer that was just deleted.
func (w *securityGroupWriter) deleteSecurityGroup(ctx context.Context, a plan.DeleteSecurityGroup) error {
	return w.deleteOwned(plan.SecurityGroup, a.GroupID, func() error {
		_, err := w.API.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(a.GroupID)})
		return err
	}, func() {
		w.inv.SecurityGroups.Drop(a.GroupID)
		w.inv.AddTombstone(a.GroupID, w.Config.Clock.Now())
	})
}
