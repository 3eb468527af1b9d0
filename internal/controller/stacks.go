package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	awsdurations "github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// Frontends returns an engine.Frontend for each kind of stack that the configuration enables. A Frontend translates the
// objects of a kind to stacks.
func Frontends(c config.Config) engine.Frontends {
	out := engine.Frontends{model.Ingress: ingress.New(ingressOptions(c))}
	if c.Gates.IsEnabled(config.EnableServiceController) {
		out[model.Service] = service.New(serviceOptions(c))
	}
	for kind, gate := range map[model.Kind]config.Gate{model.ALBGateway: config.ALBGatewayAPI, model.NLBGateway: config.NLBGatewayAPI} {
		if c.Gates.IsEnabled(gate) {
			out[kind] = gateway.New(kind, gatewayOptions(c))
		}
	}
	if servesAccelerators(c) {
		out[model.GlobalAccelerator] = accelerator.New(acceleratorOptions(c, maps.Clone(out)))
	}
	return out
}

// acceleratorOptions returns the options for GlobalAccelerators. frontends translate the load balancers that can be
// endpoints of an accelerator.
func acceleratorOptions(c config.Config, frontends engine.Frontends) accelerator.Options {
	return accelerator.Options{
		Cluster: c.ClusterName, DefaultTags: c.Defaults.Tags, DefaultTagsLowPriority: c.Gates.IsEnabled(config.EnableDefaultTagsLowPriority),
		AllowMassRemoval: c.AllowMassRemoval,
		ExternalTags:     c.Defaults.ExternalManagedTags, Frontends: frontends,
		EndpointIDs: c.Accelerators.EndpointIDs, AddressNamespaces: c.Accelerators.AddressNamespaces, MaxPerNamespace: c.Accelerators.MaxPerNamespace,
		IsolatedTenancy: c.Ingress.Tenancy == string(ingress.Isolated), WatchedNamespace: c.Kubernetes.WatchNamespace,
		ReadEndpoints: !c.Targets.EndpointSlices,
	}
}

// sharedOptions returns the options that the translations of Ingresses, Services and Gateways share.
func sharedOptions(c config.Config) assemble.Options {
	key, value, _ := c.SecretsLabel()
	return assemble.Options{
		SecretLabel:       assemble.Label{Key: key, Value: value},
		ServiceAccount:    c.Kubernetes.ServiceAccount,
		Cluster:           c.ClusterName,
		DefaultScheme:     model.Scheme(c.Defaults.Scheme),
		DefaultTargetType: model.TargetType(c.Defaults.TargetType),
		DefaultSSLPolicy:  c.Defaults.SSLPolicy,
		DefaultTags:       c.Defaults.Tags, DefaultTagsLowPriority: c.Gates.IsEnabled(config.EnableDefaultTagsLowPriority),
		ExternalTags:         c.Defaults.ExternalManagedTags,
		BackendSecurityGroup: c.Security.BackendSecurityGroupID, NoBackendSecurityGroup: !c.Security.BackendSecurityGroup,
		ManageBackendRules: c.Security.ManageBackendRules, UnrestrictedRules: c.Security.UnrestrictedRules,
		NoSecurityGroups: !c.Gates.IsEnabled(config.NLBSecurityGroup),
		NoIPTargets:      !c.Gates.IsEnabled(config.EnableIPTargetType), NoCapacityReservations: !c.Gates.IsEnabled(config.LBCapacityReservation),
		NoWeightedTargetGroups: !c.Gates.IsEnabled(config.WeightedTargetGroups),
		NoWAFv2:                !c.Ingress.WAFv2, NoWAFClassic: !c.Ingress.WAFClassic, NoShield: !c.Ingress.Shield,
		ManageCertificates: c.Gates.IsEnabled(config.EnableCertificateManagement), DefaultCA: c.Ingress.DefaultPCA,
		StrictGroups: c.StrictIngressGroups, AllowMassRemoval: c.AllowMassRemoval,
		Conditions: assemble.ConditionLimits{Values: c.Ingress.ConditionValues, Wildcards: c.Ingress.ConditionWildcards}, MaxRules: c.Ingress.MaxRules,
	}
}

