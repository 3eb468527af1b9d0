package controller

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// AWS has the interfaces through which the controller calls AWS.
type AWS struct {
	Stacks  engine.Cloud
	Targets bindings.Cloud
	// UnansweredCalls watches for calls that AWS does not answer (engine.Config.UnansweredCalls).
	UnansweredCalls engine.UnansweredCallWatcher
	Region, VPC     string
}

// withDiscoveredSettings returns the configuration with the discovered region and VPC.
func withDiscoveredSettings(c config.Config, aws AWS) config.Config {
	c.AWS.Region, c.AWS.VPC = aws.Region, aws.VPC
	return c
}

// Setup holds the dependencies of Run.
type Setup struct {
	Config config.Config
	REST   *rest.Config
	Log    logr.Logger
	AWS    Connector
	// LogLevel, if not nil, returns and changes the log level over HTTP.
	LogLevel http.Handler
}

// Connector connects the controller to AWS.
type Connector interface {
	// Connect connects to AWS. The implementation checks fence before every attempt of a mutating call, and counts all calls
	// in m.
	Connect(ctx context.Context, fence engine.Fence, m *Metrics) (AWS, error)
	// IsUnreached reports whether Connect failed because AWS did not answer. Connect is then called again.
	IsUnreached(err error) bool
}

// watchedKinds are the kinds that are always watched. Secrets are watched one by one, when they are first read.
var watchedKinds = []cluster.Kind{
	cluster.KindIngress, cluster.KindIngressClass, cluster.KindIngressClassParams, cluster.KindService,
	cluster.KindNamespace, cluster.KindNode, cluster.KindPod, cluster.KindEndpointSlice, cluster.KindBinding,
}

