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

// fromApp returns a check that a pod of an app has responded.
func fromApp(app string) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != 200 || r.Pod == nil || r.Pod.App != app {
			return fmt.Errorf("want 200 from a pod of %s", app)
		}
		return nil
	}
}

func redirectTo(to string) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != 301 || r.Header.Get("Location") != to {
			return fmt.Errorf("want 301 to %s", to)
		}
		return nil
	}
}

func statusFromBalancer(want int) func(scenario.Reply) error {
	return func(r scenario.Reply) error {
		if r.Status != want || r.Pod != nil {
			return fmt.Errorf("want %d from the load balancer itself", want)
		}
		return nil
	}
}

func (d *demo) requestShop(ctx context.Context) error {
	for _, e := range []expectation{
		{"http://shop.example.com/cart?item=1", "redirect to HTTPS", redirectTo("https://shop.example.com:443/cart?item=1")},
		{"https://shop.example.com/", "default path", fromApp("shop")},
		{"https://shop.example.com/api/orders", "path route", fromApp("api")},
		{"https://api.example.com/orders", "host route", fromApp("api")},
		{"https://other.example.com/", "no rule", statusFromBalancer(404)},
	} {
		r, err := scenario.Get(ctx, d.client, e.url, nil)
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
	pods, err := d.scenario.ReadyPods(ctx, namespace, "app=shop", 2)
	if err != nil {
		return err
	}
	count := map[string]int{}
	err = await.Success(ctx, limitConverge, func(ctx context.Context) error {
		for range 10 {
			r, err := scenario.Get(ctx, d.client, "https://shop.example.com/", nil)
			if err != nil {
				return err
			}
			if err := fromApp("shop")(r); err != nil {
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