func ingressOptions(c config.Config) ingress.Options {
	shared := sharedOptions(c)
	shared.ImportCertificates = c.ImportsSecretsOf(config.IngressSecrets)
	return ingress.Options{
		Options: shared, Class: c.Ingress.Class,
		RequireServices: !c.Ingress.TolerateMissingService, RequireActions: !c.Ingress.TolerateMissingAction,
		Tenancy: ingress.Tenancy(c.Ingress.Tenancy), MaxListeners: c.Ingress.MaxListeners,
		ExactRegexHosts: c.Ingress.ExactRegexHosts,
		DescribePlan:    c.Gates.IsEnabled(config.IngressPlanAnnotation),
	}
}

func serviceOptions(c config.Config) service.Options {
	return service.Options{
		Options: sharedOptions(c), Class: c.Service.Class, OnlyLoadBalancers: c.Gates.IsEnabled(config.ServiceTypeLoadBalancerOnly),
		MergeTCPUDP: c.Gates.IsEnabled(config.EnableTCPUDPListener), BasicHealthChecks: !c.Gates.IsEnabled(config.NLBHealthCheckAdvancedConfig),
		CrossNamespaceGroups: c.Service.CrossNamespaceGroups,
	}
}

func gatewayOptions(c config.Config) gateway.Options {
	shared := sharedOptions(c)
	shared.ImportCertificates = c.ImportsSecretsOf(config.GatewaySecrets)
	return gateway.Options{
		Options: shared, ListenerSets: c.Gates.IsEnabled(config.GatewayListenerSet),
	}
}

// PlanOptions returns the options that plans depend on.
func PlanOptions(c config.Config, vpc string) plan.Options {
	return plan.Options{
		Cluster: c.ClusterName, VPC: vpc, ExternalTags: c.Defaults.ExternalManagedTags,
		RuleTags:           c.Gates.IsEnabled(config.ListenerRulesTagging),
		SubnetClusterCheck: c.Gates.IsEnabled(config.SubnetsClusterTagCheck), ReplaceForHealthChecks: !c.Gates.IsEnabled(config.NLBHealthCheckAdvancedConfig),
		SingleSubnet:       c.Gates.IsEnabled(config.ALBSingleSubnet),
		EnhancedDefaults:   c.Gates.IsEnabled(config.EnhancedDefaultBehavior),
		StrictGroups:       c.StrictIngressGroups,
		AllowedCAs:         c.Ingress.CertificateAuthorities,
		ManageCertificates: c.Gates.IsEnabled(config.EnableCertificateManagement), ImportCertificates: len(c.ImportTLSSecrets) > 0,
		SkipManagedCertificates: c.Gates.IsEnabled(config.EnableCertificateManagement),
		CreateFirst:             c.Replacement.Order == config.CreateFirst, DeletionDelay: c.Replacement.DeletionDelay,
		Accelerators: servesAccelerators(c),
		Propagation:  awsdurations.PropagationDelay, Stabilization: max(c.AWS.Stabilization, 0),
	}
}

// stackReconciler implements queue.Reconciler for stacks, with an engine.Engine.
type stackReconciler struct {
	stackDescriber
	engine   *engine.Engine
	cluster  *kube.Cluster
	triggers *queue.Triggers[model.StackID]
	metrics  *Metrics
	enqueuer *queue.Enqueuer[model.StackID]
}

