package apply

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// trackingTags returns only the tags that name the owner of a resource.
func trackingTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// tagWriter changes tags.
type tagWriter struct {
	*dependencies
}

// setTags puts and removes tags of a resource that the cluster owns.
func (w *tagWriter) setTags(ctx context.Context, a plan.SetTags, known plan.KnownIDs) error {
	id, err := lookup(known, a.Of)
	if err != nil {
		return err
	}
	if err := checkOwned(w.inv, a.Of.Kind, id); err != nil {
		return err
	}
	put := func() error {
		if len(a.Put) == 0 {
			return nil
		}
		return w.putTags(ctx, a.Of.Kind, id, a.Put)
	}
	remove := func() error {
		if len(a.Remove) == 0 {
			return nil
		}
		return w.removeTags(ctx, a.Of.Kind, id, a.Remove)
	}
	if a.RemoveFirst {
		put, remove = remove, put
	}
	if err := put(); err != nil {
		return err
	}
	return remove()
}

// checkOwned returns an error for a resource that the cluster does not own.
func checkOwned(v *inventory.Inventory, kind plan.ResourceKind, id string) error {
	var err error
	switch kind {
	case plan.LoadBalancer:
		_, err = ownedLoadBalancer(v, id)
	case plan.TargetGroup:
		_, err = ownedGroup(v, id)
	case plan.Listener:
		_, err = ownedListener(v, id)
	case plan.Rule:
		err = ownedRule(v, id)
	case plan.SecurityGroup, plan.BackendGroup:
		_, err = ownedSecurityGroup(v, id)
	default:
		err = sdk.Failed(engine.Unknown, id, "a %s is not an AWS resource", kind)
	}
	return err
}

func (w *tagWriter) putTags(ctx context.Context, kind plan.ResourceKind, id string, put plan.Tags) error {
	var err error
	if kind == plan.SecurityGroup || kind == plan.BackendGroup {
		_, err = w.API.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: convert.EC2TagsToAWS(put)})
	} else {
		_, err = w.API.ELB.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{id}, Tags: convert.TagsToAWS(put)})
	}
	return w.TagsChanged(kind, id, "put tags on "+id, err, put, nil)
}

func (w *tagWriter) removeTags(ctx context.Context, kind plan.ResourceKind, id string, keys []string) error {
	var err error
	if kind == plan.SecurityGroup || kind == plan.BackendGroup {
		in := &ec2.DeleteTagsInput{Resources: []string{id}}
		for _, k := range keys {
			in.Tags = append(in.Tags, ec2types.Tag{Key: aws.String(k)})
		}
		_, err = w.API.EC2.DeleteTags(ctx, in)
	} else {
		_, err = w.API.ELB.RemoveTags(ctx, &elb.RemoveTagsInput{ResourceArns: []string{id}, TagKeys: keys})
	}
	return w.TagsChanged(kind, id, "remove tags from "+id, err, nil, keys)
}

// TagsChanged applies a change of tags to the inventory, or handles the failure of the call.
func (w *tagWriter) TagsChanged(kind plan.ResourceKind, id, what string, err error, put map[string]string, remove []string) error {
	now := w.Config.Clock.Now()
	var made time.Time
	w.inv.Write(func() {
		v := w.inv
		switch kind {
		case plan.LoadBalancer:
			v.LoadBalancers.Edit(id, func(e *inventory.LoadBalancer) {
				made = e.Made
				if err == nil {
					e.Seen.Tags, e.Written = inventory.ChangedCopy(e.Seen.Tags, put, remove), now
				}
			})
		case plan.TargetGroup:
			v.TargetGroups.Edit(id, func(e *inventory.TargetGroup) {
				made = e.Made
				if err == nil {
					e.Seen.Tags, e.Written = inventory.ChangedCopy(e.Seen.Tags, put, remove), now
				}
			})
		case plan.Listener:
			if e, le := v.Listener(id); le != nil {
				made = le.Made
				if err == nil {
					le.Seen.Tags, e.Written = inventory.ChangedCopy(le.Seen.Tags, put, remove), now
				}
			}
		case plan.Rule:
			if e, le := v.Rule(id); le != nil && err == nil {
				r := le.Rules[id]
				r.Tags = inventory.ChangedCopy(r.Tags, put, remove)
				le.Rules[id], e.Written = r, now
			}
		case plan.SecurityGroup, plan.BackendGroup:
			v.SecurityGroups.Edit(id, func(e *inventory.SecurityGroup) {
				made = e.Made
				if err == nil {
					e.Seen.Tags, e.Written = inventory.ChangedCopy(e.Seen.Tags, put, remove), now
				}
			})
		}
	})
	if err == nil {
		return nil
	}
	return w.failure(what, err, made, func(v *inventory.Inventory) {
		switch kind {
		case plan.LoadBalancer:
			v.LoadBalancers.Edit(id, func(e *inventory.LoadBalancer) { e.TagsAt = time.Time{} })
			forgetLoadBalancers(v)
		case plan.TargetGroup:
			v.TargetGroups.Edit(id, func(e *inventory.TargetGroup) { e.TagsAt = time.Time{} })
			forgetTargetGroups(v)
		case plan.Listener:
			forgetListener(id)(v)
		case plan.Rule:
			forgetRule(id)(v)
		default:
			forgetSecurityGroups(v)
		}
	})
}
