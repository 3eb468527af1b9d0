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
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/secondregion"
)

const (
	// acceleratorNamespace and acceleratorName identify the GlobalAccelerator of the example.
	acceleratorNamespace = "worldwide"
	acceleratorName      = "front"
	// otherRegion is the region of the second endpoint group, and otherApp the app that responds there.
	otherRegion = "eu-west-1"
	otherApp    = "far"
)

// applyAccelerator puts an accelerator in front of an Ingress, a Service and a Gateway, and sends requests to it.
func (d *demo) applyAccelerator(ctx context.Context) error {
	var err error
	if d.secondRegion, err = secondregion.Start(ctx, d.world, otherRegion, otherApp); err != nil {
		return err
	}
	d.report("region %s has a separate load balancer: %s", otherRegion, d.secondRegion.DNSName)
	objects, err := manifest.Load(filepath.Join(filepath.Dir(d.examplesDir), "accelerator"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "GlobalAccelerator" {
			if err := setEndpointARN(o, d.secondRegion.ARN); err != nil {
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
	if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
		name, err = d.scenario.AcceleratorHostname(ctx, acceleratorNamespace, acceleratorName)
		return err
	}); err != nil {
		return err
	}
	a := acceleratorDemo{d, name}
	addresses, err := a.addresses(ctx)
	if err != nil {
		return err
	}
	d.report("GlobalAccelerator %s shows %s with the static addresses %v after %.1f s", acceleratorName, name, addresses, time.Since(began).Seconds())
	for _, e := range []struct {
		what, url string
		check     func(scenario.Reply) error
	}{
		{"Ingress", "https://shop.example.com/", checkAppResponded("shop")},
		{"Gateway", "http://" + storeHost + "/cart", checkRedirectTo("https://" + storeHost + ":443/cart")},
	} {
		if err := a.awaitResponse(ctx, e.what, e.url, e.check); err != nil {
			return err
		}
	}
	var reported string
	if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
		reported, err = d.requestTCP(ctx, name)
		return err
	}); err != nil {
		return err
	}
	d.report("%-17s %s", "Service", reported)
	return a.failOver(ctx)
}

// acceleratorDemo is the demo with the DNS name of the accelerator.
type acceleratorDemo struct {
	*demo
	acceleratorHostname string
}

// awaitResponse sends requests to the accelerator until a response passes check.
func (d acceleratorDemo) awaitResponse(ctx context.Context, what, url string, check func(scenario.Reply) error) error {
	client := d.world.HTTPClient(d.acceleratorHostname)
	began := time.Now()
	return await.Success(ctx, limitConverge, func(ctx context.Context) error {
		r, err := scenario.Get(ctx, client, url, nil)
		if err != nil {
			return err
		}
		if err := check(r); err != nil {
			return fmt.Errorf("GET %s through the accelerator returned %s: %w", url, r, err)
		}
		d.report("%-17s GET %-40s %s after %.1f s", what, url, r, time.Since(began).Seconds())
		return nil
	})
}

// failOver scales the apps behind the Gateway to 0, so that the other region responds, and then scales them up
// again.
func (d acceleratorDemo) failOver(ctx context.Context) error {
	const url = "http://" + storeHost + "/cart"
	deployments := map[string]int{"store": 2, "store-next": 1, "catalog": 1}
	scale := func(of func(int) int) error {
		var errs []error
		for deployment, n := range deployments {
			errs = append(errs, d.scenario.Scale(ctx, routesNamespace, deployment, of(n)))
		}
		return errors.Join(errs...)
	}
	if err := scale(func(int) int { return 0 }); err != nil {
		return err
	}
	d.report("the applications behind the Gateway have no pods")
	if err := d.awaitResponse(ctx, "other region", url, checkAppResponded(otherApp)); err != nil {
		return err
	}
	if err := scale(func(n int) int { return n }); err != nil {
		return err
	}
	return d.awaitResponse(ctx, "back", url, checkRedirectTo("https://"+storeHost+":443/cart"))
}

// addresses returns the static addresses in the status of the GlobalAccelerator.
func (d acceleratorDemo) addresses(ctx context.Context) ([]string, error) {
	o, err := d.scenario.Accelerator(ctx, acceleratorNamespace, acceleratorName)
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

// setEndpointARN sets the ID of each endpoint of type EndpointID in a GlobalAccelerator to an ARN.
func setEndpointARN(o *unstructured.Unstructured, arn string) error {
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
