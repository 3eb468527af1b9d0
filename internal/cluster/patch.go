package cluster

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Patch is something to write back: a status, an annotation or an event. Implementations are the
// types below.
type Patch interface{ patch() }

// ObjectStatus sets fields of the status of an object. The others stay, a list is replaced as a whole.
type ObjectStatus struct {
	Ref Ref
	// Fields has them as the API type of the status has.
	Fields any
}

// StatusEdit changes the status of an object that others write as well: what they write is not lost, whoever comes
// first.
type StatusEdit struct {
	Ref Ref
	// Edit returns the fields to set, as ObjectStatus has them, for an object as it is now; nil if nothing is to change.
	// Transition times that it sets are now. It is called again where others wrote meanwhile, and changes nothing else.
	Edit func(obj Object, now metav1.Time) any
}

// Annotation sets an annotation of an object that is there for others to read; an empty value
// removes it. What goes wrong with it is logged and stops nothing.
type Annotation struct {
	Ref        Ref
	Key, Value string
	// Was, if not empty, is the only value that is replaced.
	Was string
	// TooLarge is recorded, and the annotation removed, where the object has no room for the value.
	TooLarge Event
}

// Finalizer puts a finalizer on an object that is not a root, or takes it off.
type Finalizer struct {
	Ref    Ref
	Name   string
	Remove bool
}

// Event is to be recorded on an object. Equal events in a row are written once per object until
// something else happens to it.
type Event struct {
	Ref     Ref
	Warning bool
	// Fault distinguishes a warning about what is held, refused or lost from advice.
	Fault bool
	// Once reports that the event is no news when it comes again, although it is no warning.
	Once bool
	// Source is what the event is recorded with; "" for that of the kind of object.
	Source  string
	Reason  string
	Message string
}

// Lasting reports that the warnings it comes with, and no others, last of what Of names, such as a stack.
// Their events are raised until the next patches about it.
type Lasting struct{ Of string }

func (Lasting) patch()      {}
func (ObjectStatus) patch() {}
func (StatusEdit) patch()   {}
func (Annotation) patch()   {}
func (Finalizer) patch()    {}
func (Event) patch()        {}
