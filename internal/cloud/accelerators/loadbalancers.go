package accelerators

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// stackFromTags returns the stack that is named in the tags of a resource. It returns false if the tags name no stack.
func stackFromTags(tags map[string]string) (model.StackID, bool) {
	for _, k := range model.Kinds {
		if value := tags[naming.StackTag(k)]; value != "" && tags[naming.ResourceTag(k)] != "" {
			return inventory.StackFromTagValue(k, value), true
		}
	}
	return model.StackID{}, false
}

// FindEndpointLoadBalancers returns the load balancers that q selects as possible endpoints: by ARN, by the allocation ID of
// an Elastic IP address, by DNS name, or by stack. It finds them in the inventory, which contains all load balancers of the
// region. If q asks for ports that are not in the inventory, it reads them from AWS.
func (c *Accelerators) FindEndpointLoadBalancers(ctx context.Context, q model.AskLoadBalancers) ([]observed.EndpointLoadBalancer, error) {
	var out []observed.EndpointLoadBalancer
	c.inv.WithReadLock(func() {
		add := func(arn string, e *inventory.LoadBalancer) { out = append(out, c.endpointLoadBalancer(arn, e)) }
		switch {
		case strings.HasPrefix(q.ARN, "eipalloc-"):
			for arn, e := range c.inv.LoadBalancers.All() {
				if naming.BelongsToCluster(c.Config.Cluster, e.Seen.Tags) && slices.Contains(e.Seen.Addresses, q.ARN) {
					add(arn, e)
				}
			}
		case q.ARN != "":
			if e := c.inv.LoadBalancers.Get(q.ARN); e != nil {
				add(q.ARN, e)
			}
		case q.DNSName != "":
			for arn, e := range c.inv.LoadBalancers.All() {
				if strings.EqualFold(e.Seen.DNSName, q.DNSName) {
					add(arn, e)
				}
			}
		default:
			for arn, e := range c.inv.StackLoadBalancers(q.Of) {
				add(arn, e)
			}
		}
	})
	slices.SortFunc(out, func(a, b observed.EndpointLoadBalancer) int { return strings.Compare(a.ARN, b.ARN) })
	for i := range out {
		if q.Ports && out[i].Ports == nil {
			ports, err := c.readPorts(ctx, out[i].ARN)
			if err != nil {
				return nil, err
			}
			out[i].Ports = ports
		}
	}
	return out, nil
}

// endpointLoadBalancer returns a load balancer with its stack, its backends and its listener ports, as far as they are in
// the inventory. The caller holds the lock of the inventory.
func (c *Accelerators) endpointLoadBalancer(arn string, e *inventory.LoadBalancer) observed.EndpointLoadBalancer {
	out := observed.EndpointLoadBalancer{LoadBalancer: e.Seen}
	out.Listeners = nil
	out.Cluster = naming.BelongsToCluster(c.Config.Cluster, e.Seen.Tags)
	if !e.DetailAt.IsZero() {
		out.Ports = map[string][]int32{}
		for _, l := range e.Listeners {
			out.Ports[l.Seen.Protocol] = append(out.Ports[l.Seen.Protocol], l.Seen.Port)
		}
		for _, ports := range out.Ports {
			slices.Sort(ports)
		}
	}
	if !out.Cluster {
		return out
	}
	id, ok := stackFromTags(e.Seen.Tags)
	if !ok {
		return out
	}
	out.Stack, out.ResourceID = id, e.Seen.Tags[naming.ResourceTag(id.Kind)]
	for group, g := range c.inv.StackTargetGroups(id) {
		if _, uses := e.TargetGroupUses[group]; uses || slices.Contains(g.Seen.LoadBalancers, arn) {
			out.Backends = append(out.Backends, g.Seen.Tags[naming.ResourceTag(id.Kind)])
		}
	}
	slices.Sort(out.Backends)
	return out
}

// readPorts returns the listener ports, by protocol, of a load balancer whose listeners are not in the inventory. It reads
// them from AWS if they were not read within the refresh period. It returns nil if the load balancer does not exist any
// more.
func (c *Accelerators) readPorts(ctx context.Context, arn string) (map[string][]int32, error) {
	return c.ports.Get(ctx, "listeners of endpoint "+arn, c.Config.Refresh, func(ctx context.Context) (map[string][]int32, error) {
		ports := map[string][]int32{}
		for page, err := range sdk.Pages(ctx, elb.NewDescribeListenersPaginator(c.API.ELB, &elb.DescribeListenersInput{LoadBalancerArn: aws.String(arn)})) {
			if err != nil {
				return nil, sdk.IgnoreGone(err)
			}
			for _, l := range page.Listeners {
				ports[string(l.Protocol)] = append(ports[string(l.Protocol)], aws.ToInt32(l.Port))
			}
		}
		return ports, nil
	})
}
