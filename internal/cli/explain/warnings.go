package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway/status"
)

// warningDocument is an event of type Warning about an object, a condition that is not met, or a condition that is met
// but contains advice for the user.
type warningDocument struct {
	// In is "event", or the condition with the parent or listener that has it, such as "listener http condition Accepted".
	In      string `json:"in"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Last is when the event was written last, or when the condition changed.
	Last string `json:"last,omitempty"`
	// Count is the number of times that the event was written.
	Count int32 `json:"count,omitempty"`
}

// String returns the warning in one line.
func (w warningDocument) String() string {
	out := w.In + " " + w.Reason
	if w.Last != "" {
		out = w.Last + " " + out
	}
	if w.Count > 1 {
		out += fmt.Sprintf(" (%d times)", w.Count)
	}
	return finding.EscapeNonPrintable(finding.Truncate(out+": "+w.Message, input.MaxWarningLength))
}

// warningsAbout returns the conditions of an object that are not met and, if a cluster is read, the events of type Warning
// about the object, newest first. They may be of any controller.
func warningsAbout(ctx context.Context, d *input.Source, store *cluster.Memory, ref cluster.Ref) ([]warningDocument, error) {
	obj, err := store.Get(ref)
	if err != nil {
		return nil, err
	}
	out, err := unmetConditions(obj)
	if err != nil || !d.ClusterRead {
		return out, err
	}
	rc, err := input.ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	var events []*corev1.Event
	selector := fields.Set{"involvedObject.kind": ref.Kind, "involvedObject.name": ref.Name, "type": corev1.EventTypeWarning}.String()
	complete, err := input.ListEvents(ctx, core.Events(ref.Namespace), selector, func(e *corev1.Event) {
		if e.InvolvedObject.Kind == ref.Kind && e.InvolvedObject.Name == ref.Name && e.Type == corev1.EventTypeWarning && !isOfEarlierObject(e.InvolvedObject.UID, obj) {
			events = append(events, e)
		}
	})
	switch {
	case err != nil:
		return append(out, warningDocument{In: "event", Reason: "EventsUnavailable", Message: "events cannot be read: " + err.Error()}), nil
	case !complete:
		out = append(out, warningDocument{In: "event", Reason: "EventsUnavailable", Message: "the object has too many events to read all of them"})
	}
	slices.SortStableFunc(events, func(a, b *corev1.Event) int {
		return cmp.Or(input.LastEventTime(b).Compare(input.LastEventTime(a)), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range events {
		out = append(out, warningDocument{In: "event", Reason: e.Reason, Message: e.Message, Last: input.LastEventTime(e).UTC().Format(time.RFC3339), Count: e.Count})
	}
	return out, nil
}

// isOfEarlierObject reports whether uid is the UID of a deleted object with the same name as obj. It returns false if a UID
// is missing.
func isOfEarlierObject(uid types.UID, obj cluster.Object) bool {
	return obj != nil && uid != "" && obj.GetUID() != "" && uid != obj.GetUID()
}

// parentText returns a parentRef as text: the parent of the route, with the section and port that the parentRef names.
func parentText(namespace string, p gwv1.ParentReference) string {
	text := cluster.ParentRef(namespace, p).String()
	if p.SectionName != nil {
		text += fmt.Sprintf(" listener %q", *p.SectionName)
	}
	if p.Port != nil {
		text += fmt.Sprintf(" port %d", *p.Port)
	}
	return finding.EscapeNonPrintable(text)
}

// unmetConditions returns the conditions in the status of an object, of its parents and of its listeners that are not
// met: status False, or True for the condition Conflicted. It also returns conditions that are met but contain advice for
// the user, see status.HasAdvisoryMessage.
func unmetConditions(obj cluster.Object) ([]warningDocument, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var content struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
			Parents    []struct {
				Ref        gwv1.ParentReference `json:"parentRef"`
				Conditions []metav1.Condition   `json:"conditions"`
			} `json:"parents"`
			Listeners []struct {
				Name       string             `json:"name"`
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"listeners"`
		} `json:"status"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	out := []warningDocument{}
	add := func(prefix string, conditions []metav1.Condition) {
		for _, c := range conditions {
			if c.Status == metav1.ConditionFalse && c.Type != "Conflicted" || c.Status == metav1.ConditionTrue && c.Type == "Conflicted" || status.HasAdvisoryMessage(c) {
				out = append(out, warningDocument{In: prefix + "condition " + c.Type, Reason: c.Reason, Message: c.Message, Last: c.LastTransitionTime.UTC().Format(time.RFC3339)})
			}
		}
	}
	add("", content.Status.Conditions)
	for _, p := range content.Status.Parents {
		add("parent "+parentText(obj.GetNamespace(), p.Ref)+" ", p.Conditions)
	}
	for _, l := range content.Status.Listeners {
		add("listener "+l.Name+" ", l.Conditions)
	}
	return out, nil
}
