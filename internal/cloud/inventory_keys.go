package cloud

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// What entries of the inventory are looked for by. The keys narrow a search down; whoever searches
// still compares the tags.
const (
	byStack         = "stack"          // the key and value of a stack tag of the cluster
	bySecurityGroup = "security group" // load balancers of the cluster by the groups that they carry
	byLoadBalancer  = "load balancer"  // target groups by the load balancers that forward to them
	byName          = "name"           // target groups
	isBackend       = "backend"        // the shared backend security group
	isUntagged      = "untagged"       // what is in the VPC and has tags that were never read
)

// stackKind is what byStack is for a kind of stack.
func stackKind(k model.Kind) string { return byStack + " " + string(k) }

// stackKeys are the keys of a resource by its tags.
func (v *inventory) stackKeys(tags map[string]string) (out []tableKey) {
	if !naming.Owns(v.cluster, tags) {
		return nil
	}
	for _, k := range model.Kinds {
		if value, ok := tags[naming.StackTag(k)]; ok {
			out = append(out, tableKey{stackKind(k), value})
		}
	}
	return out
}

func (v *inventory) loadBalancerKeys(arn string, e *lbEntry) []tableKey {
	out := v.stackKeys(e.lb.Tags)
	if naming.Owns(v.cluster, e.lb.Tags) {
		for _, id := range e.lb.SecurityGroups {
			out = append(out, tableKey{bySecurityGroup, id})
		}
	}
	return v.tagKeys(out, arn, e.lb.VPC, e.tagsAt)
}

func (v *inventory) targetGroupKeys(arn string, e *groupEntry) []tableKey {
	out := append(v.stackKeys(e.g.Tags), tableKey{byName, e.g.Name})
	for _, lb := range e.g.LoadBalancers {
		out = append(out, tableKey{byLoadBalancer, lb})
	}
	return v.tagKeys(out, arn, e.vpc, e.tagsAt)
}

func (v *inventory) securityGroupKeys(_ string, e *sgEntry) []tableKey {
	out := v.stackKeys(e.g.Tags)
	if naming.Carries(e.g.Tags, map[string]string{naming.ClusterTag: v.cluster, naming.BackendTag: model.BackendGroupTag}) {
		out = append(out, tableKey{isBackend, ""})
	}
	return out
}

// tagKeys adds the key of what was never read, and notes until when the tags that were read will do.
func (v *inventory) tagKeys(keys []tableKey, arn, vpc string, tagsAt time.Time) []tableKey {
	switch {
	case vpc != v.vpc:
	case tagsAt.IsZero():
		keys = append(keys, tableKey{isUntagged, ""})
	default:
		v.noteTagsUntil(v.tagsUntil(tagsAt, arn))
	}
	return slices.Clip(keys)
}

// tagsUntil is when tags are to be read again that were read at a time.
func (v *inventory) tagsUntil(at time.Time, arn string) time.Time {
	return at.Add(v.refresh + sdk.FreshFor(v.refresh, arn))
}

// noteTagsUntil keeps the earliest time at which any tags are to be read again. It may be too early,
// as entries are read again or dropped, and never too late.
func (v *inventory) noteTagsUntil(at time.Time) {
	if v.nextTags.IsZero() || at.Before(v.nextTags) {
		v.nextTags = at
	}
}
