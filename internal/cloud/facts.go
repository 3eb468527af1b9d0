package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// How long answers are kept. An answer that says "there is none" is what a user is about to
// mend, so it is kept for a short time.
const (
	noneFor   = 30 * time.Second
	healthFor = time.Second
)

// factCache keeps answers about things that are not the controller's own.
type factCache struct {
	guard

	subnets   []observed.Subnet // of the VPC
	subnetsAt time.Time
	zoneTypes map[string]string // by zone id; they never change
	public    map[string]bool   // by subnet id: a route leads to an internet gateway
	publicAt  time.Time
	foreign   map[string]foundSubnet // subnets of other VPCs, by id

	groups map[string]foundGroups // by question
	names  map[string]foundName   // target groups by name or ARN
	health map[string]observed.Health
	writes map[string]int // number of own writes to a target group's targets
	certs  certificateCache

	described map[string]describedGroup
	ranges    map[string]vpcRanges
	endpoints endpointCache
	addOns    addOnCache
	dns       dnsCache

	albTargets map[string]albTargetsEntry // by target group
}

type foundSubnet struct {
	subnet *observed.Subnet
	at     time.Time
}

type foundGroups struct {
	answer observed.GroupAnswer
	at     time.Time
}

func newFactCache() *factCache {
	f := &factCache{}
	f.reset()
	return f
}

func (f *factCache) reset() {
	f.with(func() {
		f.subnets, f.subnetsAt, f.public, f.publicAt = nil, time.Time{}, nil, time.Time{}
		f.zoneTypes, f.foreign = map[string]string{}, map[string]foundSubnet{}
		f.groups, f.names, f.health = map[string]foundGroups{}, map[string]foundName{}, map[string]observed.Health{}
		f.writes = map[string]int{}
		f.certs = newCertificateCache()
		f.described, f.ranges = map[string]describedGroup{}, map[string]vpcRanges{}
		f.endpoints = newEndpointCache()
		f.addOns = newAddOnCache()
		f.dns = newDNSCache()
		f.albTargets = map[string]albTargetsEntry{}
	})
}

// younger says whether something was read no longer ago than the age.
func (c *client) younger(at time.Time, age time.Duration) bool {
	return !at.IsZero() && c.cfg.Now().Sub(at) < age
}

// askGroups resolves security groups by id or by their Name tag in the VPC.
func (c *Cloud) askGroups(ctx context.Context, q model.AskGroups) (observed.GroupAnswer, error) {
	valid := func() (out observed.GroupAnswer, ok bool) {
		c.facts.with(func() {
			f := c.facts.groups[q.Key()]
			age := c.cfg.Refresh
			if len(f.answer.Missing) > 0 {
				age = noneAge(count(c.facts.groups, func(f foundGroups) bool { return len(f.answer.Missing) > 0 }))
			}
			out, ok = f.answer, c.younger(f.at, age)
		})
		return out, ok
	}
	if out, ok := valid(); ok {
		return out, nil
	}
	err := c.optional(ctx, q.Key(), func() error {
		if _, ok := valid(); ok {
			return nil
		}
		start := c.cfg.Now()
		answer, err := c.readGroups(ctx, q)
		if err != nil {
			return err
		}
		c.facts.with(func() {
			put(c.facts.groups, q.Key(), foundGroups{answer, start}, func(f foundGroups) bool { return !c.younger(f.at, nameKept) })
		})
		return nil
	})
	out, _ := valid()
	return out, err
}

func (c *Cloud) readGroups(ctx context.Context, q model.AskGroups) (observed.GroupAnswer, error) {
	var ids, names []string
	for _, r := range q.List {
		if strings.HasPrefix(r, "sg-") {
			ids = append(ids, r)
		} else {
			names = append(names, r)
		}
	}
	out := observed.GroupAnswer{ByName: map[string][]string{}}
	// By filter, since one id that does not exist would make the whole call fail.
	if len(ids) > 0 {
		err := c.eachGroup(ctx, filters("group-id", unique(ids)...), func(id, _ string) { out.ByID = append(out.ByID, id) })
		if err != nil {
			return out, err
		}
	}
	if len(names) > 0 {
		f := append(filters("vpc-id", c.vpc), filter("tag:"+nameTag, unique(names)...))
		found := map[string]map[string]bool{} // distinct names by reference
		err := c.eachGroup(ctx, f, func(id, name string) {
			// AWS reads the wildcards * and ? in names that it is asked for.
			for _, r := range unique(names) {
				if glob(r, name) {
					out.ByName[r] = append(out.ByName[r], id)
					if found[r] == nil {
						found[r] = map[string]bool{}
					}
					found[r][name] = true
				}
			}
		})
		if err != nil {
			return out, err
		}
		for r, distinct := range found {
			if len(distinct) > 1 {
				delete(out.ByName, r) // it is not said which of them is meant
			}
		}
	}
	// The order given, whatever order AWS chose.
	slices.SortFunc(out.ByID, func(a, b string) int { return slices.Index(ids, a) - slices.Index(ids, b) })
	for _, found := range out.ByName {
		slices.Sort(found)
	}
	for _, r := range q.List {
		if !slices.Contains(out.ByID, r) && len(out.ByName[r]) == 0 {
			out.Missing = append(out.Missing, r)
		}
	}
	return out, nil
}

func (c *Cloud) eachGroup(ctx context.Context, f []ec2types.Filter, do func(id, name string)) error {
	pages := ec2.NewDescribeSecurityGroupsPaginator(c.api.ec2, &ec2.DescribeSecurityGroupsInput{Filters: f})
	for pages.HasMorePages() {
		page, err := brief(ctx, func(ctx context.Context) (*ec2.DescribeSecurityGroupsOutput, error) { return pages.NextPage(ctx) })
		if err != nil {
			return fmt.Errorf("find security groups: %w", err)
		}
		for _, g := range page.SecurityGroups {
			do(aws.ToString(g.GroupId), ec2TagsFromAWS(g.Tags)[nameTag])
		}
	}
	return nil
}

// askHealth reads the health of a target group's targets. It is kept only so long that those who
// ask at the same time share one call.
func (c *Cloud) askHealth(ctx context.Context, arn string) (observed.Health, error) {
	cached := func() (h observed.Health, ok bool) {
		c.facts.with(func() { h = c.facts.health[arn] })
		return h, c.younger(h.At, healthFor)
	}
	h, err := asked(ctx, c.client, "health "+arn, cached, func() error {
		_, err := brief(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.own().readHealth(ctx, arn) })
		return err
	})
	if isGone(err) && !c.inv.knows(arn) {
		return observed.Health{At: c.cfg.Now()}, nil // of another owner, or void
	}
	return h, err
}

func unique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
