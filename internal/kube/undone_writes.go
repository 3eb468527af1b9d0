package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// undoneWriteDetector detects that this client and another client, such as a second controller, repeatedly undo each other's
// writes to an object. It stores the last writes of each object. If this client is about to write the
// same content to the same field again, another client has undone the last write. Without a limit, both clients would write
// as fast as the API server answers. Therefore repeated writes of an object have an exponential back-off. As soon as one
// write of an object is repeated, all writes of this object are also limited to writesPerMinute. Writes of an object without
// a repeated write are not delayed.
type undoneWriteDetector struct {
	mu       sync.Mutex
	byObject map[objectKey]*writeHistory
}

// objectKey identifies an object. The UID is empty for an object that is about to be created.
type objectKey struct {
	ref cluster.Ref
	uid types.UID
}

// fieldKey identifies a field of an object and, for some fields, the stack for which the field is written.
type fieldKey struct {
	name string
	// subject is the stack for which a status is edited. It is needed because each stack of a route writes different content
	// to the status of the route. It is empty for other writes.
	subject string
}

// writeHistory holds the recent writes of this client to one object, whether or not another client has undone them.
type writeHistory struct {
	lastWritten map[fieldKey]contentHash // hash of the content that was last written to each field
	// repeats counts the repeated writes of all fields. Before the first repeated write, repeats.LastWrite is the time of
	// the last write.
	repeats  repeat.Streak
	reported bool // whether an event reports which client undoes the writes
	// recentWrites are the times of the last writes, at most writesPerMinute of them, oldest first.
	recentWrites []time.Time
}

// contentHash is the SHA-256 hash of the content that was written to a field.
type contentHash [sha256.Size]byte

// writesPerMinute limits the writes to an object while other clients undo some of them.
const writesPerMinute = 10

// repeatBackOff defines the delays between repeated writes of one object.
var repeatBackOff = repeat.BackOff{FreeRepetitions: 3, FirstDelay: durations.AnswerTimeout, LongestDelay: durations.LongestRepeatDelay, StreakTimeout: durations.MinuteInterval}

// isOver reports whether the last repeated write is so long ago that the next write is not delayed. After a
// report, a further durations.LongestRepeatDelay must be over, so that no second event is written if the other client begins
// again soon.
func (f *writeHistory) isOver(now time.Time) bool {
	if f.reported {
		now = now.Add(-durations.LongestRepeatDelay)
	}
	return repeatBackOff.HasEnded(f.repeats, now)
}

// delayOf returns how long the write of content to a field must wait; 0 or less means that the write may be sent now.
// repeated reports whether the last write of the field had the same content, which means that another client has undone that
// write.
func (m *undoneWriteDetector) delayOf(k objectKey, field fieldKey, content contentHash, now time.Time) (delay time.Duration, repeated bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.byObject[k]
	if f == nil || f.isOver(now) {
		return 0, false
	}
	last, written := f.lastWritten[field]
	if repeated = written && last == content; repeated {
		delay = repeatBackOff.Remaining(f.repeats, now)
	}
	if f.repeats.Repetitions > 0 && len(f.recentWrites) == writesPerMinute {
		delay = max(delay, f.recentWrites[0].Add(time.Minute).Sub(now))
	}
	return delay, repeated
}

// recordWrite records a successful write of content to a field.
func (m *undoneWriteDetector) recordWrite(k objectKey, field fieldKey, content contentHash, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.byObject) > maxRememberedObjects {
		// If all entries are removed, undone writes are detected again after a few more writes. Reported objects
		// are retained, because removeEnded ends their events.
		maps.DeleteFunc(m.byObject, func(_ objectKey, f *writeHistory) bool { return !f.reported })
	}
	if m.byObject == nil {
		m.byObject = map[objectKey]*writeHistory{}
	}
	f := m.byObject[k]
	if f == nil || f.isOver(now) {
		f = &writeHistory{lastWritten: map[fieldKey]contentHash{}}
		m.byObject[k] = f
	}
	last, written := f.lastWritten[field]
	repeated := written && last == content
	if repeated {
		f.repeats.Repetitions++
	}
	if repeated || f.repeats.Repetitions == 0 {
		f.repeats.LastWrite = now
	}
	f.lastWritten[field] = content
	if len(f.recentWrites) == writesPerMinute {
		f.recentWrites = f.recentWrites[1:]
	}
	f.recentWrites = append(f.recentWrites, now)
}