// StackController returns the controller of stacks. It sets cfg.Recorder, and wraps cfg.Cloud with a check of the cluster
// name.
func StackController(cfg engine.Config, cl *kube.Cluster, m *Metrics, log logr.Logger) queue.Controller[model.StackID] {
	s := &stackReconciler{cluster: cl, metrics: m, enqueuer: &queue.Enqueuer[model.StackID]{}}
	s.triggers = StackTriggers(cl, cfg.Frontends, cl.Members)
	aws := cfg.Cloud
	cfg.Recorder = stackRecorder{stackReadRecorder{triggers: s.triggers}, m, log}
	cfg.Cloud = &clusterNameCheck{Cloud: aws, clusterName: cfg.Options.Cluster, log: log}
	s.engine = engine.New(cfg)
	if v, ok := aws.(DriftReader); ok && s.engine.Drift != engine.IgnoreDrift {
		v.SetDriftNotifier(s)
	}
	return queue.Controller[model.StackID]{
		Name: model.Ingress.ControllerName(), Triggers: s.triggers, Reconciler: s, Enqueuer: s.enqueuer, Metrics: m,
	}
}

// StackKinds returns the kinds of objects that the translation of stacks reads.
func StackKinds() []cluster.Kind {
	return slices.Concat([]cluster.Kind{cluster.KindSecret}, watchedKinds, optionalKinds())
}

// StackTriggers returns the triggers of the stacks of all frontends. If members is not nil, it records the stacks to which
// objects belong.
func StackTriggers(cl queue.Cluster, frontends engine.Frontends, members *cluster.Memberships) *queue.Triggers[model.StackID] {
	return queue.NewTriggers(cl, rootKindsOf(frontends), stackChanges{frontends, members})
}

// stackChanges implements queue.Changes for stacks.
type stackChanges struct {
	frontends engine.Frontends
	members   *cluster.Memberships
}

// Items implements queue.Changes.
func (c stackChanges) Items(v *cluster.View, obj cluster.Object) []model.StackID {
	return c.frontends.Stacks(v, obj)
}

// RecordRootChange implements queue.Changes.
func (c stackChanges) RecordRootChange(old, new cluster.Object) {
	if c.members != nil {
		c.members.RecordChange(old, new)
	}
}

// Ignores implements queue.Changes. It ignores a change of a TargetGroupBinding that only changes its checkpoint: the
// checkpoint changes with each replaced pod and does not affect the stack.
func (stackChanges) Ignores(old, new cluster.Object) bool {
	a, ok := old.(*elbv2.TargetGroupBinding)
	b, ok2 := new.(*elbv2.TargetGroupBinding)
	return ok && ok2 && a != nil && b != nil && targets.OnlyCheckpointDiffers(a, b)
}

