package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// eventCountingAPI is an API server that counts the writes of events. If refuse is set, it denies patches of events.
type eventCountingAPI struct {
	API
	writes int
	refuse bool
}

func (c *eventCountingAPI) Create(ctx context.Context, obj cluster.Object) error {
	c.writes++
	return c.API.Create(ctx, obj)
}

func (c *eventCountingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	c.writes++
	if c.refuse {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, obj.GetName(), nil)
	}
	return c.API.Patch(ctx, obj, part, kind, data)
}

// newClusterWithWarnings returns a cluster with several Ingresses (objects), each with several lasting warnings (each), and
// its store, API and clock. If refuse is set, the API denies patches of events.
func newClusterWithWarnings(t *testing.T, objects, each int, refuse bool) (*Cluster, *cluster.Memory, *eventCountingAPI, *time.Time) {
	t.Helper()
	_, m := newTestCluster(t)
	api := &eventCountingAPI{API: MemoryAPI{m}, refuse: refuse}
	now := time.Unix(1700000000, 0)
	c := New(m, api, testclock.FromVariable(&now))
	for n := range objects {
		ing := newIngress()
		ing.Name, ing.UID = fmt.Sprint("web", n), types.UID(fmt.Sprint("web", n))
		if err := m.Put(ing); err != nil {
			t.Fatal(err)
		}
		patches := []cluster.Patch{cluster.LastingWarnings{Subject: ing.Name}}
		for i := range each {
			patches = append(patches, cluster.Event{Ref: cluster.RefOf(ing), Warning: true, Reason: "R", Message: fmt.Sprint("wrong ", i)})
		}
		if err := c.Write(t.Context(), patches); err != nil {
			t.Fatal(err)
		}
	}
	return c, m, api, &now
}

func TestEventsOfLastingWarningsAreRepeated(t *testing.T) {
	c, m, api, now := newClusterWithWarnings(t, 2, 3, false)
	if api.writes != 6 {
		t.Fatalf("%d writes at first", api.writes)
	}
	for range 5 * 60 {
		*now = now.Add(time.Minute)
		c.RepeatEvents(t.Context())
	}
	events := m.All("Event")
	if len(events) != 6 || api.writes != 6*(1+7) {
		t.Errorf("%d events by %d writes in five hours", len(events), api.writes)
	}
	for _, o := range events {
		if e := o.(*corev1.Event); e.Count != 8 || now.Sub(e.LastTimestamp.Time) > repeatEventAfter() || !e.FirstTimestamp.Time.Before(e.LastTimestamp.Time) {
			t.Errorf("count %d from %s to %s", e.Count, e.FirstTimestamp, e.LastTimestamp)
		}
	}
	// The events of warnings that have ended are not emitted again.
	before := api.writes
	if err := c.Write(t.Context(), []cluster.Patch{cluster.LastingWarnings{Subject: "web0"}}); err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteObject(m.All(cluster.KindIngress)[1]); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(time.Hour)
	c.RepeatEvents(t.Context())
	if n := api.writes - before; n > 0 {
		t.Errorf("%d writes of warnings that have ended", n)
	}
}

// TestRepeatedEventsAreBounded checks that at most maxWarningsPerObject events of one object are written per hour, even if
// the object has more warnings.
func TestRepeatedEventsAreBounded(t *testing.T) {
	c, m, api, now := newClusterWithWarnings(t, 1, 500, false)
	perHour := []int{}
	for range 6 {
		before := api.writes
		for range 60 {
			*now = now.Add(time.Minute)
			c.RepeatEvents(t.Context())
		}
		perHour = append(perHour, api.writes-before)
	}
	for _, n := range perHour {
		if n > maxWarningsPerObject {
			t.Errorf("writes by the hour: %v", perHour)
		}
	}
	if n := len(m.All("Event")); n != maxWarningsPerObject {
		t.Errorf("%d events", n)
	}
}

func TestAnEventThatCannotBePatchedIsCreatedAgain(t *testing.T) {
	c, m, _, now := newClusterWithWarnings(t, 1, 1, true)
	*now = now.Add(repeatEventAfter())
	c.RepeatEvents(t.Context())
	if n := len(m.All("Event")); n != 2 {
		t.Errorf("%d events", n)
	}
}

