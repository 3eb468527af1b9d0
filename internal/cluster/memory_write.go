package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Part is the part of an object that a write changes.
type Part int

// The parts of an object.
const (
	MainPart   Part = iota // everything except the status
	StatusPart             // the status subresource
)

// Put stores unchanged copies of objects, including status, managed fields and deletion timestamp. It replaces stored
// objects with the same names. It sets a new resourceVersion. If UID, generation, creation time, managed fields or the
// initial conditions of a Gateway API object are missing, Put adds them.
func (m *Memory) Put(objs ...Object) error {
	for _, obj := range objs {
		ref, _, err := m.refAndResource(obj)
		if err != nil {
			return err
		}
		m.mu.Lock()
		o := obj.DeepCopyObject().(Object)
		m.fillNewObject(o)
		if len(o.GetManagedFields()) == 0 {
			updateManagedFields(nil, o, o.GetCreationTimestamp().Time)
		}
		m.storeObject(ref, o)
		m.mu.Unlock()
		m.deliverEvents()
	}
	return nil
}

// Apply creates an object, or changes the stored object as kubectl apply does: finalizers and status are retained. The
// status of pods and nodes is replaced, because there is no kubelet to write it. If the object has another UID than the
// stored object, Apply replaces the stored object completely (Put).
func (m *Memory) Apply(obj Object) error {
	ref, _, err := m.refAndResource(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	cur := m.objects[ref]
	m.mu.Unlock()
	if cur == nil || obj.GetUID() != "" && obj.GetUID() != cur.GetUID() {
		return m.Put(obj)
	}
	next := obj.DeepCopyObject().(Object)
	next.SetFinalizers(cur.GetFinalizers())
	if _, err := m.Update(next, MainPart); err != nil {
		return err
	}
	switch obj.(type) {
	case *corev1.Pod, *corev1.Node:
		_, err = m.Update(next, StatusPart)
	}
	return err
}

// Create stores a new object, and returns the stored object. As in the API server, the status, UID and times of the given
// object are ignored. Create fails with AlreadyExists if an object with that name exists.
func (m *Memory) Create(obj Object) (Object, error) {
	o := obj.DeepCopyObject().(Object)
	m.mu.Lock()
	if o.GetName() == "" && o.GetGenerateName() != "" {
		m.serial++
		o.SetName(fmt.Sprintf("%s%05d", o.GetGenerateName(), m.serial))
	}
	ref, res, err := m.refAndResource(o)
	if err == nil && m.objects[ref] != nil {
		err = apierrors.NewAlreadyExists(res, ref.Name)
	}
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	o.SetUID("")
	o.SetGeneration(0)
	o.SetDeletionTimestamp(nil)
	o.SetCreationTimestamp(metav1.Time{})
	copyStatus(o, nil)
	m.fillNewObject(o)
	updateManagedFields(nil, o, m.clock.Now())
	m.storeObject(ref, o)
	m.mu.Unlock()
	m.deliverEvents()
	return o, nil
}

// fillNewObject sets the fields that the API server sets in a new object. The caller holds the lock.
func (m *Memory) fillNewObject(o Object) {
	m.version++
	o.SetResourceVersion(strconv.FormatInt(m.version, 10))
	if o.GetUID() == "" {
		m.serial++
		o.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", m.serial)))
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	fillGatewayStatus(o)
	if at := o.GetCreationTimestamp(); at.IsZero() {
		o.SetCreationTimestamp(metav1.Time{Time: m.clock.Now()})
	}
}

// Update changes a part of the stored object, and returns the stored object. If obj has a resourceVersion or UID, it must be
// equal to the one of the stored object. A write that changes nothing causes no event. An object that is being deleted is
// removed when its last finalizer is removed.
func (m *Memory) Update(obj Object, part Part) (Object, error) {
	return m.updatePart(obj, part, func(Object) (Object, error) { return obj.DeepCopyObject().(Object), nil })
}

// Patch applies a JSON merge patch or a strategic merge patch to a part of the stored object with the kind and name of obj.
// If the patch has a resourceVersion or UID, it must be equal to the one of the stored object.
func (m *Memory) Patch(obj Object, part Part, kind types.PatchType, data []byte) (Object, error) {
	return m.updatePart(obj, part, func(cur Object) (Object, error) {
		before, err := json.Marshal(cur)
		if err != nil {
			return nil, err
		}
		var after []byte
		switch kind {
		case types.MergePatchType:
			after, err = jsonpatch.MergePatch(before, data)
		case types.StrategicMergePatchType:
			after, err = strategicpatch.StrategicMergePatch(before, data, cur)
		default:
			err = fmt.Errorf("patch type %s is not supported", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("patch %s: %w", RefOf(cur), err)
		}
		gvk := cur.GetObjectKind().GroupVersionKind()
		out := newOfSameKind(cur)
		if err := json.Unmarshal(after, out); err != nil {
			return nil, fmt.Errorf("patch %s: %w", RefOf(cur), err)
		}
		out.GetObjectKind().SetGroupVersionKind(gvk)
		return out, nil
	})
}

// updatePart replaces a part of the stored object with the kind and name of obj. make gets the stored object (cur), and
// returns an object that has the new part.
func (m *Memory) updatePart(obj Object, part Part, make func(cur Object) (Object, error)) (Object, error) {
	ref, res, err := m.refAndResource(obj)
	if err != nil {
		return nil, err
	}
	stored, err := func() (Object, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		cur := m.objects[ref]
		if cur == nil {
			return nil, apierrors.NewNotFound(res, ref.Name)
		}
		next, err := make(cur)
		if err != nil {
			return nil, err
		}
		if v := next.GetResourceVersion(); v != "" && v != cur.GetResourceVersion() {
			return nil, apierrors.NewConflict(res, ref.Name, fmt.Errorf("the object has been modified"))
		}
		if u := next.GetUID(); u != "" && u != cur.GetUID() {
			return nil, apierrors.NewConflict(res, ref.Name, fmt.Errorf("uid %s is not the current one", u))
		}
		if part == StatusPart {
			status := next
			next = cur.DeepCopyObject().(Object)
			copyStatus(next, status)
		} else {
			copyStatus(next, cur)
		}
		return m.replaceObject(ref, cur, next), nil
	}()
	m.deliverEvents()
	return stored, err
}

// replaceObject stores next in place of cur, if the two objects differ, and returns the stored object. It copies the fields
// that clients cannot change, such as the UID, from cur. It removes an object that is being deleted and has no finalizer
// left. The caller holds the lock.
func (m *Memory) replaceObject(ref Ref, cur, next Object) Object {
	next.SetUID(cur.GetUID())
	next.SetResourceVersion(cur.GetResourceVersion())
	next.SetGeneration(cur.GetGeneration())
	next.SetCreationTimestamp(cur.GetCreationTimestamp())
	next.SetDeletionTimestamp(cur.GetDeletionTimestamp())
	next.GetObjectKind().SetGroupVersionKind(cur.GetObjectKind().GroupVersionKind())
	next.SetManagedFields(cur.GetManagedFields())
	if equality.Semantic.DeepEqual(cur, next) {
		return cur
	}
	if cur.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		m.version++
		m.storeObject(ref, nil)
		return next
	}
	if !equality.Semantic.DeepEqual(specOf(cur), specOf(next)) {
		next.SetGeneration(cur.GetGeneration() + 1)
	}
	updateManagedFields(cur, next, m.clock.Now())
	m.version++
	next.SetResourceVersion(strconv.FormatInt(m.version, 10))
	m.storeObject(ref, next)
	return next
}

// Delete removes an object. If the object has finalizers, Delete only sets its deletion timestamp.
func (m *Memory) Delete(ref Ref) error {
	err := func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		cur := m.objects[ref]
		switch {
		case cur == nil:
			return notFound(ref)
		case len(cur.GetFinalizers()) == 0:
			m.version++
			m.storeObject(ref, nil)
		case cur.GetDeletionTimestamp() == nil:
			next := cur.DeepCopyObject().(Object)
			next.SetDeletionTimestamp(&metav1.Time{Time: m.clock.Now()})
			next.SetGeneration(cur.GetGeneration() + 1)
			m.version++
			next.SetResourceVersion(strconv.FormatInt(m.version, 10))
			m.storeObject(ref, next)
		}
		return nil
	}()
	m.deliverEvents()
	return err
}

// ReadInto copies the stored object with the kind and name of obj into obj. It returns a NotFound error if no such object is
// stored.
func (m *Memory) ReadInto(obj Object) error {
	ref, res, err := m.refAndResource(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	cur := m.objects[ref]
	if cur == nil {
		return apierrors.NewNotFound(res, ref.Name)
	}
	data, err := json.Marshal(cur)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

// DeleteObject is Delete for the object with the kind and name of obj.
func (m *Memory) DeleteObject(obj Object) error {
	ref, _, err := m.refAndResource(obj)
	if err != nil {
		return err
	}
	return m.Delete(ref)
}
