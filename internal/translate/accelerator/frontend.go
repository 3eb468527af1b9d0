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
)

// Options are the operator's settings that a translation depends on.
type Options struct {
	Cluster string
	// DefaultTags are set on all accelerators. They have precedence over tags of users unless DefaultTagsLowPriority is set.
	DefaultTags            map[string]string
	DefaultTagsLowPriority bool
	// ExternalTags are keys of tags that are managed outside of the cluster.
	ExternalTags []string
	// AllowMassRemoval permits the deletion of all accelerators if the CustomResourceDefinition of GlobalAccelerators is
	// deleted.
	AllowMassRemoval bool
	// Frontends return the stacks of Services, Ingresses and Gateways, whose load balancers may be endpoints.
	Frontends engine.Frontends
	// EndpointIDs are patterns of ARNs and IDs. A resource that the cluster does not manage may be an endpoint only if it
	// matches a pattern. If EndpointIDs is empty, all resources may be endpoints.
	EndpointIDs []string
	// AddressNamespaces are the namespaces that may use IP addresses of the account (BYOIP). If it is empty, all namespaces
	// may use them.
	AddressNamespaces []string
	// MaxPerNamespace is the maximum number of accelerators of a namespace; 0 means no limit.
	MaxPerNamespace int
	// WatchedNamespace is the only namespace that the controller reads; "" means all namespaces.
	WatchedNamespace string
	// IsolatedTenancy requires a ReferenceGrant from each namespace that the load balancer of an IngressGroup serves.
	// Without it, a ReferenceGrant from one of them is sufficient.
	IsolatedTenancy bool
	// ReadEndpoints makes the package count pods in Endpoints objects instead of EndpointSlices.
	ReadEndpoints bool
}

// ProtectionAnnotation is an annotation of GlobalAccelerators. Its value "true" protects the accelerator, and thereby
// its IP addresses, from deletion.
const ProtectionAnnotation = "fulcrum.dev/accelerator-protection"

// Frontend translates GlobalAccelerators to stacks, and reports their state in status and events. Frontend has no state.
type Frontend struct{ opt Options }

// New returns a Frontend with the options.
func New(opt Options) *Frontend { return &Frontend{opt} }

// Stacks returns the stacks of a GlobalAccelerator in sorted order: the stack with its name, and stacks whose finalizers
// it has. Other objects have no stacks.
func (f *Frontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	ga, ok := obj.(*aga.GlobalAccelerator)
	if !ok {
		return nil
	}
	out := append(ownership.ClaimedStacks(v, ga), ownStack(ga))
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}

// HasObjects reports whether the GlobalAccelerator of a stack exists. It returns false if the object is being deleted
// and does not have the finalizer of this controller.
func (f *Frontend) HasObjects(v *cluster.View, id model.StackID) bool {
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	return ok && (ga.DeletionTimestamp == nil || ownership.NewMember(v, ga, id).Claimed)
}

// SurplusResources returns all accelerators of a stack but the one in the status of the GlobalAccelerator. The
// controller does not delete surplus accelerators. If the status names none of the accelerators, SurplusResources
// returns nil.
func (f *Frontend) SurplusResources(v *cluster.View, id model.StackID, accelerators []string) []string {
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok || !slices.Contains(accelerators, ga.Status.AcceleratorARN) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(accelerators), func(arn string) bool { return arn == ga.Status.AcceleratorARN })
}

// WithdrawnResources returns nothing: Translate itself sets Accelerator.Revoked, even if the stack is held.
func (*Frontend) WithdrawnResources(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}

func ownStack(ga *aga.GlobalAccelerator) model.StackID {
	return model.StackID{Kind: model.GlobalAccelerator, Namespace: ga.Namespace, Name: ga.Name}
}

