package bindings

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// mostReads is how often a plan may ask for more facts. It needs fewer than ten reads.
const mostReads = 20

// reader is the part of a run that reads facts, and makes plans from them.
type reader struct{ *run }

// facts returns the facts that every plan begins with.
func (p reader) facts() (*bindingplan.Facts, error) {
	r := p.r
	p.v = r.Cluster.View()
	b, ok := cluster.Get[*elbv2.TargetGroupBinding](p.v, cluster.KindBinding, p.key.Namespace, p.key.Name)
	if err := p.v.Err(); err != nil {
		return nil, err
	}
	f := &bindingplan.Facts{Key: p.key, Options: r.planOptions(), Stored: b, Absent: !ok}
	if ok {
		p.checkpoint = b.Annotations[targets.CheckpointAnnotation]
	} else {
		f.Stored = r.memory.get(p.key).lastKnown()
		f.Described = f.Stored
	}
	f.Now, f.Memory = r.Clock.Now(), r.memory.planned(p.key)
	var err error
	f.GatedPods, err = p.gatedPods()
	return f, err
}

func (r *Reconciler) planOptions() bindingplan.Options {
	return bindingplan.Options{MaxTargets: r.MaxTargets, VPC: r.VPC, Requeue: r.Requeue, ResyncAge: resync.MaxAge(r.Resync)}
}

// gatedPods returns the pods with the binding's readiness gate that were not released yet.
func (p reader) gatedPods() ([]*corev1.Pod, error) {
	gate := gateOf(p.key)
	v := p.r.Cluster.View().Unsubscribed() // not of the run: nothing has to happen when these pods change
	pods := cluster.List[*corev1.Pod](v, cluster.Query{
		Kind: cluster.KindPod, Namespace: p.key.Namespace, Index: cluster.PodByGate, Value: p.key.Namespace + "/" + p.key.Name,
	})
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		shown, _, ok := targets.CurrentCondition(pod, gate)
		return !targets.Gated(pod, gate) || ok && shown == targets.Released
	}), v.Err()
}

// gateOf returns the type of the readiness gate of a binding.
func gateOf(key Key) corev1.PodConditionType {
	return corev1.PodConditionType(targets.GatePrefix + key.Name)
}

// resolve reads what AWS knows of the target group and the cluster of the endpoints. The view is registered before the
// answers count, so that no change is missed.
func (p reader) resolve(ctx context.Context, f *bindingplan.Facts) error {
	p.describe(ctx, f)
	if f.Undescribed == nil {
		f.Found = targets.Resolve(p.v, f.Described, p.r.Targets)
		p.demand = targets.Ask(p.v, f.Described, f.Found)
		if f.Found.NoEndpoints != nil {
			f.Owners = p.r.Owners(f.Described)
		}
	}
	p.r.Recorder.Viewed(p.key, p.v)
	if err := p.v.Err(); err != nil {
		return err
	}
	var err error
	f.Want, err = f.Found.Checkpoint(f.Stored.Spec)
	return err
}

// plan makes a plan, and reads what it asks for.
func (p reader) plan(ctx context.Context, f *bindingplan.Facts, make func(*bindingplan.Facts) bindingplan.Plan) (bindingplan.Plan, error) {
	for range mostReads {
		plan := make(f)
		if len(plan.Asks) == 0 {
			p.watch(plan.Watch)
			return plan, nil
		}
		for _, a := range plan.Asks {
			more, err := p.read(ctx, f, a)
			if err != nil {
				return plan, err
			}
			if !more {
				break
			}
		}
	}
	return bindingplan.Plan{}, fmt.Errorf("the plan of binding %s asks for facts without end", p.key)
}

// watch adds objects whose changes repeat the run.
func (p reader) watch(refs []cluster.Ref) {
	if len(refs) == 0 {
		return
	}
	for _, ref := range refs {
		p.v.Subscribe(ref.Kind, ref.Namespace, ref.Name)
	}
	p.r.Recorder.Viewed(p.key, p.v)
}

