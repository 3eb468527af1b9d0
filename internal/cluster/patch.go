package cluster

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Patch is a write that a run makes to Kubernetes: a status, an annotation, a finalizer or an event. The types below
// implement Patch.
type Patch interface{ patch() }

// ObjectStatus sets fields of the status of an object. Other fields are retained. A list in Fields replaces the whole list
// in the status.
type ObjectStatus struct {
	Ref Ref
	// Fields has the new values. It is encoded as JSON, with the field names of the status.
	Fields any
}

// StatusEdit changes the status of an object that other clients write as well. It retains their changes.
type StatusEdit struct {
	Ref Ref
	// Edit returns the fields to set, in the form of ObjectStatus.Fields, for the current object; nil if no field changes.
	// now is the transition time of changed conditions. Edit is called again if another client has changed the object before
	// the write, so it must not have side effects.
	Edit func(obj Object, now metav1.Time) any
}

// Annotation sets an annotation of an object. The controller does not depend on the annotation, which is only for users and
// other programs. A failed write is therefore logged, and does not end the run. An empty Value removes the annotation.
type Annotation struct {
	Ref        Ref
	Key, Value string
	// OldValue, if not empty, is the value that the annotation must have before the write. If the annotation has another
	// value, nothing is written.
	OldValue string
	// TooLarge is the event that is recorded if the value is too large for the annotations of the object. In this case, the
	// annotation is removed.
	TooLarge Event
}

// Finalizer adds a finalizer to an object that is not of a root kind (IsRootKind), or removes the finalizer.
type Finalizer struct {
	Ref    Ref
	Name   string
	Remove bool
}

// Event is an event about an object. A repeated warning is written once, until a normal event about the object reports
// success.
type Event struct {
	Ref     Ref
	Warning bool
	// Fault is set if the warning reports that something is held, refused or removed. Fault is not set for recommendations.
	Fault bool
	// Once is set for a normal event that is written only once, like a warning, while each run repeats the event.
	Once bool
	// Source is the source component of the event. If it is empty, it depends on the kind of the object.
	Source  string
	Reason  string
	Message string
}

// LastingWarnings declares that the same list of patches contains all current warnings about a subject. The events of these
// warnings are emitted again periodically, until a later list of patches with the same subject contains other warnings.
type LastingWarnings struct {
	// Subject identifies the subject of the warnings, such as the ID of a stack.
	Subject string
}

func (LastingWarnings) patch() {}
func (ObjectStatus) patch()    {}
func (StatusEdit) patch()      {}
func (Annotation) patch()      {}
func (Finalizer) patch()       {}
func (Event) patch()           {}
