package naming

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// labelLimit is the maximum length of a label value in Kubernetes, in characters.
const labelLimit = 63

// StackLabels returns the labels of the TargetGroupBindings of a stack. A name that is too long for a label value is
// shortened to its beginning and a hash.
func StackLabels(id model.StackID) map[string]string {
	prefix := id.Kind.TagPrefix()
	if id.Namespace == "" {
		return map[string]string{prefix + "/stack": shorten(id.Name, labelLimit)}
	}
	return map[string]string{
		prefix + "/stack-namespace": id.Namespace,
		prefix + "/stack-name":      shorten(id.Name, labelLimit),
	}
}

// StackInLabels returns the stack that StackFromLabels returns for the labels of the stack id. This is id itself, unless its
// name is too long for a label value. An index of objects by their labels must use the result as key.
func StackInLabels(id model.StackID) model.StackID {
	id.Name = shorten(id.Name, labelLimit)
	return id
}

// StackFromLabels returns the stack that the labels of a TargetGroupBinding name; false if they name none.
func StackFromLabels(labels map[string]string) (model.StackID, bool) {
	for _, k := range model.Kinds {
		prefix := k.TagPrefix()
		if name := labels[prefix+"/stack"]; name != "" {
			return model.StackID{Kind: k, Name: name}, true
		}
		ns, name := labels[prefix+"/stack-namespace"], labels[prefix+"/stack-name"]
		if ns != "" && name != "" {
			return model.StackID{Kind: k, Namespace: ns, Name: name}, true
		}
	}
	return model.StackID{}, false
}

// Finalizers of objects that belong to stacks, and of TargetGroupBindings.
const (
	// BindingFinalizer is the finalizer of TargetGroupBindings.
	BindingFinalizer = "elbv2.k8s.aws/resources"
	// ImplicitFinalizer is the finalizer of an Ingress that is not in an explicit IngressGroup.
	ImplicitFinalizer = "ingress.k8s.aws/resources"
	// ExplicitFinalizerPrefix is followed by the name of an explicit IngressGroup. Together they are the finalizer of the
	// members of the IngressGroup.
	ExplicitFinalizerPrefix = "group.ingress.k8s.aws/"
	// ServiceFinalizer is the finalizer of Services that do not share their load balancer.
	ServiceFinalizer = "service.k8s.aws/resources"
	// SharedFinalizerPrefix is followed by the namespace and the name of a shared load balancer. Together they are the
	// finalizer of the Services that share it.
	SharedFinalizerPrefix = "group.service.k8s.aws/"
	// ALBGatewayFinalizer and NLBGatewayFinalizer are the finalizers of Gateways.
	ALBGatewayFinalizer = "gateway.k8s.aws/alb"
	NLBGatewayFinalizer = "gateway.k8s.aws/nlb"
	// AcceleratorFinalizer is the finalizer of GlobalAccelerators.
	AcceleratorFinalizer = "aga.k8s.aws/resources"
)

// finalizers has the finalizer of objects that have their own stack, by the kind of the stack.
var finalizers = map[model.Kind]string{
	model.Ingress: ImplicitFinalizer, model.Service: ServiceFinalizer, model.ALBGateway: ALBGatewayFinalizer, model.NLBGateway: NLBGatewayFinalizer,
	model.GlobalAccelerator: AcceleratorFinalizer,
}

// Finalizer returns the finalizer of the members of a stack.
func Finalizer(id model.StackID) string {
	if name, ok := SharedName(id); ok {
		return SharedFinalizerPrefix + id.Namespace + "." + name
	}
	if id.Kind == model.Ingress && id.Namespace == "" {
		return ExplicitFinalizerPrefix + id.Name
	}
	return finalizers[id.Kind]
}

// StackOfFinalizer returns the stack to which a finalizer of the object with the given namespace and name belongs; false if
// it is not the finalizer of a stack.
func StackOfFinalizer(finalizer, namespace, name string) (model.StackID, bool) {
	for _, k := range model.Kinds {
		if finalizers[k] == finalizer {
			return model.StackID{Kind: k, Namespace: namespace, Name: name}, true
		}
	}
	if shared, ok := strings.CutPrefix(finalizer, SharedFinalizerPrefix); ok {
		namespace, name, ok := strings.Cut(shared, ".")
		return SharedStack(namespace, name), ok
	}
	group, ok := strings.CutPrefix(finalizer, ExplicitFinalizerPrefix)
	return model.StackID{Kind: model.Ingress, Name: group}, ok
}
