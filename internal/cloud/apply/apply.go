// Package apply carries out the steps of plans. Before each write it checks in the inventory that the cluster owns the
// resource, so that a mistake elsewhere cannot change resources of other owners.
package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/facts"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/targets"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Writer carries out the steps of plans, by the kind of resource, and enters their results in the inventory.
type Writer struct {
	certificates   *certificates.Certificates
	loadBalancers  loadBalancerWriter
	listeners      listenerWriter
	rules          ruleWriter
	targetGroups   targetGroupWriter
	albTargets     albTargetWriter
	securityGroups securityGroupWriter
	attributes     attributeWriter
	Tags           tagWriter
	addOns         addOnWriter
}

// New returns a Writer for all kinds of resources.
func New(at *sdk.Client, inv *inventory.Inventory, r *observe.Reader, c *certificates.Certificates, a *facts.AddOns, t *targets.Targets) *Writer {
	w := &dependencies{at, inv}
	return &Writer{
		certificates: c, loadBalancers: loadBalancerWriter{w}, listeners: listenerWriter{w}, rules: ruleWriter{w}, targetGroups: targetGroupWriter{w, r, t},
		albTargets: albTargetWriter{w, t}, securityGroups: securityGroupWriter{w}, attributes: attributeWriter{w}, Tags: tagWriter{w}, addOns: addOnWriter{w, a},
	}
}

// dependencies has the dependencies that the writers of all kinds of resources share.
type dependencies struct {
	*sdk.Client
	inv *inventory.Inventory
}

// Apply carries out a step. It returns an error if the cluster does not own the resource.
func (w *Writer) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.Result, error) {
	none := func(err error) (plan.Result, error) { return plan.Result{}, err }
	switch a := s.Do.(type) {
	case plan.CreateSecurityGroup:
		return w.securityGroups.createSecurityGroup(ctx, a)
	case plan.ChangeIngress:
		return none(w.securityGroups.changeIngress(ctx, a, known))
	case plan.DeleteSecurityGroup:
		return none(w.securityGroups.deleteSecurityGroup(ctx, a))
	case plan.CreateLoadBalancer:
		return w.loadBalancers.createLoadBalancer(ctx, id, a, known)
	case plan.SetSecurityGroups:
		return none(w.loadBalancers.setSecurityGroups(ctx, a, known))
	case plan.SetSubnets:
		return none(w.loadBalancers.setSubnets(ctx, a, known))
	case plan.SetAddressType:
		return none(w.loadBalancers.setAddressType(ctx, a, known))
	case plan.SetIPAMPool:
		return none(w.loadBalancers.setIPAMPool(ctx, a, known))
	case plan.SetCapacity:
		return none(w.loadBalancers.modifyCapacity(ctx, a, known))
	case plan.SetAttributes:
		return none(w.attributes.modifyAttributes(ctx, a, known))
	case plan.SetTags:
		return none(w.Tags.setTags(ctx, a, known))
	case plan.DeleteLoadBalancer:
		return none(w.loadBalancers.deleteLoadBalancer(ctx, a))
	case plan.CreateTargetGroup:
		return w.targetGroups.createTargetGroup(ctx, id, a)
	case plan.SetHealthCheck:
		return none(w.targetGroups.setHealthCheck(ctx, a, known))
	case plan.DeleteTargetGroup:
		return none(w.targetGroups.deleteTargetGroup(ctx, a))
	case plan.CreateListener:
		return w.listeners.createListener(ctx, a, known)
	case plan.ModifyListener:
		return none(w.listeners.modifyListener(ctx, a, known))
	case plan.AddCertificate:
		return none(w.listeners.addCertificate(ctx, a, known))
	case plan.RemoveCertificate:
		return none(w.listeners.removeCertificate(ctx, a, known))
	case plan.DeleteListener:
		return none(w.listeners.deleteListener(ctx, a))
	case plan.CreateRule:
		return w.rules.createRule(ctx, a, known)
	case plan.ModifyRule:
		return none(w.rules.modifyRule(ctx, a, known))
	case plan.SetPriorities:
		return none(w.rules.setPriorities(ctx, a, known))
	case plan.DeleteRule:
		return none(w.rules.deleteRule(ctx, a))
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
		return none(w.albTargets.registerALB(ctx, a, known))
	case plan.DeregisterALB:
		return none(w.albTargets.deregisterALB(ctx, a, known))
	case plan.SetWebACL:
		return none(w.addOns.setWebACL(ctx, a, known))
	case plan.SetClassicACL:
		return none(w.addOns.setClassicACL(ctx, a, known))
	case plan.Protect:
		return w.addOns.protect(ctx, a, known)
	case plan.Unprotect:
		return none(w.addOns.unprotect(ctx, a, known))
	}
	return none(sdk.Failed(engine.Unknown, string(s.ID), "steps of type %T do not change resources of AWS", s.Do))
}

// lookup returns the id of a resource that an earlier step created or that existed before.
func lookup(known plan.KnownIDs, a plan.Address) (string, error) {
	if id := known[a]; id != "" {
		return id, nil
	}
	return "", sdk.Failed(engine.Conflict, a.String(), "its ID is unknown, because the step that creates it was not carried out")
}

// groupARNs returns a function that finds the ARNs of target groups that actions name.
func groupARNs(known plan.KnownIDs) convert.GroupARNOf {
	return func(r model.GroupRef) (string, error) { return groupARN(r, known) }
}

