package enis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// The controller does not own the security groups of nodes and pods. It only changes their rules. It revokes only rules that
// have a description set by the controller.

// cachedRules are the rules of a security group of nodes or pods.
type cachedRules struct {
	exists bool
	// hasClusterTag reports whether the security group is in the VPC of the cluster and has the tag
	// kubernetes.io/cluster/NAME, which tools that create clusters set.
	hasClusterTag bool
	// hasAnyClusterTag reports whether the security group has the tag of any cluster.
	hasAnyClusterTag bool
	rules            []model.IngressRule
	readAt           time.Time
	writtenAt        time.Time
}

// EndpointSecurityGroups implements bindings.EndpointSecurityGroups.
func (p *ENIs) EndpointSecurityGroups(ctx context.Context, ids []string, maxAge time.Duration) ([]bindings.EndpointSecurityGroup, error) {
	since := p.EarliestReadTime(maxAge)
	old := func(at time.Time) bool { return !p.IsYounger(at, p.Config.Refresh) || at.Before(since) }
	stale := func() (tagged bool, missing []string) {
		p.WithLock(func() {
			e := &p.cache
			tagged = old(e.taggedReadAt)
			for _, id := range ids {
				if g := e.securityGroups[id]; old(g.readAt) && !(g.hasClusterTag && !tagged) {
					missing = append(missing, id)
				}
			}
		})
		return tagged, missing
	}
	key := "tag:" + network.ClusterTagPrefix + p.Config.Cluster
	for {
		tagged, missing := stale()
		if !tagged && len(missing) == 0 {
			break
		}
		err := p.ReadOptional(ctx, "security groups of nodes and pods", func() error {
			tagged, missing := stale()
			if tagged {
				if err := p.readEndpointSecurityGroups(ctx, append(sdk.Filters("vpc-id", p.VPC), sdk.Filter(key, "owned", "shared")), nil); err != nil {
					return err
				}
				_, missing = stale()
			}
			for batch := range slices.Chunk(sdk.SortedUnique(missing), sdk.MaxFilterValues) {
				if err := p.readEndpointSecurityGroups(ctx, sdk.Filters("group-id", batch...), batch); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read security groups of nodes and pods: %w", err)
		}
	}
	var out []bindings.EndpointSecurityGroup
	p.WithLock(func() {
		for _, id := range slices.Sorted(maps.Keys(p.cache.securityGroups)) {
			if g := p.cache.securityGroups[id]; g.exists && (g.hasClusterTag || slices.Contains(ids, id)) {
				out = append(out, bindings.EndpointSecurityGroup{ID: id, Ingress: g.rules})
			}
		}
	})
	return out, nil
}

// readEndpointSecurityGroups reads the security groups that the filters select into the cache. ids are the IDs in the
// filters; nil if the filters select the tag of the cluster. It caches that a security group in ids does not exist if it is
// not found.
func (p *ENIs) readEndpointSecurityGroups(ctx context.Context, f []ec2types.Filter, ids []string) error {
	start := p.Config.Clock.Now()
	found, err := p.describeEndpointSecurityGroups(ctx, f)
	if err != nil {
		return err
	}
	p.WithLock(func() {
		e := &p.cache
		if ids == nil {
			e.taggedReadAt = start
			for id, g := range e.securityGroups {
				if _, ok := found[id]; !ok && g.hasClusterTag {
					delete(e.securityGroups, id)
				}
			}
			return
		}
		for _, id := range ids {
			if _, ok := found[id]; !ok {
				e.securityGroups[id] = cachedRules{readAt: start}
			}
		}
	})
	return nil
}

// describeEndpointSecurityGroups reads the security groups that the filters select, stores them in the cache, and returns
// them by ID.
func (p *ENIs) describeEndpointSecurityGroups(ctx context.Context, f []ec2types.Filter) (map[string]cachedRules, error) {
	start := p.Config.Clock.Now()
	found := map[string]cachedRules{}
	for page, err := range sdk.Pages(ctx, ec2.NewDescribeSecurityGroupsPaginator(p.API.EC2, &ec2.DescribeSecurityGroupsInput{Filters: f})) {
		if err != nil {
			return nil, err
		}
		for _, g := range page.SecurityGroups {
			tags := convert.EC2TagsFromAWS(g.Tags)
			tag := tags[network.ClusterTagPrefix+p.Config.Cluster]
			r := cachedRules{
				exists: true, hasClusterTag: (tag == "owned" || tag == "shared") && aws.ToString(g.VpcId) == p.VPC,
				rules: convert.IngressFromAWS(g.IpPermissions), readAt: start,
			}
			for key := range tags {
				r.hasAnyClusterTag = r.hasAnyClusterTag || strings.HasPrefix(key, network.ClusterTagPrefix)
			}
			found[aws.ToString(g.GroupId)] = r
		}
	}
	p.WithLock(func() {
		for id, g := range found {
			if old := p.cache.securityGroups[id]; !old.writtenAt.After(start) {
				p.cache.securityGroups[id] = g
			}
		}
	})
	return found, nil
}

// SecurityGroupsAdmitting returns the security groups of the VPC that have inbound rules from the sources, and do not have
// the tag of any cluster, by ID, with these sources. It makes one call for each source whose answer is not cached.
func (p *ENIs) SecurityGroupsAdmitting(ctx context.Context, sources []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, source := range sources {
		found, err := p.admitting.Get(ctx, "security groups with rules from "+source, p.Config.Refresh, func(ctx context.Context) (ids []string, _ error) {
			found, err := p.describeEndpointSecurityGroups(ctx, append(sdk.Filters("vpc-id", p.VPC), sdk.Filter("ip-permission.group-id", source)))
			for id, g := range found {
				if !g.hasAnyClusterTag {
					ids = append(ids, id)
				}
			}
			return ids, err
		})
		if err != nil {
			return nil, fmt.Errorf("find security groups with rules from %s: %w", source, err)
		}
		for _, id := range found {
			out[id] = append(out[id], source)
		}
	}
	return out, nil
}

// ChangedEndpointSecurityGroups implements bindings.EndpointSecurityGroups.
func (p *ENIs) ChangedEndpointSecurityGroups(ctx context.Context) ([]string, error) {
	previous, start := map[string]cachedRules{}, p.Config.Clock.Now()
	p.WithLock(func() {
		for id, g := range p.cache.securityGroups {
			if g.exists && !g.readAt.IsZero() && cache.IsSettled(start, g.writtenAt) {
				previous[id] = g
			}
		}
	})
	ids := slices.Sorted(maps.Keys(previous))
	for batch := range slices.Chunk(ids, sdk.MaxFilterValues) {
		err := p.ReadOptional(ctx, "security groups of nodes and pods", func() error { return p.readEndpointSecurityGroups(ctx, sdk.Filters("group-id", batch...), batch) })
		if err != nil {
			return nil, err
		}
	}
	ownRules := func(g cachedRules) []model.IngressRule {
		return slices.DeleteFunc(sortedRules(g.rules), func(r model.IngressRule) bool { return !network.IsSharedRule(r) })
	}
	var out []string
	p.WithLock(func() {
		for _, id := range ids {
			if g := p.cache.securityGroups[id]; !g.writtenAt.After(start) && !slices.Equal(ownRules(previous[id]), ownRules(g)) {
				out = append(out, id)
			}
		}
	})
	return out, nil
}

// ChangeEndpointRules implements bindings.EndpointSecurityGroups.
func (p *ENIs) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	if len(authorize) > 0 {
		_, err := p.API.EC2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: convert.IngressToAWS(sortedRules(authorize))})
		if err != nil {
			return p.forgetRulesAfterFailure(group, fmt.Errorf("authorize ingress to %s: %w", group, err))
		}
		p.updateCachedRules(group, func(have []model.IngressRule) []model.IngressRule { return append(have, authorize...) })
	}
	if len(revoke) > 0 {
		_, err := p.API.EC2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: aws.String(group), IpPermissions: convert.IngressToAWS(sortedRules(revoke))})
		if err != nil {
			return p.forgetRulesAfterFailure(group, fmt.Errorf("revoke ingress to %s: %w", group, err))
		}
		p.updateCachedRules(group, func(have []model.IngressRule) []model.IngressRule {
			return slices.DeleteFunc(have, func(h model.IngressRule) bool {
				return slices.ContainsFunc(revoke, func(r model.IngressRule) bool { return convert.CompareIngressRules(h, r) == 0 })
			})
		})
	}
	return nil
}

func sortedRules(in []model.IngressRule) []model.IngressRule {
	out := slices.Clone(in)
	slices.SortFunc(out, convert.CompareIngressRules)
	return out
}

func (p *ENIs) updateCachedRules(group string, change func([]model.IngressRule) []model.IngressRule) {
	p.WithLock(func() {
		g, ok := p.cache.securityGroups[group]
		if !ok {
			return
		}
		g.rules, g.writtenAt = sortedRules(change(slices.Clone(g.rules))), p.Config.Clock.Now()
		p.cache.securityGroups[group] = g
	})
}

// forgetRulesAfterFailure removes a security group from the cache if err shows that the cached rules are outdated or may
// have changed. It returns err.
func (p *ENIs) forgetRulesAfterFailure(group string, err error) error {
	switch class := sdk.ClassOf(err); {
	case sdk.MayHaveTakenEffect(err), class == failure.Conflict, class == failure.Gone, class == failure.Invalid, class == failure.Quota:
		p.WithLock(func() {
			e := &p.cache
			if e.securityGroups[group].hasClusterTag {
				e.taggedReadAt = time.Time{}
			}
			// For class Gone, the next read decides whether this security group or the source of a rule does not exist.
			delete(e.securityGroups, group)
		})
	}
	return err
}
