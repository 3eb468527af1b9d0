package bindings

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// maxPlanRounds is the maximum number of times that a plan may request more facts before the run fails. A correct plan needs
// fewer than ten rounds.
const maxPlanRounds = 20

// reader is the part of a run that reads facts and makes plans from them.
type reader struct{ *run }

// initialFacts returns the facts with which every plan begins: the stored TargetGroupBinding, the memory of earlier runs,
// and the pods that have the readiness gate of the binding.
func (p reader) initialFacts() (*bindingplan.Facts, error) {
	r := p.r
	p.view = r.Cluster.View()
	b, ok := cluster.Get[*elbv2.TargetGroupBinding](p.view, cluster.KindBinding, p.key.Namespace, p.key.Name)
	if err := p.view.Err(); err != nil {
		return nil, err
	}
	f := &bindingplan.Facts{Key: p.key, Options: r.planOptions(), StoredBinding: b, Absent: !ok}
	if ok {
		p.checkpoint = b.Annotations[targets.CheckpointAnnotation]
	} else {
		f.StoredBinding = r.memory.get(p.key).lastKnownBinding()
		f.CompletedBinding = f.StoredBinding
	}
	f.Now, f.Memory = r.Clock.Now(), r.memory.planMemory(p.key)
	var err error
	f.GatedPods, err = p.podsWithReadinessGate()
	return f, err
}

func (r *Reconciler) planOptions() bindingplan.Options {
	return bindingplan.Options{MaxTargets: r.MaxTargetsPerTargetGroup, VPC: r.VPC, Requeue: r.Requeue, ResyncAge: resync.MaxReadAge(r.Resync)}
}

// podsWithReadinessGate returns the pods that have the readiness gate of the binding, except those whose condition is already
// targets.ReleasedCondition.
func (p reader) podsWithReadinessGate() ([]*corev1.Pod, error) {
	gate := readinessGateConditionType(p.key)
	v := p.r.Cluster.View().Unsubscribed() // a change of these pods does not require a run of the binding
	pods := cluster.List[*corev1.Pod](v, cluster.Query{
		Kind: cluster.KindPod, Namespace: p.key.Namespace, Index: cluster.PodByReadinessGate, Value: p.key.Namespace + "/" + p.key.Name,
	})
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		shown, _, ok := targets.CurrentCondition(pod, gate)
		return !targets.HasReadinessGate(pod, gate) || ok && shown == targets.ReleasedCondition
	}), v.Err()
}

// readinessGateConditionType returns the condition type of the readiness gate of a binding.
func readinessGateConditionType(key Key) corev1.PodConditionType {
	return targets.ReadinessGateType(key.Name)
}

// resolveEndpoints reads the target group from AWS and the endpoints from the cluster, and stores them in f. Before the
// endpoints are used, it passes the objects that were read to Recorder.RecordView, so that a later change of one of them
// enqueues the binding.
func (p reader) resolveEndpoints(ctx context.Context, f *bindingplan.Facts) error {
	p.describeBinding(ctx, f)
	if f.DescribeFailure == nil {
		f.Resolution = targets.Resolve(p.view, f.CompletedBinding, p.r.Targets)
		p.demand = targets.RuleDemandOf(p.view, f.CompletedBinding, f.Resolution)
		if f.Resolution.NoEndpointsReason != nil {
			f.Owners = p.r.Owners(f.CompletedBinding)
		}
	}
	p.r.Recorder.RecordView(p.key, p.view)
	if err := p.view.Err(); err != nil {
		return err
	}
	var err error
	f.DesiredCheckpoint, err = f.Resolution.Checkpoint(f.StoredBinding.Spec)
	return err
}

// makePlan calls make to make a plan from f, and reads the facts that the plan requests into f. It repeats this until the
// plan requests no more facts.
func (p reader) makePlan(ctx context.Context, f *bindingplan.Facts, make func(*bindingplan.Facts) bindingplan.Plan) (bindingplan.Plan, error) {
	for range maxPlanRounds {
		plan := make(f)
		if len(plan.Questions) == 0 {
			p.subscribe(plan.WatchedObjects)
			return plan, nil
		}
		for _, a := range plan.Questions {
			more, err := p.readFact(ctx, f, a)
			if err != nil {
				return plan, err
			}
			if !more {
				break
			}
		}
	}
	return bindingplan.Plan{}, fmt.Errorf("the plan of binding %s still requests facts after %d rounds", p.key, maxPlanRounds)
}

// subscribe subscribes the view of the run to objects, so that their changes enqueue the binding.
func (p reader) subscribe(refs []cluster.Ref) {
	if len(refs) == 0 {
		return
	}
	for _, ref := range refs {
		p.view.Subscribe(ref.Kind, ref.Namespace, ref.Name)
	}
	p.r.Recorder.RecordView(p.key, p.view)
}

