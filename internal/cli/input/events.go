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
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Event is one of the cluster's about an object that commands show. Whoever may write events in a namespace has written it.
type Event struct {
	At              time.Time
	Kind            string
	Namespace, Name string
	Warning         bool
	// By is the component that has written it.
	By, Reason, Message string
}

// Events returns what watches events that are written from then on, in the namespace of a command, until the context
// ends. It returns an error where that is forbidden. nil: the command is about no cluster.
func Events(d *Source) func(ctx context.Context, each func(Event)) error {
	if d.FilesOnly || d.Offline {
		return nil
	}
	rc, err := ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err != nil {
		return nil
	}
	namespace, kinds := d.Namespace, shownKinds()
	return func(ctx context.Context, each func(Event)) error {
		core, err := corev1client.NewForConfig(rc)
		if err != nil {
			return err
		}
		for {
			err := watchEvents(ctx, core.Events(namespace), func(e *corev1.Event) {
				if slices.Contains(kinds, cluster.Kind(e.InvolvedObject.Kind)) {
					each(eventOf(e))
				}
			})
			if apierrors.IsForbidden(err) {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(durations.Interval):
			}
		}
	}
}

// watchEvents watches from what is there now, until the server ends it.
func watchEvents(ctx context.Context, events corev1client.EventInterface, each func(*corev1.Event)) error {
	list, err := events.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	w, err := events.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	for one := range w.ResultChan() {
		if e, ok := one.Object.(*corev1.Event); ok && one.Type != watch.Deleted {
			each(e)
		}
	}
	return nil
}

func eventOf(e *corev1.Event) Event {
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	text := func(s string) string { return finding.Printable(finding.CutTo(LongestWarning, s)) }
	return Event{
		At: at, Kind: text(e.InvolvedObject.Kind), Namespace: text(e.InvolvedObject.Namespace), Name: text(e.InvolvedObject.Name),
		Warning: e.Type == corev1.EventTypeWarning, By: text(cmp.Or(e.ReportingController, e.Source.Component)), Reason: text(e.Reason), Message: text(e.Message),
	}
}
