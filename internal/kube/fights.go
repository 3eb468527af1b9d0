package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

// fights remembers what was written last to each object. The same content for the same field once more means that
// another client has undone the write; again and again, it would be written at the speed of the API server. So repeated
// writes of an object have an exponential back-off, and all writes of it, such as those that report what was undone, are ten
// a minute. An object of which no write was repeated is never slowed down, however often it is written.
type fights struct {
	mu sync.Mutex
	of map[fightKey]*fight
}

// fightKey is an object; one that is made has no UID yet.
type fightKey struct {
	ref cluster.Ref
	uid types.UID
}

type fight struct {
	last map[string]version // what was written, by field
	// row are the repeated writes, of any field. Before the first of these, its time is that of the last write.
	row      repeat.Streak
	reported bool // an event names the one who undoes
	// recent are the last writes, at most as many as a minute has.
	recent []time.Time
}

// version is a hash of what was written.
type version [sha256.Size]byte

// writesPerMinute is how often an object is written while others undo some of the writes.
const writesPerMinute = 10

// paceOfFights is the pace of repeated writes of one object.
var paceOfFights = repeat.Pace{Free: 3, First: durations.Answer, Longest: durations.Fight, Rest: durations.Often}

func (f *fight) isOver(now time.Time) bool {
	if f.reported {
		now = now.Add(-durations.Fight)
	}
	return paceOfFights.HasEnded(f.row, now)
}

// delayOf returns how long a write is delayed, and whether others have undone the same one.
func (m *fights) delayOf(k fightKey, field string, content version, now time.Time) (left time.Duration, repeated bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.of[k]
	if f == nil || f.isOver(now) {
		return 0, false
	}
	last, written := f.last[field]
	if repeated = written && last == content; repeated {
		left = paceOfFights.Left(f.row, now)
	}
	if f.row.Times > 0 && len(f.recent) == writesPerMinute {
		left = max(left, f.recent[0].Add(time.Minute).Sub(now))
	}
	return left, repeated
}

// noteWrite notes a write.
func (m *fights) noteWrite(k fightKey, field string, content version, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.of) > maxRemembered {
		m.of = nil // what others undo all the time is slowed down a few writes later
	}
	if m.of == nil {
		m.of = map[fightKey]*fight{}
	}
	f := m.of[k]
	if f == nil || f.isOver(now) {
		f = &fight{last: map[string]version{}}
		m.of[k] = f
	}
	last, written := f.last[field]
	repeated := written && last == content
	if repeated {
		f.row.Times++
	}
	if repeated || f.row.Times == 0 {
		f.row.At = now
	}
	f.last[field] = content
	if len(f.recent) == writesPerMinute {
		f.recent = f.recent[1:]
	}
	f.recent = append(f.recent, now)
}

// markReported notes that a fight is reported, and reports whether it was not before.
func (m *fights) markReported(k fightKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.of[k]
	if f == nil || f.reported {
		return false
	}
	f.reported = true
	return true
}

// ended forgets the fights that are over, and returns those that were reported.
func (m *fights) ended(now time.Time) (out []cluster.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, f := range m.of {
		if f.isOver(now) {
			delete(m.of, k)
			if f.reported {
				out = append(out, k.ref)
			}
		}
	}
	return out
}

// undone is the error of a write that is delayed, as others have undone the same one again and again.
type undone struct {
	ref   cluster.Ref
	field string
	left  time.Duration
}

// Error implements error.
func (u undone) Error() string {
	return fmt.Sprintf("writes to %[2]s are undone by others; %[1]s is written in %[3]s", u.field, u.ref, u.left.Round(time.Second))
}

// RetryAfter returns when to try again: nothing has failed.
func (u undone) RetryAfter() time.Duration { return u.left }

func isUndone(err error) bool {
	var u undone
	return errors.As(err, &u)
}

// fieldWriter writes fields of objects, ever more rarely where others undo it.
type fieldWriter struct {
	*eventWriter
	fights fights
}

// write writes a field of an object, unless others have undone the same write again and again and its next turn has not
// come. content is what the field is to have, without what changes by itself, such as times.
func (c *fieldWriter) write(ctx context.Context, obj cluster.Object, field string, content any, do func() error) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	ref, is := cluster.RefOf(obj), version(sha256.Sum256(text))
	k := fightKey{ref, obj.GetUID()}
	left, repeated := c.fights.delayOf(k, field, is, c.clock.Now())
	if left > 0 {
		if repeated && c.fights.markReported(k) {
			c.reportFight(ctx, ref, field)
		}
		return undone{ref, field, left}
	}
	if err := do(); err != nil {
		return err
	}
	c.fights.noteWrite(k, field, is, c.clock.Now())
	return nil
}

