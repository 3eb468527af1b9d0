package checks

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// These are the default quotas of Global Accelerator. The controller has no permission to read the current quotas.
// https://docs.aws.amazon.com/global-accelerator/latest/dg/limits-global-accelerator.html
const (
	maxAccelerators   = 20
	maxListeners      = 10
	maxEndpointGroups = 42
	maxEndpoints      = 10
	maxPortOverrides  = 10
)

// AcceleratorReport has the usage of the quotas of Global Accelerator, and the accelerators of the cluster whose changes
// propagate slowly.
type AcceleratorReport struct {
	Usage []Usage
	// Slow are the accelerators of the cluster that are not deployed, although they were last changed before the time given
	// to ReadAccelerators.
	Slow []SlowAccelerator
	// Unseen is the number of accelerators that were not read, because the number of calls is limited.
	Unseen int
}

// SlowAccelerator is an accelerator whose last change, at the time Since, has not propagated yet.
type SlowAccelerator struct {
	Name, ARN string
	Since     time.Time
}

// ReadAccelerators lists all accelerators of the account, and reads the listeners and endpoint groups of the accelerators
// that the cluster owns. An accelerator is slow if its status is not deployed, and if its last change was earlier than the
// parameter before.
func (c *Checker) ReadAccelerators(ctx context.Context, before time.Time) (AcceleratorReport, error) {
	u := &usageCounter{checker: c, highest: map[string]Usage{}}
	var out AcceleratorReport
	all, err := c.listAccelerators(ctx)
	if err != nil {
		return out, err
	}
	u.recordHighest(Usage{Name: "accelerators", Used: len(all), Limit: maxAccelerators, IsDefault: true})
	for _, a := range all {
		if u.calls >= maxUsageCalls {
			out.Unseen++
			continue
		}
		ours, err := u.countAccelerator(ctx, a)
		if sdk.ClassOf(err) == failure.Gone {
			continue // the accelerator was deleted after the list was read
		}
		if err != nil {
			return out, err
		}
		if since := aws.ToTime(a.LastModifiedTime); ours && a.Status != gatypes.AcceleratorStatusDeployed && since.Before(before) {
			out.Slow = append(out.Slow, SlowAccelerator{Name: aws.ToString(a.Name), ARN: aws.ToString(a.AcceleratorArn), Since: since})
		}
	}
	out.Usage = u.sortedUsage()
	return out, nil
}

// listAccelerators returns the accelerators of the account, sorted by ARN.
func (c *Checker) listAccelerators(ctx context.Context) ([]gatypes.Accelerator, error) {
	var all []gatypes.Accelerator
	for page, err := range sdk.Pages(ctx, ga.NewListAcceleratorsPaginator(c.API.Accelerators, &ga.ListAcceleratorsInput{MaxResults: aws.Int32(100)})) {
		if err != nil {
			return nil, err
		}
		all = append(all, page.Accelerators...)
	}
	slices.SortFunc(all, func(a, b gatypes.Accelerator) int {
		return strings.Compare(aws.ToString(a.AcceleratorArn), aws.ToString(b.AcceleratorArn))
	})
	return all, nil
}

// countAccelerator counts the listeners, endpoint groups and endpoints of an accelerator that the cluster owns. It returns
// false and counts nothing if the cluster does not own the accelerator.
func (u *usageCounter) countAccelerator(ctx context.Context, a gatypes.Accelerator) (ours bool, err error) {
	u.calls++
	tags, err := u.checker.API.Accelerators.ListTagsForResource(ctx, &ga.ListTagsForResourceInput{ResourceArn: a.AcceleratorArn})
	if err != nil {
		return false, err
	}
	byKey := map[string]string{}
	for _, t := range tags.Tags {
		byKey[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	if !naming.IsAcceleratorOfCluster(u.checker.Config.Cluster, u.checker.Config.Region, byKey) {
		return false, nil
	}
	name, groups := aws.ToString(a.Name), 0
	count := func(quota string, used, limit int) {
		u.recordHighest(Usage{Name: quota, Resource: name, Used: used, Limit: limit, IsDefault: true})
	}
	u.calls++
	var listeners []gatypes.Listener
	for page, err := range sdk.Pages(ctx, ga.NewListListenersPaginator(u.checker.API.Accelerators, &ga.ListListenersInput{AcceleratorArn: a.AcceleratorArn, MaxResults: aws.Int32(100)})) {
		if err != nil {
			return true, err
		}
		listeners = append(listeners, page.Listeners...)
	}
	for _, l := range listeners {
		u.calls++
		for page, err := range sdk.Pages(ctx, ga.NewListEndpointGroupsPaginator(u.checker.API.Accelerators, &ga.ListEndpointGroupsInput{ListenerArn: l.ListenerArn, MaxResults: aws.Int32(100)})) {
			if err != nil {
				return true, err
			}
			groups += len(page.EndpointGroups)
			for _, g := range page.EndpointGroups {
				count("endpoints-per-endpoint-group", len(g.EndpointDescriptions), maxEndpoints)
				count("port-overrides-per-endpoint-group", len(g.PortOverrides), maxPortOverrides)
			}
		}
	}
	count("listeners-per-accelerator", len(listeners), maxListeners)
	count("endpoint-groups-per-accelerator", groups, maxEndpointGroups)
	return true, nil
}

// acceleratorReadChecks returns calls that read accelerators, by the IAM action that each call needs.
func (c *Checker) acceleratorReadChecks() map[string]func(context.Context) error {
	const none = "arn:aws:globalaccelerator::000000000000:accelerator/00000000-0000-0000-0000-000000000000"
	return map[string]func(context.Context) error{
		"globalaccelerator:ListAccelerators": func(ctx context.Context) error {
			return errorOf(c.API.Accelerators.ListAccelerators(ctx, &ga.ListAcceleratorsInput{MaxResults: aws.Int32(1)}))
		},
		"globalaccelerator:ListEndpointGroups": func(ctx context.Context) error {
			return errorOf(c.API.Accelerators.ListEndpointGroups(ctx, &ga.ListEndpointGroupsInput{ListenerArn: aws.String(none + "/listener/00000000")}))
		},
		"globalaccelerator:ListListeners": func(ctx context.Context) error {
			return errorOf(c.API.Accelerators.ListListeners(ctx, &ga.ListListenersInput{AcceleratorArn: aws.String(none)}))
		},
		"globalaccelerator:ListTagsForResource": func(ctx context.Context) error {
			return errorOf(c.API.Accelerators.ListTagsForResource(ctx, &ga.ListTagsForResourceInput{ResourceArn: aws.String(none)}))
		},
	}
}
