package inventory

import (
	"iter"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// StackLoadBalancers returns the load balancers of a stack in the VPC, by ARN. The caller holds the lock of the inventory.
func (v *Inventory) StackLoadBalancers(id model.StackID) iter.Seq2[string, *LoadBalancer] {
	return Filter(entriesOfStack(v.LoadBalancers, id), func(e *LoadBalancer) bool {
		return e.Seen.VPC == v.VPC && naming.BelongsToStack(v.Cluster, id, e.Seen.Tags)
	})
}

// StackTargetGroups returns the target groups of a stack in the VPC, by ARN. The caller holds the lock of the inventory.
func (v *Inventory) StackTargetGroups(id model.StackID) iter.Seq2[string, *TargetGroup] {
	return Filter(entriesOfStack(v.TargetGroups, id), func(e *TargetGroup) bool { return e.VPC == v.VPC && naming.BelongsToStack(v.Cluster, id, e.Seen.Tags) })
}

// StackSecurityGroups returns the security groups of a stack, by ID. The caller holds the lock of the inventory.
func (v *Inventory) StackSecurityGroups(id model.StackID) iter.Seq2[string, *SecurityGroup] {
	return Filter(entriesOfStack(v.SecurityGroups, id), func(e *SecurityGroup) bool { return naming.BelongsToStack(v.Cluster, id, e.Seen.Tags) })
}

// Adopter returns the stack that has taken over a load balancer which was created for stack id, with the load balancer; nil
// if there is no such stack. It prefers a load balancer with a tag that names stack id. If there is none, it uses a load
// balancer that has the name of the load balancer of stack id. The caller holds the lock of the inventory.
func (v *Inventory) Adopter(id model.StackID) (out *observed.Adopter) {
	for arn, e := range v.LoadBalancers.EntriesWithKey(byAdoptedStack, naming.AdoptedTagValue(id)) {
		if e.Seen.VPC != v.VPC || out != nil && out.LoadBalancer.ARN < arn {
			continue
		}
		for _, k := range model.Kinds {
			value := e.Seen.Tags[naming.StackTag(k)]
			if by := StackFromTagValue(k, value); value != "" && by != id && naming.BelongsToStack(v.Cluster, by, e.Seen.Tags) {
				out = &observed.Adopter{Stack: by, LoadBalancer: e.Seen}
			}
		}
	}
	kind := id.Kind.AdopterKind()
	if out != nil || kind == "" {
		return out
	}
	for _, scheme := range []model.Scheme{model.Internal, model.InternetFacing} {
		for _, e := range v.LoadBalancers.EntriesWithKey(ByName, naming.IngressLoadBalancerName(v.Cluster, id, scheme)) {
			by := StackFromTagValue(kind, e.Seen.Tags[naming.StackTag(kind)])
			if out == nil && by.Name != "" && e.Seen.VPC == v.VPC && naming.HasStackTags(by, e.Seen.Tags) && naming.BelongsToStack(v.Cluster, by, e.Seen.Tags) {
				out = &observed.Adopter{Stack: by, LoadBalancer: e.Seen, NotTagged: true}
			}
		}
	}
	return out
}

func entriesOfStack[E any](t *Table[E], id model.StackID) iter.Seq2[string, *E] {
	return t.EntriesWithKey(stackKeyKind(id.Kind), naming.StackTagValue(id))
}

// Filter returns the entries of a sequence for which condition returns true.
func Filter[E any](entries iter.Seq2[string, *E], condition func(*E) bool) iter.Seq2[string, *E] {
	return func(yield func(string, *E) bool) {
		for id, e := range entries {
			if condition(e) && !yield(id, e) {
				return
			}
		}
	}
}

// StackLoadBalancerARNs returns the ARNs of the load balancers of a stack, sorted.
func (v *Inventory) StackLoadBalancerARNs(id model.StackID) (out []string) {
	v.WithReadLock(func() {
		for arn := range v.StackLoadBalancers(id) {
			out = append(out, arn)
		}
	})
	slices.Sort(out)
	return out
}

// SchemeOf returns the scheme of the load balancer of stack q.Of with the DNS name q.DNSName, or "" if there is no such load
// balancer.
func (v *Inventory) SchemeOf(q model.AskScheme) (out model.Scheme) {
	v.WithReadLock(func() {
		for _, e := range v.StackLoadBalancers(q.Of) {
			if strings.EqualFold(e.Seen.DNSName, q.DNSName) {
				out = e.Seen.Scheme
			}
		}
	})
	return out
}
