package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/secondregion"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// shopNamespace is the namespace of the objects of examples/shop.
const shopNamespace = "shop"

// Deadlines of the steps. They are long, because the machine may be busy.
const (
	limitController = time.Minute
	limitConverge   = 90 * time.Second
	limitDelete     = 5 * time.Minute // an accelerator must be disabled and deployed first
)

type demo struct {
	localBinary, controller, examplesDir string
	keepWorld                            bool
	out                                  io.Writer

	world            *world.World
	scenario         *scenario.Scenario
	objects          []*unstructured.Unstructured
	applier          *manifest.Applier
	initialInventory inspect.Inventory
	shopHostname     string
	shopClient       *http.Client

	secondRegion *secondregion.Region
}

// run performs all steps and stops at the first failure.
func (d *demo) run(ctx context.Context) (err error) {
	defer func() {
		if d.world == nil {
			return
		}
		if err != nil && ctx.Err() == nil {
			d.showLog()
		}
		err = errors.Join(err, d.world.Close())
	}()
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"Start a world: Kubernetes, an AWS, Fulcrum", d.startWorld},
		{"Apply two applications behind one IngressGroup", d.applyShop},
		{"Send requests through the load balancer", d.requestShop},
		{"Publish a TCP, a UDP and a TLS application with Services", d.applyStreams},
		{"Publish HTTP, gRPC and TCP applications with Gateways", d.applyGateways},
		{"Reach them over an accelerator, and fail over to another region", d.applyAccelerator},
		{"Scale the storefront from 2 to 3 pods", d.scaleShop},
		{"Delete everything", d.cleanUp},
	} {
		fmt.Fprintf(d.out, "\n%s\n", step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(step.title[:1])+step.title[1:], err)
		}
	}
	fmt.Fprintf(d.out, "\nEach step has been verified.\n")
	return nil
}

// report prints what a step has observed.
func (d *demo) report(format string, args ...any) {
	fmt.Fprintf(d.out, "  ✓ "+format+"\n", args...)
}

func (d *demo) startWorld(ctx context.Context) error {
	w, err := world.Start(ctx, world.Options{
		Binary:     d.localBinary,
		KeepState:  d.keepWorld,
		GatewayAPI: "standard",
		Progress:   func(s world.Step) { d.report("%s (%.1f s)", s.Name, s.SinceStart.Seconds()) },
	})
	if err != nil {
		return err
	}
	d.world = w
	if d.scenario, err = scenario.New(w); err != nil {
		return err
	}
	if d.applier, err = manifest.NewApplier(w.RESTConfig()); err != nil {
		return err
	}
	if d.initialInventory, err = d.scenario.Inspector.Inventory(ctx); err != nil {
		return err
	}
	if err := w.StartController(d.controller, "--import-tls-secrets=gateway", "--feature-gates=GlobalAcceleratorController=true"); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, limitController)
	defer cancel()
	if err := w.AwaitControllerReady(limit); err != nil {
		return err
	}
	d.report("Fulcrum is ready")
	page, err := world.StartConsole(w, d.controller)
	if err != nil {
		return err
	}
	d.report("%s shows these objects in a browser while the demo runs", page)
	return nil
}

func (d *demo) applyShop(ctx context.Context) error {
	var err error
	if d.objects, err = manifest.Load(d.examplesDir); err != nil {
		return err
	}
	if err := d.applier.Apply(ctx, d.objects); err != nil {
		return err
	}
	for _, o := range d.objects {
		d.report("%s", manifest.KindAndName(o))
	}
	began := time.Now()
	err = await.Success(ctx, limitConverge, func(ctx context.Context) error {
		hosts := map[string]bool{}
		for _, ingress := range []string{"shop", "api"} {
			if d.shopHostname, err = d.scenario.Hostname(ctx, shopNamespace, ingress); err != nil {
				return err
			}
			hosts[d.shopHostname] = true
		}
		if len(hosts) != 1 {
			return fmt.Errorf("the two Ingresses have %d load balancers", len(hosts))
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.shopClient = d.world.HTTPClient(d.shopHostname)
	d.report("both Ingresses show %s after %.1f s", d.shopHostname, time.Since(began).Seconds())
	// The targets of api are instances: all nodes.
	for service, want := range map[string]int{"shop": 2, "api": len(d.world.Layout().Nodes)} {
		if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
			return d.scenario.CheckHealthyTargets(ctx, shopNamespace, service, want)
		}); err != nil {
			return err
		}
	}
	return d.showTargets(ctx, "shop", "api")
}

func (d *demo) showTargets(ctx context.Context, services ...string) error {
	for _, service := range services {
		targets, err := d.scenario.Targets(ctx, shopNamespace, service)
		if err != nil {
			return err
		}
		var text []string
		for _, t := range targets {
			text = append(text, t.String())
		}
		d.report("targets of %s: %s", service, strings.Join(text, ", "))
	}
	return nil
}

func (d *demo) scaleShop(ctx context.Context) error {
	old, err := d.scenario.ReadyPods(ctx, shopNamespace, "app=shop", 2)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := d.scenario.Scale(ctx, shopNamespace, "shop", 3); err != nil {
		return err
	}
	if err := await.Success(ctx, limitConverge, func(ctx context.Context) error {
		return d.scenario.CheckHealthyTargets(ctx, shopNamespace, "shop", 3)
	}); err != nil {
		return err
	}
	if err := d.showTargets(ctx, "shop"); err != nil {
		return err
	}
	return await.Success(ctx, limitConverge, func(ctx context.Context) error {
		r, err := scenario.Get(ctx, d.shopClient, "https://shop.example.com/", nil)
		switch {
		case err != nil:
			return err
		case r.Pod == nil:
			return fmt.Errorf("no pod answered: %s", r)
		case slices.Contains(old, r.Pod.Pod):
			return errors.New("only the old pods have answered")
		}
		d.report("the new pod answers %.1f s after the scaling: %s", time.Since(began).Seconds(), r)
		return nil
	})
}

func (d *demo) cleanUp(ctx context.Context) error {
	began := time.Now()
	if err := d.applier.Delete(ctx, d.objects); err != nil {
		return err
	}
	if err := await.Success(ctx, limitDelete, func(ctx context.Context) error {
		for _, o := range d.objects {
			switch _, err := d.applier.Get(ctx, o); {
			case err == nil:
				return fmt.Errorf("%s still exists", manifest.KindAndName(o))
			case !apierrors.IsNotFound(err):
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	d.report("all objects are deleted from Kubernetes after %.1f s", time.Since(began).Seconds())
	if err := d.secondRegion.Close(ctx); err != nil {
		return err
	}
	if err := await.Success(ctx, limitDelete, func(ctx context.Context) error {
		now, err := d.scenario.Inspector.Inventory(ctx)
		if err != nil {
			return err
		}
		if left := now.Minus(d.initialInventory); len(left) > 0 {
			return fmt.Errorf("left in AWS: %s", strings.Join(left, "; "))
		}
		if lost := d.initialInventory.Minus(now); len(lost) > 0 {
			return fmt.Errorf("missing in AWS, although it existed before: %s", strings.Join(lost, "; "))
		}
		return nil
	}); err != nil {
		return err
	}
	d.report("AWS has the same resources as before: %s", strings.Join(d.initialInventory, ", "))
	return nil
}

// showLog prints the last lines of the controller's log.
func (d *demo) showLog() {
	if d.world.HasStarted(world.RoleController) {
		fmt.Fprintf(d.out, "\nthe end of the controller's log:\n%s\n", d.world.LogTail(world.RoleController, 30))
	}
}
