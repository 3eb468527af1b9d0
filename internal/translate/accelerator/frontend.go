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
	// DefaultTags are set on all accelerators. They have precedence over tags of users unless DefaultTagsLowPriority is set.
	DefaultTags            map[string]string
	DefaultTagsLowPriority bool
	// ExternalTags are keys that are managed outside of the cluster.
	ExternalTags []string
	// AllowMassRemoval permits that all accelerators are deleted when the CustomResourceDefinition of GlobalAccelerators is
	// deleted.
	AllowMassRemoval bool
	// Frontends are the frontends whose load balancers may be endpoints.
	Frontends engine.Frontends
	// EndpointIDs are patterns of ARNs and ids of resources that the cluster does not manage and that may be endpoints. If
	// empty, all may.
	EndpointIDs []string
	// AddressNamespaces are the namespaces that may use addresses of the account (BYOIP). If empty, all may.
	AddressNamespaces []string
	// MaxPerNamespace is the maximum number of accelerators of a namespace; 0 means no limit.
	MaxPerNamespace int
	// WatchedNamespace is the only namespace that the controller reads; "" means all namespaces.
	WatchedNamespace string
	// IsolatedTenancy requires a ReferenceGrant from each namespace that the load balancer of an IngressGroup serves, not
	// only from one of them.
	IsolatedTenancy bool
	// ReadEndpoints reports whether pods are found by Endpoints objects instead of EndpointSlices.
	ReadEndpoints bool
	// MaxListeners is the maximum number of listeners of an accelerator, MaxEndpoints that of endpoints of an endpoint
	// group. Both are AWS quotas.
	MaxListeners, MaxEndpoints int
}

// withDefaults returns the options with defaults for those that are not set.
func (o Options) withDefaults() Options {
	if o.MaxListeners <= 0 {
		o.MaxListeners = rules.MaxListeners
	}
	if o.MaxEndpoints <= 0 {
		o.MaxEndpoints = rules.MaxEndpoints
	}
	return o
}

// ProtectionAnnotation of a GlobalAccelerator, with the value "true", protects its accelerator and thereby the addresses
// from deletion.
const ProtectionAnnotation = "fulcrum.dev/accelerator-protection"

// Frontend translates GlobalAccelerators. It has no state.
type Frontend struct{ opt Options }

// New returns the frontend with the options.
func New(opt Options) *Frontend { return &Frontend{opt: opt.withDefaults()} }

// Stacks returns the stacks of an object. A GlobalAccelerator has its own stack.
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

// SurplusResources returns the ARNs of accelerators of a stack that are not the one in the status of its object, if the
// status names one of them. They are not deleted.
func (f *Frontend) SurplusResources(v *cluster.View, id model.StackID, accelerators []string) []string {
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok || !slices.Contains(accelerators, ga.Status.AcceleratorARN) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(accelerators), func(arn string) bool { return arn == ga.Status.AcceleratorARN })
}

// WithdrawnParts returns nothing: Translate itself sets Accelerator.Revoked, even if the stack is held.
func (*Frontend) WithdrawnParts(*cluster.View, model.StackID, observed.Stack) (model.Withdrawn, []model.Question) {
	return model.Withdrawn{}, nil
}

func ownStack(ga *aga.GlobalAccelerator) model.StackID {
	return model.StackID{Kind: model.GlobalAccelerator, Namespace: ga.Namespace, Name: ga.Name}
}

// Translate builds the desired state of a stack and the findings about its object, sorted and without duplicates. If the
// view has an error, the result must not be used. live is the observed state; nil if it is not known yet. Without live,
// endpoints have no ids, because their load balancers are not known.
//
// If a GlobalAccelerator was removed without the finalizer of this controller, its accelerator becomes an orphan: it is not
// deleted, because the same addresses cannot be assigned again. Endpoints that the namespace may not use are removed from
// it, and also from an accelerator whose deletion is held.
func (f *Frontend) Translate(v *cluster.View, id model.StackID, live *observed.Stack) (model.Stack, finding.List) {
	t := &translation{opt: f.opt, view: v, live: live, stack: model.Stack{ID: id}}
	ga, ok := cluster.Get[*aga.GlobalAccelerator](v, cluster.KindGlobalAccelerator, id.Namespace, id.Name)
	if !ok {
		t.retainOrphan()
		return t.stack, nil
	}
	t.ga, t.ref = ga, ownership.RefOf(ga)
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

// guardDeletion sets the DeletionGuard for an object that is being deleted, if its accelerator is protected, or if the
// object is deleted only because its CustomResourceDefinition is being deleted.
func (t *translation) guardDeletion() {
	g := finding.Finding{Object: t.ref, Severity: finding.Error, Blocks: finding.BlocksStack}
	switch {
	case t.isProtected() && sharingBuilder{t}.sharedAnnotation() == "":
		g.Field, g.Reason = ProtectionAnnotation, finding.DeletionProtected
		g.Message = "the GlobalAccelerator is being deleted, but its annotation protects the accelerator from deletion; the accelerator stays with its addresses"
		g.Fix = "remove the annotation to have the accelerator deleted"
	case !t.opt.AllowMassRemoval && t.view.Definition(cluster.KindGlobalAccelerator).MissingOrDeleting:
		g.Reason = finding.RemovalNotTrusted
		g.Message = "the GlobalAccelerator is being deleted because its CustomResourceDefinition is; the accelerator stays with its addresses, which could not be restored"
		g.Fix = "start the controller with --allow-mass-removal to have all accelerators deleted; or remove the finalizers of the GlobalAccelerators, and install the definition and the objects again"
	default:
		return
	}
	t.stack.DeletionGuard = &g
}

// retainOrphan keeps the accelerator of an object that does not exist any more. It removes only the endpoints that the
// namespace of the object may not use.
func (t *translation) retainOrphan() {
	if t.live != nil && len(t.live.Accelerators) == 0 {
		return
	}
	t.stack.Contested = true
	if t.live == nil {
		return
	}
	t.ga = &aga.GlobalAccelerator{ObjectMeta: metav1.ObjectMeta{Namespace: t.stack.ID.Namespace, Name: t.stack.ID.Name}}
	t.acc = &model.Accelerator{Held: true, Guests: naming.GuestsInTags(sharingBuilder{t}.ownTags())}
	rightsChecker{t}.setRevoked()
	t.stack.Accelerator = t.acc
}

// region returns the region of the cluster; "" if there is no observed state yet.
func (t *translation) region() string {
	if t.live == nil {
		return ""
	}
	return t.live.Facts.Region
}

// generatedName returns the name of an accelerator whose spec sets none; "" if the region is not known yet.
func (t *translation) generatedName(dual bool) string {
	if t.live == nil {
		return ""
	}
	return naming.AcceleratorName(t.opt.Cluster, t.region(), t.stack.ID, dual)
}
