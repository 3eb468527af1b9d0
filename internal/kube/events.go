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
)

// events decides which events are worth writing. A warning is written once per object; it is
// written again only after a normal event, which says that something has happened since. Normal
// events are always written: they are made only where something changed.
type events struct {
	mu   sync.Mutex
	said map[types.UID]map[said]struct{}
}

type said struct{ reason, message string }

// requestID is the part of AWS's answers that differs each time.
var requestID = regexp.MustCompile(`(?i)request ?id: ?[0-9a-f-]{8,}`)

// The memory of events is bounded. Losing it costs repeated events and nothing else.
const maxRemembered, maxPerObject = 20000, 32

// fresh says whether the event is to be written, and remembers it.
func (e *events) fresh(uid types.UID, ev cluster.Event) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == nil || len(e.said) > maxRemembered {
		e.said = map[types.UID]map[said]struct{}{}
	}
	if !ev.Warning {
		return true
	}
	key := said{ev.Reason, requestID.ReplaceAllString(ev.Message, "")}
	if _, ok := e.said[uid][key]; ok {
		return false
	}
	if e.said[uid] == nil || len(e.said[uid]) >= maxPerObject {
		e.said[uid] = map[said]struct{}{}
	}
	e.said[uid][key] = struct{}{}
	return true
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
	delete(e.said[uid], said{ev.Reason, requestID.ReplaceAllString(ev.Message, "")})
}

// maxEventMessage is the API server's limit in bytes.
const maxEventMessage = 1024

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
	message := ev.Message
	if len(message) > maxEventMessage {
		message = strings.ToValidUTF8(message[:maxEventMessage-len("…")], "") + "…"
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
		Type: kind, Reason: ev.Reason, Message: message, Count: 1,
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