// Translate returns the desired state of a stack and the findings about its object, sorted and without duplicates. If
// the view has an error, the result must not be used. live is the observed state, or nil if it is not known yet. Without
// live, the ARNs of endpoints are unknown.
//
// If a GlobalAccelerator was removed without the finalizer of this controller, its accelerator becomes an orphan: it is
// not deleted, because AWS cannot assign the same addresses again. Translate removes endpoints that the namespace may
// not use from orphans, and from accelerators whose deletion is held.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t := &translation{opt: f.opt, view: v, live: live, stack: model.Stack{ID: id}}
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok {
		t.retainOrphan()
		return t.stack, nil
	}
	t.ga, t.ref = ga, cluster.RefOf(ga)
	member := ownership.NewMember(v, ga, id)
	member.Recorded = ga.Status.AcceleratorARN
	if ga.DeletionTimestamp != nil {
		if !member.Claimed {
			t.retainOrphan()
			return t.stack, nil
		}
		t.stack.Leaving = []model.Member{member}
		if t.guardDeletion(); t.stack.DeletionGuard != nil {
			t.build()
		} else {
			sharingBuilder{t}.addDeletionQuestions()
		}
		return t.stack, t.found.Sorted()
	}
	t.stack.Members = []model.Member{member}
	t.build()
	return t.stack, t.found.Sorted()
}

// isProtected reports whether the object has ProtectionAnnotation.
func (t *translation) isProtected() bool { return t.ga.Annotations[ProtectionAnnotation] == "true" }

// guardDeletion sets the DeletionGuard for a GlobalAccelerator that is being deleted, if its accelerator is protected,
// or if the GlobalAccelerator is deleted only because its CustomResourceDefinition is being deleted.
func (t *translation) guardDeletion() {
	g := finding.Finding{Object: t.ref, Severity: finding.Error, Blocks: finding.BlocksStack}
	switch {
	case t.isProtected() && sharingBuilder{t}.sharedAnnotation() == "":
		g.Field, g.Reason = ProtectionAnnotation, finding.DeletionProtected
		g.Message = "the GlobalAccelerator is being deleted, but its annotation protects the accelerator from deletion; the accelerator stays with its addresses"
		g.Fix = "remove the annotation if the accelerator must be deleted"
	case !t.opt.AllowMassRemoval && t.view.Definition(cluster.KindGlobalAccelerator).MissingOrDeleting:
		g.Reason = finding.RemovalNotTrusted
		g.Message = "the GlobalAccelerator is being deleted because its CustomResourceDefinition is being deleted; the accelerator is kept, because a deleted accelerator cannot get the same addresses back"
		g.Fix = "start the controller with --allow-mass-removal to delete all accelerators; or remove the finalizers of the GlobalAccelerators, and install the definition and the objects again"
	default:
		return
	}
	t.stack.DeletionGuard = &g
}

// retainOrphan holds the accelerator of a GlobalAccelerator that no longer exists. The only change to the accelerator is the
// removal of endpoints that the namespace may not use.
func (t *translation) retainOrphan() {
	if t.live != nil && len(t.live.Accelerators) == 0 {
		return
	}
	t.stack.Contested = true
	if t.live == nil {
		return
	}
	t.ga = &aga.GlobalAccelerator{ObjectMeta: metav1.ObjectMeta{Namespace: t.stack.ID.Namespace, Name: t.stack.ID.Name}}
	t.accelerator = &model.Accelerator{Held: true, Guests: naming.GuestsInTags(sharingBuilder{t}.acceleratorTags())}
	rightsChecker{t}.setRevoked()
	t.stack.Accelerator = t.accelerator
}

// region returns the AWS region of the cluster, or "" if there is no observed state yet.
func (t *translation) region() string {
	if t.live == nil {
		return ""
	}
	return t.live.Facts.Region
}

// generatedName returns the name of an accelerator whose spec sets no name, or "" if the region is not known yet. dual
// reports whether the address type is dual-stack.
func (t *translation) generatedName(dual bool) string {
	if t.live == nil {
		return ""
	}
	return naming.AcceleratorName(t.opt.Cluster, t.region(), t.stack.ID, dual)
}
