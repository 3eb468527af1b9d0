package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// addOptionalKinds starts reading the optional kinds that are enabled and installed: GlobalAccelerators and the kinds of the
// Gateway API. It adds a runnable to the manager that starts and stops reading these kinds when their CRDs are installed or
// removed later.
func addOptionalKinds(ctx context.Context, s Setup, aws AWS, mgr manager.Manager, source *kube.Source) error {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the discovery client: %w", err)
	}
	w := &kindsWatch{
		gates: s.Config.Gates, withAccelerators: servesAccelerators(withDiscoveredSettings(s.Config, aws)), source: source, log: s.Log.WithName("gateways"),
		findKinds: func(ctx context.Context, kinds []cluster.Kind) (kube.Installation, error) {
			return kube.ReadInstallation(ctx, d, mgr.GetAPIReader(), s.Config.Kubernetes.WatchNamespace, kinds)
		},
	}
	if s.Config.Gates.IsEnabled(acceleratorFeature.gate) && !w.withAccelerators {
		w.log.Info("ignored feature gate: partition has no AWS Global Accelerator", "gate", acceleratorFeature.gate, "region", aws.Region, "partition", services.Partition(aws.Region))
	}
	if err := w.startInstalledKinds(ctx); err != nil {
		return err
	}
	return mgr.Add(allReplicasRunnable{manager.RunnableFunc(func(ctx context.Context) error {
		return w.run(ctx, source.WaitForSync)
	})})
}

// addVersions reads the versions of the Gateway API CRDs into versions, and adds a runnable to the manager that reads them
// again periodically. The status of GatewayClasses depends on the versions.
func addVersions(ctx context.Context, s Setup, mgr manager.Manager, source *kube.Source, versions *Versions) error {
	c, err := metadata.NewForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create the metadata client: %w", err)
	}
	w := &versionsWatch{
		versions: versions, log: s.Log.WithName("gateways"),
		read: func(ctx context.Context) (map[string]string, error) {
			return kube.BundleVersions(ctx, c, standardGatewayKinds(s.Config.Gates))
		},
		reconcileClasses: func(ctx context.Context) error {
			return source.StartKinds(ctx, nil, []cluster.Kind{cluster.KindGatewayClass})
		},
	}
	if err := w.readVersions(ctx); err != nil {
		return err
	}
	return mgr.Add(allReplicasRunnable{manager.RunnableFunc(w.run)})
}

// gatewayFeature is a feature gate with the kinds that must be installed for the feature.
type gatewayFeature struct {
	gate  config.Gate
	kinds []cluster.Kind
}

// configurationKinds are the kinds of the API group gateway.k8s.aws.
var configurationKinds = []cluster.Kind{
	cluster.KindLoadBalancerConfiguration, cluster.KindTargetGroupConfiguration, cluster.KindListenerRuleConfiguration,
}

var (
	albGatewayFeature = gatewayFeature{config.ALBGatewayAPI, append([]cluster.Kind{
		cluster.KindGatewayClass, cluster.KindGateway, cluster.KindHTTPRoute, cluster.KindGRPCRoute}, configurationKinds...)}
	nlbGatewayFeature = gatewayFeature{config.NLBGatewayAPI, append([]cluster.Kind{
		cluster.KindGatewayClass, cluster.KindGateway, cluster.KindTLSRoute, cluster.KindTCPRoute, cluster.KindUDPRoute}, configurationKinds...)}
	listenerSetFeature = gatewayFeature{config.GatewayListenerSet, []cluster.Kind{cluster.KindListenerSet}}
	acceleratorFeature = gatewayFeature{config.GlobalAcceleratorController, []cluster.Kind{cluster.KindGlobalAccelerator}}
)

// optionalKinds returns all kinds whose CRDs may be missing in the cluster.
func optionalKinds() []cluster.Kind {
	var out []cluster.Kind
	for _, t := range cluster.Types() {
		if t.Optional() {
			out = append(out, t.Kind)
		}
	}
	return out
}

// gatewayKinds returns the optional kinds except GlobalAccelerator.
func gatewayKinds() []cluster.Kind {
	return slices.DeleteFunc(optionalKinds(), func(k cluster.Kind) bool { return slices.Contains(acceleratorFeature.kinds, k) })
}

