// Package apply carries out the steps of plans. Before each write it checks in the inventory that the cluster owns the
// resource, so that a bug in another package cannot change resources of other owners.
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
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Writer carries out the steps of plans. It has one writer for each kind of resource. The writers also store the results in
// the inventory.
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
func New(client *sdk.Client, inv *inventory.Inventory, r *observe.Reader, c *certificates.Certificates, a *facts.AddOns, t *targets.Targets) *Writer {
	w := &dependencies{client, inv}
	return &Writer{
		certificates: c, loadBalancers: loadBalancerWriter{w}, listeners: listenerWriter{w, c}, rules: ruleWriter{w}, targetGroups: targetGroupWriter{w, r, t},
		albTargets: albTargetWriter{w, t}, securityGroups: securityGroupWriter{w}, attributes: attributeWriter{w}, Tags: tagWriter{w}, addOns: addOnWriter{w, a},
	}
}

// dependencies has the client and the inventory, which all writers use.
type dependencies struct {
	*sdk.Client
	inv *inventory.Inventory
}

// Apply carries out step s of a plan for stack id. known has the IDs of the resources that exist, by address. The result has
// the ID of a created resource. Apply returns an error if the cluster does not own the resource.
func (w *Writer) Apply(ctx context.Context, id model.StackID, s plan.Step, known plan.KnownIDs) (plan.StepResult, error) {
	none := func(err error) (plan.StepResult, error) { return plan.StepResult{}, err }
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
	case plan.CreateProtection:
		return w.addOns.createShieldProtection(ctx, a, known)
	case plan.DeleteProtection:
		return none(w.addOns.deleteShieldProtection(ctx, a, known))
	}
	return none(sdk.NewError(failure.Unknown, string(s.ID), "steps of type %T do not change AWS resources", s.Do))
}

// lookupID returns the ID of the resource that has address a in the plan. It returns an error if the resource did not exist
// before the plan and no earlier step has created it.
func lookupID(known plan.KnownIDs, a plan.Address) (string, error) {
	if id := known[a]; id != "" {
		return id, nil
	}
	return "", sdk.NewError(failure.Conflict, a.String(), "the ID of the resource is unknown, because the step that creates the resource was not carried out")
}

// targetGroupARNs returns a function that finds the ARN of a target group to which an action forwards.
func targetGroupARNs(known plan.KnownIDs) convert.TargetGroupARNFunc {
	return func(r model.TargetGroupRef) (string, error) { return targetGroupARN(r, known) }
}

func targetGroupARN(r model.TargetGroupRef, known plan.KnownIDs) (string, error) {
	switch {
	case r.ARN != "":
		return r.ARN, nil
	case r.ID != "":
		return lookupID(known, plan.TargetGroupAddress(r.ID))
	}
	return "", fmt.Errorf("target group %s was not resolved to an ARN", r.Name)
}

// handleFailure returns the error of a failed write on a resource, with what as context. A not-found error gets the class
// NotReady if this process created the resource within the settle window. made is the time at which this process created the
// resource, zero if it did not. If the entry of the resource in the inventory may be outdated, handleFailure calls forget
// under the lock of the inventory. forget may be nil.
func (w *dependencies) handleFailure(what string, err error, made time.Time, forget func(v *inventory.Inventory)) error {
	class := sdk.ClassOf(err)
	if class == failure.Gone && w.IsYounger(made, durations.SettleWindow) {
		return sdk.Wrap(failure.NotReady, what, err)
	}
	if forget != nil && (sdk.MayHaveTakenEffect(err) || class == failure.Gone || class == failure.Conflict) {
		w.inv.WithWriteLock(func() { forget(w.inv) })
	}
	return fmt.Errorf("%s: %w", what, err)
}

// resourceNames maps kinds of resources to their names in error messages. It has the kinds for which checkOwned can find an
// owner.
var resourceNames = map[plan.ResourceKind]string{
	plan.LoadBalancer: "load balancer", plan.TargetGroup: "target group", plan.Listener: "listener", plan.Rule: "rule",
	plan.SecurityGroup: "security group", plan.BackendSecurityGroup: "security group",
}

// checkOwned returns an error if the cluster does not own a resource, or if the inventory does not contain it. made is the
// time at which this process created the resource, zero if it did not.
func (w *dependencies) checkOwned(kind plan.ResourceKind, id string) (made time.Time, err error) {
	r, known := w.inv.Resource(kind, id)
	name, cluster := resourceNames[kind], w.Config.Cluster
	isGroup, isPart := kind == plan.SecurityGroup || kind == plan.BackendSecurityGroup, kind == plan.Listener || kind == plan.Rule
	switch {
	case name == "":
		return made, sdk.NewError(failure.Unknown, id, "a %s is not an AWS resource", kind)
	case !known && isGroup: // the inventory has only the security groups of the cluster
		return made, sdk.NewError(failure.Gone, id, "cluster %s has no security group with this ID", cluster)
	case !known:
		return made, sdk.NewError(failure.Gone, id, "the %s no longer exists", name)
	case isGroup, naming.BelongsToCluster(cluster, r.Tags):
		return r.MadeAt, nil
	case isPart:
		return made, sdk.NewError(failure.Invalid, id, "the load balancer of the %[1]s does not have the tag of cluster %[2]s, so the %[1]s is not changed", name, cluster)
	}
	return made, sdk.NewError(failure.Invalid, id, "the %s does not have the tag of cluster %s, so it is not changed", name, cluster)
}

// lookupOwnedID returns the ID of the resource that has address a in the plan, as lookupID does, and checks with checkOwned
// that the cluster owns the resource. made is the time at which this process created the resource, zero if it did not.
func (w *dependencies) lookupOwnedID(known plan.KnownIDs, a plan.Address) (id string, made time.Time, err error) {
	if id, err = lookupID(known, a); err != nil {
		return "", made, err
	}
	made, err = w.checkOwned(a.Kind, id)
	return id, made, err
}

// deleteOwned calls call to delete a resource of the cluster, and then drop, under the lock of the inventory, to remove it from
// the inventory. It succeeds if the resource does not exist any more.
func (w *dependencies) deleteOwned(kind plan.ResourceKind, id string, call func() error, drop func()) error {
	if _, err := w.checkOwned(kind, id); err != nil {
		return sdk.IgnoreGone(err)
	}
	if err := call(); err != nil && !sdk.IsGone(err) {
		return w.handleFailure("delete "+resourceNames[kind]+" "+id, err, time.Time{}, forgetFunc(kind, id))
	}
	w.inv.WithWriteLock(drop)
	return nil
}

// forgetFunc returns a function for handleFailure. The function makes the next run read a resource again.
func forgetFunc(kind plan.ResourceKind, id string) func(*inventory.Inventory) {
	return func(v *inventory.Inventory) { v.Forget(kind, id) }
}
