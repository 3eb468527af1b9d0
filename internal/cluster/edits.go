package cluster

import (
	"bytes"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClassAnnotation names the class of an Ingress in the way of before IngressClass objects.
const ClassAnnotation = "kubernetes.io/ingress.class"

// What the API server notes in managedFields for a field that is part of an edit.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
var (
	classFields     = [][]byte{[]byte(`"f:ingressClassName"`), []byte(`"f:` + ClassAnnotation + `"`)}
	finalizerFields = [][]byte{[]byte(`"f:finalizers"`)}
)

// ClassEdited returns when the manager that owns the class of an Ingress last edited the object: at that
// time at the latest its class was what it is. It is zero if that is not noted.
func ClassEdited(obj Object) time.Time { return edited(obj, classFields) }

// Claimed returns when a manager of finalizers last edited the object; zero if that is not noted.
func Claimed(obj Object) time.Time { return edited(obj, finalizerFields) }

func edited(obj Object, fields [][]byte) time.Time {
	var last time.Time
	for _, e := range obj.GetManagedFields() {
		if e.Time != nil && e.FieldsV1 != nil && e.Time.After(last) && mentions(e.FieldsV1.GetRawBytes(), fields) {
			last = e.Time.Time
		}
	}
	return last
}

func mentions(raw []byte, fields [][]byte) bool {
	for _, f := range fields {
		if bytes.Contains(raw, f) {
			return true
		}
	}
	return false
}

// reduceEdits keeps of the managed fields of an Ingress when its class and its finalizers were edited.
func reduceEdits(obj Object) {
	var kept []metav1.ManagedFieldsEntry
	if _, ok := obj.(*networkingv1.Ingress); ok {
		kept = editNotes(ClassEdited(obj), Claimed(obj))
	}
	obj.SetManagedFields(kept)
}

// editNotes is the short form of managed fields in which the times are noted.
func editNotes(class, finalizers time.Time) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	note := func(at time.Time, fields []byte) {
		if !at.IsZero() {
			out = append(out, metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1("{" + string(fields) + ":{}}")})
		}
	}
	note(class, classFields[0])
	note(finalizers, finalizerFields[0])
	return out
}

// noteEdits does for the Kubernetes in memory what the API server does for managed fields of an Ingress.
// cur is nil for a new object.
func noteEdits(cur, next Object, now time.Time) {
	ing, ok := next.(*networkingv1.Ingress)
	if !ok {
		return
	}
	var class, finalizers time.Time
	old, _ := cur.(*networkingv1.Ingress)
	if old != nil {
		class, finalizers = ClassEdited(old), Claimed(old)
	}
	if old == nil || classOf(old) != classOf(ing) {
		class = now
	}
	if len(ing.Finalizers) > 0 && (old == nil || len(old.Finalizers) != len(ing.Finalizers)) {
		finalizers = now
	}
	ing.SetManagedFields(editNotes(class, finalizers))
}

// classOf is the class that an Ingress names, by field and by annotation.
func classOf(ing *networkingv1.Ingress) [2]string {
	out := [2]string{1: ing.Annotations[ClassAnnotation]}
	if ing.Spec.IngressClassName != nil {
		out[0] = *ing.Spec.IngressClassName
	}
	return out
}
