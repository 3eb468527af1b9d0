package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/elsewhere"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

const (
	// acceleratorNamespace and acceleratorName are those of the GlobalAccelerator of the example.
	acceleratorNamespace = "worldwide"
	acceleratorName      = "front"
	// otherRegion has the second endpoint group, and otherApp answers there.
	otherRegion = "eu-west-1"
	otherApp    = "far"
)

// applyAccelerator puts an accelerator in front of an Ingress, a Service and a Gateway, and sends requests over it.
func (d *demo) applyAccelerator(ctx context.Context) error {
	var err error
	if d.elsewhere, err = elsewhere.Start(ctx, d.world, otherRegion, otherApp); err != nil {
		return err
	}
	d.seen("%s has a load balancer of its own: %s", otherRegion, d.elsewhere.DNSName)
	objects, err := manifest.Load(filepath.Join(filepath.Dir(d.examples), "accelerator"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "GlobalAccelerator" {
			if err := nameEndpoints(o, d.elsewhere.ARN); err != nil {
				return err
			}
		}
	}
	d.objects = append(d.objects, objects...)
	began := time.Now()
	if err := d.applier.Apply(ctx, objects); err != nil {
		return err
	}
	var name string
	if err := await.True(ctx, limitConverge, func(ctx context.Context) error {
		name, err = d.see.AcceleratorHostname(ctx, acceleratorNamespace, acceleratorName)
		return err
	}); err != nil {
		return err
	}
	a := acceleration{d, name}
	addresses, err := a.addresses(ctx)
	if err != nil {
		return err
	}
	d.seen("GlobalAccelerator %s shows %s with the static addresses %v after %.1f s", acceleratorName, name, addresses, time.Since(began).Seconds())
	for _, e := range []struct {
		what, url string
		check     func(scenario.Reply) error
	}{
		{"Ingress", "https://shop.example.com/", from("shop")},
		{"Gateway", "http://" + storeHost + "/cart", redirect("https://" + storeHost + ":443/cart")},
	} {
		if err := a.asks(ctx, e.what, e.url, e.check); err != nil {
			return err
		}
	}
	var reported string
	if err := await.True(ctx, limitConverge, func(ctx context.Context) error {
		reported, err = d.talkTCP(ctx, name)
		return err
	}); err != nil {
		return err
	}
	d.seen("%-17s %s", "Service", reported)
	return a.failOver(ctx)
}

// acceleration is the accelerator once it has a name.
type acceleration struct {
	*demo
	name string
}

// asks sends a request over the accelerator until it is answered as it should be.
func (d acceleration) asks(ctx context.Context, what, url string, check func(scenario.Reply) error) error {
	client := d.world.HTTPClient(d.name)
	began := time.Now()
	return await.True(ctx, limitConverge, func(ctx context.Context) error {
		r, err := scenario.Get(ctx, client, url, nil)
		if err != nil {
			return err
		}
		if err := check(r); err != nil {
			return fmt.Errorf("GET %s over the accelerator gave %s: %w", url, r, err)
		}
		d.seen("%-17s GET %-40s %s after %.1f s", what, url, r, time.Since(began).Seconds())
		return nil
	})
}

// failOver has nothing serve behind the Gateway, so that the other region answers, and then has it serve again.
func (d acceleration) failOver(ctx context.Context) error {
	const url = "http://" + storeHost + "/cart"
	deployments := map[string]int{"store": 2, "store-next": 1, "catalog": 1}
	scale := func(of func(int) int) error {
		var errs []error
		for deployment, n := range deployments {
			errs = append(errs, d.see.Scale(ctx, routesNamespace, deployment, of(n)))
		}
		return errors.Join(errs...)
	}
	if err := scale(func(int) int { return 0 }); err != nil {
		return err
	}
	d.seen("no pod is left behind the Gateway")
	if err := d.asks(ctx, "other region", url, from(otherApp)); err != nil {
		return err
	}
	if err := scale(func(n int) int { return n }); err != nil {
		return err
	}
	return d.asks(ctx, "back", url, redirect("https://"+storeHost+":443/cart"))
}

// addresses are the static addresses in the status.
func (d acceleration) addresses(ctx context.Context) ([]string, error) {
	o, err := d.see.Accelerator(ctx, acceleratorNamespace, acceleratorName)
	if err != nil {
		return nil, err
	}
	sets, _, err := unstructured.NestedSlice(o.Object, "status", "ipSets")
	var out []string
	for _, s := range sets {
		m, _ := s.(map[string]any)
		list, _, _ := unstructured.NestedStringSlice(m, "ipAddresses")
		out = append(out, list...)
	}
	return out, err
}

// nameEndpoints puts an ARN in place of those of the example.
func nameEndpoints(o *unstructured.Unstructured, arn string) error {
	listeners, _, err := unstructured.NestedSlice(o.Object, "spec", "listeners")
	if err != nil {
		return err
	}
	for _, l := range listeners {
		groups, _, err := unstructured.NestedSlice(l.(map[string]any), "endpointGroups")
		if err != nil {
			return err
		}
		for _, g := range groups {
			endpoints, _, err := unstructured.NestedSlice(g.(map[string]any), "endpoints")
			if err != nil {
				return err
			}
			for _, e := range endpoints {
				if m := e.(map[string]any); m["type"] == "EndpointID" {
					m["endpointID"] = arn
				}
			}
			g.(map[string]any)["endpoints"] = slices.Clone(endpoints)
		}
		l.(map[string]any)["endpointGroups"] = groups
	}
	return unstructured.SetNestedSlice(o.Object, listeners, "spec", "listeners")
}
