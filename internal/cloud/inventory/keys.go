package inventory

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Kinds of keys by which entries of the inventory are found. Entries with the same key may belong to other stacks, so the
// caller must also compare the tags of the entries.
const (
	byStack         = "stack"          // the key and value of a stack tag of the cluster
	BySecurityGroup = "security group" // load balancers of the cluster, by ID of their security groups
	byAdoptedStack  = "adopted"        // load balancers that were taken over, by the stack for which they were created
	byLoadBalancer  = "load balancer"  // target groups, by ARN of the load balancers that forward to them
	ByName          = "name"           // load balancers and target groups
	BackendKey      = "backend"        // the shared backend security group
	UntaggedKey     = "untagged"       // load balancers and target groups of the VPC whose tags are missing or outdated
)

// keys computes the keys of entries. Cluster and VPC are the cluster name and the VPC of the controller.
type keys struct {
	Cluster, VPC string
	refresh      time.Duration
	// NextTagsDueAt is the earliest time at which any tags must be read again. It may be too early, but never too late.
	NextTagsDueAt time.Time
}

// stackKeyKind returns the kind of the keys that identify stacks of kind k.
func stackKeyKind(k model.Kind) string { return byStack + " " + string(k) }

// keysOfStack returns one key for each stack that is named in the tags of a resource. It returns nil if the cluster does not
// own the resource.
func (v *keys) keysOfStack(tags map[string]string) (out []Key) {
	if !naming.BelongsToCluster(v.Cluster, tags) {
		return nil
	}
	for _, k := range model.Kinds {
		if value, ok := tags[naming.StackTag(k)]; ok {
			out = append(out, Key{stackKeyKind(k), value})
		}
	}
	return out
}

func (v *keys) keysOfLoadBalancer(arn string, e *LoadBalancer) []Key {
	out := v.keysOfStack(e.Seen.Tags)
	if naming.BelongsToCluster(v.Cluster, e.Seen.Tags) {
		out = append(out, Key{ByName, e.Seen.Name})
		for _, id := range e.Seen.SecurityGroups {
			out = append(out, Key{BySecurityGroup, id})
		}
		if from := e.Seen.Tags[naming.AdoptedTag]; from != "" {
			out = append(out, Key{byAdoptedStack, from})
		}
	}
	return v.withUntaggedKey(out, arn, e.Seen.VPC, e.TagsAt)
}

func (v *keys) keysOfTargetGroup(arn string, e *TargetGroup) []Key {
	out := append(v.keysOfStack(e.Seen.Tags), Key{ByName, e.Seen.Name})
	for _, lb := range e.Seen.LoadBalancers {
		out = append(out, Key{byLoadBalancer, lb})
	}
	return v.withUntaggedKey(out, arn, e.VPC, e.TagsAt)
}

func (v *keys) keysOfSecurityGroup(_ string, e *SecurityGroup) []Key {
	out := v.keysOfStack(e.Seen.Tags)
	if naming.HasAllTags(e.Seen.Tags, map[string]string{naming.ClusterTag: v.Cluster, naming.BackendTag: model.BackendSecurityGroupID}) {
		out = append(out, Key{BackendKey, ""})
	}
	return out
}

// withUntaggedKey adds UntaggedKey to keys if tagsAt is zero, because the tags were never read or are outdated. If tagsAt is
// not zero, it updates NextTagsDueAt.
func (v *keys) withUntaggedKey(keys []Key, arn, vpc string, tagsAt time.Time) []Key {
	switch {
	case vpc != v.VPC:
	case tagsAt.IsZero():
		keys = append(keys, Key{UntaggedKey, ""})
	default:
		v.bringForwardTagsDue(v.tagsDueAt(tagsAt, arn))
	}
	return slices.Clip(keys)
}

// tagsDueAt returns when the tags of a resource must be read again. at is when they were last read.
func (v *keys) tagsDueAt(at time.Time, arn string) time.Time {
	return at.Add(v.refresh + sdk.FreshDuration(v.refresh, arn))
}

// bringForwardTagsDue sets NextTagsDueAt to the time at, if that is earlier.
func (v *keys) bringForwardTagsDue(at time.Time) {
	if v.NextTagsDueAt.IsZero() || at.Before(v.NextTagsDueAt) {
		v.NextTagsDueAt = at
	}
}

// StaleTags returns the ARNs of the load balancers and target groups in the VPC whose tags must be read again. It also
// computes NextTagsDueAt.
func (v *Inventory) StaleTags(now time.Time) (out []string) {
	v.NextTagsDueAt = time.Time{}
	note := func(arn, vpc string, at time.Time) {
		if vpc != v.VPC || at.IsZero() {
			return
		}
		until := v.tagsDueAt(at, arn)
		v.bringForwardTagsDue(until)
		if !now.Before(until) {
			out = append(out, arn)
		}
	}
	for arn, e := range v.LoadBalancers.All() {
		note(arn, e.Seen.VPC, e.TagsAt)
	}
	for arn, e := range v.TargetGroups.All() {
		note(arn, e.VPC, e.TagsAt)
	}
	return out
}
