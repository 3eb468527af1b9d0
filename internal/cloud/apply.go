package cloud

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// writer carries out the steps of plans, and enters in the inventory what they bring about.
type writer struct {
	*sdk.Client
	inv          *inventory
	reader       *reader
	certificates *certificates.Certificates
	addOns       *addOns
	targets      *targets
}

// Apply implements engine.Cloud. Each step is one write, or two where AWS knows no one call for
// it. What a write brought about is entered in the inventory; where a failed write may have
// brought about something the resource is forgotten, so that the next look reads it.
func (c *Cloud) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.Known) (plan.Result, error) {
	res, err := c.writer.apply(callerForStack(ctx, id), id, s, known)
	return res, sdk.WithoutSecrets(err, secretsIn(s.Do))
}

func (w *writer) apply(ctx context.Context, id model.StackID, s plan.Step, known plan.Known) (plan.Result, error) {
	none := func(err error) (plan.Result, error) { return plan.Result{}, err }
	switch a := s.Do.(type) {
	case plan.CreateSecurityGroup:
		return w.createSecurityGroup(ctx, a)
	case plan.ChangeIngress:
		return none(w.changeIngress(ctx, a, known))
	case plan.DeleteSecurityGroup:
		return none(w.deleteSecurityGroup(ctx, a))
	case plan.CreateLoadBalancer:
		return w.createLoadBalancer(ctx, id, a, known)
	case plan.SetSecurityGroups:
		return none(w.setSecurityGroups(ctx, a, known))
	case plan.SetSubnets:
		return none(w.setSubnets(ctx, a, known))
	case plan.SetAddressType:
		return none(w.setAddressType(ctx, a, known))
	case plan.SetIPAMPool:
		return none(w.setIPAMPool(ctx, a, known))
	case plan.SetCapacity:
		return none(w.modifyCapacity(ctx, a, known))
	case plan.SetAttributes:
		return none(w.modifyAttributes(ctx, a, known))
	case plan.SetTags:
		return none(w.setTags(ctx, a, known))
	case plan.DeleteLoadBalancer:
		return none(w.deleteLoadBalancer(ctx, a))
	case plan.CreateTargetGroup:
		return w.createTargetGroup(ctx, id, a)
	case plan.SetHealthCheck:
		return none(w.setHealthCheck(ctx, a, known))
	case plan.DeleteTargetGroup:
		return none(w.deleteTargetGroup(ctx, a))
	case plan.CreateListener:
		return w.createListener(ctx, a, known)
	case plan.ModifyListener:
		return none(w.modifyListener(ctx, a, known))
	case plan.AddCertificate:
		return none(w.addCertificate(ctx, a, known))
	case plan.RemoveCertificate:
		return none(w.removeCertificate(ctx, a, known))
	case plan.DeleteListener:
		return none(w.deleteListener(ctx, a))
	case plan.CreateRule:
		return w.createRule(ctx, a, known)
	case plan.ModifyRule:
		return none(w.modifyRule(ctx, a, known))
	case plan.SetPriorities:
		return none(w.setPriorities(ctx, a, known))
	case plan.DeleteRule:
		return none(w.deleteRule(ctx, a))
	case plan.RequestCertificate:
		return w.certificates.RequestCertificate(ctx, a)
	case plan.ImportCertificate:
		return w.certificates.ImportCertificate(ctx, a)
	case plan.DeleteCertificate:
		return none(w.certificates.DeleteCertificate(ctx, a))
	case plan.CreateRecord:
		return none(w.certificates.Zones.CreateRecord(ctx, a))
	case plan.DeleteRecord:
		return w.certificates.DeleteRecord(ctx, a)
	case plan.RegisterALB:
		return none(w.registerALB(ctx, a, known))
	case plan.DeregisterALB:
		return none(w.deregisterALB(ctx, a, known))
	case plan.SetWebACL:
		return none(w.setWebACL(ctx, a, known))
	case plan.SetClassicACL:
		return none(w.setClassicACL(ctx, a, known))
	case plan.Protect:
		return w.protect(ctx, a, known)
	case plan.Unprotect:
		return none(w.unprotect(ctx, a, known))
	}
	return none(sdk.Failed(engine.Unknown, string(s.ID), "AWS has no part in a step of type %T", s.Do))
}

// lookup finds the id of something that an earlier step made or that was there before.
func lookup(known plan.Known, a plan.Address) (string, error) {
	if id := known[a]; id != "" {
		return id, nil
	}
	return "", sdk.Failed(engine.Conflict, a.String(), "its id is not known, since what makes it was not carried out")
}

// groupARNs finds the target groups that actions name.
func groupARNs(known plan.Known) convert.GroupARNOf {
	return func(r model.GroupRef) (string, error) { return groupARN(r, known) }
}

