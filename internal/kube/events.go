package kube

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// events decides which events are worth writing. A warning is written once per object; it is
// written again only after a normal event, which says that something has happened since. Normal
// events are always written: they are made only where something changed.
type events struct {
	mu   sync.Mutex
	said map[types.UID]*history
}

// history is what was written about an object.
type history struct {
	since time.Time
	said  map[said]struct{}
}

type said struct{ reason, message string }

// requestID is the part of AWS's answers that differs each time.
var requestID = regexp.MustCompile(`(?i)request ?id: ?[0-9a-f-]{8,}`)

const (
	// The memory of events is bounded. Losing it costs repeated events and nothing else.
	maxRemembered = 20000
	// maxPerObject is how many warnings are written about one object within sayAgain. One annotation
	// can hold thousands of faults, and each would be an event.
	maxPerObject = 32
	sayAgain     = time.Hour
)

// fresh returns the event that is to be written, and remembers it; false if there is none.
func (e *events) fresh(uid types.UID, ev cluster.Event, at time.Time) (cluster.Event, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == nil || len(e.said) > maxRemembered {
		e.said = map[types.UID]*history{}
	}
	ev.Message = eventMessage(ev.Message)
	if !ev.Warning && !ev.Once {
		return ev, true
	}
	h := e.said[uid]
	if h == nil || len(h.said) >= maxPerObject && at.Sub(h.since) >= sayAgain {
		h = &history{since: at, said: map[said]struct{}{}}
		e.said[uid] = h
	}
	if _, ok := h.said[keyOf(ev)]; ok || len(h.said) >= maxPerObject {
		return ev, false
	}
	if len(h.said) == maxPerObject-1 {
		ev.Reason = string(finding.MoreFindings)
		ev.Message = ev.Reason + ": more is wrong with this object than events are written for; correct what the other events say, fulcrum plan shows everything"
	}
	h.said[keyOf(ev)] = struct{}{}
	return ev, true
}

func keyOf(ev cluster.Event) said {
	return said{ev.Reason, requestID.ReplaceAllString(ev.Message, "")}
}

// forget makes all warnings about an object worth writing again.
func (e *events) forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.said, uid)
}

// unsay forgets an event that could not be written.
func (e *events) unsay(uid types.UID, ev cluster.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.said[uid]; h != nil {
		delete(h.said, keyOf(ev))
	}
}

// maxEventMessage is the API server's limit in bytes.
const maxEventMessage = 1024

// eventMessage brings a message into the form of an event: one line of printable text within the limit.
// Of a longer one the beginning stays, which says what is wrong, and the end, which says what to do.
func eventMessage(s string) string {
	const (
		gap = "…"
		end = 256
	)
	s = finding.Printable(s)
	if len(s) <= maxEventMessage {
		return s
	}
	begin := maxEventMessage - len(gap) - end
	return strings.ToValidUTF8(s[:begin], "") + gap + strings.ToValidUTF8(s[len(s)-end:], "")
}

// eventFor makes the Event object about obj.
func eventFor(obj cluster.Object, ev cluster.Event, at time.Time, serial uint64) *corev1.Event {
	typ, _ := cluster.TypeOf(ev.Ref.Kind)
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	kind := corev1.EventTypeNormal
	if ev.Warning {
		kind = corev1.EventTypeWarning
	}
	when := metav1.NewTime(at)
	name := fmt.Sprintf("%s.%s%s", beginning(obj.GetName()), strconv.FormatInt(at.UnixNano(), 16), strconv.FormatUint(serial, 16))
	apiVersion, k := typ.GVK.ToAPIVersionAndKind()
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: apiVersion, Kind: k, Namespace: obj.GetNamespace(), Name: obj.GetName(),
			UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		},
		Type: kind, Reason: ev.Reason, Message: eventMessage(ev.Message), Count: 1,
		FirstTimestamp: when, LastTimestamp: when,
		Source:              corev1.EventSource{Component: component(ev.Ref.Kind)},
		ReportingController: component(ev.Ref.Kind),
	}
}

// beginning is as much of an object's name as leaves room, in the name of an event, for the time and
// the number behind it.
func beginning(name string) string {
	const room = 253 - len(".") - 32
	if len(name) <= room {
		return name
	}
	return strings.TrimRight(name[:room], "-.")
}

// component is the name under which events about a kind are recorded.
func component(k cluster.Kind) string {
	switch k {
	case cluster.KindService:
		return "service"
	case cluster.KindBinding:
		return "targetGroupBinding"
	}
	return "ingress"
}
