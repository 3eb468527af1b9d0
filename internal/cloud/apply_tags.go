package cloud

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// tracking are the tags among others that say whose a resource is.
func tracking(tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// setTags puts and removes tags. Nothing is sent for a resource that is not the cluster's.
func (w *writer) setTags(ctx context.Context, a plan.SetTags, known plan.Known) error {
	id, err := lookup(known, a.Of)
	if err != nil {
		return err
	}
	if err := w.inv.owned(a.Of.Kind, id); err != nil {
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

// owned refuses a resource that is not the cluster's.
func (v *inventory) owned(kind plan.ResourceKind, id string) error {
	var err error
	switch kind {
	case plan.LoadBalancer:
		_, err = v.ownedLoadBalancer(id)
	case plan.TargetGroup:
		_, err = v.ownedGroup(id)
	case plan.Listener:
		_, err = v.ownedListener(id)
	case plan.Rule:
		err = v.ownedRule(id)
	case plan.SecurityGroup, plan.BackendGroup:
		_, err = v.ownedSecurityGroup(id)
	default:
		err = sdk.Failed(engine.Unknown, id, "a %s is not a resource of AWS", kind)
	}
	return err
}

func (w *writer) putTags(ctx context.Context, kind plan.ResourceKind, id string, put plan.Tags) error {
	var err error
	if kind == plan.SecurityGroup || kind == plan.BackendGroup {
		_, err = w.API.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: convert.EC2TagsToAWS(put)})
	} else {
		_, err = w.API.ELB.AddTags(ctx, &elb.AddTagsInput{ResourceArns: []string{id}, Tags: convert.TagsToAWS(put)})
	}
	return w.tagsChanged(kind, id, "put tags on "+id, err, put, nil)
}

func (w *writer) removeTags(ctx context.Context, kind plan.ResourceKind, id string, keys []string) error {
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
	return w.tagsChanged(kind, id, "remove tags from "+id, err, nil, keys)
}

// tagsChanged enters a change of tags, or settles its failure.
func (w *writer) tagsChanged(kind plan.ResourceKind, id, what string, err error, put map[string]string, remove []string) error {
	now := w.Config.Now()
	var made time.Time
	w.inv.write(func() {
		v := w.inv
		switch kind {
		case plan.LoadBalancer:
			v.lbs.edit(id, func(e *lbEntry) {
				made = e.made
				if err == nil {
					e.lb.Tags, e.written = change(e.lb.Tags, put, remove), now
				}
			})
		case plan.TargetGroup:
			v.groups.edit(id, func(e *groupEntry) {
				made = e.made
				if err == nil {
					e.g.Tags, e.written = change(e.g.Tags, put, remove), now
				}
			})
		case plan.Listener:
			if e, le := v.listener(id); le != nil {
				made = le.made
				if err == nil {
					le.l.Tags, e.written = change(le.l.Tags, put, remove), now
				}
			}
		case plan.Rule:
			if e, le := v.rule(id); le != nil && err == nil {
				r := le.rules[id]
				r.Tags = change(r.Tags, put, remove)
				le.rules[id], e.written = r, now
			}
		case plan.SecurityGroup, plan.BackendGroup:
			v.sgs.edit(id, func(e *sgEntry) {
				made = e.made
				if err == nil {
					e.g.Tags, e.written = change(e.g.Tags, put, remove), now
				}
			})
		}
	})
	if err == nil {
		return nil
	}
	return w.failure(what, err, made, func(v *inventory) {
		switch kind {
		case plan.LoadBalancer:
			v.lbs.edit(id, func(e *lbEntry) { e.tagsAt = time.Time{} })
			v.lbsAt = time.Time{}
		case plan.TargetGroup:
			v.groups.edit(id, func(e *groupEntry) { e.tagsAt = time.Time{} })
			v.groupsAt = time.Time{}
		case plan.Listener:
			forgetListener(id)(v)
		case plan.Rule:
			forgetRule(id)(v)
		default:
			forgetSecurityGroups(v)
		}
	})
}
