package agent

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// programEndTime returns when the program of a pod that is being deleted ends.
func programEndTime(pod *corev1.Pod) time.Time {
	end := pod.DeletionTimestamp.Time
	var grace time.Duration
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	began := end.Add(-grace)
	hook, has := preStopDuration(pod)
	switch {
	case has:
		end = began.Add(min(hook, grace))
	case pod.Annotations[annotationSigterm] == "exit":
		end = began
	}
	return end
}

// preStopDuration returns the duration of the longest preStop hook of a pod's containers. has is false if no hook has a
// supported form.
func preStopDuration(pod *corev1.Pod) (longest time.Duration, has bool) {
	for _, c := range pod.Spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
			continue
		}
		hook := c.Lifecycle.PreStop
		switch {
		case hook.Sleep != nil:
			longest, has = max(longest, time.Duration(hook.Sleep.Seconds)*time.Second), true
		case hook.Exec != nil:
			if d, ok := sleepDuration(hook.Exec.Command); ok {
				longest, has = max(longest, d), true
			}
		}
	}
	return longest, has
}

// sleepDuration returns the duration of a command such as `sleep 5`, `/bin/sleep 5` or `sh -c "sleep 5"`; false for
// other commands.
func sleepDuration(command []string) (time.Duration, bool) {
	var words []string
	for _, c := range command {
		words = append(words, strings.Fields(c)...)
	}
	for i, w := range words {
		if (w == "sleep" || w == "/bin/sleep" || w == "/usr/bin/sleep") && i+1 < len(words) {
			if n, err := strconv.ParseFloat(words[i+1], 64); err == nil && n >= 0 {
				return time.Duration(n * float64(time.Second)), true
			}
		}
	}
	return 0, false
}
