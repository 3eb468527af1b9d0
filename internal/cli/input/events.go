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

// Event is an event of the cluster about an object that commands show. Whoever may write events in a namespace has
// written it.
type Event struct {
	At              time.Time
	Kind            string
	Namespace, Name string
	// UID is the UID of the object, "" if the event has none.
	UID     string
	Warning bool
	// Count is how often it was written.
	Count int32
	// By is the component that has written it.
	By, Reason, Message string
}

// OfController reports whether an event has the source of a controller for these load balancers. Older controllers have
// the same.
func (e Event) OfController() bool { return slices.Contains(eventSources, e.By) }

// eventSources are the sources that the controller records events with.
var eventSources = []string{
	kube.Component(cluster.KindIngress), kube.Component(cluster.KindService), kube.Component(cluster.KindBinding),
	string(gatewayconfig.ALBController), string(gatewayconfig.NLBController),
}

// Reconciled reports whether an event reports that an object is served as it asks for.
func (e Event) Reconciled() bool { return e.Reason == report.EventReconciled }

// EventReader gets the events of a cluster.
type EventReader struct {
	// Listed gets the controller's warnings and successes that the cluster has, each time before events are watched.
	// complete reports whether these are all.
	Listed func(list []Event, complete bool)
	// Happened gets each event that is written while events are watched.
	Happened func(Event)
	// Failed gets why events cannot be read; they are read again later.
	Failed func(error)
}

// Bounds of the events that are listed: those that are about other objects are among them.
const (
	eventsAtOnce   = 500
	mostEventPages = 20
)

// Events returns what reads the events in the namespace of a command, until the context ends. It returns an error where
// that is forbidden. nil: the command is about no cluster.
func Events(d *Source) func(ctx context.Context, to EventReader) error {
	if d.FilesOnly || d.Offline {
		return nil
	}
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err != nil {
		return nil
	}
	namespace, kinds := d.Namespace, shownKinds()
	return func(ctx context.Context, to EventReader) error {
		core, err := corev1client.NewForConfig(rc)
		if err != nil {
			return err
		}
		r := eventReading{core.Events(namespace), kinds, to}
		for {
			err := r.watch(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case apierrors.IsForbidden(err):
				return err
			case err != nil:
				to.Failed(err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(durations.Interval):
			}
		}
	}
}

// eventReading reads events about some kinds.
type eventReading struct {
	corev1client.EventInterface
	kinds []cluster.Kind
	to    EventReader
}

func (r eventReading) about(e *corev1.Event) bool {
	return slices.Contains(r.kinds, cluster.Kind(e.InvolvedObject.Kind))
}

// watch lists what is there and watches from then on, until the server ends it.
func (r eventReading) watch(ctx context.Context) error {
	newest, err := r.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	list, complete, err := r.list(ctx)
	if err != nil {
		return err
	}
	r.to.Listed(list, complete)
	w, err := r.Watch(ctx, metav1.ListOptions{ResourceVersion: newest.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for one := range w.ResultChan() {
		if e, ok := one.Object.(*corev1.Event); ok && one.Type != watch.Deleted && r.about(e) {
			r.to.Happened(eventOf(e))
		}
	}
	return nil
}

// list returns the controller's warnings and successes. Events about Pods and Nodes, which are most in many clusters,
// are not asked for.
func (r eventReading) list(ctx context.Context) (out []Event, complete bool, err error) {
	complete = true
	for _, which := range []string{"type=" + corev1.EventTypeWarning, "reason=" + report.EventReconciled} {
		o := metav1.ListOptions{FieldSelector: which + ",involvedObject.kind!=Pod,involvedObject.kind!=Node", Limit: eventsAtOnce}
		for page := 0; ; page++ {
			if page == mostEventPages {
				complete = false
				break
			}
			list, err := r.List(ctx, o)
			if err != nil {
				return nil, false, err
			}
			for i := range list.Items {
				if e := eventOf(&list.Items[i]); r.about(&list.Items[i]) && e.OfController() && (e.Warning || e.Reconciled()) {
					out = append(out, e)
				}
			}
			if o.Continue = list.Continue; o.Continue == "" {
				break
			}
		}
	}
	return out, complete, nil
}

func eventOf(e *corev1.Event) Event {
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
	text := func(s string) string { return finding.Printable(finding.CutTo(LongestWarning, s)) }
	return Event{
		At: at, Kind: text(e.InvolvedObject.Kind), Namespace: text(e.InvolvedObject.Namespace), Name: text(e.InvolvedObject.Name),
		UID: string(e.InvolvedObject.UID), Count: e.Count, Warning: e.Type == corev1.EventTypeWarning, By: text(cmp.Or(e.ReportingController, e.Source.Component)), Reason: text(e.Reason), Message: text(e.Message),
	}
}