// TestManyRepeatedWarningsAreWrittenInBatches checks that one call of RepeatEvents writes at most maxRepeatedEvents events,
// and that several calls write all events before the API server deletes them.
func TestManyRepeatedWarningsAreWrittenInBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long with the race detector, and there is one goroutine")
	}
	c, _, api, now := newClusterWithWarnings(t, 10_000, 1, false)
	*now = now.Add(repeatEventAfter())
	for range 19 {
		before := api.writes
		c.RepeatEvents(t.Context())
		if n := api.writes - before; n > maxRepeatedEvents {
			t.Fatalf("%d writes at once", n)
		}
		*now = now.Add(time.Minute)
	}
	c.RepeatEvents(t.Context())
	if api.writes != 20_000 {
		t.Errorf("%d writes before the events are dropped", api.writes)
	}
}

func BenchmarkTakeDueWarnings(b *testing.B) {
	var e eventFilter
	at := time.Unix(1700000000, 0)
	for n := range 10_000 {
		uid := types.UID(fmt.Sprint(n))
		ev := cluster.Event{Ref: cluster.Ref{Kind: cluster.KindIngress, Name: "web"}, Warning: true, Reason: "R", Message: "wrong"}
		e.recordNewEvent(uid, ev, at)
		e.recordLasting(string(uid), []lastingWarning{{uid: uid, ev: ev}})
	}
	for b.Loop() {
		e.takeDueWarnings(at, maxRepeatedEvents)
	}
}

// TestAWarningReportedWithASuccessIsOneEvent checks that a warning that is reported together with a success continues, so
// that it has one event. A warning that has ended and is reported again gets a new event.
func TestAWarningReportedWithASuccessIsOneEvent(t *testing.T) {
	c, m, _, _ := newClusterWithWarnings(t, 1, 0, false)
	ref := cluster.RefOf(m.All(cluster.KindIngress)[0])
	silent := cluster.Event{Ref: ref, Warning: true, Reason: "R", Message: "AWS has not answered since noon\n"}
	success := cluster.Event{Ref: ref, Reason: "S", Message: "Successfully reconciled"}
	for i, step := range []struct {
		patches []cluster.Patch
		want    int
	}{
		{[]cluster.Patch{silent}, 1},
		{[]cluster.Patch{success, silent}, 1},
		{[]cluster.Patch{silent, success}, 1},
		{[]cluster.Patch{success}, 1},
		{[]cluster.Patch{silent}, 2},
	} {
		if err := c.Write(t.Context(), step.patches); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, o := range m.All("Event") {
			if o.(*corev1.Event).Type == corev1.EventTypeWarning {
				n++
			}
		}
		if n != step.want {
			t.Errorf("step %d: %d events, want %d", i, n, step.want)
		}
	}
}

// TestFaultAfterTheLimitIsReportedLater checks that a fault that stays is reported within two hours, although the object had as
// many warnings within an hour as the controller writes.
func TestFaultAfterTheLimitIsReportedLater(t *testing.T) {
	ing := newIngress()
	ing.UID = "web"
	_, m := newTestCluster(t, ing)
	now := time.Unix(1700000000, 0)
	c := New(m, MemoryAPI{m}, testclock.FromVariable(&now))
	write := func(events ...cluster.Patch) {
		if err := c.Write(t.Context(), append(events, cluster.LastingWarnings{Subject: "stack"})); err != nil {
			t.Fatal(err)
		}
	}
	warning := func(message string) cluster.Event {
		return cluster.Event{Ref: cluster.RefOf(ing), Warning: true, Reason: "R", Message: message}
	}
	for i := range maxWarningsPerObject {
		now = now.Add(time.Second)
		write(warning(fmt.Sprint("fault ", i)))
		write(cluster.Event{Ref: cluster.RefOf(ing), Reason: "SuccessfullyReconciled", Message: "Successfully reconciled"})
	}
	write(warning("the fault that stays"))
	for range 120 {
		now = now.Add(time.Minute)
		c.RepeatEvents(t.Context())
	}
	if !slices.ContainsFunc(m.All("Event"), func(o cluster.Object) bool {
		return strings.Contains(o.(*corev1.Event).Message, "the fault that stays")
	}) {
		t.Error("no event reports the fault that stays")
	}
}
