package cloud

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Observe implements engine.Cloud. It fails only for want of what is essential: see faults.go. Where
// AWS says that something does not exist that the inventory knows, the error has class Gone, and the
// next look reads all of the stack again.
func (c *Cloud) Observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	out, err := c.observe(callerForStack(ctx, id), id, questions)
	if sdk.IsGone(err) && c.reader.distrust(id) {
		err = sdk.Wrap(engine.NotReady, "observe", err)
	}
	return out, err
}

func (c *Cloud) observe(ctx context.Context, id model.StackID, questions []model.Question) (observed.Stack, error) {
	faults, bound := faults{}, boundIn(questions)
	if err := c.reader.list(ctx, since(questions), faults); err != nil {
		return observed.Stack{}, err
	}
	if err := c.reader.confirm(ctx, id, bound, faults); err != nil {
		return observed.Stack{}, err
	}
	for _, arn := range c.inv.loadBalancersOf(id) {
		if err := c.reader.detail(ctx, arn, bound); err != nil {
			return observed.Stack{}, err
		}
		if err := c.reader.complete(ctx, arn, faults); err != nil {
			return observed.Stack{}, err
		}
	}
	for _, q := range questions {
		var err error
		switch q := q.(type) {
		case model.AskAttributes:
			err = c.reader.askAttributes(ctx, q, bound.Since)
		case model.AskCapacity:
			err = c.reader.askCapacity(ctx, q, bound.Since)
		case model.AskState:
			err = c.reader.askState(ctx, q)
		}
		if err := faults.note(q, err); err != nil {
			return observed.Stack{}, err
		}
	}
	out := c.reader.snapshot(id, bound.Since)
	out.Facts.Faults = faults
	for _, q := range questions {
		err := c.facts.answer(ctx, id, &out, q, bound.Since)
		if err := faults.note(q, err); err != nil {
			return observed.Stack{}, fmt.Errorf("read facts: %w", err)
		}
	}
	return out, nil
}

// faults are why questions have no answer, by their keys.
type faults map[string]observed.Fault

// note takes down a fault in place of an answer; it returns what else went wrong.
func (f faults) note(q model.Question, err error) error {
	if x := sdk.FaultOf(err); x != nil {
		f[q.Key()] = *x
		return nil
	}
	return err
}

// since is how old listings may be; zero: as old as is usual.
func since(questions []model.Question) (t time.Time) {
	for _, q := range questions {
		if q, ok := q.(model.AskListings); ok && q.Since.After(t) {
			t = q.Since
		}
	}
	return t
}

// stackLoadBalancers are the load balancers of a stack, under the lock of the inventory.
func (v *inventory) stackLoadBalancers(id model.StackID) iter.Seq2[string, *lbEntry] {
	return only(ofStack(v.lbs, id), func(e *lbEntry) bool { return e.lb.VPC == v.vpc && naming.Belongs(v.cluster, id, e.lb.Tags) })
}

// stackTargetGroups are the target groups of a stack, under the lock of the inventory.
func (v *inventory) stackTargetGroups(id model.StackID) iter.Seq2[string, *groupEntry] {
	return only(ofStack(v.groups, id), func(e *groupEntry) bool { return e.vpc == v.vpc && naming.Belongs(v.cluster, id, e.g.Tags) })
}

// stackSecurityGroups are the security groups of a stack, under the lock of the inventory.
func (v *inventory) stackSecurityGroups(id model.StackID) iter.Seq2[string, *sgEntry] {
	return only(ofStack(v.sgs, id), func(e *sgEntry) bool { return naming.Belongs(v.cluster, id, e.g.Tags) })
}

func ofStack[E any](t *table[E], id model.StackID) iter.Seq2[string, *E] {
	return t.having(stackKind(id.Kind), naming.StackTagValue(id))
}

// only are those of a sequence that a condition holds for.
func only[E any](all iter.Seq2[string, *E], is func(*E) bool) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id, e := range all {
			if is(e) && !yield(id, e) {
				return
			}
		}
	}
}