// Run runs the controller. It returns after ctx has ended and all goroutines of the manager have stopped, or with the error
// that stopped the controller. The process must exit after Run returns.
func Run(ctx context.Context, s Setup) error {
	// The client has no rate limit, because API Priority and Fairness of the API server limits its requests.
	s.REST.QPS = -1
	s.Config.Kubernetes.ServiceAccount = serviceAccount(s.REST)
	probes := &Probes{LogLevel: s.LogLevel}
	for _, e := range []struct {
		address string
		handler http.Handler
	}{{s.Config.Serving.Probes, probes.Handler()}, {s.Config.Serving.Profiling, profileHandler()}} {
		stop, err := serve(e.address, e.handler)
		if err != nil {
			return err
		}
		defer stop()
	}
	metrics := NewMetrics()
	if err := metrics.Register(ctrlmetrics.Registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if s.Config.Shadow.Enabled {
		return runShadow(ctx, s, probes, metrics)
	}
	var lease *kube.Lease
	var fence engine.Fence = engine.NoFence{}
	if s.Config.Election.Enabled {
		var err error
		lease, err = kube.NewLease(ctx, s.REST, s.Config.Election.Namespace, s.Config.Election.ID, clock.RealClock{})
		if err != nil {
			return err
		}
		fence = lease
	}
	c, err := connect(ctx, s, fence, lease, probes, metrics)
	if err != nil {
		return err
	}
	aws, mgr, source, secrets := c.aws, c.mgr, c.source, c.secrets
	live, err := client.New(s.REST, client.Options{Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("create the client of the API server: %w", err)
	}
	// Webhooks run in every replica. All other writes are made by the leader.
	leading, err := client.New(s.REST, client.Options{Scheme: mgr.GetScheme(), HTTPClient: kube.FencedClient(mgr.GetHTTPClient(), fence), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("create the client of the API server: %w", err)
	}
	if lease != nil {
		lease.PublishFlags(withDiscoveredSettings(s.Config, aws).PublishedFlags())
	}
	frontends := Frontends(withDiscoveredSettings(s.Config, aws))
	if s.Config.Serving.Webhooks != config.WebhooksOff {
		if err := addWebhooks(s, aws, mgr, probes, source.CacheOnly(), live, frontends); err != nil {
			return err
		}
	}
	cl := kube.New(source, kube.ClientAPI{Client: leading}, clock.RealClock{})

	registry := checkpoint.New()
	deploy := s.Log.WithName("deploy")
	st := StackController(engine.Config{
		Cloud: aws.Stacks, UnansweredCalls: aws.UnansweredCalls, Cluster: cl, Frontends: frontends,
		Options: PlanOptions(s.Config, aws.VPC), Fence: fence, Clock: clock.RealClock{}, Checkpoints: registry, Secrets: registry,
		Resync: s.Config.Kubernetes.SyncPeriod, Drift: engine.DriftMode(s.Config.Drift),
	}, cl, metrics, deploy)
	if err := addPersistence(s, mgr, leading, source, cl, registry, fence, rootKindsOf(frontends), &st); err != nil {
		return err
	}
	st.Workers = max(s.Config.Workers.Ingress, 1)
	st.BackOff = newStackBackOff(s.Config)
	for kind, n := range map[model.Kind]int{
		model.Service: s.Config.Workers.Service, model.ALBGateway: s.Config.Workers.ALBGateway, model.NLBGateway: s.Config.Workers.NLBGateway,
		model.GlobalAccelerator: s.Config.Workers.Accelerator,
	} {
		if frontends[kind] != nil {
			st.Workers += max(n, 1)
		}
	}
	lines := s.Log.WithName("controllers")
	if err := st.Add(mgr, source, withEndpointKind(s.Config, StackKinds()), lines); err != nil {
		return err
	}
	bc := BindingConfig(s.Config, aws.VPC, fence)
	bc.Cloud, bc.UnansweredCalls, bc.Cluster, bc.Clock = aws.Targets, aws.UnansweredCalls, cl, clock.RealClock{}
	tg, bound := BindingController(bc, cl, metrics, deploy)
	tg.Workers, tg.BackOff = s.Config.Workers.Binding, queue.ExponentialBackOff[bindings.Key](durations.FirstDelay, s.Config.Targets.MaxBackoff)
	if err := tg.Add(mgr, source, withEndpointKind(s.Config, BindingKinds()), lines); err != nil {
		return err
	}
	versions := &Versions{}
	if servesGateways(s.Config.Gates) {
		if err := addVersions(ctx, s, mgr, source, versions); err != nil {
			return err
		}
	}
	gc := ClassController(s.Config, cl, metrics, fence, clock.RealClock{}, versions)
	gc.Workers = s.Config.Workers.GatewayClass
	if err := gc.Add(mgr, source, ClassKinds(), lines); err != nil {
		return err
	}
	isRead := func(r cluster.Ref) bool { return st.Triggers.IsRead(r) || gc.Triggers.IsRead(r) }
	runnables := []manager.Runnable{
		manager.RunnableFunc(func(ctx context.Context) error {
			return syncRulesPeriodically(ctx, afterStartup(source.WaitForSync), bound.SyncRules, lines.WithName(bindingControllerName))
		}),
		manager.RunnableFunc(func(ctx context.Context) error { return RepeatEvents(ctx, cl.RepeatEvents) }),
		allReplicasRunnable{manager.RunnableFunc(func(ctx context.Context) error {
			return dropUnusedSecrets(ctx, source, secrets, isRead)
		})},
	}
	if v, ok := aws.Stacks.(DriftReader); ok && s.Config.Drift != config.DriftOff {
		watch := DriftWatch(v, bound, lines.WithName("drift"))
		runnables = append(runnables, manager.RunnableFunc(func(ctx context.Context) error {
			if source.WaitForSync(ctx) == nil {
				watch.Run(ctx)
			}
			return nil
		}))
	}
	if aws, ok := aws.Stacks.(OwnedLister); ok {
		find := func(ctx context.Context) ([]Orphan, error) {
			found, err := FindOrphans(ctx, aws, cl.View, frontends, s.Config.Kubernetes.WatchNamespace)
			enqueueOrphanAccelerators(found, st.Enqueuer.Enqueue)
			return found, err
		}
		runnables = append(runnables, manager.RunnableFunc(func(ctx context.Context) error {
			return watchOrphans(ctx, source.WaitForSync, find, metrics, lines.WithName("orphans"))
		}))
	}
	for _, r := range runnables {
		if err := mgr.Add(r); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// connections has the connections to AWS and the API server, for the normal mode and for shadow mode.
type connections struct {
	aws     AWS
	mgr     manager.Manager
	source  *kube.Source
	secrets *kube.Secrets
}

// connect connects to AWS and the API server. It creates the manager and the source of objects, and adds the metric of
// object counts and the readiness check.
func connect(ctx context.Context, s Setup, fence engine.Fence, lease *kube.Lease, probes *Probes, metrics *Metrics) (c connections, err error) {
	if c.aws, err = connectAWS(ctx, s, fence, metrics); err != nil {
		return c, err
	}
	if c.mgr, err = newManager(s, lease); err != nil {
		return c, err
	}
	if c.source, c.secrets, err = newSource(ctx, s, c.mgr); err != nil {
		return c, err
	}
	if err := addOptionalKinds(ctx, s, c.aws, c.mgr, c.source); err != nil {
		return c, err
	}
	if err := ctrlmetrics.Registry.Register(objectCounts{c.source}); err != nil {
		return c, fmt.Errorf("register metrics: %w", err)
	}
	addProbes(probes, c.source)
	return c, nil
}

// newManager returns the manager, which starts and stops all parts of the process: first servers, then caches, and, when
// this process has become the leader, controllers. It releases the lease after the controllers have stopped.
func newManager(s Setup, lease *kube.Lease) (manager.Manager, error) {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, k := s.Config, s.Config.Kubernetes
	leaseDuration, renew, retry := durations.LeaseDuration, durations.RenewDeadline, durations.RetryPeriod
	opts := manager.Options{
		Scheme: scheme, Logger: s.Log,
		Cache:                  kube.CacheOptions(scheme, k.WatchNamespace, k.SyncPeriod, c.Targets.QUICVariable),
		Metrics:                metricsserver.Options{BindAddress: c.Serving.Metrics},
		HealthProbeBindAddress: "0", // no probes of the manager: Probes serves probes before the manager exists
		LeaseDuration:          &leaseDuration, RenewDeadline: &renew, RetryPeriod: &retry,
		LeaderElectionReleaseOnCancel: true,
	}
	if lease != nil {
		opts.LeaderElection, opts.LeaderElectionResourceLockInterface = true, lease
		opts.LeaderElectionID = c.Election.ID
	}
	mgr, err := manager.New(s.REST, opts)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return mgr, nil
}

// newSource returns the source of objects, which reads from informers, and the watches of Secrets.
func newSource(ctx context.Context, s Setup, mgr manager.Manager) (*kube.Source, *kube.Secrets, error) {
	core, err := corev1client.NewForConfigAndClient(s.REST, mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("create the client for Secrets: %w", err)
	}
	secrets := kube.NewSecrets(ctx, core, s.Log.WithName("secrets"))
	source, err := kube.NewSource(ctx, mgr.GetCache(), s.Config.Kubernetes.WatchNamespace, withEndpointKind(s.Config, watchedKinds), secrets)
	if meta.IsNoMatchError(err) {
		return nil, nil, fmt.Errorf("the custom resource definitions of elbv2.k8s.aws are not installed: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	source.Lookups = kube.NewLookups(mgr.GetAPIReader(), clock.RealClock{})
	source.AddOptionalKinds(optionalKinds())
	return source, secrets, nil
}

// addProbes adds the readiness check that the cache is complete. Readiness does not depend on leadership.
func addProbes(p *Probes, source *kube.Source) {
	p.AddReadinessCheck("ready-cache", func(*http.Request) error {
		if !source.Synced() {
			return fmt.Errorf("the cache of Kubernetes objects is not complete yet")
		}
		return nil
	})
}

// dropUnusedSecrets ends the watches of Secrets for which isRead returns false, periodically until ctx ends.
func dropUnusedSecrets(ctx context.Context, source *kube.Source, secrets *kube.Secrets, isRead func(cluster.Ref) bool) error {
	if err := source.WaitForSync(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	for pause(ctx, durations.SweepInterval) {
		secrets.Retain(isRead)
	}
	return nil
}

// allReplicasRunnable is a runnable that also runs if this process is not the leader.
type allReplicasRunnable struct{ manager.Runnable }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (allReplicasRunnable) NeedLeaderElection() bool { return false }
