package kube

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// maxEventMessage is the maximum length of an event message in bytes that the API server accepts.
const maxEventMessage = 1024

// eventMessage returns a message in the form for an event: one line of printable text of at most maxEventMessage bytes. From
// a longer message it removes the middle, because the beginning describes the fault and the end contains the fix.
func eventMessage(s string) string {
	const (
		gap = "…"
		end = 256
	)
	s = finding.EscapeNonPrintable(s)
	if len(s) <= maxEventMessage {
		return s
	}
	begin := maxEventMessage - len(gap) - end
	return strings.ToValidUTF8(s[:begin], "") + gap + strings.ToValidUTF8(s[len(s)-end:], "")
}

// eventFor returns the Event object for event ev about obj. r has the count and the times of the event, and serial makes the
// name of the Event object unique.
func eventFor(obj cluster.Object, ev cluster.Event, r eventRecord, serial uint64) *corev1.Event {
	typ, _ := cluster.TypeOf(ev.Ref.Kind)
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	kind := corev1.EventTypeNormal
	if ev.Warning {
		kind = corev1.EventTypeWarning
	}
	name := fmt.Sprintf("%s.%s%s", shortenName(obj.GetName()), strconv.FormatInt(r.last.UnixNano(), 16), strconv.FormatUint(serial, 16))
	source := cmp.Or(ev.Source, gatewayComponent(obj), EventComponent(ev.Ref.Kind))
	apiVersion, k := typ.GVK.ToAPIVersionAndKind()
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: apiVersion, Kind: k, Namespace: obj.GetNamespace(), Name: obj.GetName(),
			UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		},
		Type: kind, Reason: ev.Reason, Message: eventMessage(ev.Message), Count: r.count,
		FirstTimestamp: metav1.NewTime(r.first), LastTimestamp: metav1.NewTime(r.last),
		Source:              corev1.EventSource{Component: source},
		ReportingController: source,
	}
}

// shortenName shortens the name of an object so that the name of its event, which also has the time and the serial number,
// is not longer than 253 characters.
func shortenName(name string) string {
	const room = 253 - len(".") - 32
	if len(name) <= room {
		return name
	}
	return strings.TrimRight(name[:room], "-.")
}

// EventComponent returns the source component of events about a kind, for events without a Source.
func EventComponent(k cluster.Kind) string {
	switch k {
	case cluster.KindService:
		return "service"
	case cluster.KindBinding:
		return "targetGroupBinding"
	case cluster.KindGlobalAccelerator:
		return "globalAccelerator"
	}
	return "ingress"
}

// gatewayComponent returns the source component of events about a Gateway, which is also the name of its finalizer. It
// returns "" for other objects, and for a Gateway without a finalizer.
func gatewayComponent(obj cluster.Object) string {
	if kind, _ := cluster.KindOf(obj); kind == cluster.KindGateway {
		for _, finalizer := range cluster.IndexValues(cluster.ByFinalizer, obj) {
			return finalizer
		}
	}
	return ""
}
