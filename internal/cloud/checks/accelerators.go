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
)

// Default quotas of Global Accelerator. Their present values need a permission that the controller does not have.
// https://docs.aws.amazon.com/global-accelerator/latest/dg/limits-global-accelerator.html
const (
	mostAccelerators   = 20
	mostListeners      = 10
	mostEndpointGroups = 42
	mostEndpoints      = 10
	mostPortOverrides  = 10
)

// Accelerators are the accelerators of the account, and what of them is in use.
type Accelerators struct {
	Usage []Usage
	// Slow are the accelerators of the cluster whose changes have not propagated after a while.
	Slow []SlowAccelerator
	// Unseen is how many accelerators were not looked at.
	Unseen int
}

// SlowAccelerator is an accelerator that AWS has been changing for long.
type SlowAccelerator struct {
	Name, ARN string
	Since     time.Time
}

// Accelerators reads the accelerators of the account. Those of the cluster are looked at; an accelerator of the cluster
// that was changed before a time and is not deployed is slow.
func (c *Checker) Accelerators(ctx context.Context, before time.Time) (Accelerators, error) {
	u := &usageOf{c: c, most: map[string]Usage{}}
	var out Accelerators
	all, err := c.listAccelerators(ctx)
	if err != nil {
		return out, err
	}
	u.keep(Usage{Name: "accelerators", Used: len(all), Most: mostAccelerators, Default: true})
	for _, a := range all {
		if u.calls >= mostUsageCalls {
			out.Unseen++
			continue
		}
		ours, err := u.accelerator(ctx, a)
		if sdk.ClassOf(err) == failure.Gone {
			continue // deleted since the list
		}
		if err != nil {
			return out, err
		}
		if since := aws.ToTime(a.LastModifiedTime); ours && a.Status != gatypes.AcceleratorStatusDeployed && since.Before(before) {
			out.Slow = append(out.Slow, SlowAccelerator{Name: aws.ToString(a.Name), ARN: aws.ToString(a.AcceleratorArn), Since: since})
		}
	}
	for _, x := range u.most {
		out.Usage = append(out.Usage, x)
	}
	slices.SortFunc(out.Usage, func(a, b Usage) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// listAccelerators returns the accelerators of the account by ARN.
func (c *Checker) listAccelerators(ctx context.Context) ([]gatypes.Accelerator, error) {
	var all []gatypes.Accelerator
	pages := ga.NewListAcceleratorsPaginator(c.API.Accelerators, &ga.ListAcceleratorsInput{MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
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

// accelerator counts what an accelerator of the cluster has, and reports whether it is one.
func (u *usageOf) accelerator(ctx context.Context, a gatypes.Accelerator) (ours bool, err error) {
	u.calls++
	tags, err := u.c.API.Accelerators.ListTagsForResource(ctx, &ga.ListTagsForResourceInput{ResourceArn: a.AcceleratorArn})
	if err != nil {
		return false, err
	}
	have := map[string]string{}
	for _, t := range tags.Tags {
		have[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	if !u.c.cloud.Owns(have) {
		return false, nil
	}
	name, groups := aws.ToString(a.Name), 0
	count := func(quota string, used, most int) {
		u.keep(Usage{Name: quota, Of: name, Used: used, Most: most, Default: true})
	}
	u.calls++
	var listeners []gatypes.Listener
	pages := ga.NewListListenersPaginator(u.c.API.Accelerators, &ga.ListListenersInput{AcceleratorArn: a.AcceleratorArn, MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return true, err
		}
		listeners = append(listeners, page.Listeners...)
	}
	for _, l := range listeners {
		u.calls++
		pages := ga.NewListEndpointGroupsPaginator(u.c.API.Accelerators, &ga.ListEndpointGroupsInput{ListenerArn: l.ListenerArn, MaxResults: aws.Int32(100)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return true, err
			}
			groups += len(page.EndpointGroups)
			for _, g := range page.EndpointGroups {
				count("endpoints-per-endpoint-group", len(g.EndpointDescriptions), mostEndpoints)
				count("port-overrides-per-endpoint-group", len(g.PortOverrides), mostPortOverrides)
			}
		}
	}
	count("listeners-per-accelerator", len(listeners), mostListeners)
	count("endpoint-groups-per-accelerator", groups, mostEndpointGroups)
	return true, nil
}

// acceleratorReads returns calls that read accelerators, by the permission that they need.
func (c *Checker) acceleratorReads() map[string]func(context.Context) error {
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
