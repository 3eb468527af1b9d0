package adversary

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// attackerSecret is the client secret of the attacker. It must appear only in the attacker's rules.
const attackerSecret = "attacker-client-secret-81d0"

// event is an event of the controller about an object.
type event struct {
	object          string // Kind namespace/name
	uid             types.UID
	namespace       string
	warning         bool
	reason, message string
}

func (e event) String() string { return fmt.Sprintf("%s %s: %s", e.object, e.reason, e.message) }

// eventLog reads the events of a cluster.
type eventLog struct {
	store     *cluster.Memory
	startTime time.Time
}

// events lists the events in order of their names.
func (l eventLog) events() []event {
	var out []event
	for _, o := range l.store.All("Event") {
		e, ok := o.(*corev1.Event)
		if !ok {
			continue
		}
		of := e.InvolvedObject
		out = append(out, event{of.Kind + " " + of.Namespace + "/" + of.Name, of.UID, of.Namespace, e.Type == corev1.EventTypeWarning, e.Reason, e.Message})
	}
	return out
}

// warningsAbout lists the warnings about an object such as "Ingress pay/shop".
func (l eventLog) warningsAbout(object string) []event {
	var out []event
	for _, e := range l.events() {
		if e.object == object && e.warning {
			out = append(out, e)
		}
	}
	return out
}

// hasWarning reports whether a warning about an object contains all texts.
func (l eventLog) hasWarning(object string, texts ...string) bool {
	for _, e := range l.warningsAbout(object) {
		all := true
		for _, t := range texts {
			all = all && strings.Contains(e.message, t)
		}
		if all {
			return true
		}
	}
	return false
}

// maxWarnings is the maximum number of warnings about one object for each hour and for each other event about it.
const maxWarnings = 40

// findFaultyEvents lists events with secrets, objects with too many warnings, and events about victims whose text is too
// long or not one printable line.
func (l eventLog) findFaultyEvents() []string {
	var out []string
	type flood struct {
		about string
		uid   types.UID
	}
	warnings, others := map[flood]int{}, map[flood]int{}
	for _, e := range l.events() {
		if e.warning {
			warnings[flood{e.object, e.uid}]++
		} else {
			others[flood{e.object, e.uid}]++
		}
	}
	hours := int(time.Since(l.startTime).Hours()) + 1
	for f, n := range warnings {
		if limit := maxWarnings * (hours + others[f]); n > limit {
			out = append(out, fmt.Sprintf("%d warnings about %s, at most %d", n, f.about, limit))
		}
	}
	for _, e := range l.events() {
		if strings.Contains(e.message, victimSecret) || strings.Contains(e.message, attackerSecret) {
			out = append(out, fmt.Sprintf("an event shows a secret: %v", e))
		}
		if e.namespace != attackerNamespace && (len(e.message) > 1024 || strings.ContainsFunc(e.message, isUnprintable)) {
			out = append(out, fmt.Sprintf("an event about a victim has a text that is not one line: %q", e.message))
		}
	}
	return out
}

func isUnprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