func (v *inventory) loadBalancersOf(id model.StackID) (out []string) {
	v.read(func() {
		for arn := range v.stackLoadBalancers(id) {
			out = append(out, arn)
		}
	})
	slices.Sort(out)
	return out
}

// schemeOf is the scheme of the load balancer of a stack that has a DNS name, "" if there is none.
func (v *inventory) schemeOf(q model.AskScheme) (out model.Scheme) {
	v.read(func() {
		for _, e := range v.stackLoadBalancers(q.Of) {
			if strings.EqualFold(e.lb.DNSName, q.DNSName) {
				out = e.lb.Scheme
			}
		}
	})
	return out
}

// snapshot is what the inventory holds of a stack, with the facts that need no asking, and with the
// attributes that were read since a time.
func (r *reader) snapshot(id model.StackID, since time.Time) observed.Stack {
	out := observed.Stack{Facts: observed.Facts{
		Region: r.Config.Region, VPC: r.VPC, Now: r.Config.Now(),
		Subnets: map[string]observed.SubnetAnswer{}, Groups: map[string]observed.GroupAnswer{},
		TargetGroups: map[string]string{}, TargetGroupOwners: map[string]string{}, Schemes: map[string]model.Scheme{}, Health: map[string]observed.Health{},
		ALBTargets: map[string][]observed.Target{}, AddOns: map[string]observed.AddOn{}, WebACLs: map[string]observed.WebACL{},
		Validations: map[string]observed.Validation{}, CertificateOwners: map[string]observed.CertificateOwner{},
	}}
	key := naming.ResourceTag(id.Kind)
	r.inv.read(func() {
		out.Facts.Account = r.inv.account
		out.Facts.Foreign = r.inv.foreign.to(id, out.Facts.Now)
		for _, e := range r.inv.stackLoadBalancers(id) {
			lb := e.view(r.Client, since)
			lb.ResourceID = lb.Tags[key]
			out.LoadBalancers = append(out.LoadBalancers, lb)
		}
		for arn, e := range r.inv.stackTargetGroups(id) {
			g := e.g
			g.ResourceID = g.Tags[key]
			if !r.Current(e.attributesAt, since, arn) {
				g.Attributes = nil
			}
			out.TargetGroups = append(out.TargetGroups, g)
		}
		for _, e := range r.inv.stackSecurityGroups(id) {
			g := e.g
			g.ResourceID = g.Tags[key]
			out.SecurityGroups = append(out.SecurityGroups, g)
		}
	})
	slices.SortFunc(out.LoadBalancers, func(a, b observed.LoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(out.TargetGroups, func(a, b observed.TargetGroup) int { return strings.Compare(a.ARN, b.ARN) })
	slices.SortFunc(out.SecurityGroups, func(a, b observed.SecurityGroup) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// backendGroup finds the shared group by its two tags, and counts the load balancers of other stacks
// that carry it. If there are several groups it is the one that most load balancers of the cluster
// carry, and of those the one with the lowest id.
func (r *reader) backendGroup(out *observed.Stack) {
	r.inv.read(func() {
		lbs, best := r.inv.lbs, (*observed.SecurityGroup)(nil)
		for id, e := range r.inv.sgs.having(isBackend, "") {
			g, more := e.g, 1
			if best != nil {
				more = cmp.Or(lbs.count(bySecurityGroup, id)-lbs.count(bySecurityGroup, best.ID), strings.Compare(best.ID, id))
			}
			if more > 0 {
				best = &g
			}
		}
		if best == nil {
			return
		}
		out.Facts.BackendGroup, out.Facts.BackendGroupUsers = best, lbs.count(bySecurityGroup, best.ID)
		for _, lb := range out.LoadBalancers {
			if lbs.has(lb.ARN, bySecurityGroup, best.ID) {
				out.Facts.BackendGroupUsers--
			}
		}
	})
}
