package cluster

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memberships records which finalizers of stacks the objects of the root kinds (IsRootKind) have, and which of these
// finalizers another client has removed. For example, `kubectl replace` with a manifest without finalizers removes all
// finalizers. After that, nothing in the cluster shows that the object has a load balancer. An object has left a stack if a
// client other than this process removed the finalizer of the stack. Memberships is safe for concurrent use.
type Memberships struct {
	mu       sync.Mutex
	byObject map[Ref]map[string]membership // state of each finalizer of each object
	// leftByFinalizer has the objects that have left a stack, by the finalizer of the stack.
	leftByFinalizer setsByKey[string, Ref]
	// changed reports whether Text may differ from the text that was last stored.
	changed bool
	// urgentChange reports whether a change must be stored before the process ends, because the next process cannot read it
	// from the objects in the cluster.
	urgentChange bool
}

// membership is the state of one finalizer of an object.
type membership int

const (
	finalizerPresent        membership = iota // the object has the finalizer
	finalizerRemoving                         // this process is removing the finalizer
	finalizerRemovedByOther                   // another client has removed the finalizer
	finalizerAdding                           // this process is adding the finalizer
	finalizerReadding                         // this process is adding the finalizer to an object that has left the stack
)

// NewMemberships returns Memberships without objects.
func NewMemberships() *Memberships {
	return &Memberships{byObject: map[Ref]map[string]membership{}, leftByFinalizer: setsByKey[string, Ref]{}}
}

// RecordChange records a change of an object. old is nil for a new object, and new is nil for a deleted object. The changes
// of an object must be recorded in the order in which they happened. RecordChange ignores objects that are not of a root
// kind.
func (m *Memberships) RecordChange(old, new Object) {
	obj := new
	if obj == nil {
		obj = old
	}
	k, _ := KindOf(obj)
	if !IsRootKind(k) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ref := RefOf(obj)
	if new == nil {
		m.recordDeletion(ref, old)
		return
	}
	present := IndexValues(ByFinalizer, new)
	for _, f := range present {
		if is, known := m.byObject[ref][f]; !known || is != finalizerPresent && is != finalizerRemoving {
			m.setMembership(ref, f, finalizerPresent)
		}
	}
	for f, is := range m.byObject[ref] {
		switch {
		case slices.Contains(present, f):
		case is == finalizerRemoving:
			m.dropMembership(ref, f)
		case is == finalizerPresent:
			m.setMembership(ref, f, finalizerRemovedByOther)
			m.urgentChange = true
		}
	}
}

// recordDeletion records that an object does not exist any more. old is its last state. If old has the finalizer and no
// deletion timestamp, the object has not left its stack, because it may be missing after a restore of the cluster from a
// backup. If old has a deletion timestamp, another client must have removed the finalizer, so the object has left its stack.
// The caller holds the lock.
func (m *Memberships) recordDeletion(ref Ref, old Object) {
	for f, is := range m.byObject[ref] {
		switch {
		case is == finalizerPresent && old.GetDeletionTimestamp() != nil:
			m.setMembership(ref, f, finalizerRemovedByOther)
			m.urgentChange = true
		case is == finalizerReadding:
			m.setMembership(ref, f, finalizerRemovedByOther)
		case is != finalizerRemovedByOther:
			m.dropMembership(ref, f)
		}
	}
}

// BeginClaim records that this process is about to add a finalizer to an object. It must be called before the write, because
// two events may arrive before the answer of the API server: the event of the write itself, and the event of another client
// that removes the finalizer again.
func (m *Memberships) BeginClaim(ref Ref, finalizer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.byObject[ref][finalizer]; {
	case !known:
		m.setMembership(ref, finalizer, finalizerAdding)
	case is == finalizerRemovedByOther:
		m.setMembership(ref, finalizer, finalizerReadding)
	}
}

// EndClaim records that the write after BeginClaim has ended. added reports whether the write added the finalizer.
func (m *Memberships) EndClaim(ref Ref, finalizer string, added bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.byObject[ref][finalizer]; {
	case added && (!known || is == finalizerAdding || is == finalizerReadding):
		m.setMembership(ref, finalizer, finalizerPresent)
	case is == finalizerAdding:
		m.dropMembership(ref, finalizer)
	case is == finalizerReadding:
		m.setMembership(ref, finalizer, finalizerRemovedByOther)
	}
	m.urgentChange = m.urgentChange || added && m.changed // the event of the added finalizer may have arrived before this call
}

// BeginRelease records that this process is about to remove a finalizer. It must be called before the write, so that the
// event of the write is not treated as an edit by another client.
func (m *Memberships) BeginRelease(ref Ref, finalizer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is, known := m.byObject[ref][finalizer]; known && is == finalizerPresent {
		m.byObject[ref][finalizer] = finalizerRemoving
	}
}

// EndRelease records that the write after BeginRelease has ended. removed reports whether the write removed the finalizer.
// In this case, the object is no longer recorded as an object that has left the stack.
func (m *Memberships) EndRelease(ref Ref, finalizer string, removed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch is, known := m.byObject[ref][finalizer]; {
	case !known:
	case removed && is == finalizerRemovedByOther:
		m.dropMembership(ref, finalizer)
	case !removed && is == finalizerRemoving:
		m.byObject[ref][finalizer] = finalizerPresent
	}
}

// ObjectsThatLeft returns the objects that have left the stack with this finalizer, sorted. Some of these objects may not
// exist any more.
func (m *Memberships) ObjectsThatLeft(finalizer string) []Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(m.leftByFinalizer.members(finalizer), Ref.Compare)
}