// servesGateways reports whether a feature gate for Gateways is on. Gateways are then served if their kinds are installed.
func servesGateways(g config.Gates) bool {
	return g.IsEnabled(config.ALBGatewayAPI) || g.IsEnabled(config.NLBGatewayAPI)
}

// acceleratorKinds returns the kinds that GlobalAccelerators need, and the kinds that they use if installed. It includes
// Gateway only if Gateways are not served. If Gateways are served, wantedGatewayKinds adds Gateway together with
// GatewayClass, because a Gateway that is read without its GatewayClass would be treated as an orphan.
func acceleratorKinds(g config.Gates) []cluster.Kind {
	out := append([]cluster.Kind{cluster.KindReferenceGrant}, acceleratorFeature.kinds...)
	if !servesGateways(g) {
		out = append(out, cluster.KindGateway)
	}
	return out
}

// wantedKinds returns the optional kinds that the configuration enables, sorted.
func wantedKinds(g config.Gates, withAccelerators bool) []cluster.Kind {
	var out []cluster.Kind
	if withAccelerators {
		out = acceleratorKinds(g)
	}
	if servesGateways(g) {
		out = append(out, wantedGatewayKinds(g)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wantedGatewayKinds returns the kinds of the Gateway API that the feature gates enable, possibly with duplicates.
func wantedGatewayKinds(g config.Gates) []cluster.Kind {
	out := []cluster.Kind{cluster.KindReferenceGrant}
	for _, f := range []gatewayFeature{albGatewayFeature, nlbGatewayFeature, listenerSetFeature} {
		if g.IsEnabled(f.gate) {
			out = append(out, f.kinds...)
		}
	}
	return out
}

// usableKinds returns the enabled optional kinds that can be read, sorted. found has the kinds that are installed. The error
// names the feature gates that the operator has set to true although their kinds are not installed. It does not name
// GlobalAcceleratorController, because this feature gate is off by default.
func usableKinds(g config.Gates, withAccelerators bool, found kube.Installation) ([]cluster.Kind, error) {
	var out []cluster.Kind
	var err error
	if servesGateways(g) {
		out, err = usableGatewayKinds(g, found)
	}
	if withAccelerators && found.CheckServed(acceleratorFeature.kinds) == nil {
		out = append(out, slices.DeleteFunc(acceleratorKinds(g), func(k cluster.Kind) bool { return !found.ServedKinds[k] })...)
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// usableGatewayKinds is usableKinds for the kinds of the Gateway API. A feature is not served if one of its kinds is not
// installed. ListenerSets are read only if ALB Gateways or NLB Gateways are served.
func usableGatewayKinds(g config.Gates, found kube.Installation) ([]cluster.Kind, error) {
	var out []cluster.Kind
	var errs []error
	use := func(f gatewayFeature) {
		if !g.IsEnabled(f.gate) {
			return
		}
		fault := found.CheckServed(f.kinds)
		if fault == nil {
			out = append(out, f.kinds...)
		} else if g.IsSet(f.gate) {
			errs = append(errs, fmt.Errorf("feature gate %s is set to true: %w", f.gate, fault))
		}
	}
	use(albGatewayFeature)
	use(nlbGatewayFeature)
	served := len(out) > 0
	use(listenerSetFeature)
	if !served {
		out = nil
	} else if found.ServedKinds[cluster.KindReferenceGrant] {
		out = append(out, cluster.KindReferenceGrant)
	}
	return out, errors.Join(errs...)
}

// kindFinder is a function that determines which of the kinds are installed.
type kindFinder func(ctx context.Context, kinds []cluster.Kind) (kube.Installation, error)

// kindReader starts and stops reading kinds, and then sends events for all objects of the kinds in renotify. kube.Source
// implements it.
type kindReader interface {
	Installed(kind cluster.Kind) bool
	StartKinds(ctx context.Context, kinds, renotify []cluster.Kind) error
	StopKinds(ctx context.Context, kinds, renotify []cluster.Kind) ([]cluster.Kind, error)
}

// kindsWatch starts reading an optional kind when its CRD is installed, and stops when the CRD is removed.
type kindsWatch struct {
	gates            config.Gates
	withAccelerators bool // serve GlobalAccelerators if their CRD is installed
	findKinds        kindFinder
	source           kindReader
	log              logr.Logger

	loggedStates map[string]string // the states that logOnChange has logged last, by subject
}

func (w *kindsWatch) wanted() []cluster.Kind { return wantedKinds(w.gates, w.withAccelerators) }

// startInstalledKinds starts reading the kinds that are installed when the process starts. It returns an error if the
// operator has set a feature gate to true whose kinds are missing.
func (w *kindsWatch) startInstalledKinds(ctx context.Context) error {
	found, err := w.findKinds(ctx, w.wanted())
	if err != nil {
		return err
	}
	kinds, err := usableKinds(w.gates, w.withAccelerators, found)
	if err != nil {
		return err
	}
	w.logFeatures(kinds, found)
	return w.source.StartKinds(ctx, kinds, nil)
}

// classDependentKinds are the kinds whose objects are enqueued again when other kinds are installed or removed, because
// their acceptance depends on the installed kinds.
var classDependentKinds = []cluster.Kind{cluster.KindGatewayClass, cluster.KindGateway}

// updateKinds starts reading wanted kinds that were installed, and stops reading kinds that were removed. It reports whether
// all wanted kinds are read.
func (w *kindsWatch) updateKinds(ctx context.Context) (bool, error) {
	wanted := w.wanted()
	missing := func(k cluster.Kind) bool { return !w.source.Installed(k) }
	found, err := w.findKinds(ctx, wanted)
	if err != nil {
		return false, err
	}
	kinds, _ := usableKinds(w.gates, w.withAccelerators, found)
	w.logFeatures(kinds, found)
	if err := w.stopUnservedKinds(ctx, wanted, found); err != nil {
		return false, err
	}
	fresh := slices.DeleteFunc(kinds, w.source.Installed)
	if len(fresh) == 0 {
		return !slices.ContainsFunc(wanted, missing), nil
	}
	return false, w.source.StartKinds(ctx, fresh, classDependentKinds)
}

// stopUnservedKinds stops reading kinds that the API server does not serve any more.
func (w *kindsWatch) stopUnservedKinds(ctx context.Context, wanted []cluster.Kind, found kube.Installation) error {
	var removed []cluster.Kind
	for _, k := range wanted {
		if w.source.Installed(k) && !found.ServedKinds[k] && found.DeniedKinds[k] == nil {
			removed = append(removed, k)
		}
	}
	if len(removed) == 0 {
		return nil
	}
	ended, err := w.source.StopKinds(ctx, removed, classDependentKinds)
	if len(ended) > 0 {
		w.log.Info("stopped watching removed kinds", "kinds", ended)
	}
	return err
}

// run waits for synced, and then calls updateKinds periodically until ctx ends. The interval is short until all wanted kinds
// are read, and long after that.
func (w *kindsWatch) run(ctx context.Context, synced func(context.Context) error) error {
	if err := synced(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	for {
		done, err := w.updateKinds(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			w.logOnChange("error", err.Error(), func() { w.log.Error(err, "failed to find optional kinds") })
		} else {
			w.logOnChange("error", "", func() {})
		}
		interval := durations.ShortInterval
		if done {
			interval = durations.SweepInterval
		}
		if !pause(ctx, interval) {
			return nil
		}
	}
}

// logFeatures logs which features are served and which are not, if the list has changed.
func (w *kindsWatch) logFeatures(kinds []cluster.Kind, found kube.Installation) {
	var on, off []string
	for _, f := range []gatewayFeature{albGatewayFeature, nlbGatewayFeature, listenerSetFeature, acceleratorFeature} {
		if !w.gates.IsEnabled(f.gate) || f.gate == acceleratorFeature.gate && !w.withAccelerators {
			continue
		}
		if slices.Contains(kinds, f.kinds[len(f.kinds)-1]) && found.CheckServed(f.kinds) == nil {
			on = append(on, string(f.gate))
		} else if fault := found.CheckServed(f.kinds); fault != nil {
			off = append(off, fmt.Sprintf("%s: %v", f.gate, fault))
		}
	}
	w.logOnChange("features", strings.Join(on, ",")+"|"+strings.Join(off, ","), func() { w.log.Info("found optional kinds", "served", on, "notServed", off) })
}

// logOnChange calls log if the state of a subject differs from the state that was logged last.
func (w *kindsWatch) logOnChange(subject, state string, log func()) {
	if w.loggedStates[subject] == state {
		return
	}
	if w.loggedStates == nil {
		w.loggedStates = map[string]string{}
	}
	w.loggedStates[subject] = state
	log()
}