// rootKindsOf returns the kinds of the objects that own the stacks of the frontends, sorted.
func rootKindsOf(frontends engine.Frontends) []cluster.Kind {
	var out []cluster.Kind
	for kind := range frontends {
		out = append(out, ownership.RootKind(kind))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Tenant implements queue.Reconciler.
func (s *stackReconciler) Tenant(id model.StackID) string {
	return ownership.Tenant(s.cluster.View().CacheOnly(), id)
}

// Reconcile implements queue.Reconciler.
func (s *stackReconciler) Reconcile(ctx context.Context, id model.StackID) (queue.NextRun, error) {
	s.metrics.topConsumers.countRun(id.Kind.ConsumerName(), id.Namespace, id.Name)
	if s.cluster.Store != nil {
		s.cluster.Store.Persist(ctx) // stores which objects have left which stacks, before the run uses this information
	}
	began := time.Now()
	out, err := s.engine.Reconcile(model.WithTenant(ctx, s.Tenant(id)), id)
	if id.Kind.HasAccelerator() {
		s.metrics.recordPhase(id.Kind.ControllerName(), "run", time.Since(began))
	}
	if err == nil || len(out.Findings) > 0 {
		s.metrics.findings.set(id, out.Findings)
	}
	switch {
	case out.Deferred:
		return queue.NextRun{After: out.RetryAfter, Idle: true}, nil
	case out.IsStackDeleted() && err == nil:
		s.triggers.Forget(id)
	case out.View != nil:
		s.triggers.RecordReads(id, out.View) // includes the reads of the report
	}
	log := logr.FromContextOrDiscard(ctx)
	if debug := log.V(1); debug.Enabled() {
		debug.Info("planned stack", "model", out.Stack, "plan", out.Plan.Text())
	}
	log.V(1).Info("reconciled", "changed", out.Changed, "done", out.Done,
		"retryAfter", out.RetryAfter.String(), "findings", len(out.Findings))
	switch held := out.Findings.CountErrors(); {
	case out.Changed && out.Done && held == 0:
		log.Info("applied plan")
	case out.Changed && held > 0:
		log.Info("applied plan partially", "held", held)
	}
	if err == nil {
		err = out.Err
	} else if out.RetryAfter > 0 && out.FailedPhase != engine.ReportPhase {
		if postponed := failure.PostponedFor(err); postponed > 0 {
			queue.LogPostponed(log, postponed, err)
		}
		return queue.NextRun{After: out.RetryAfter}, nil // a postponed run is not a failure
	}
	if err != nil && s.isFenced() {
		return queue.NextRun{After: durations.RetryPeriod}, nil
	}
	for _, c := range errorCategories(id.Kind, out) {
		s.metrics.errors.WithLabelValues(id.Kind.ControllerName(), c).Inc()
	}
	if err != nil {
		return queue.NextRun{After: out.RetryAfter}, err
	}
	return queue.NextRun{After: out.RetryAfter, Idle: out.Idle}, nil
}

// errorCategories returns the values of the label error_category for a run, sorted and without duplicates. A finding that
// blocks a part of the desired state is counted as build_model_error, as existing dashboards expect, although such a finding
// does not stop the run.
func errorCategories(kind model.Kind, out engine.Outcome) []string {
	found := map[string]bool{}
	failed := func(phase string) { found[stageOf(kind.ControllerName(), phase)+"_error"] = true }
	switch {
	case out.Err == nil || out.FailedPhase == engine.ApplyPhase:
	case (out.FailedPhase == engine.ViewPhase || out.FailedPhase == engine.ReportPhase) && kind.HasAccelerator():
		failed("run")
	case out.FailedPhase == engine.ViewPhase, out.FailedPhase == engine.ReportPhase:
		failed(string(out.FailedPhase))
	default:
		failed("plan")
	}
	if out.Findings.LargestReach() > finding.BlocksNothing {
		failed("plan")
	}
	for _, f := range out.FailedSteps {
		if isTransientFailure(f) {
			continue
		}
		switch f.Step.Do.(type) {
		case plan.ClaimFinalizer:
			failed("claim")
		case plan.ReleaseFinalizer:
			failed("release")
		default:
			failed("apply")
		}
	}
	if kind.HasAccelerator() {
		addParentCategories(found, out.FailedSteps)
	}
	return slices.Sorted(maps.Keys(found))
}

// isTransientFailure reports whether metrics do not count a failed step as an error, because a later run is expected to
// carry it out.
func isTransientFailure(f engine.FailedStep) bool {
	switch f.Class {
	case failure.Gone, failure.Conflict, failure.InUse, failure.NotReady:
		return true
	}
	return false
}

// isFenced reports whether this process may not write now. In this case, a failed run is not reported as an error, because
// the fence has stopped the run, or the new leader will repeat the run.
func (s *stackReconciler) isFenced() bool { return s.engine.Fence.CheckFence() != nil }

// stackDescriber implements the methods of queue.Reconciler that describe stacks.
type stackDescriber struct{}

// Tenant implements queue.Reconciler. The tenant is the namespace of the stack, or the IngressGroup, which has no namespace.
func (stackDescriber) Tenant(id model.StackID) string { return cmp.Or(id.Namespace, "group "+id.Name) }

// Controller implements queue.Reconciler. Each kind of stack has its own name.
func (stackDescriber) Controller(id model.StackID) string { return id.Kind.ControllerName() }

// Label implements queue.Reconciler.
func (stackDescriber) Label(id model.StackID) []any {
	return []any{"kind", string(id.Kind), "stack", id.String(), id.Kind.LogKey(), id.String(), "namespace", id.Namespace, "name", id.Name}
}