// FinalizersLeftBy returns the finalizers of the stacks that an object has left, sorted.
func (m *Memberships) FinalizersLeftBy(ref Ref) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for f, is := range m.byObject[ref] {
		if is == finalizerRemovedByOther || is == finalizerReadding {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}

// Restore loads the memberships that an earlier process has stored, and compares them with the existing objects:
//   - An object that had left a stack and does not exist any more is returned in gone, because no event reports its
//     deletion.
//   - An object that had its finalizer and does not exist any more is dropped, because a user may have removed the
//     finalizer to keep the load balancer.
//   - An object for which watched returns false is dropped.
//   - What is already recorded stays, because it is newer.
//
// leftOut is the number of lines of text that could not be parsed.
func (m *Memberships) Restore(text string, watched func(Ref) bool, existing []Object) (gone []Ref, leftOut int) {
	m.mu.Lock()
	stored, leftOut := parseMemberships(text)
	exists := map[Ref]bool{}
	for _, obj := range existing {
		exists[RefOf(obj)] = true
	}
	for ref, fs := range stored {
		for f, s := range fs {
			if _, known := m.byObject[ref][f]; !known && watched(ref) && (exists[ref] || s == finalizerRemovedByOther) {
				m.setMembership(ref, f, s)
			}
		}
		if len(m.byObject[ref]) > 0 && !exists[ref] {
			gone = append(gone, ref)
		}
	}
	m.mu.Unlock()
	for _, obj := range existing {
		m.RecordChange(nil, obj)
	}
	slices.SortFunc(gone, Ref.Compare)
	return gone, leftOut
}

// Text returns the memberships as a text to be stored, and whether it may differ from the text that was stored last. The
// text begins with the objects that have left a stack. Lines that would make the text longer than maxMembershipsBytes are
// omitted.
func (m *Memberships) Text() (text string, changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text(), m.changed
}

// text returns the text for Text. The caller holds the lock.
func (m *Memberships) text() string {
	var b strings.Builder
	for _, which := range []membership{finalizerRemovedByOther, finalizerReadding, finalizerPresent, finalizerRemoving} {
		for _, ref := range slices.SortedFunc(maps.Keys(m.byObject), Ref.Compare) {
			for _, f := range slices.Sorted(maps.Keys(m.byObject[ref])) {
				line := objectText(ref) + " " + f
				if which == finalizerRemovedByOther || which == finalizerReadding {
					line += " left"
				}
				if m.byObject[ref][f] == which && b.Len()+len(line) < maxMembershipsBytes {
					b.WriteString(line + "\n")
				}
			}
		}
	}
	return b.String()
}

// maxMembershipsBytes is the maximum length of the text in bytes. The API server accepts 1 MiB for one object.
const maxMembershipsBytes = 900 << 10

// HasUrgentChange reports whether a change must be stored before the process ends, because the next process cannot read it
// from the objects in the cluster.
func (m *Memberships) HasUrgentChange() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.urgentChange
}

// RecordStored records that text, a result of Text, was stored.
func (m *Memberships) RecordStored(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = m.text() != text
	m.urgentChange = m.urgentChange && m.changed
}

// parseMemberships parses the result of Memberships.Text. leftOut is the number of lines that could not be parsed.
func parseMemberships(text string) (out map[Ref]map[string]membership, leftOut int) {
	out = map[Ref]map[string]membership{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 2 && !(len(f) == 3 && f[2] == "left") {
			leftOut++
			continue
		}
		ref, ok := parseObjectText(f[0])
		if !ok {
			leftOut++
			continue
		}
		if out[ref] == nil {
			out[ref] = map[string]membership{}
		}
		out[ref][f[1]] = finalizerPresent
		if len(f) == 3 {
			out[ref][f[1]] = finalizerRemovedByOther
		}
	}
	return out, leftOut
}

// objectText returns the name of an object in the stored text: "namespace/name" for an Ingress, "Kind:namespace/name" for an
// object of another kind.
func objectText(ref Ref) string {
	text := ref.Namespace + "/" + ref.Name
	if ref.Kind == KindIngress {
		return text
	}
	return ref.Kind + ":" + text
}

// parseObjectText parses the result of objectText. It returns false if the text is invalid, or if the kind is not a root
// kind.
func parseObjectText(text string) (Ref, bool) {
	kind, rest, named := strings.Cut(text, ":")
	if !named {
		kind, rest = KindIngress, text
	}
	namespace, name, ok := strings.Cut(rest, "/")
	return Ref{Kind: kind, Namespace: namespace, Name: name}, ok && IsRootKind(kind)
}

// setMembership sets the state of a finalizer of an object. The caller holds the lock.
func (m *Memberships) setMembership(ref Ref, finalizer string, to membership) {
	if m.byObject[ref] == nil {
		m.byObject[ref] = map[string]membership{}
	}
	m.byObject[ref][finalizer], m.changed = to, true
	if to != finalizerRemovedByOther && to != finalizerReadding {
		m.leftByFinalizer.remove(finalizer, ref)
		return
	}
	m.leftByFinalizer.add(finalizer, ref)
}

// dropMembership forgets a finalizer of an object. The caller holds the lock.
func (m *Memberships) dropMembership(ref Ref, finalizer string) {
	delete(m.byObject[ref], finalizer)
	if len(m.byObject[ref]) == 0 {
		delete(m.byObject, ref)
	}
	m.leftByFinalizer.remove(finalizer, ref)
	m.changed = true
}
