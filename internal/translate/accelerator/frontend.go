package accelerator

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// Options are the operator's settings that a translation depends on.
type Options struct {
	Cluster string
	// DefaultTags for all accelerators; DefaultTagsLow lets users' tags win over them.
	DefaultTags    map[string]string
	DefaultTagsLow bool
	// ExternalTags are keys that are managed outside of the cluster.
	ExternalTags []string
	// AllowMassRemoval lets accelerators go with the definition of GlobalAccelerators.
	AllowMassRemoval bool
	// Frontends are those whose load balancers may be endpoints.
	Frontends engine.Frontends
	// EndpointIDs are patterns of ARNs and ids of what the cluster does not manage. Empty: any may be an endpoint.
	EndpointIDs []string
	// AddressNamespaces may use addresses of the account's own ranges. Empty: all.
	AddressNamespaces []string
	// MaxPerNamespace is how many accelerators are made for a namespace. 0: any number.
	MaxPerNamespace int
	// Watched is the only namespace that is read. Empty: all are.
	Watched string
	// Isolated asks every namespace that an IngressGroup serves for consent.
	Isolated bool
	// Endpoints has pods found by Endpoints objects, not by EndpointSlices.
	Endpoints bool
	// MaxListeners and MaxEndpoints bound an accelerator and an endpoint group, where AWS has raised its quotas.
	MaxListeners, MaxEndpoints int
}

func (o Options) filled() Options {
	if o.MaxListeners <= 0 {
		o.MaxListeners = rules.MaxListeners
	}
	if o.MaxEndpoints <= 0 {
		o.MaxEndpoints = rules.MaxEndpoints
	}
	return o
}

// ProtectionAnnotation of a GlobalAccelerator, with the value "true", keeps its accelerator with its addresses.
const ProtectionAnnotation = "fulcrum.dev/accelerator-protection"

// Frontend translates GlobalAccelerators. It holds no state.
type Frontend struct{ opt Options }

// New returns the frontend with the options.
func New(opt Options) *Frontend { return &Frontend{opt: opt.filled()} }

// Stacks returns which stacks an object belongs to: a GlobalAccelerator to its own.
func (f *Frontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	ga, ok := obj.(*aga.GlobalAccelerator)
	if !ok {
		return nil
	}
	out := append(ownership.Claims(v, ga), ownStack(ga))
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}

// Asked reports whether the GlobalAccelerator of a stack is there. One that is being deleted without our finalizer is not
// served any more.
func (f *Frontend) Asked(v *cluster.View, id model.StackID) bool {
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	return ok && (ga.DeletionTimestamp == nil || ownership.Member(v, ga, id).Claimed)
}

// Surplus returns the accelerators of a stack, by ARN, that the status of its object does not name.
// They stay.
func (f *Frontend) Surplus(v *cluster.View, id model.StackID, accelerators []string) []string {
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok || !slices.Contains(accelerators, ga.Status.AcceleratorARN) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(accelerators), func(arn string) bool { return arn == ga.Status.AcceleratorARN })
}

// Withdrawn is empty: a translation takes out what there is no right to, whatever else is held.
func (*Frontend) Withdrawn(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}

func ownStack(ga *aga.GlobalAccelerator) model.StackID {
	return model.StackID{Kind: model.GlobalAccelerator, Namespace: ga.Namespace, Name: ga.Name}
}

// Translate builds the desired state of a stack and what is wrong with it. Findings are sorted and without repeats. A view
// with an error makes the result meaningless. live is what is observed; nil: it is not known yet whose load balancers the
// endpoints are, and none has an id.
//
// A GlobalAccelerator that is gone without having been deleted in order, or without our finalizer, leaves an orphan: its
// addresses cannot be had back. It leads to nothing that its namespace has no right to all the same, and neither does one
// whose deletion is held.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t := &translation{opt: f.opt, view: v, live: live, stack: model.Stack{ID: id}}
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok {
		t.orphan()
		return t.stack, nil
	}
	t.ga, t.ref = ga, ownership.RefOf(ga)
	member := ownership.Member(v, ga, id)
	member.Recorded = ga.Status.AcceleratorARN
	if ga.DeletionTimestamp != nil {
		if !member.Claimed {
			t.orphan()
			return t.stack, nil
		}
		t.stack.Leaving = []model.Member{member}
		if t.keepProtected(); t.stack.DeletionGuard != nil {
			t.build()
		} else {
			sharing{t}.askWhileLeaving()
		}
		return t.stack, t.found.Sorted()
	}
	t.stack.Members = []model.Member{member}
	t.build()
	return t.stack, t.found.Sorted()
}

// protected reports whether the object asks that its accelerator stays.
func (t *translation) protected() bool { return t.ga.Annotations[ProtectionAnnotation] == "true" }

// keepProtected keeps the accelerator of an object that is deleted although it asks for protection, or with all others
// because their definition is.
func (t *translation) keepProtected() {
	g := finding.Finding{Object: t.ref, Severity: finding.Error, Blocks: finding.BlocksStack}
	switch {
	case t.protected() && sharing{t}.sharedAnnotation() == "":
		g.Field, g.Reason = ProtectionAnnotation, finding.DeletionProtected
		g.Message = "the GlobalAccelerator is being deleted, and asks for protection of its accelerator; the accelerator stays with its addresses"
		g.Fix = "remove the annotation to have the accelerator deleted"
	case !t.opt.AllowMassRemoval && t.view.Definition(cluster.KindGlobalAccelerator).Deleting:
		g.Reason = finding.RemovalNotTrusted
		g.Message = "the GlobalAccelerator is being deleted because its CustomResourceDefinition is; the accelerator stays with its addresses, which could not be had back"
		g.Fix = "start the controller with --allow-mass-removal to have all accelerators deleted; or remove the finalizers of the GlobalAccelerators, and install the definition and the objects again"
	default:
		return
	}
	t.stack.DeletionGuard = &g
}

// orphan takes from an accelerator without an object what its namespace has no right to. All else stays.
func (t *translation) orphan() {
	if t.live != nil && len(t.live.Accelerators) == 0 {
		return
	}
	t.stack.Contested = true
	if t.live == nil {
		return
	}
	t.ga = &aga.GlobalAccelerator{ObjectMeta: metav1.ObjectMeta{Namespace: t.stack.ID.Namespace, Name: t.stack.ID.Name}}
	t.acc = &model.Accelerator{Held: true, Guests: naming.Guests(sharing{t}.ownTags())}
	rights{t}.revoke()
	t.stack.Accelerator = t.acc
}

// region returns the region of the cluster, "" while nothing was observed.
func (t *translation) region() string {
	if t.live == nil {
		return ""
	}
	return t.live.Facts.Region
}

// generatedName returns the name of an accelerator whose object gives none, "" while the region is not known.
func (t *translation) generatedName(dual bool) string {
	if t.live == nil {
		return ""
	}
	return naming.Accelerator(t.opt.Cluster, t.region(), t.stack.ID, dual)
}