// readFact reads the fact that question a requests, and stores it in f. more is false if the plan must be made again before
// the other questions of this plan are answered.
func (p reader) readFact(ctx context.Context, f *bindingplan.Facts, a bindingplan.Question) (more bool, err error) {
	switch a := a.(type) {
	case bindingplan.AskDescribed:
		p.describeBinding(ctx, f)
	case bindingplan.AskTargetGroup:
		f.LiveTargetGroup = p.readTargetGroup(ctx, f)
	case bindingplan.AskConflict:
		f.Conflict, err = p.readConflict(ctx, f)
	case bindingplan.AskRecord:
		f.Record = p.readTargetRecord(ctx, f, a.BindingDeleted)
		return f.Record.Failure == nil, nil
	case bindingplan.AskHealth:
		p.readHealth(ctx, f, a)
	case bindingplan.AskServing:
		f.ServingPods, err = p.readServingPods(f.ServingPods, a)
	case bindingplan.AskNetwork:
		f.Network, err = p.readNetwork(ctx, f, a.Endpoints)
	case bindingplan.AskInUse:
		used, uerr := p.readTargetGroupInUse(ctx, f.StoredBinding)
		f.InUse = &bindingplan.UsageAnswer{Used: used}
		if uerr != nil {
			f.InUse.Failure = p.r.failureOf(uerr)
		}
	case bindingplan.AskForwards:
		f.Forwards = p.readForwards(ctx, f)
	case bindingplan.AskNeededByStack:
		wanted, werr := p.r.isStackDesired(f.StoredBinding)
		f.NeededByStack, err = &wanted, werr
	case bindingplan.AskTargetsWithoutBackend:
		f.TargetsWithoutBackend, err = p.readTargetsWithoutBackend(a)
	}
	return true, err
}

// describeBinding sets f.CompletedBinding to the stored binding, completed with the properties of its target group in AWS.
// If that fails, it sets f.DescribeFailure.
func (p reader) describeBinding(ctx context.Context, f *bindingplan.Facts) {
	if f.CompletedBinding = f.StoredBinding; !f.NeedsCompletion() {
		return
	}
	w, err := p.r.completedBinding(ctx, f.StoredBinding)
	if err != nil {
		f.DescribeFailure = p.r.failureOf(err)
		return
	}
	f.CompletedBinding = w
}

// completedBinding returns the binding with the ARN and target type of its target group, and with the other fields that its
// spec lacks, if they can be read. It fails only if the ARN or the target type is missing and cannot be read.
func (r *Reconciler) completedBinding(ctx context.Context, b *elbv2.TargetGroupBinding) (*elbv2.TargetGroupBinding, error) {
	needed, age := bindingplan.IsUnusable(b), durations.StableFactAge
	if !bindingplan.IsIncomplete(b) || !needed && bindingplan.UnsupportedFinding(b) != nil {
		return b, nil
	}
	if needed {
		age = durations.OverdueDeadline
	}
	g, err := r.Cloud.TargetGroupsOf(accountOf(b)).TargetGroup(ctx, b.Spec.TargetGroupARN, b.Spec.TargetGroupName, age)
	switch {
	case err == nil:
		return g.CompleteBinding(b), nil
	case needed:
		return nil, fmt.Errorf("look up target group %s%s: %w", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, err)
	}
	return b, nil
}

// readTargetGroup reads the target group from AWS, to compare the spec of the binding with it. If the read fails, it returns
// an empty answer and the run continues, because AWS also validates the targets.
func (p reader) readTargetGroup(ctx context.Context, f *bindingplan.Facts) *bindingplan.TargetGroupAnswer {
	g, err := p.targetGroups(f).TargetGroup(ctx, f.CompletedBinding.Spec.TargetGroupARN, "", durations.StableFactAge)
	if err != nil {
		return &bindingplan.TargetGroupAnswer{}
	}
	return &bindingplan.TargetGroupAnswer{TargetGroup: &g}
}

// readHealth reads the registered targets and their health into f.Health.
func (p reader) readHealth(ctx context.Context, f *bindingplan.Facts, a bindingplan.AskHealth) {
	arn := f.CompletedBinding.Spec.TargetGroupARN
	start := p.r.Clock.Now()
	h, err := p.targetGroups(f).TargetHealth(ctx, arn, a.MaxAge)
	p.r.recordPhase("health", start)
	f.Health = &bindingplan.Health{Targets: h.Targets, MaxAge: a.MaxAge}
	if err != nil {
		f.Health.Failure = p.r.failureOf(fmt.Errorf("list targets of %s: %w", arn, err))
	}
	f.Now = p.r.Clock.Now()
}

// readForwards reads whether any load balancer forwards to the target group.
func (p reader) readForwards(ctx context.Context, f *bindingplan.Facts) *bindingplan.ForwardingAnswer {
	used, err := p.targetGroups(f).IsInUse(ctx, f.CompletedBinding.Spec.TargetGroupARN)
	out := &bindingplan.ForwardingAnswer{Found: used}
	if err != nil {
		out.Failure = p.r.failureOf(fmt.Errorf("determine whether target group %s is in use: %w", f.CompletedBinding.Spec.TargetGroupARN, err))
	}
	return out
}