func groupARN(r model.GroupRef, known plan.KnownIDs) (string, error) {
	switch {
	case r.ARN != "":
		return r.ARN, nil
	case r.ID != "":
		return lookup(known, plan.TargetGroupAddress(r.ID))
	}
	return "", fmt.Errorf("target group %s was not resolved to an ARN", r.Name)
}

// failure handles a failed write on a resource. made is when this process created the resource, or zero if it did not.
// failure calls forget under the lock of the inventory if the entry of the resource may be outdated.
func (w *dependencies) failure(what string, err error, made time.Time, forget func(v *inventory.Inventory)) error {
	class := sdk.ClassOf(err)
	if class == engine.Gone && w.IsYounger(made, durations.Settle) {
		return sdk.Wrap(engine.NotReady, what, err)
	}
	if forget != nil && (sdk.MayHaveTakenEffect(err) || class == engine.Gone || class == engine.Conflict) {
		w.inv.Write(func() { forget(w.inv) })
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ownedLoadBalancer returns the entry of a load balancer, an error if the cluster does not own it.
func ownedLoadBalancer(v *inventory.Inventory, arn string) (e inventory.LoadBalancer, err error) {
	v.Read(func() {
		x := v.LoadBalancers.Get(arn)
		if x == nil {
			err = sdk.Failed(engine.Gone, arn, "the load balancer does not exist any more")
			return
		}
		if e = *x; !naming.Owns(v.Cluster, e.Seen.Tags) {
			err = sdk.Failed(engine.Invalid, arn, "the load balancer does not carry the tag of cluster %s, so it is not changed", v.Cluster)
		}
	})
	return e, err
}

// ownedGroup returns the entry of a target group, or an error if the cluster does not own it.
func ownedGroup(v *inventory.Inventory, arn string) (e inventory.TargetGroup, err error) {
	v.Read(func() {
		x := v.TargetGroups.Get(arn)
		if x == nil {
			err = sdk.Failed(engine.Gone, arn, "the target group does not exist any more")
			return
		}
		if e = *x; !naming.Owns(v.Cluster, e.Seen.Tags) {
			err = sdk.Failed(engine.Invalid, arn, "the target group does not carry the tag of cluster %s, so it is not changed", v.Cluster)
		}
	})
	return e, err
}

// ownedSecurityGroup returns the entry of a security group, or an error if the cluster does not own it.
func ownedSecurityGroup(v *inventory.Inventory, id string) (e inventory.SecurityGroup, err error) {
	v.Read(func() {
		x := v.SecurityGroups.Get(id)
		if x == nil {
			// The inventory has only the security groups of the cluster.
			err = sdk.Failed(engine.Gone, id, "no security group of cluster %s has this id", v.Cluster)
			return
		}
		e = *x
	})
	return e, err
}

// ownedListener returns when this process created a listener, an error if the cluster does not own its load balancer.
func ownedListener(v *inventory.Inventory, arn string) (made time.Time, err error) {
	v.Read(func() {
		e, le := v.Listener(arn)
		switch {
		case le == nil:
			err = sdk.Failed(engine.Gone, arn, "the listener does not exist any more")
		case !naming.Owns(v.Cluster, e.Seen.Tags):
			err = sdk.Failed(engine.Invalid, arn, "the listener's load balancer does not carry the tag of cluster %s, so the listener is not changed", v.Cluster)
		default:
			made = le.Made
		}
	})
	return made, err
}

// ownedRule returns an error if the cluster does not own the load balancer of a rule.
func ownedRule(v *inventory.Inventory, arn string) (err error) {
	v.Read(func() {
		e, le := v.Rule(arn)
		switch {
		case le == nil:
			err = sdk.Failed(engine.Gone, arn, "the rule does not exist any more")
		case !naming.Owns(v.Cluster, e.Seen.Tags):
			err = sdk.Failed(engine.Invalid, arn, "the rule's load balancer does not carry the tag of cluster %s, so the rule is not changed", v.Cluster)
		}
	})
	return err
}

// forgetDetail makes the next run read a load balancer's listeners again.
func forgetDetail(lb string) func(*inventory.Inventory) {
	return func(v *inventory.Inventory) {
		if e := v.LoadBalancers.Get(lb); e != nil {
			e.DetailAt = time.Time{}
		}
	}
}

// forgetListener makes the next run read all listeners of a listener's load balancer again.
func forgetListener(arn string) func(*inventory.Inventory) {
	return func(v *inventory.Inventory) {
		if e, _ := v.Listener(arn); e != nil {
			e.DetailAt = time.Time{}
		}
	}
}

// forgetRule makes the next run read all listeners of a rule's load balancer again.
func forgetRule(arn string) func(*inventory.Inventory) {
	return func(v *inventory.Inventory) {
		if e, _ := v.Rule(arn); e != nil {
			e.DetailAt = time.Time{}
		}
	}
}

func forgetLoadBalancers(v *inventory.Inventory)  { v.ForgetList(inventory.LoadBalancersListed) }
func forgetTargetGroups(v *inventory.Inventory)   { v.ForgetList(inventory.TargetGroupsListed) }
func forgetSecurityGroups(v *inventory.Inventory) { v.ForgetList(inventory.SecurityGroupsListed) }
