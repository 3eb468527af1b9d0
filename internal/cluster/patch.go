package cluster

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Patch is a write that a run makes to Kubernetes: a status, an annotation, a finalizer or an event. The types below
// implement it.
type Patch interface{ patch() }

// ObjectStatus sets fields of the status of an object. Other fields are retained. A list is replaced as a whole.
type ObjectStatus struct {
	Ref Ref
	// Fields is encoded as JSON with the field names of the status.
	Fields any
}

// StatusEdit changes the status of an object that other clients write as well. It retains their changes.
type StatusEdit struct {
	Ref Ref
	// Edit returns the fields to set, in the form of ObjectStatus.Fields, for the current object; nil if no field changes.
	// now is the transition time of changed conditions. Edit is called again if another client wrote meanwhile, and must not
	// have other effects.
	Edit func(obj Object, now metav1.Time) any
}

// Annotation sets an annotation of an object that only users and other programs read; an empty value removes it. Errors are
// logged, and do not end the run.
type Annotation struct {
	Ref        Ref
	Key, Value string
	// OldValue, if not empty, is the value that the annotation must have before the write. If it has another value, nothing
	// is written.
	OldValue string
	// TooLarge is the event that is recorded if the value is too large for the annotations of the object. Then the annotation is
	// removed.
	TooLarge Event
}

// Finalizer adds a finalizer to an object that is not a root, or removes it.
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
	// Fault is set if the warning is about something that is held, refused or removed, and not just advice.
	Fault bool
	// Once is set for a normal event that, like a warning, is written only once while it is repeated.
	Once bool
	// Source is the source component of the event. Empty means that of the kind of object.
	Source  string
	Reason  string
	Message string
}

// LastingWarnings marks the warnings among the patches of a run as all warnings that exist about a subject. Their events are
// emitted again periodically, until a later run has other warnings about the subject.
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
