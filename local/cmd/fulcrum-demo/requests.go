package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

// expectation is a request and a check of its response.
type expectation struct {
	url, what string
	check     func(scenario.Reply) error
}

// checkAppResponded returns a check that a pod of an app has responded.
func checkAppResponded(app string) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != 200 || r.Pod == nil || r.Pod.App != app {
			return fmt.Errorf("want 200 from a pod of %s", app)
		}
		return nil
	}
}

func checkRedirectTo(to string) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != 301 || r.Header.Get("Location") != to {
			return fmt.Errorf("want 301 to %s", to)
		}
		return nil
	}
}

func checkLoadBalancerStatus(want int) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != want || r.Pod != nil {
			return fmt.Errorf("want %d from the load balancer itself", want)
		}
		return nil
	}
}

func (d *demo) requestShop(ctx context.Context) error {
	for _, e := range []expectation{
		{"http://shop.example.com/cart?item=1", "redirect to HTTPS", checkRedirectTo("https://shop.example.com:443/cart?item=1")},
		{"https://shop.example.com/", "default path", checkAppResponded("shop")},
		{"https://shop.example.com/api/orders", "path route", checkAppResponded("api")},
		{"https://api.example.com/orders", "host route", checkAppResponded("api")},
		{"https://other.example.com/", "no rule", checkLoadBalancerStatus(404)},
	} {
		r, err := scenario.Get(ctx, d.shopClient, e.url, nil)
		if err != nil {
			return err
		}
		if err := e.check(r); err != nil {
			return fmt.Errorf("GET %s gave %s: %w", e.url, r, err)
		}
		d.report("%-17s GET %-40s %s", e.what, e.url, r)
	}
	return d.requestBothPods(ctx)
}

// requestBothPods sends requests until each pod of the storefront has responded.
func (d *demo) requestBothPods(ctx context.Context) error {
	pods, err := d.scenario.ReadyPods(ctx, shopNamespace, "app=shop", 2)
	if err != nil {
		return err
	}
	count := map[string]int{}
	err = await.Success(ctx, limitConverge, func(ctx context.Context) error {
		for range 10 {
			r, err := scenario.Get(ctx, d.shopClient, "https://shop.example.com/", nil)
			if err != nil {
				return err
			}
			if err := checkAppResponded("shop")(r); err != nil {
				return fmt.Errorf("%s: %w", r, err)
			}
			count[r.Pod.Pod]++
		}
		if len(count) < len(pods) {
			return errors.New("one of the pods has not answered")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range pods {
		d.report("%d requests were answered by %s", count[p], p)
	}
	return nil
}