// readServingPods returns the pods in known, and the pods that have the address of a target that question a names.
func (p reader) readServingPods(known *bindingplan.ServingPods, a bindingplan.AskServing) (*bindingplan.ServingPods, error) {
	out := &bindingplan.ServingPods{AskedAddresses: map[string]bool{}, Pods: map[string]*corev1.Pod{}}
	if known != nil {
		maps.Copy(out.AskedAddresses, known.AskedAddresses)
		maps.Copy(out.Pods, known.Pods)
	}
	v := p.r.Cluster.View().Unsubscribed() // the plan watches the pods that were found; subscribing here would watch all pods
	for _, t := range a.Targets {
		out.AskedAddresses[t.ID] = true
		if pod := targets.ServingPodAt(v, p.key.Namespace, t.ID); pod != nil {
			out.Pods[t.ID] = pod
		}
	}
	return out, v.Err()
}

// readTargetsWithoutBackend finds the targets whose pod or node does not exist any more.
func (p reader) readTargetsWithoutBackend(a bindingplan.AskTargetsWithoutBackend) (*bindingplan.TargetsWithoutBackend, error) {
	// The first call only subscribes the view. The view is recorded before the targets are read, so that no later change is
	// missed.
	targets.StaleTargets(p.view, p.key.Namespace, a.Targets)
	p.r.Recorder.RecordView(p.key, p.view)
	if err := p.view.Err(); err != nil {
		return nil, err
	}
	v := p.r.Cluster.View().Unsubscribed()
	return &bindingplan.TargetsWithoutBackend{Targets: targets.StaleTargets(v, p.key.Namespace, a.Targets)}, v.Err()
}

// readConflict finds other bindings of the same target group that have precedence over this binding. Bindings that are being
// deleted are ignored, so that this binding can register its targets before the deletion empties the target group.
func (p reader) readConflict(ctx context.Context, f *bindingplan.Facts) (*bindingplan.Conflict, error) {
	b, w := f.StoredBinding, f.CompletedBinding
	if w == nil {
		w = b
	}
	v := p.r.Cluster.View().Unsubscribed()
	var others []*elbv2.TargetGroupBinding
	for _, o := range bindingsOfTargetGroup(v, w) {
		if (o.Namespace != b.Namespace || o.Name != b.Name) && o.DeletionTimestamp == nil && bindingplan.SameTargetGroup(o, w) {
			others = append(others, o)
		}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	// If the owner namespaces cannot be read, the oldest binding has precedence, as for a target group that the controller
	// did not create.
	owners, _ := p.r.Cloud.TargetGroupsOf(Account{}).OwnerNamespaces(ctx, w.Spec.TargetGroupARN, len(others) > 0)
	out := bindingplan.ConflictOf(b, others, owners)
	return &out, nil
}

// bindingsOfTargetGroup returns the bindings of all namespaces that may have the same target group as binding b. It looks
// them up by the name of the target group, so the result can contain bindings of another target group with the same name.
func bindingsOfTargetGroup(v *cluster.View, b *elbv2.TargetGroupBinding) []*elbv2.TargetGroupBinding {
	return cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{
		Kind: cluster.KindBinding, Index: cluster.BindingByTargetGroup, Value: cluster.TargetGroupName(b),
	})
}

// readNetwork reads the CIDR blocks of the VPC. For endpoints with an address outside of the VPC, it also reads the
// Availability Zones of the nodes of their pods.
func (p reader) readNetwork(ctx context.Context, f *bindingplan.Facts, endpoints []targets.Endpoint) (*bindingplan.Network, error) {
	n := &bindingplan.Network{VPC: f.CompletedBinding.Spec.VpcID, Zones: map[string]string{}, ZonesRequired: p.r.memory.get(p.key).needsZones(p.r.Clock.Now())}
	if n.VPC == "" {
		n.VPC = p.r.VPC
	}
	ranges, err := p.r.Cloud.VPCRanges(ctx, n.VPC)
	switch {
	case err != nil && p.r.Cloud.Class(err) == failure.Gone && accountOf(f.StoredBinding) != (Account{}):
		return n, nil // not an error, because the VPC may belong to another account
	case err != nil && p.r.Cloud.Class(err) == failure.Gone:
		n.Failure = p.r.failureOf(bindingplan.UserError{Finding: finding.Finding{
			Object: targets.BindingRef(f.StoredBinding), Field: "spec.vpcID", Reason: finding.RejectedByAWS, Severity: finding.Error,
			Message: fmt.Sprintf("VPC %q does not exist, or the account of the controller cannot see it", n.VPC), Fix: "correct spec.vpcID",
		}})
		return n, nil
	case err != nil:
		n.Failure = p.r.failureOf(fmt.Errorf("read ranges of VPC %s: %w", n.VPC, err))
		return n, nil
	}
	n.Ranges = ranges
	v := p.r.Cluster.View().Unsubscribed() // no subscription, because a node does not change its Availability Zone
	for _, e := range endpoints {
		if e.Pod == nil || !n.IsOutsideVPC(e.ID) {
			continue
		}
		if node, ok := cluster.Get[*corev1.Node](v, cluster.KindNode, "", e.Pod.Spec.NodeName); ok {
			n.Zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
		}
	}
	return n, v.Err()
}
