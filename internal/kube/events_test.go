package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

func TestLongMessagesAreTruncatedBetweenCharacters(t *testing.T) {
	obj := &networkingv1.Ingress{}
	obj.Namespace, obj.Name = "shop", "web"
	for n := range 4 {
		long := strings.Repeat("x", n) + strings.Repeat("ж", maxEventMessage)
		ev := cluster.Event{Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}, Warning: true, Reason: "R", Message: long}
		got := eventFor(obj, ev, eventRecord{count: 1}, 1).Message
		if len(got) > maxEventMessage || !utf8.ValidString(got) || !strings.Contains(got, "ж…ж") {
			t.Errorf("offset %d: %d bytes, valid %t: …%s", n, len(got), utf8.ValidString(got), got[len(got)-8:])
		}
	}
}

// TestValuesCannotDistortMessages checks that a value of a user in an event message cannot remove the fix from the message,
// add a second line, or send control characters to a terminal.
func TestValuesCannotDistortMessages(t *testing.T) {
	obj := newIngress()
	for name, value := range map[string]string{
		"long":      strings.Repeat("x", 300_000),
		"lines":     "x\nNormal  SuccessfullyReconciled  Successfully reconciled\n",
		"terminal":  "\x1b[2J\x1b[1A\x1b]0;title\x07\r",
		"direction": "\u202e\u2066",
		"no text":   "\xff\xfe\x00",
	} {
		ev := cluster.Event{Ref: cluster.RefOf(obj), Warning: true, Reason: "FailedBuildModel", Message: "AnnotationInvalid: " + value + " is no address range; correct the value or remove it"}
		got := eventFor(obj, ev, eventRecord{count: 1}, 1).Message
		if len(got) > maxEventMessage || !strings.HasPrefix(got, "AnnotationInvalid: ") || !strings.HasSuffix(got, "; correct the value or remove it") {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%s: unprintable character at %d of %q", name, i, got)
		}
	}
}

// TestEventsOfOneObjectAreBounded checks that at most maxWarningsPerObject events are written about an object with many more
// faults, and that one of them is the overflowEvent.
func TestEventsOfOneObjectAreBounded(t *testing.T) {
	ing := newIngress()
	ing.UID = "web"
	_, m := newTestCluster(t, ing)
	now := time.Unix(1700000000, 0)
	c := New(m, MemoryAPI{m}, testclock.FromVariable(&now))
	write := func(kind string, n int) int {
		t.Helper()
		before := len(m.All("Event"))
		var patches []cluster.Patch
		for i := range n {
			patches = append(patches, cluster.Event{Ref: cluster.RefOf(ing), Warning: true, Reason: "R", Message: fmt.Sprint(kind, i, strings.Repeat("x", 10*maxEventMessage))})
		}
		if err := c.Write(t.Context(), patches); err != nil {
			t.Fatal(err)
		}
		return len(m.All("Event")) - before
	}
	if n := write("a", 500); n != maxWarningsPerObject {
		t.Errorf("%d events at first", n)
	}
	more := 0
	for _, o := range m.All("Event") {
		if strings.HasPrefix(o.(*corev1.Event).Message, "MoreFindings: ") {
			more++
		}
	}
	if more != 1 {
		t.Errorf("%d events report further faults", more)
	}
	for range 3 {
		if n := write("a", 500) + write("b", 500); n != 0 {
			t.Errorf("%d events when it is looked at again", n)
		}
	}
	size := 0
	for _, h := range c.events.histories {
		for k := range h.records {
			size += len(k.message)
		}
	}
	if size > maxWarningsPerObject*maxEventMessage {
		t.Errorf("%d bytes are remembered", size)
	}
	now = now.Add(durations.EventRetention)
	if n := write("c", 500); n != maxWarningsPerObject {
		t.Errorf("%d events of other faults after a while", n)
	}
}

// TestWarningsOfAnObjectThatIsRepeatedlyCorrectedAreBounded checks that the limit of warnings in an hour also holds for an
// object whose faults a user corrects and makes again, and that the last of these events is the overflowEvent.
func TestWarningsOfAnObjectThatIsRepeatedlyCorrectedAreBounded(t *testing.T) {
	ing := newIngress()
	ing.UID = "web"
	_, m := newTestCluster(t, ing)
	now := time.Unix(1700000000, 0)
	c := New(m, MemoryAPI{m}, testclock.FromVariable(&now))
	edit := func(n int) (messages []string) {
		t.Helper()
		for i := range 10 * maxWarningsPerObject / n {
			now = now.Add(time.Second)
			success := cluster.Event{Ref: cluster.RefOf(ing), Reason: "SuccessfullyReconciled", Message: "Successfully reconciled"}
			var faults []cluster.Patch
			for j := range n {
				faults = append(faults, cluster.Event{Ref: cluster.RefOf(ing), Warning: true, Reason: "R", Message: fmt.Sprint("fault ", i, " ", j)})
			}
			for _, patches := range [][]cluster.Patch{faults, {success}} {
				if err := c.Write(t.Context(), patches); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.RepeatEvents(t.Context())
		for _, o := range m.All("Event") {
			if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && !e.LastTimestamp.Time.Before(now.Add(-durations.EventRetention)) {
				messages = append(messages, e.Message)
			}
		}
		return messages
	}
	for range 2 {
		got := edit(5)
		more := slices.ContainsFunc(got, func(m string) bool { return strings.HasPrefix(m, "MoreFindings: ") })
		if len(got) != maxWarningsPerObject || !more {
			t.Errorf("%d warnings in an hour, MoreFindings %t", len(got), more)
		}
		now = now.Add(2 * durations.EventRetention)
	}
	c.RepeatEvents(t.Context())
	if n := len(c.events.histories); n != 0 {
		t.Errorf("%d histories are remembered", n)
	}
}

func TestEventsOfLongNamesHaveValidNames(t *testing.T) {
	for _, n := range []int{1, 220, 221, 253} {
		ing := newIngress()
		ing.Name = strings.Repeat("a.", 126)[:n-1] + "b"
		e := eventFor(ing, cluster.Event{Ref: cluster.RefOf(ing), Reason: "x"}, eventRecord{last: time.Unix(1<<32, 0)}, 1<<63)
		if bad := validation.IsDNS1123Subdomain(e.Name); len(bad) > 0 || e.InvolvedObject.Name != ing.Name {
			t.Errorf("%d characters: %q: %v", n, e.Name, bad)
		}
	}
}

// TestEventsNameTheComponentOfTheirKind checks the source of events without a Source. Dashboards and alerts select events by
// it.
func TestEventsNameTheComponentOfTheirKind(t *testing.T) {
	gateway := func(finalizer string) cluster.Object {
		return &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", Finalizers: []string{"other.example.com/x", finalizer}}}
	}
	for want, obj := range map[string]cluster.Object{
		"ingress":             newIngress(),
		"globalAccelerator":   &aga.GlobalAccelerator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "fast"}},
		"gateway.k8s.aws/alb": gateway("gateway.k8s.aws/alb"),
		"gateway.k8s.aws/nlb": gateway("gateway.k8s.aws/nlb"),
	} {
		e := eventFor(obj, cluster.Event{Ref: cluster.RefOf(obj), Warning: true, Reason: "WriteUndone"}, eventRecord{count: 1}, 1)
		if e.Source.Component != want || e.ReportingController != want {
			t.Errorf("%s: source %s, reporting controller %s", want, e.Source.Component, e.ReportingController)
		}
	}
}