// markReported records that the undone writes of an object are reported. It returns false if this was recorded before, or if
// no writes of the object are stored.
func (m *undoneWriteDetector) markReported(k objectKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.byObject[k]
	if f == nil || f.reported {
		return false
	}
	f.reported = true
	return true
}

// removeEnded removes the objects whose writes are not undone any more, and returns those that were reported.
func (m *undoneWriteDetector) removeEnded(now time.Time) (out []cluster.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, f := range m.byObject {
		if f.isOver(now) {
			delete(m.byObject, k)
			if f.reported {
				out = append(out, k.ref)
			}
		}
	}
	return out
}

// undoneError is the error of a write that is delayed because other clients undo writes to the object.
type undoneError struct {
	ref   cluster.Ref
	field string
	delay time.Duration
}

// Error implements error.
func (u undoneError) Error() string {
	return fmt.Sprintf("writes to %[2]s are undone by another client; the next attempt to write %[1]s is in %[3]s", u.field, u.ref, u.delay.Round(time.Second))
}

// RetryAfter returns the time until the field may be written again.
func (u undoneError) RetryAfter() time.Duration { return u.delay }

// isUndoneError reports whether err contains an undoneError.
func isUndoneError(err error) bool {
	var u undoneError
	return errors.As(err, &u)
}

// fieldWriter writes fields of objects. It delays writes that other clients undo.
type fieldWriter struct {
	*eventWriter
	undoneWrites undoneWriteDetector
}

// writeField calls send, which writes a field of an object. If other clients have repeatedly undone this write, writeField
// reports the undone writes in an event, and may return an undoneError without calling send. content is the desired content
// of the field without parts that differ in each write, such as times.
func (c *fieldWriter) writeField(ctx context.Context, obj cluster.Object, field fieldKey, content any, send func() error) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	ref, hash := cluster.RefOf(obj), contentHash(sha256.Sum256(text))
	k := objectKey{ref, obj.GetUID()}
	delay, repeated := c.undoneWrites.delayOf(k, field, hash, c.clock.Now())
	if delay > 0 {
		if repeated && c.undoneWrites.markReported(k) {
			c.reportUndoneWrites(ctx, ref, field.name)
		}
		return undoneError{ref, field.name, delay}
	}
	if err := send(); err != nil {
		return err
	}
	c.undoneWrites.recordWrite(k, field, hash, c.clock.Now())
	return nil
}

// writeFieldWithoutVersion is writeField for a patch without a resource version. Such a patch never causes a conflict. obj
// is the cached object, which may not contain the last write. Therefore writeFieldWithoutVersion reads the object from the
// API server before it repeats a write, and skips the write if written reports that the object already has the content.
func (c *fieldWriter) writeFieldWithoutVersion(ctx context.Context, obj cluster.Object, name string, content any, written func(live cluster.Object) (bool, error), send func() error) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	ref, field := cluster.RefOf(obj), fieldKey{name: name}
	if _, repeated := c.undoneWrites.delayOf(objectKey{ref, obj.GetUID()}, field, sha256.Sum256(text), c.clock.Now()); repeated {
		live, err := c.readFromAPIServer(ctx, ref)
		if err != nil {
			return ignoreNotFound(err)
		}
		if live.GetUID() != obj.GetUID() {
			return nil // another object now has the name, and its event triggers a run
		}
		if ok, err := written(live); ok || err != nil {
			return err
		}
	}
	return c.writeField(ctx, obj, field, content, send)
}

