package ownership

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// RootKind returns the kind of the objects that own stacks of this kind.
func RootKind(kind model.Kind) cluster.Kind { return cluster.Kind(kind.ObjectKind()) }

// BindingsOf returns the query for the TargetGroupBindings with the labels of a stack. Users who may write
// TargetGroupBindings can set these labels, so the labels are no proof of ownership.
func BindingsOf(id model.StackID) cluster.Query {
	label := naming.StackInLabels(id)
	return cluster.Query{
		Kind: cluster.KindBinding, Index: cluster.BindingByStack,
		Value: cluster.StackValue(id.Kind.TagPrefix(), label.Namespace, label.Name),
	}
}

// FullStackID returns the stack that a stack tag identifies. id is the stack that the value of the tag names. If the name of
// an object is too long for the tag, the value has only the beginning of the name, and FullStackID finds the object. It
// returns id if there is no such object.
func FullStackID(v *cluster.View, id model.StackID) model.StackID {
	if id.Namespace == "" || !naming.MayBeShortened(id.String()) {
		return id
	}
	for _, obj := range cluster.List[cluster.Object](v, cluster.Query{Kind: RootKind(id.Kind), Namespace: id.Namespace}) {
		if full := (model.StackID{Kind: id.Kind, Namespace: id.Namespace, Name: obj.GetName()}); naming.StackTagValue(full) == id.String() {
			return full
		}
	}
	return id
}

// Tenant returns the name of the tenant of a stack. Tenants share workers and calls to AWS equally. The name is the
// namespace of the stack, or for an IngressGroup the namespaces of all members. All IngressGroups with members of only one
// namespace are therefore one tenant, and cannot get a larger share. An IngressGroup with members of several namespaces is a
// separate tenant, so that it does not use the shares of these namespaces.
func Tenant(v *cluster.View, id model.StackID) string {
	if id.Namespace != "" {
		return id.Namespace
	}
	kind, namespaces := RootKind(id.Kind), map[string]bool{}
	for _, q := range []cluster.Query{{Kind: kind, Index: cluster.IngressByGroupName, Value: id.Name}, {Kind: kind, Index: cluster.ByFinalizer, Value: naming.Finalizer(id)}} {
		for _, obj := range cluster.List[cluster.Object](v, q) {
			namespaces[obj.GetNamespace()] = true
		}
	}
	if len(namespaces) == 0 {
		return "group " + id.Name
	}
	return strings.Join(slices.Sorted(maps.Keys(namespaces)), ",")
}

// ClaimedStacks returns the stacks whose finalizers an object has, or whose finalizers another client has removed from the
// object.
func ClaimedStacks(v *cluster.View, obj cluster.Object) []model.StackID {
	ref := cluster.RefOf(obj)
	return stacksOf(ref, append(cluster.IndexValues(cluster.ByFinalizer, obj), v.FinalizersLeftBy(ref)...))
}

// DepartedStacks returns the stacks that deleted objects have left. gone has the references of these objects.
func DepartedStacks(v *cluster.View, gone []cluster.Ref) []model.StackID {
	var out []model.StackID
	for _, ref := range gone {
		out = append(out, stacksOf(ref, v.FinalizersLeftBy(ref))...)
	}
	return out
}

// stacksOf returns the stacks whose finalizers are in the list. ref is the object with these finalizers.
func stacksOf(ref cluster.Ref, finalizers []string) []model.StackID {
	var out []model.StackID
	for _, f := range finalizers {
		if id, ok := naming.StackOfFinalizer(f, ref.Namespace, ref.Name); ok && RootKind(id.Kind) == ref.Kind {
			out = append(out, id)
		}
	}
	return out
}

// Claim is the relation of an object to a stack by its finalizer.
type Claim struct {
	// HasFinalizer reports whether the object has the finalizer.
	HasFinalizer bool
	// HasOrHadFinalizer reports whether the object has the finalizer, or another client has removed the finalizer from the
	// object.
	HasOrHadFinalizer bool
}

// ClaimOn returns the claim of an object on a stack.
func ClaimOn(v *cluster.View, obj cluster.Object, id model.StackID) Claim {
	finalizer := naming.Finalizer(id)
	carried := slices.Contains(obj.GetFinalizers(), finalizer)
	return Claim{HasFinalizer: carried, HasOrHadFinalizer: carried || slices.Contains(v.FinalizersLeftBy(cluster.RefOf(obj)), finalizer)}
}

