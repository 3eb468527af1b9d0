package cluster

import (
	"bytes"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ClassAnnotation is the deprecated annotation that names the class of an Ingress. The field spec.ingressClassName replaces
// it.
const ClassAnnotation = "kubernetes.io/ingress.class"

// DefaultClassAnnotation is the annotation that marks, with the value "true", an IngressClass as default class.
const DefaultClassAnnotation = "ingressclass.kubernetes.io/is-default-class"

// IngressControllerName is the spec.controller of the IngressClasses of this controller.
const IngressControllerName = "ingress.k8s.aws/alb"

// Annotations that select the controller of a Service without loadBalancerClass.
const (
	serviceTypeAnnotation = servicePrefix + "aws-load-balancer-type"
	targetTypeAnnotation  = servicePrefix + "aws-load-balancer-nlb-target-type"
)

// Fields as they appear in metadata.managedFields:
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
var (
	classFields = [][]byte{
		[]byte(`"f:ingressClassName"`), []byte(`"f:` + ClassAnnotation + `"`),
		[]byte(`"f:loadBalancerClass"`), []byte(`"f:type"`), []byte(`"f:` + serviceTypeAnnotation + `"`), []byte(`"f:` + targetTypeAnnotation + `"`),
		[]byte(`"f:gatewayClassName"`),
	}
	finalizerFields = [][]byte{[]byte(`"f:finalizers"`)}
	statusFields    = [][]byte{[]byte(`"f:loadBalancer"`), []byte(`"f:addresses"`)}
)

// ClassEditedAt returns the time of the last edit by a field manager that owns a field which selects the controller of the
// object, such as the class. These fields did not change after that time. It returns the zero time if no such edit is
// recorded.
func ClassEditedAt(obj Object) time.Time { return lastEditTime(obj, classFields) }

// FinalizersEditedAt returns the time of the last edit by a field manager that owns finalizers of the object; zero if no
// such edit is recorded.
func FinalizersEditedAt(obj Object) time.Time { return lastEditTime(obj, finalizerFields) }

// StatusEditedAt returns the time of the last edit by a field manager that owns the load balancer or the addresses in the
// status; zero if no such edit is recorded.
func StatusEditedAt(obj Object) time.Time { return lastEditTime(obj, statusFields) }

// lastEditTime returns the time of the latest entry in managedFields that has one of the fields; zero if there is none.
func lastEditTime(obj Object, fields [][]byte) time.Time {
	var last time.Time
	for _, e := range obj.GetManagedFields() {
		if e.Time != nil && e.FieldsV1 != nil && e.Time.After(last) && hasAnyField(e.FieldsV1.GetRawBytes(), fields) {
			last = e.Time.Time
		}
	}
	return last
}

// hasAnyField reports whether the JSON of an entry in managedFields has one of the fields.
func hasAnyField(raw []byte, fields [][]byte) bool {
	return slices.ContainsFunc(fields, func(f []byte) bool { return bytes.Contains(raw, f) })
}

// reduceManagedFields reduces the managed fields of an object to the times at which class, finalizers and status were last
// edited. It retains these times for Ingresses, and for other objects that have a finalizer of the controller. It removes
// the managed fields of all other objects.
func reduceManagedFields(obj Object) {
	var kept []metav1.ManagedFieldsEntry
	if _, ok := obj.(*networkingv1.Ingress); ok || len(finalizerValues(obj)) > 0 {
		kept = managedFieldsOfEdits(ClassEditedAt(obj), FinalizersEditedAt(obj), StatusEditedAt(obj))
	}
	obj.SetManagedFields(kept)
}

// managedFieldsOfEdits returns managed fields with the times at which class, finalizers and status were last edited.
// It omits zero times.
func managedFieldsOfEdits(class, finalizers, statusEditedAt time.Time) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	note := func(at time.Time, fields []byte) {
		if !at.IsZero() {
			out = append(out, metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1("{" + string(fields) + ":{}}")})
		}
	}
	note(class, classFields[0])
	note(finalizers, finalizerFields[0])
	note(statusEditedAt, statusFields[0])
	return out
}

// updateManagedFields sets the managed fields of next, as the API server does when a write replaces cur by next. cur is nil
// for a new object. It does nothing for kinds that have no field that selects the controller.
func updateManagedFields(cur, next Object, now time.Time) {
	selects, ok := controllerFields(next)
	if !ok {
		return
	}
	var class, finalizers, statusEditedAt time.Time
	var was [4]string
	if cur != nil {
		class, finalizers, statusEditedAt = ClassEditedAt(cur), FinalizersEditedAt(cur), StatusEditedAt(cur)
		was, _ = controllerFields(cur)
	}
	if cur != nil && !equality.Semantic.DeepEqual(StatusOf(cur), StatusOf(next)) {
		statusEditedAt = now
	}
	if cur == nil || was != selects {
		class = now
	}
	if len(next.GetFinalizers()) > 0 && (cur == nil || len(cur.GetFinalizers()) != len(next.GetFinalizers())) {
		finalizers = now
	}
	next.SetManagedFields(managedFieldsOfEdits(class, finalizers, statusEditedAt))
}

// controllerFields returns the values of the fields that select the controller of an object. It returns false for kinds
// without such fields.
func controllerFields(obj Object) ([4]string, bool) {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		out := [4]string{1: o.Annotations[ClassAnnotation]}
		if o.Spec.IngressClassName != nil {
			out[0] = *o.Spec.IngressClassName
		}
		return out, true
	case *corev1.Service:
		out := [4]string{1: o.Annotations[serviceTypeAnnotation], 2: o.Annotations[targetTypeAnnotation], 3: string(o.Spec.Type)}
		if o.Spec.LoadBalancerClass != nil {
			out[0] = *o.Spec.LoadBalancerClass
		}
		return out, true
	case *gwv1.Gateway:
		return [4]string{string(o.Spec.GatewayClassName)}, true
	}
	return [4]string{}, false
}
