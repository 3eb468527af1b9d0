package apply

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// trackingTags returns the tags that only the controller sets, such as those that name the owner of a resource.
func trackingTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if naming.IsReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// tagWriter changes the tags of resources.
type tagWriter struct {
	*dependencies
}

// setTags sets and removes tags of a resource that the cluster owns.
func (w *tagWriter) setTags(ctx context.Context, a plan.SetTags, known plan.KnownIDs) error {
	id, _, err := w.lookupOwnedID(known, a.Resource)
	if err != nil {
		return err
	}
	return inventory.ChangeTags(a, func(put plan.Tags) error { return w.putTags(ctx, a.Resource.Kind, id, put) },
		func(keys []string) error { return w.removeTags(ctx, a.Resource.Kind, id, keys) })
}

func (w *tagWriter) putTags(ctx context.Context, kind plan.ResourceKind, id string, put plan.Tags) error {
	var err error
	if kind == plan.SecurityGroup || kind == plan.BackendSecurityGroup {
		_, err = w.API.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: convert.EC2TagsToAWS(put)})
	} else {
		_, err = w.API.ELB.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{id}, Tags: convert.TagsToAWS(put)})
	}
	return w.FinishTagChange(kind, id, "put tags on "+id, err, put, nil)
}

func (w *tagWriter) removeTags(ctx context.Context, kind plan.ResourceKind, id string, keys []string) error {
	var err error
	if kind == plan.SecurityGroup || kind == plan.BackendSecurityGroup {
		in := &ec2.DeleteTagsInput{Resources: []string{id}}
		for _, k := range keys {
			in.Tags = append(in.Tags, ec2types.Tag{Key: aws.String(k)})
		}
		_, err = w.API.EC2.DeleteTags(ctx, in)
	} else {
		_, err = w.API.ELB.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{id}, TagKeys: keys})
	}
	return w.FinishTagChange(kind, id, "remove tags from "+id, err, nil, keys)
}

// FinishTagChange applies a change of tags to the inventory. If the call failed with err, it returns the error as
// handleFailure does.
func (w *tagWriter) FinishTagChange(kind plan.ResourceKind, id, what string, err error, put map[string]string, remove []string) error {
	if err != nil {
		r, _ := w.inv.Resource(kind, id)
		return w.handleFailure(what, err, r.MadeAt, func(v *inventory.Inventory) {
			v.ForgetTags(kind, id)
			v.Forget(kind, id)
		})
	}
	now := w.Config.Clock.Now()
	changed := func(tags map[string]string) map[string]string { return inventory.ChangedCopy(tags, put, remove) }
	w.inv.WithWriteLock(func() {
		v := w.inv
		switch kind {
		case plan.LoadBalancer:
			v.LoadBalancers.Edit(id, func(e *inventory.LoadBalancer) { e.Seen.Tags, e.WrittenAt = changed(e.Seen.Tags), now })
		case plan.TargetGroup:
			v.TargetGroups.Edit(id, func(e *inventory.TargetGroup) { e.Seen.Tags, e.WrittenAt = changed(e.Seen.Tags), now })
		case plan.Listener:
			if e, le := v.Listener(id); le != nil {
				le.Seen.Tags, e.WrittenAt = changed(le.Seen.Tags), now
			}
		case plan.Rule:
			if e, le := v.ListenerOfRule(id); le != nil {
				r := le.Rules[id]
				r.Tags = changed(r.Tags)
				le.Rules[id], e.WrittenAt = r, now
			}
		case plan.SecurityGroup, plan.BackendSecurityGroup:
			v.SecurityGroups.Edit(id, func(e *inventory.SecurityGroup) { e.Seen.Tags, e.WrittenAt = changed(e.Seen.Tags), now })
		}
	})
	return nil
}
