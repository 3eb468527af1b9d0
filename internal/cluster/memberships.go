package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memberships remember which finalizers of stacks objects of root kinds carry. `kubectl replace` with a manifest
// that names none takes them off, and with them all that the cluster says of the load balancer that an
// object was part of. An object has left a stack if its finalizer was taken off by another writer than
// this process. Memberships are safe for concurrent use.
type Memberships struct {
	mu sync.Mutex
	of map[Ref]map[string]membership // by object and finalizer
	// left are the objects that have left, by finalizer.
	left sets[string, Ref]
	// news reports that Text differs from what was stored last, and urgent that a process which ends now
	// must have stored it.
	news, urgent bool
}

type membership int

const (
	carried    membership = iota // the object carries the finalizer
	releasing                    // this process takes the finalizer off
	left                         // another writer has taken it off
	claiming                     // this process puts the finalizer on
	reclaiming                   // likewise, on an object that has left
)

// NewMemberships returns an empty memory.
func NewMemberships() *Memberships {
	return &Memberships{of: map[Ref]map[string]membership{}, left: sets[string, Ref]{}}
}

// Saw takes an event up: old is nil for an object that appeared, new for one that is gone. Events of an
// object must come in their order.
func (m *Memberships) Saw(old, new Object) {
	obj := new
	if obj == nil {
		obj = old
	}
	k, _ := KindOf(obj)
	if !slices.Contains(roots, k) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ref := RefOf(obj)
	if new == nil {
		m.deleted(ref, old)
		return
	}
	carries := IndexValues(k, ByFinalizer, new)
	for _, f := range carries {
		if is, known := m.of[ref][f]; !known || is != carried && is != releasing {
			m.set(ref, f, carried)
		}
	}
	for f, is := range m.of[ref] {
		switch {
		case slices.Contains(carries, f):
		case is == releasing:
			m.drop(ref, f)
		case is == carried:
			m.set(ref, f, left)
			m.urgent = true
		}
	}
}

// deleted notes that an object is gone. One whose finalizer was there until the end, and which was not
// being deleted, is not believed to be gone by anybody's will: a restored or incomplete cluster looks
// the same.
func (m *Memberships) deleted(ref Ref, old Object) {
	for f, is := range m.of[ref] {
		switch {
		case is == carried && old.GetDeletionTimestamp() != nil:
			m.set(ref, f, left)
			m.urgent = true
		case is == reclaiming:
			m.set(ref, f, left)
		case is != left:
			m.drop(ref, f)
		}
	}
}

// Claiming notes that this process is about to put a finalizer on an object. Another writer may have taken it off again, and
// both events have come, before the answer has.
func (m *Memberships) Claiming(ref Ref, finalizer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.of[ref][finalizer]; {
	case !known:
		m.set(ref, finalizer, claiming)
	case is == left:
		m.set(ref, finalizer, reclaiming)
	}
}

// Claimed notes whether the finalizer is on.
func (m *Memberships) Claimed(ref Ref, finalizer string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.of[ref][finalizer]; {
	case on && (!known || is == claiming || is == reclaiming):
		m.set(ref, finalizer, carried)
	case is == claiming:
		m.drop(ref, finalizer)
	case is == reclaiming:
		m.set(ref, finalizer, left)
	}
	m.urgent = m.urgent || on && m.news // the event may have come first
}

// Releasing notes that this process is about to take a finalizer off, so that the event which follows
// is not taken for the edit of another.
func (m *Memberships) Releasing(ref Ref, finalizer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is, known := m.of[ref][finalizer]; known && is == carried {
		m.of[ref][finalizer] = releasing
	}
}

// Released notes whether the finalizer is off. Nothing is remembered of a stack that an object had left.
func (m *Memberships) Released(ref Ref, finalizer string, off bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.of[ref][finalizer]; {
	case !known:
	case off && is == left:
		m.drop(ref, finalizer)
	case !off && is == releasing:
		m.of[ref][finalizer] = carried
	}
}

// Left returns the objects that have left a finalizer's stack, in order.
func (m *Memberships) Left(finalizer string) []Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(m.left.of(finalizer), compareRefs)
}

