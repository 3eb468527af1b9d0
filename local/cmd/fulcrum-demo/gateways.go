package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

const (
	// gatewaysNamespace is the namespace of the Gateways of the example, routesNamespace that of their routes and
	// applications.
	gatewaysNamespace = "edge"
	routesNamespace   = "store"
	// storeHost is a host for which ACM has no certificate until the controller imports the Secret of the Gateway.
	storeHost   = "www.store.test"
	catalogHost = "catalog.store.test"
)

// applyGateways publishes applications with two Gateways and sends requests to each.
func (d *demo) applyGateways(ctx context.Context) error {
	objects, err := manifest.Load(filepath.Join(filepath.Dir(d.examplesDir), "gateway"))
	if err != nil {
		return err
	}
	secret, err := d.tlsSecret("store-tls", "*.store.test")
	if err != nil {
		return err
	}
	// Insert the Secret after the namespaces and before objects that refer to it.
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Namespace" })
	objects = slices.Insert(objects, at, secret)
	d.objects = append(d.objects, objects...)
	began := time.Now()
	if err := d.applier.Apply(ctx, objects); err != nil {
		return err
	}
	shown := map[string]string{}
	for _, gateway := range []string{"web", "queues"} {
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
			shown[gateway], err = d.scenario.GatewayHostname(ctx, gatewaysNamespace, gateway)
			return err
		}); err != nil {
			return err
		}
		d.report("Gateway %-6s shows %s after %.1f s", gateway, shown[gateway], time.Since(began).Seconds())
	}
	for service, want := range map[string]int{"store": 4, "store-next": 1, "catalog": 1} {
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
			return d.scenario.CheckHealthyTargets(ctx, routesNamespace, service, want) // store: two ports of each of two pods
		}); err != nil {
			return err
		}
	}
	for _, request := range []func(context.Context, string) error{d.requestRedirect, d.requestWeightedRoute, d.requestGRPC} {
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error { return request(ctx, shown["web"]) }); err != nil {
			return err
		}
	}
	return await.Success(ctx, limitConverge, func(ctx context.Context) error {
		reported, err := d.requestTCP(ctx, shown["queues"])
		if err == nil {
			d.report("TCPRoute  %s", reported)
		}
		return err
	})
}

// tlsSecret returns a Secret with a certificate that the CA of the local world has signed.
func (d *demo) tlsSecret(name, host string) (*unstructured.Unstructured, error) {
	cert, key, err := d.world.IssueCertificate(host)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata": map[string]any{"name": name, "namespace": gatewaysNamespace},
		"data": map[string]any{
			"tls.crt": base64.StdEncoding.EncodeToString(cert),
			"tls.key": base64.StdEncoding.EncodeToString(key),
		},
	}}, nil
}

// requestRedirect sends a request to the HTTP listener, which redirects to the HTTPS listener.
func (d *demo) requestRedirect(ctx context.Context, hostname string) error {
	const url = "http://" + storeHost + "/cart"
	r, err := scenario.Get(ctx, d.world.HTTPClient(hostname), url, nil)
	if err != nil {
		return err
	}
	if to := r.Header.Get("Location"); r.Status != 301 || !strings.HasPrefix(to, "https://"+storeHost) {
		return fmt.Errorf("GET %s gave %s: want a redirect to HTTPS", url, r)
	}
	d.report("HTTPRoute GET %s %s", url, r)
	return nil
}

// requestWeightedRoute sends many requests and counts the responses of each version.
func (d *demo) requestWeightedRoute(ctx context.Context, hostname string) error {
	const requests, url = 200, "https://" + storeHost + "/"
	client := d.world.HTTPClient(hostname)
	count := map[string]int{}
	certificate := ""
	for range requests {
		r, err := scenario.Get(ctx, client, url, nil)
		switch {
		case err != nil:
			return err
		case r.Pod == nil:
			return fmt.Errorf("GET %s gave %s", url, r)
		}
		count[r.Pod.App]++
		certificate = r.Certificate
	}
	// With the weights 9 to 1, about 180 of the responses come from version "store". Fewer than 150 are practically
	// impossible.
	if n := count["store"]; n < 150 || n >= requests || n+count["store-next"] != requests {
		return fmt.Errorf("of %d requests, these were answered: %v", requests, count)
	}
	d.report("HTTPRoute %d of %d requests to %s were answered by store, %d by store-next, certificate for %s",
		count["store"], requests, storeHost, count["store-next"], certificate)
	return nil
}

// requestGRPC calls a method of the gRPC service with a route, which must succeed, and a method of a service without a
// route, which must fail.
func (d *demo) requestGRPC(ctx context.Context, hostname string) error {
	const method = "/store.Catalog/List"
	st, pod, err := d.scenario.CallGRPC(ctx, hostname, catalogHost, method)
	switch {
	case err != nil:
		return err
	case st.Code() != codes.OK || pod == nil:
		return fmt.Errorf("call %s: %w", method, st.Err())
	}
	if other, p, err := d.scenario.CallGRPC(ctx, hostname, catalogHost, "/store.Admin/Drop"); err != nil {
		return err
	} else if p != nil || other.Code() == codes.OK {
		return errors.New("a service without a route was answered")
	}
	d.report("GRPCRoute %s%s is answered by %s, other services are not", catalogHost, method, pod.Pod)
	return nil
}
