package cluster

// Patch is something to write back: a status, an annotation or an event. Implementations are the
// types below.
type Patch interface{ patch() }

// IngressStatus sets status.loadBalancer.ingress of an Ingress; no entries clear it.
type IngressStatus struct {
	Namespace, Name string
	Entries         []IngressEntry
}

// IngressEntry is one host name with its ports, ascending.
type IngressEntry struct {
	Hostname string // lower case
	Ports    []int32
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

// Event is to be recorded on an object. Equal events in a row are written once per object until
// something else happens to it.
type Event struct {
	Ref     Ref
	Warning bool
	// Once reports that the event is no news when it comes again, although it is no warning.
	Once bool
	// Fault tells a warning about what is held, refused or lost from advice.
	Fault   bool
	Reason  string
	Message string
}

// Lasting says that the warnings it comes with, and no others, last of what Of names, such as a stack.
// Their events are raised until the next patches about it.
type Lasting struct{ Of string }

func (Lasting) patch()       {}
func (IngressStatus) patch() {}
func (Annotation) patch()    {}
func (Event) patch()         {}
