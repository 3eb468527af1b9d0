package cluster

// Patch is something to write back: a status or an event. Implementations are the types below.
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

// Event is to be recorded on an object. Equal events in a row are written once per object until
// something else happens to it.
type Event struct {
	Ref     Ref
	Warning bool
	Reason  string
	Message string
}

func (IngressStatus) patch() {}
func (Event) patch()         {}
