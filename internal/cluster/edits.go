package cluster

import (
	"bytes"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ClassAnnotation names the class of an Ingress in the way of before IngressClass objects.
const ClassAnnotation = "kubernetes.io/ingress.class"

// IngressController is the spec.controller of the IngressClasses that are served.
const IngressController = "ingress.k8s.aws/alb"

// Annotations that hand a Service without a class to a controller.
const (
	serviceTypeAnnotation = servicePrefix + "aws-load-balancer-type"
	targetTypeAnnotation  = servicePrefix + "aws-load-balancer-nlb-target-type"
)

// What the API server notes in managedFields for a field that is part of an edit.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
var (
	classFields = [][]byte{
		[]byte(`"f:ingressClassName"`), []byte(`"f:` + ClassAnnotation + `"`),
		[]byte(`"f:loadBalancerClass"`), []byte(`"f:type"`), []byte(`"f:` + serviceTypeAnnotation + `"`), []byte(`"f:` + targetTypeAnnotation + `"`),
		[]byte(`"f:gatewayClassName"`),
	}
	finalizerFields = [][]byte{[]byte(`"f:finalizers"`)}
	shownFields     = [][]byte{[]byte(`"f:loadBalancer"`), []byte(`"f:addresses"`)}
)

// ClassEdited returns when the manager that owns what hands an Ingress or a Service to a controller, its
// class above all, last edited the object: at that time at the latest that was what it is. It is zero if that is not noted.
func ClassEdited(obj Object) time.Time { return edited(obj, classFields) }

// Claimed returns when a manager of finalizers last edited the object; zero if that is not noted.
func Claimed(obj Object) time.Time { return edited(obj, finalizerFields) }

// ShownSince returns when a manager of the load balancer in the status last edited that; zero if that is not
// noted.
func ShownSince(obj Object) time.Time { return edited(obj, shownFields) }

func edited(obj Object, fields [][]byte) time.Time {
	var last time.Time
	for _, e := range obj.GetManagedFields() {
		if e.Time != nil && e.FieldsV1 != nil && e.Time.After(last) && mentionsField(e.FieldsV1.GetRawBytes(), fields) {
			last = e.Time.Time
		}
	}
	return last
}

func mentionsField(raw []byte, fields [][]byte) bool {
	for _, f := range fields {
		if bytes.Contains(raw, f) {
			return true
		}
	}
	return false
}

// reduceEdits keeps of the managed fields of an Ingress, and of a Service or a Gateway with a load balancer, when its class
// and its finalizers were edited, and its status.
func reduceEdits(obj Object) {
	var kept []metav1.ManagedFieldsEntry
	if _, ok := obj.(*networkingv1.Ingress); ok || len(finalizerValues(obj)) > 0 {
		kept = editNotes(ClassEdited(obj), Claimed(obj), ShownSince(obj))
	}
	obj.SetManagedFields(kept)
}

// editNotes returns the short form of managed fields in which the times are noted.
func editNotes(class, finalizers, shown time.Time) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	note := func(at time.Time, fields []byte) {
		if !at.IsZero() {
			out = append(out, metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1("{" + string(fields) + ":{}}")})
		}
	}
	note(class, classFields[0])
	note(finalizers, finalizerFields[0])
	note(shown, shownFields[0])
	return out
}

// noteEdits does for the Kubernetes in memory what the API server does for managed fields of an Ingress, a Service
// or a Gateway. cur is nil for a new object.
func noteEdits(cur, next Object, now time.Time) {
	of, ok := classOf(next)
	if !ok {
		return
	}
	var class, finalizers, shown time.Time
	var was [4]string
	if cur != nil {
		class, finalizers, shown = ClassEdited(cur), Claimed(cur), ShownSince(cur)
		was, _ = classOf(cur)
	}
	if cur != nil && !equality.Semantic.DeepEqual(StatusOf(cur), StatusOf(next)) {
		shown = now
	}
	if cur == nil || was != of {
		class = now
	}
	if len(next.GetFinalizers()) > 0 && (cur == nil || len(cur.GetFinalizers()) != len(next.GetFinalizers())) {
		finalizers = now
	}
	next.SetManagedFields(editNotes(class, finalizers, shown))
}

// classOf returns what hands an object to a controller; false for kinds that have nothing of that sort.
func classOf(obj Object) ([4]string, bool) {
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
