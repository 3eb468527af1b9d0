package input

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// Event is a Kubernetes event about an object that commands show. Its content cannot be trusted, because any user who may
// write events in a namespace can write it.
type Event struct {
	Time            time.Time
	Kind            string
	Namespace, Name string
	// UID is the UID of the object, or "" if the event has none.
	UID     string
	Warning bool
	// Count is the number of times that the event was written.
	Count int32
	// Component is the reporting component that the event names.
	Component, Reason, Message string
}

// IsOfController reports whether an event names this controller as its reporting component. It is also true for events of
// aws-load-balancer-controller, which has the same component names.
func (e Event) IsOfController() bool { return slices.Contains(controllerComponents, e.Component) }

// controllerComponents are the reporting components of the events of the controller.
var controllerComponents = []string{
	kube.EventComponent(cluster.KindIngress), kube.EventComponent(cluster.KindService), kube.EventComponent(cluster.KindBinding), kube.EventComponent(cluster.KindGlobalAccelerator),
	string(gatewayconfig.ALBController), string(gatewayconfig.NLBController),
}

// IsReconciled reports whether an event reports that an object was reconciled.
func (e Event) IsReconciled() bool { return e.Reason == report.EventReconciled }

// EventHandler has the functions that are called with the events of a cluster.
type EventHandler struct {
	// OnList is called each time before a watch begins, with the warnings and successes of the controller that the cluster
	// stores. complete reports whether all events were listed.
	OnList func(list []Event, complete bool)
	// OnEvent is called with each event that is written during a watch.
	OnEvent func(Event)
	// OnError is called with the reason why events cannot be read. The watch is started again after a while.
	OnError func(error)
}

// The maximum number of events in a page, and of pages in a list. The maximums include events of other controllers.
const (
	eventPageSize = 500
	maxEventPages = 20
)

// EventWatch returns a function that reads the events in the namespace of a command until the context ends. The function
// returns an error if the user may not read events. EventWatch returns nil if the command reads no cluster.
func EventWatch(d *Source) func(ctx context.Context, handler EventHandler) error {
	if d.FilesOnly || d.Offline {
		return nil
	}
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err != nil {
		return nil
	}
	namespace, kinds := d.Namespace, shownKinds()
	return func(ctx context.Context, handler EventHandler) error {
		core, err := corev1client.NewForConfig(rc)
		if err != nil {
			return err
		}
		r := eventWatcher{core.Events(namespace), kinds, handler}
		for {
			err := r.watch(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case apierrors.IsForbidden(err):
				return err
			case err != nil:
				handler.OnError(err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(durations.ShortInterval):
			}
		}
	}
}

// eventWatcher reads the events about objects of some kinds.
type eventWatcher struct {
	corev1client.EventInterface
	kinds   []cluster.Kind
	handler EventHandler
}

// isOfWatchedKind reports whether an event is about an object of one of the watched kinds.
func (r eventWatcher) isOfWatchedKind(e *corev1.Event) bool {
	return slices.Contains(r.kinds, cluster.Kind(e.InvolvedObject.Kind))
}

// watch lists the events that the cluster stores, and watches for new events until the API server ends the watch.
func (r eventWatcher) watch(ctx context.Context) error {
	newest, err := r.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	list, complete, err := r.list(ctx)
	if err != nil {
		return err
	}
	r.handler.OnList(list, complete)
	w, err := r.Watch(ctx, metav1.ListOptions{ResourceVersion: newest.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for change := range w.ResultChan() {
		if e, ok := change.Object.(*corev1.Event); ok && change.Type != watch.Deleted && r.isOfWatchedKind(e) {
			r.handler.OnEvent(eventOf(e))
		}
	}
	return nil
}

// list returns the warnings and successes of the controller. A field selector excludes events about Pods and Nodes, which
// are the majority in many clusters. complete is false if there are more than maxEventPages pages.
func (r eventWatcher) list(ctx context.Context) (out []Event, complete bool, err error) {
	complete = true
	for _, selector := range []string{"type=" + corev1.EventTypeWarning, "reason=" + report.EventReconciled} {
		all, err := ListEvents(ctx, r, selector+",involvedObject.kind!=Pod,involvedObject.kind!=Node", func(event *corev1.Event) {
			if e := eventOf(event); r.isOfWatchedKind(event) && e.IsOfController() && (e.Warning || e.IsReconciled()) {
				out = append(out, e)
			}
		})
		if err != nil {
			return nil, false, err
		}
		complete = complete && all
	}
	return out, complete, nil
}

// ListEvents calls visit with each event that a field selector matches, in no order of time. complete is false if there are
// more than maxEventPages pages of events; the rest is not read.
func ListEvents(ctx context.Context, api corev1client.EventInterface, selector string, visit func(*corev1.Event)) (complete bool, err error) {
	o := metav1.ListOptions{FieldSelector: selector, Limit: eventPageSize}
	for range maxEventPages {
		list, err := api.List(ctx, o)
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			visit(&list.Items[i])
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return true, nil
		}
	}
	return false, nil
}

// LastEventTime returns when an event was last written. It returns the first time that is set among the last timestamp, the
// series, the event time and the creation time.
func LastEventTime(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if at.IsZero() && e.Series != nil {
		at = e.Series.LastObservedTime.Time
	}
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	return at
}

// eventOf converts an event. Its texts are truncated to MaxWarningLength and made printable.
func eventOf(e *corev1.Event) Event {
	text := func(s string) string { return finding.EscapeNonPrintable(finding.Truncate(s, MaxWarningLength)) }
	return Event{
		Time: LastEventTime(e), Kind: text(e.InvolvedObject.Kind), Namespace: text(e.InvolvedObject.Namespace), Name: text(e.InvolvedObject.Name),
		UID: string(e.InvolvedObject.UID), Count: e.Count, Warning: e.Type == corev1.EventTypeWarning, Component: text(cmp.Or(e.ReportingController, e.Source.Component)), Reason: text(e.Reason), Message: text(e.Message),
	}
}