// read reads one fact. It reports whether the facts that were asked for after it are still needed.
func (p reader) read(ctx context.Context, f *bindingplan.Facts, a bindingplan.Ask) (more bool, err error) {
	switch a := a.(type) {
	case bindingplan.AskDescribed:
		p.describe(ctx, f)
	case bindingplan.AskGroup:
		f.Group = p.readGroup(ctx, f)
	case bindingplan.AskConflict:
		f.Conflict, err = p.readConflict(ctx, f)
	case bindingplan.AskRecord:
		f.Record = p.readRecord(ctx, f, a.Leaving)
		return f.Record.Failure == nil, nil
	case bindingplan.AskHealth:
		p.readHealth(ctx, f, a)
	case bindingplan.AskServing:
		f.Serving, err = p.readServing(f.Serving, a)
	case bindingplan.AskNetwork:
		f.Network, err = p.readNetwork(ctx, f, a.Endpoints)
	case bindingplan.AskInUse:
		used, uerr := p.inUse(ctx, f.Stored)
		f.InUse = &bindingplan.InUse{Is: used}
		if uerr != nil {
			f.InUse.Failure = p.r.failure(uerr)
		}
	case bindingplan.AskForwards:
		f.Forwards = p.readForwards(ctx, f)
	case bindingplan.AskWanted:
		wanted, werr := p.r.stackWanted(f.Stored)
		f.Wanted, err = &wanted, werr
	case bindingplan.AskGone:
		f.Gone, err = p.readGone(a)
	}
	return true, err
}

// describe asks AWS for what the binding leaves open.
func (p reader) describe(ctx context.Context, f *bindingplan.Facts) {
	if f.Described = f.Stored; !f.ToComplete() {
		return
	}
	w, err := p.r.described(ctx, f.Stored)
	if err != nil {
		f.Undescribed = p.r.failure(err)
		return
	}
	f.Described = w
}

// described returns the binding with its ARN and target type, and with what else AWS knows if that can be read.
func (r *Reconciler) described(ctx context.Context, b *elbv2.TargetGroupBinding) (*elbv2.TargetGroupBinding, error) {
	needed, age := bindingplan.Unusable(b), durations.Remembered
	if !bindingplan.Incomplete(b) || !needed && bindingplan.Impossible(b) != nil {
		return b, nil
	}
	if needed {
		age = durations.Overdue
	}
	g, err := r.Cloud.As(accountOf(b)).TargetGroup(ctx, b.Spec.TargetGroupARN, b.Spec.TargetGroupName, age)
	switch {
	case err == nil:
		return g.Complete(b), nil
	case needed:
		return nil, fmt.Errorf("look up target group %s%s: %w", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, err)
	}
	return b, nil
}

// readGroup reads the target group that the binding is compared with. What cannot be read holds nothing up: AWS checks
// the targets.
func (p reader) readGroup(ctx context.Context, f *bindingplan.Facts) *bindingplan.GroupAnswer {
	g, err := p.targetGroups(f).TargetGroup(ctx, f.Described.Spec.TargetGroupARN, "", durations.Remembered)
	if err != nil {
		return &bindingplan.GroupAnswer{}
	}
	return &bindingplan.GroupAnswer{Is: &g}
}

// readHealth reads the registered targets.
func (p reader) readHealth(ctx context.Context, f *bindingplan.Facts, a bindingplan.AskHealth) {
	arn := f.Described.Spec.TargetGroupARN
	start := p.r.Clock.Now()
	h, err := p.targetGroups(f).TargetHealth(ctx, arn, a.MaxAge)
	p.r.phase("health", start)
	f.Health = &bindingplan.Health{Targets: h.Targets, MaxAge: a.MaxAge}
	if err != nil {
		f.Health.Failure = p.r.failure(fmt.Errorf("list targets of %s: %w", arn, err))
	}
	f.Now = p.r.Clock.Now()
}

// readForwards reads whether any load balancer uses the target group.
func (p reader) readForwards(ctx context.Context, f *bindingplan.Facts) *bindingplan.Forwards {
	used, err := p.targetGroups(f).InUse(ctx, f.Described.Spec.TargetGroupARN)
	out := &bindingplan.Forwards{Is: used}
	if err != nil {
		out.Failure = p.r.failure(fmt.Errorf("see whether target group %s is in use: %w", f.Described.Spec.TargetGroupARN, err))
	}
	return out
}