// LeftBy returns the finalizers of the stacks that an object has left, in order.
func (m *Memberships) LeftBy(ref Ref) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for f, is := range m.of[ref] {
		if is == left || is == reclaiming {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// Begin loads what an earlier process has stored, compared with the objects that there are now. It
// returns the objects that have left a stack and are gone: no event will come of them. What the earlier
// process saw carried and is gone without a trace is forgotten, as a user may have taken the finalizer
// off to keep the load balancer. watched reports whether an object would be seen at all; what is
// stored of others is lost, and so are the lines that cannot be read, of which leftOut counts how many there are.
func (m *Memberships) Begin(text string, watched func(Ref) bool, now []Object) (gone []Ref, leftOut int) {
	m.mu.Lock()
	stored, leftOut := parseMemberships(text)
	is := map[Ref]bool{}
	for _, obj := range now {
		is[RefOf(obj)] = true
	}
	for ref, fs := range stored {
		for f, s := range fs {
			if watched(ref) && (is[ref] || s == left) {
				m.set(ref, f, s)
			}
		}
		if len(m.of[ref]) > 0 && !is[ref] {
			gone = append(gone, ref)
		}
	}
	m.mu.Unlock()
	for _, obj := range now {
		m.Saw(nil, obj)
	}
	slices.SortFunc(gone, compareRefs)
	return gone, leftOut
}

// Text returns what is to be stored, and whether it differs from what was stored last. What does not fit into
// one object is left out, from the end; what has left comes first.
func (m *Memberships) Text() (text string, news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text(), m.news
}

func (m *Memberships) text() string {
	var b strings.Builder
	for _, which := range []membership{left, reclaiming, carried, releasing} {
		for _, ref := range slices.SortedFunc(maps.Keys(m.of), compareRefs) {
			for _, f := range slices.Sorted(maps.Keys(m.of[ref])) {
				line := memberText(ref) + " " + f
				if which == left || which == reclaiming {
					line += " left"
				}
				if m.of[ref][f] == which && b.Len()+len(line) < maxMemberships {
					b.WriteString(line + "\n")
				}
			}
		}
	}
	return b.String()
}

// maxMemberships keeps below what Kubernetes takes for one object, 1 MiB.
const maxMemberships = 900 << 10

// Urgent reports whether there is something to store that is not known to anybody else.
func (m *Memberships) Urgent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgent
}

// Stored notes that a text was stored.
func (m *Memberships) Stored(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news = m.text() != text
	m.urgent = m.urgent && m.news
}

func parseMemberships(text string) (out map[Ref]map[string]membership, leftOut int) {
	out = map[Ref]map[string]membership{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 2 && !(len(f) == 3 && f[2] == "left") {
			leftOut++
			continue
		}
		ref, ok := memberOf(f[0])
		if !ok {
			leftOut++
			continue
		}
		if out[ref] == nil {
			out[ref] = map[string]membership{}
		}
		out[ref][f[1]] = carried
		if len(f) == 3 {
			out[ref][f[1]] = left
		}
	}
	return out, leftOut
}

// memberText names an object in what is stored: "namespace/name" for an Ingress, and with the kind and a colon
// before it for others.
func memberText(ref Ref) string {
	text := ref.Namespace + "/" + ref.Name
	if ref.Kind == KindIngress {
		return text
	}
	return string(ref.Kind) + ":" + text
}

// memberOf reads what memberText has written; false for a kind that is not a root.
func memberOf(text string) (Ref, bool) {
	kind, rest, named := strings.Cut(text, ":")
	if !named {
		kind, rest = string(KindIngress), text
	}
	namespace, name, ok := strings.Cut(rest, "/")
	return Ref{Kind: Kind(kind), Namespace: namespace, Name: name}, ok && slices.Contains(roots, Kind(kind))
}

// roots are looked at for each event.
var roots = Roots()

func (m *Memberships) set(ref Ref, finalizer string, to membership) {
	if m.of[ref] == nil {
		m.of[ref] = map[string]membership{}
	}
	m.of[ref][finalizer], m.news = to, true
	if to != left && to != reclaiming {
		m.left.remove(finalizer, ref)
		return
	}
	m.left.add(finalizer, ref)
}

func (m *Memberships) drop(ref Ref, finalizer string) {
	delete(m.of[ref], finalizer)
	if len(m.of[ref]) == 0 {
		delete(m.of, ref)
	}
	m.left.remove(finalizer, ref)
	m.news = true
}

func compareRefs(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