// writeUnlocked is write for a change of a cached object that is sent without the version that it was made from. The cache
// may not have the last write yet: what is to be repeated is read first, and not written if it is there.
func (c *fieldWriter) writeUnlocked(ctx context.Context, obj cluster.Object, field string, content any, there func(live cluster.Object) (bool, error), do func() error) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	ref := cluster.RefOf(obj)
	if _, repeated := c.fights.delayOf(fightKey{ref, obj.GetUID()}, field, sha256.Sum256(text), c.clock.Now()); repeated {
		typ, ok := cluster.TypeOf(ref.Kind)
		if !ok {
			return fmt.Errorf("%s has no known kind", ref)
		}
		live := typ.New()
		live.SetNamespace(ref.Namespace)
		live.SetName(ref.Name)
		if err := c.api.Read(ctx, live); err != nil {
			return ignoreNotFound(err)
		}
		if live.GetUID() != obj.GetUID() {
			return nil // another object has taken the name, and triggers a run
		}
		if ok, err := there(live); ok || err != nil {
			return err
		}
	}
	return c.write(ctx, obj, field, content, do)
}

// reportFight reports that others undo what is written, as long as they do.
func (c *fieldWriter) reportFight(ctx context.Context, ref cluster.Ref, field string) {
	who := c.lastManager(ctx, ref, field)
	reason := string(finding.WriteUndone)
	ev := cluster.Event{Ref: ref, Warning: true, Reason: reason, Message: fmt.Sprintf(
		"%s: %s is changed back by %s after each write; it is written again ever more rarely, every 15 minutes at last; have %s leave it alone",
		reason, field, who, who)}
	c.writeEvent(ctx, ev)
	if obj, err := c.source.Get(ref); err == nil && obj != nil {
		c.events.recordLasting(fightOf(ref), []lasting{{uid: obj.GetUID(), ev: ev, separate: true}})
	}
}

// fightOf returns what the warning about a fight is about.
func fightOf(ref cluster.Ref) string { return "writes to " + ref.String() }

// endFights lets the warnings about fights that are over not be raised any more.
func (c *fieldWriter) endFights() {
	for _, ref := range c.fights.ended(c.clock.Now()) {
		c.events.recordLasting(fightOf(ref), nil)
	}
}

// lastManager names the client, other than this one, that the API server notes as the last to change an object, or the
// part of it that a field is of.
func (c *fieldWriter) lastManager(ctx context.Context, ref cluster.Ref, field string) string {
	const unknown = "another client"
	typ, ok := cluster.TypeOf(ref.Kind)
	if !ok {
		return unknown
	}
	obj := typ.New()
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	if err := c.api.Read(ctx, obj); err != nil {
		return unknown
	}
	part := ""
	if strings.HasPrefix(field, "status") {
		part = "status"
	}
	var last metav1.ManagedFieldsEntry
	for _, e := range obj.GetManagedFields() {
		if e.Manager == "" || e.Manager == ownManager() || e.Time == nil {
			continue
		}
		before := last.Manager != "" && cmp.Or(rank(last, part)-rank(e, part), last.Time.Compare(e.Time.Time)) >= 0
		if !before {
			last = e
		}
	}
	if last.Manager == "" {
		return unknown
	}
	return fmt.Sprintf("%q", finding.Cut(last.Manager))
}

// rank is higher for the managers that have changed the part.
func rank(e metav1.ManagedFieldsEntry, part string) int {
	if e.Subresource == part {
		return 1
	}
	return 0
}

// ownController reports whether entries of a status with this name are written here.
func ownController(name string) bool {
	return strings.HasPrefix(name, "gateway.k8s.aws/") || strings.HasPrefix(name, "gateway.fulcrum.dev/")
}

// ownManager returns the name that the API server gives a client which names none: that of its program.
func ownManager() string { return filepath.Base(os.Args[0]) }

// comparableFields returns the fields of a status without times, and without the entries of other controllers, which
// others change.
func comparableFields(fields any) (any, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return strip(out), nil
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "lastTransitionTime")
		for k := range v {
			v[k] = strip(v[k])
		}
	case []any:
		var own []any
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				if name, ok := m["controllerName"].(string); ok && !ownController(name) {
					continue
				}
			}
			own = append(own, strip(e))
		}
		return own
	}
	return v
}
