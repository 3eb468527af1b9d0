package cloud

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// noneEach is what a name that does not exist adds to the time for which that is believed.
const noneEach = 2 * time.Second

// noneAge is for how long "there is none" is kept where so many names have that answer: they are
// looked for one by one, and all together must not cost more than a call every two seconds.
func noneAge(names int) time.Duration { return max(noneFor, time.Duration(names)*noneEach) }

// count is how many entries of a cache are so.
func count[K comparable, V any](cache map[K]V, is func(V) bool) (n int) {
	for _, v := range cache {
		if is(v) {
			n++
		}
	}
	return n
}

// nameKept is for how long an answer stays in a cache at all: users choose the names.
const nameKept = time.Hour

// put enters an answer into a cache, and drops old ones.
func put[V any](cache map[string]V, key string, v V, old func(V) bool) {
	for k, o := range cache {
		if old(o) {
			delete(cache, k)
		}
	}
	cache[key] = v
}

type foundName struct {
	arn string // "": there is none
	at  time.Time
}

// age is for how long the answer is given; one that there is something, for so long.
func (f foundName) age(all map[string]foundName, found time.Duration) time.Duration {
	if f.arn != "" {
		return found
	}
	return noneAge(count(all, func(f foundName) bool { return f.arn == "" }))
}

// outdated says that an answer can leave its cache.
func (c *client) outdated(f foundName) bool { return !c.younger(f.at, nameKept) }

// madeFor returns the namespace of the object for which the controller made a target group.
func (v *inventory) madeFor(arn string) (namespace string, known bool) {
	v.read(func() {
		e := v.groups.get(arn)
		if e == nil || !ours(v.cluster, e.g.Tags) {
			return
		}
		for _, k := range model.Kinds {
			if id, ok := e.g.Tags[naming.ResourceTag(k)]; ok {
				namespace, _, known = strings.Cut(id, "/")
			}
		}
	})
	return namespace, known
}

// askTargetGroup finds a target group of any owner by name or ARN, "" if there is none. Most are in
// the inventory.
func (c *Cloud) askTargetGroup(ctx context.Context, ref string) (string, error) {
	known := func() (arn string, ok bool) {
		c.inv.read(func() {
			for a := range c.inv.groups.having(byName, ref) {
				arn, ok = a, true
			}
			if c.inv.groups.get(ref) != nil {
				arn, ok = ref, true
			}
		})
		if ok {
			return arn, ok
		}
		c.facts.with(func() {
			f := c.facts.names[ref]
			arn, ok = f.arn, c.younger(f.at, f.age(c.facts.names, noneFor))
		})
		return arn, ok
	}
	if arn, ok := known(); ok {
		return arn, nil
	}
	err := c.optional(ctx, "target group "+ref, func() error {
		if _, ok := known(); ok {
			return nil
		}
		start := c.cfg.Now()
		in := &elb.DescribeTargetGroupsInput{Names: []string{ref}}
		if strings.HasPrefix(ref, "arn:") {
			in = &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{ref}}
		}
		out, err := brief(ctx, func(ctx context.Context) (*elb.DescribeTargetGroupsOutput, error) {
			return c.api.elb.DescribeTargetGroups(ctx, in)
		})
		if err != nil && !isGone(err) && classify(err) != engine.Invalid {
			return fmt.Errorf("find target group %s: %w", ref, err)
		}
		found := foundName{at: start}
		if err == nil && len(out.TargetGroups) == 1 {
			found.arn = aws.ToString(out.TargetGroups[0].TargetGroupArn)
		}
		c.facts.with(func() { put(c.facts.names, ref, found, c.outdated) })
		return nil
	})
	arn, _ := known()
	return arn, err
}