// readServing reads the pods at the addresses of targets, besides those that are known.
func (p reader) readServing(known *bindingplan.Serving, a bindingplan.AskServing) (*bindingplan.Serving, error) {
	out := &bindingplan.Serving{Asked: map[string]bool{}, Pods: map[string]*corev1.Pod{}}
	if known != nil {
		maps.Copy(out.Asked, known.Asked)
		maps.Copy(out.Pods, known.Pods)
	}
	v := p.r.Cluster.View().Unsubscribed() // only the pods found are watched, not all that may get the addresses
	for _, t := range a.Targets {
		out.Asked[t.ID] = true
		if pod := targets.ServingAt(v, p.key.Namespace, t.ID); pod != nil {
			out.Pods[t.ID] = pod
		}
	}
	return out, v.Err()
}

// readGone finds the targets that nothing stands for.
func (p reader) readGone(a bindingplan.AskGone) (*bindingplan.Gone, error) {
	// The questions are registered before the answers count, so that no change is missed in between.
	targets.GoneTargets(p.v, p.key.Namespace, a.Targets)
	p.r.Recorder.Viewed(p.key, p.v)
	if err := p.v.Err(); err != nil {
		return nil, err
	}
	v := p.r.Cluster.View().Unsubscribed()
	return &bindingplan.Gone{Targets: targets.GoneTargets(v, p.key.Namespace, a.Targets)}, v.Err()
}

// readConflict finds another binding that fills the same target group. One that
// is about to go gives way at once, so that the group does not become empty in between.
func (p reader) readConflict(ctx context.Context, f *bindingplan.Facts) (*bindingplan.Conflict, error) {
	b, w := f.Stored, f.Described
	if w == nil {
		w = b
	}
	v := p.r.Cluster.View().Unsubscribed()
	var others []*elbv2.TargetGroupBinding
	for _, o := range withTargetGroup(v, w) {
		if (o.Namespace != b.Namespace || o.Name != b.Name) && o.DeletionTimestamp == nil && bindingplan.SameTargetGroup(o, w) {
			others = append(others, o)
		}
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	// Without knowledge the first comes first, as where the target group was not made by the controller.
	owners, _ := p.r.Cloud.As(Account{}).MadeFor(ctx, w.Spec.TargetGroupARN, len(others) > 0)
	out := bindingplan.ConflictOf(b, others, owners)
	return &out, nil
}

// withTargetGroup returns the bindings of all namespaces that may have the same target group as this one.
func withTargetGroup(v *cluster.View, b *elbv2.TargetGroupBinding) []*elbv2.TargetGroupBinding {
	return cluster.List[*elbv2.TargetGroupBinding](v, cluster.Query{
		Kind: cluster.KindBinding, Index: cluster.BindingByTargetGroup, Value: cluster.TargetGroupName(b),
	})
}

// readNetwork finds out which addresses are not of the VPC, and where their nodes are.
func (p reader) readNetwork(ctx context.Context, f *bindingplan.Facts, endpoints []targets.Endpoint) (*bindingplan.Network, error) {
	n := &bindingplan.Network{VPC: f.Described.Spec.VpcID, Zones: map[string]string{}, ZonesWanted: p.r.memory.get(p.key).wantsZones(p.r.Clock.Now())}
	if n.VPC == "" {
		n.VPC = p.r.VPC
	}
	ranges, err := p.r.Cloud.VPCRanges(ctx, n.VPC)
	switch {
	case err != nil && p.r.Cloud.Class(err) == engine.Gone && accountOf(f.Stored) != (Account{}):
		return n, nil // another account does not share it
	case err != nil && p.r.Cloud.Class(err) == engine.Gone:
		n.Failure = p.r.failure(bindingplan.UserError{Finding: finding.Finding{
			Object: targets.Ref(f.Stored), Field: "spec.vpcID", Reason: finding.RejectedByAWS, Severity: finding.Error,
			Message: fmt.Sprintf("VPC %s does not exist, or this account does not see it", n.VPC), Fix: "correct spec.vpcID",
		}})
		return n, nil
	case err != nil:
		n.Failure = p.r.failure(fmt.Errorf("read ranges of VPC %s: %w", n.VPC, err))
		return n, nil
	}
	n.Ranges = ranges
	v := p.r.Cluster.View().Unsubscribed() // a node does not change its zone
	for _, e := range endpoints {
		if e.Pod == nil || !n.Outside(e.ID) {
			continue
		}
		if node, ok := cluster.Get[*corev1.Node](v, cluster.KindNode, "", e.Pod.Spec.NodeName); ok {
			n.Zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
		}
	}
	return n, v.Err()
}