func groupARN(r model.GroupRef, known plan.Known) (string, error) {
	switch {
	case r.ARN != "":
		return r.ARN, nil
	case r.ID != "":
		return lookup(known, plan.GroupAddress(r.ID))
	}
	return "", fmt.Errorf("target group %s was not resolved to an ARN", r.Name)
}

// actionsFromAWS converts what AWS shows of a rule's or listener's actions, in their order. An
// action that the model cannot carry is kept as an opaque one that equals nothing.
// failure settles a failed write on a resource. forget is run under the lock of the inventory if
// what is known of the resource cannot be trusted any more; made is when it was made from here.
func (w *writer) failure(what string, err error, made time.Time, forget func(v *inventory)) error {
	class := sdk.ClassOf(err)
	if class == engine.Gone && w.Younger(made, cache.SettleWindow) {
		return sdk.Wrap(engine.NotReady, what, err)
	}
	if forget != nil && (sdk.MayHaveHappened(err) || class == engine.Gone || class == engine.Conflict) {
		w.inv.write(func() { forget(w.inv) })
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Of each write the inventory is asked first whether the resource is ours, so that a mistake
// elsewhere cannot reach what belongs to others.

func (v *inventory) ownedLoadBalancer(arn string) (e lbEntry, err error) {
	v.read(func() {
		x := v.lbs.get(arn)
		if x == nil {
			err = sdk.Failed(engine.Gone, arn, "the load balancer is not there any more")
			return
		}
		if e = *x; !naming.Owns(v.cluster, e.lb.Tags) {
			err = sdk.Failed(engine.Invalid, arn, "the load balancer does not carry the tag of cluster %s, so it is left alone", v.cluster)
		}
	})
	return e, err
}

func (v *inventory) ownedGroup(arn string) (e groupEntry, err error) {
	v.read(func() {
		x := v.groups.get(arn)
		if x == nil {
			err = sdk.Failed(engine.Gone, arn, "the target group is not there any more")
			return
		}
		if e = *x; !naming.Owns(v.cluster, e.g.Tags) {
			err = sdk.Failed(engine.Invalid, arn, "the target group does not carry the tag of cluster %s, so it is left alone", v.cluster)
		}
	})
	return e, err
}

func (v *inventory) ownedSecurityGroup(id string) (e sgEntry, err error) {
	v.read(func() {
		x := v.sgs.get(id)
		if x == nil {
			// Only groups of the cluster are in the inventory.
			err = sdk.Failed(engine.Gone, id, "no security group of cluster %s has this id", v.cluster)
			return
		}
		e = *x
	})
	return e, err
}

// ownedListener answers for listeners by their load balancer.
func (v *inventory) ownedListener(arn string) (made time.Time, err error) {
	v.read(func() {
		e, le := v.listener(arn)
		switch {
		case le == nil:
			err = sdk.Failed(engine.Gone, arn, "the listener is not there any more")
		case !naming.Owns(v.cluster, e.lb.Tags):
			err = sdk.Failed(engine.Invalid, arn, "the listener's load balancer does not carry the tag of cluster %s, so it is left alone", v.cluster)
		default:
			made = le.made
		}
	})
	return made, err
}

func (v *inventory) ownedRule(arn string) (err error) {
	v.read(func() {
		e, le := v.rule(arn)
		switch {
		case le == nil:
			err = sdk.Failed(engine.Gone, arn, "the rule is not there any more")
		case !naming.Owns(v.cluster, e.lb.Tags):
			err = sdk.Failed(engine.Invalid, arn, "the rule's load balancer does not carry the tag of cluster %s, so it is left alone", v.cluster)
		}
	})
	return err
}

// forgetDetail makes the next look read a load balancer's listeners again.
func forgetDetail(lb string) func(*inventory) {
	return func(v *inventory) {
		if e := v.lbs.get(lb); e != nil {
			e.detailAt = time.Time{}
		}
	}
}

// forgetListener does so for the load balancer of a listener.
func forgetListener(arn string) func(*inventory) {
	return func(v *inventory) {
		if e, _ := v.listener(arn); e != nil {
			e.detailAt = time.Time{}
		}
	}
}

// forgetRule does so for the load balancer of a rule.
func forgetRule(arn string) func(*inventory) {
	return func(v *inventory) {
		if e, _ := v.rule(arn); e != nil {
			e.detailAt = time.Time{}
		}
	}
}

func forgetLoadBalancers(v *inventory)  { v.lbsAt = time.Time{} }
func forgetTargetGroups(v *inventory)   { v.groupsAt = time.Time{} }
func forgetSecurityGroups(v *inventory) { v.sgsAt = time.Time{} }