// NewMember returns an object as a member of a stack.
func NewMember(v *cluster.View, obj cluster.Object, id model.StackID) model.Member {
	return model.Member{
		Ref: cluster.RefOf(obj), Finalizer: naming.Finalizer(id), Claimed: ClaimOn(v, obj, id).HasFinalizer, Deleting: obj.GetDeletionTimestamp() != nil,
		Adopter: adoptingGatewayStack(obj, id.Kind),
	}
}

// NewMembers returns objects as the members of a stack. of returns the object of an element of the list all. Its result
// blocked reports whether findings block this object. The result blocked reports whether findings block all members.
func NewMembers[M any](v *cluster.View, id model.StackID, all []M, of func(M) (obj cluster.Object, blocked bool)) (out []model.Member, blocked bool) {
	blocked = true
	for _, m := range all {
		obj, held := of(m)
		member := NewMember(v, obj, id)
		member.Blocked = held
		blocked = blocked && held
		out = append(out, member)
	}
	return out, blocked
}

// DeletedMembers returns, as members of a stack, the objects that had left the stack and do not exist any more. An object
// has also left the stack if another client removed its finalizer during its deletion.
func DeletedMembers(v *cluster.View, id model.StackID) []model.Member {
	finalizer := naming.Finalizer(id)
	var out []model.Member
	for _, ref := range v.ObjectsThatLeft(finalizer) {
		if of, ok := naming.StackOfFinalizer(finalizer, ref.Namespace, ref.Name); !ok || of != id || ref.Kind != RootKind(id.Kind) {
			continue
		}
		if _, there := cluster.Get[cluster.Object](v, ref.Kind, ref.Namespace, ref.Name); !there {
			out = append(out, model.Member{Ref: ref, Finalizer: finalizer, Deleting: true})
		}
	}
	return out
}

// HasObjectOfOtherStack reports whether an object that is not being deleted belongs to another stack, and may still need the
// shared backend security group. GlobalAccelerators are ignored, because they do not need the security group, and the
// deletion of the last GlobalAccelerator would not delete the security group.
func HasObjectOfOtherStack(v *cluster.View, id model.StackID) bool {
	for _, kind := range model.Kinds {
		if !kind.HasAccelerator() && slices.ContainsFunc(possibleMembers(v, kind), func(obj cluster.Object) bool {
			return obj.GetDeletionTimestamp() == nil && slices.ContainsFunc(ClaimedStacks(v, obj), func(o model.StackID) bool { return o != id })
		}) {
			return true
		}
	}
	return false
}

// possibleMembers returns the objects that may belong to stacks of a kind. For Ingresses these are all objects, because
// the finalizers of IngressGroups contain names, so that no index value lists all of them. For other kinds, these are the
// objects with a finalizer of a stack, and the existing objects from which another client has removed the finalizer.
func possibleMembers(v *cluster.View, kind model.Kind) []cluster.Object {
	root := RootKind(kind)
	if _, known := cluster.TypeOf(root); !known {
		return nil
	}
	if kind == model.Ingress {
		return cluster.List[cluster.Object](v, cluster.Query{Kind: root})
	}
	finalizer := naming.Finalizer(model.StackID{Kind: kind})
	out := cluster.List[cluster.Object](v, cluster.Query{Kind: root, Index: cluster.ByFinalizer, Value: finalizer})
	if kind == model.Service {
		out = append(out, cluster.List[cluster.Object](v, cluster.Query{Kind: root, Index: cluster.ServiceBySharedLoadBalancer})...)
	}
	for _, ref := range v.ObjectsThatLeft(finalizer) {
		if obj, there := cluster.Get[cluster.Object](v, ref.Kind, ref.Namespace, ref.Name); there {
			out = append(out, obj)
		}
	}
	return out
}

// HasMemberInNamespace reports whether an object of the namespace has the finalizer of the stack and is not being deleted.
func HasMemberInNamespace(v *cluster.View, id model.StackID, namespace string) bool {
	var all []cluster.Object
	root := RootKind(id.Kind)
	if _, known := cluster.TypeOf(root); !known {
		return false
	}
	if _, shared := naming.SharedName(id); id.Namespace != "" && !shared {
		if obj, ok := cluster.Get[cluster.Object](v, root, id.Namespace, id.Name); ok {
			all = append(all, obj)
		}
	} else {
		all = cluster.List[cluster.Object](v, cluster.Query{Kind: root, Namespace: namespace, Index: cluster.ByFinalizer, Value: naming.Finalizer(id)})
	}
	return slices.ContainsFunc(all, func(obj cluster.Object) bool {
		return obj.GetDeletionTimestamp() == nil && obj.GetNamespace() == namespace && slices.Contains(obj.GetFinalizers(), naming.Finalizer(id))
	})
}
