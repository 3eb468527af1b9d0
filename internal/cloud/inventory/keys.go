package inventory

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
	BySecurityGroup = "security group" // load balancers of the cluster by the groups that they carry
	byAdopted       = "adopted"        // load balancers by the stack that they were made for, where another has them
	byLoadBalancer  = "load balancer"  // target groups by the load balancers that forward to them
	ByName          = "name"           // load balancers and target groups
	IsBackend       = "backend"        // the shared backend security group
	IsUntagged      = "untagged"       // what is in the VPC and has tags that were never read
)

// keys are the keys of the entries of a cluster in its VPC.
type keys struct {
	Cluster, VPC string
	refresh      time.Duration
	// NextTags is when the first tags are to be read again.
	NextTags time.Time
}

// stackKind returns what byStack is for a kind of stack.
func stackKind(k model.Kind) string { return byStack + " " + string(k) }

// ofStack returns the keys of a resource by its tags.
func (v *keys) ofStack(tags map[string]string) (out []Key) {
	if !naming.Owns(v.Cluster, tags) {
		return nil
	}
	for _, k := range model.Kinds {
		if value, ok := tags[naming.StackTag(k)]; ok {
			out = append(out, Key{stackKind(k), value})
		}
	}
	return out
}

func (v *keys) ofLoadBalancer(arn string, e *LoadBalancer) []Key {
	out := v.ofStack(e.Seen.Tags)
	if naming.Owns(v.Cluster, e.Seen.Tags) {
		out = append(out, Key{ByName, e.Seen.Name})
		for _, id := range e.Seen.SecurityGroups {
			out = append(out, Key{BySecurityGroup, id})
		}
		if from := e.Seen.Tags[naming.AdoptedTag]; from != "" {
			out = append(out, Key{byAdopted, from})
		}
	}
	return v.withTags(out, arn, e.Seen.VPC, e.TagsAt)
}

func (v *keys) ofTargetGroup(arn string, e *TargetGroup) []Key {
	out := append(v.ofStack(e.Seen.Tags), Key{ByName, e.Seen.Name})
	for _, lb := range e.Seen.LoadBalancers {
		out = append(out, Key{byLoadBalancer, lb})
	}
	return v.withTags(out, arn, e.VPC, e.TagsAt)
}

func (v *keys) ofSecurityGroup(_ string, e *SecurityGroup) []Key {
	out := v.ofStack(e.Seen.Tags)
	if naming.HasAll(e.Seen.Tags, map[string]string{naming.ClusterTag: v.Cluster, naming.BackendTag: model.BackendGroupTag}) {
		out = append(out, Key{IsBackend, ""})
	}
	return out
}

// withTags adds the key of what was never read, and notes until when the tags that were read will do.
func (v *keys) withTags(keys []Key, arn, vpc string, tagsAt time.Time) []Key {
	switch {
	case vpc != v.VPC:
	case tagsAt.IsZero():
		keys = append(keys, Key{IsUntagged, ""})
	default:
		v.noteTagsUntil(v.tagsDue(tagsAt, arn))
	}
	return slices.Clip(keys)
}

// tagsDue returns when tags are to be read again that were read at a time.
func (v *keys) tagsDue(at time.Time, arn string) time.Time {
	return at.Add(v.refresh + sdk.FreshFor(v.refresh, arn))
}

// noteTagsUntil keeps the earliest time at which any tags are to be read again. It may be too early,
// as entries are read again or dropped, and never too late.
func (v *keys) noteTagsUntil(at time.Time) {
	if v.NextTags.IsZero() || at.Before(v.NextTags) {
		v.NextTags = at
	}
}

// StaleTags returns the load balancers and target groups of the VPC whose tags were read too long ago. It
// notes when the next ones will be.
func (v *Inventory) StaleTags(now time.Time) (out []string) {
	v.NextTags = time.Time{}
	note := func(arn, vpc string, at time.Time) {
		if vpc != v.VPC || at.IsZero() {
			return
		}
		until := v.tagsDue(at, arn)
		v.noteTagsUntil(until)
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
