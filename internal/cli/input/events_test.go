package input

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLastEventTime checks which field of an event has the time of the last write. Clients of events.k8s.io and of the core
// API set different fields, and some clients set none.
func TestLastEventTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	early := metav1.NewTime(at.Add(-time.Hour))
	created := metav1.ObjectMeta{CreationTimestamp: early}
	for name, e := range map[string]corev1.Event{
		"core API":                {ObjectMeta: created, LastTimestamp: metav1.NewTime(at), EventTime: metav1.MicroTime(early)},
		"series of events.k8s.io": {ObjectMeta: created, EventTime: metav1.MicroTime(early), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at)}},
		"one of events.k8s.io":    {ObjectMeta: created, EventTime: metav1.NewMicroTime(at)},
		"series without a time":   {ObjectMeta: created, EventTime: metav1.NewMicroTime(at), Series: &corev1.EventSeries{}},
		"no time of its own":      {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LastEventTime(&e); !got.Equal(at) {
				t.Errorf("got %s, want %s", got, at)
			}
		})
	}
}