// reportUndoneWrites writes a warning event that another client undoes the writes of a field. The event is emitted again
// until the detector removes the object.
func (c *fieldWriter) reportUndoneWrites(ctx context.Context, ref cluster.Ref, field string) {
	who := c.lastManager(ctx, ref, field)
	cause, fix := "by "+who+" after each write", "configure "+who+" not to change it"
	if typ, _ := cluster.TypeOf(ref.Kind); field == "status" && strings.HasSuffix(typ.GVK.Group, ".k8s.aws") {
		// The API server drops fields that the schema lacks, and helm upgrade does not update the schema.
		cause += ", or its CustomResourceDefinition lacks a field"
		fix += ", or apply the CustomResourceDefinitions of this version"
	}
	reason := string(finding.WriteUndone)
	ev := cluster.Event{Ref: ref, Warning: true, Reason: reason, Message: fmt.Sprintf(
		"%s: %s is reverted %s; the controller writes it again with increasing delays of up to 15 minutes; %s", reason, field, cause, fix)}
	c.writeEvent(ctx, ev)
	if obj, err := c.source.Get(ref); err == nil && obj != nil {
		c.events.recordLasting(undoneWriteSubject(ref), []lastingWarning{{uid: obj.GetUID(), ev: ev, outlivesSuccess: true}})
	}
}

// undoneWriteSubject returns the subject under which the warning about undone writes of an object is recorded.
func undoneWriteSubject(ref cluster.Ref) string { return "writes to " + ref.String() }

// endUndoneWriteWarnings stops repeating the warning events about objects whose writes are not undone any more.
func (c *fieldWriter) endUndoneWriteWarnings() {
	for _, ref := range c.undoneWrites.removeEnded(c.clock.Now()) {
		c.events.recordLasting(undoneWriteSubject(ref), nil)
	}
}

// lastManager returns the quoted name of the field manager, other than this client, that changed an object last; "another
// client" if it cannot be determined. It prefers managers that changed the same subresource as field.
func (c *fieldWriter) lastManager(ctx context.Context, ref cluster.Ref, field string) string {
	const unknown = "another client"
	obj, err := c.readFromAPIServer(ctx, ref)
	if err != nil {
		return unknown
	}
	part := ""
	if strings.HasPrefix(field, "status") {
		part = "status"
	}
	var last metav1.ManagedFieldsEntry
	for _, e := range obj.GetManagedFields() {
		if e.Manager == "" || e.Manager == ownFieldManager() || e.Time == nil {
			continue
		}
		keepLast := last.Manager != "" && cmp.Or(subresourceRank(last, part)-subresourceRank(e, part), last.Time.Compare(e.Time.Time)) >= 0
		if !keepLast {
			last = e
		}
	}
	if last.Manager == "" {
		return unknown
	}
	return fmt.Sprintf("%q", finding.TruncateValue(last.Manager))
}

// subresourceRank returns 1 if e is about changes of the subresource part ("" for the main resource), and 0 otherwise.
func subresourceRank(e metav1.ManagedFieldsEntry, part string) int {
	if e.Subresource == part {
		return 1
	}
	return 0
}

// isOwnControllerName reports whether this controller writes status entries with the controller name name.
func isOwnControllerName(name string) bool {
	return strings.HasPrefix(name, "gateway.k8s.aws/") || strings.HasPrefix(name, "gateway.fulcrum.dev/")
}

// ownFieldManager returns the field manager of this client. It is the name of the program, because the writes of this client
// specify no field manager.
func ownFieldManager() string { return filepath.Base(os.Args[0]) }

// comparableFields returns the fields of a status without transition times and without entries of other controllers. Times
// and entries of other controllers may change although this controller writes the same content.
func comparableFields(fields any) (any, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return removeUncomparedFields(out), nil
}

// removeUncomparedFields removes transition times and entries of other controllers from a decoded status.
func removeUncomparedFields(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for k := range v {
			v[k] = removeUncomparedFields(v[k])
		}
	case []any:
		var own []any
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				if name, ok := m["controllerName"].(string); ok && !isOwnControllerName(name) {
					continue
				}
			}
			own = append(own, removeUncomparedFields(e))
		}
		return own
	}
	return v
}
