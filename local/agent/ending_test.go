package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestProgramEndTimeOfDeletedPod(t *testing.T) {
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	exec := func(command ...string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	for name, c := range map[string]struct {
		grace       int64
		hooks       []*corev1.LifecycleHandler
		annotations map[string]string
		want        time.Duration
	}{
		"without a hook it serves through the grace period": {grace: 30, want: 30 * time.Second},
		"a hook ends it earlier": {
			grace: 30, hooks: []*corev1.LifecycleHandler{{Sleep: &corev1.SleepAction{Seconds: 5}}}, want: 5 * time.Second,
		},
		"the longest hook counts": {
			grace: 30, hooks: []*corev1.LifecycleHandler{exec("sleep", "3"), exec("/bin/sh", "-c", "echo bye; sleep 7.5")}, want: 7500 * time.Millisecond,
		},
		"the grace period is the limit": {
			grace: 2, hooks: []*corev1.LifecycleHandler{exec("/bin/sleep", "60")}, want: 2 * time.Second,
		},
		"a hook that is not understood does not count": {
			grace: 30, hooks: []*corev1.LifecycleHandler{exec("nginx", "-s", "quit")}, want: 30 * time.Second,
		},
		"it ends at once where it heeds the signal": {
			grace: 30, annotations: map[string]string{annotationSigterm: "exit"}, want: 0,
		},
		"it heeds the signal after its hook": {
			grace: 30, annotations: map[string]string{annotationSigterm: "exit"},
			hooks: []*corev1.LifecycleHandler{{Sleep: &corev1.SleepAction{Seconds: 5}}}, want: 5 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			deadline := metav1.NewTime(asked.Add(time.Duration(c.grace) * time.Second))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				DeletionTimestamp: &deadline, DeletionGracePeriodSeconds: &c.grace, Annotations: c.annotations,
			}}
			for _, h := range c.hooks {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: h}})
			}
			if got := programEndTime(pod).Sub(asked); got != c.want {
				t.Errorf("serves for %s, want %s", got, c.want)
			}
		})
	}
}
