package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// snapshot returns the observed state from the inventory: the resources of the stacks in shown, and the facts that need no
// call. It omits attributes that were read before the time since. The first stack in shown is the observed stack; the
// second, if any, is a stack whose load balancer is handed over. A resource with the tags of both stacks belongs to the
// first one.
func (r *Reader) snapshot(shown []model.StackID, since time.Time) observed.Stack {
	id := shown[0]
	out := observed.Stack{Facts: observed.Facts{
		Region: r.Config.Region, Now: r.Config.Clock.Now(),
		Subnets: map[string]observed.SubnetAnswer{}, SecurityGroups: map[string]observed.SecurityGroupAnswer{},
		TargetGroups: map[string]string{}, TargetGroupOwners: map[string]string{}, Schemes: map[string]model.Scheme{}, TrustStores: map[string]string{}, Health: map[string]observed.Health{},
		ALBTargets: map[string][]observed.Target{}, AddOns: map[string]observed.AddOn{}, WebACLs: map[string]observed.WebACL{},
		Validations: map[string]observed.Validation{}, CertificateOwners: map[string]observed.CertificateOwner{},
		Endpoints: map[string][]observed.EndpointLoadBalancer{}, Accelerators: map[string][]string{},
	}}
	r.Inv.WithReadLock(func() {
		out.Facts.Account = r.Inv.Account
		out.Facts.Adopter = r.Inv.Adopter(id)
		if len(shown) > 1 {
			out.AdoptedStack = shown[1]
			if by := r.Inv.Adopter(shown[1]); by != nil {
				out.AdoptedByStack = by.Stack
			}
		}
		seen := map[string]bool{}
		for _, of := range shown {
			r.addResources(&out, of, since, seen)
		}
	})
	slices.SortFunc(out.LoadBalancers, func(a, b observed.LoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(out.TargetGroups, func(a, b observed.TargetGroup) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(out.SecurityGroups, func(a, b observed.SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// addResources adds the resources of a stack to out, except those in seen, and adds their ARNs and IDs to seen. The caller
// holds the lock of the inventory.
func (r *Reader) addResources(out *observed.Stack, id model.StackID, since time.Time, seen map[string]bool) {
	key := naming.ResourceTag(id.Kind)
	isNew := func(arn string) bool {
		known := seen[arn]
		seen[arn] = true
		return !known
	}
	out.Facts.OutsideChanges = append(out.Facts.OutsideChanges, r.Inv.OutsideChanges.ChangesTo(id, out.Facts.Now)...)
	for arn, e := range r.Inv.StackLoadBalancers(id) {
		if isNew(arn) {
			lb := e.Observed(r.Client, since)
			lb.ResourceID = lb.Tags[key]
			out.LoadBalancers = append(out.LoadBalancers, lb)
		}
	}
	for arn, e := range r.Inv.StackTargetGroups(id) {
		if isNew(arn) {
			g := e.Seen
			g.ResourceID = g.Tags[key]
			if !r.IsCurrent(e.AttributesAt, since, arn) {
				g.Attributes = nil
			}
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	for sg, e := range r.Inv.StackSecurityGroups(id) {
		if isNew(sg) {
			g := e.Seen
			g.ResourceID = g.Tags[key]
			out.SecurityGroups = append(out.SecurityGroups, g)
		}
	}
}

// FindBackendSecurityGroup stores the shared backend security group in the facts of out, with the number of load balancers
// of other stacks that use it. It finds the security group by its tags. If several security groups have these tags, it
// chooses the security group that most load balancers of the cluster use. If the numbers are equal, it chooses the security
// group with the lowest ID.
func (r *Reader) FindBackendSecurityGroup(out *observed.Stack) {
	r.Inv.WithReadLock(func() {
		lbs, best := r.Inv.LoadBalancers, (*observed.SecurityGroup)(nil)
		for id, e := range r.Inv.SecurityGroups.EntriesWithKey(inventory.BackendKey, "") {
			g, more := e.Seen, 1
			if best != nil {
				more = cmp.Or(lbs.CountWithKey(inventory.BySecurityGroup, id)-lbs.CountWithKey(inventory.BySecurityGroup, best.ID), strings.Compare(best.ID, id))
			}
			if more > 0 {
				best = &g
			}
		}
		if best == nil {
			return
		}
		out.Facts.BackendSecurityGroup, out.Facts.BackendSecurityGroupUsers = best, lbs.CountWithKey(inventory.BySecurityGroup, best.ID)
		for _, lb := range out.LoadBalancers {
			if lbs.HasKey(lb.ARN, inventory.BySecurityGroup, best.ID) {
				out.Facts.BackendSecurityGroupUsers--
			}
		}
	})
}
