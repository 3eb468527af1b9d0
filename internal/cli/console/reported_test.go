package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func alwaysExists(output.Object) (string, bool) { return "", true }

// newReportsWith returns reports with events. The key of each event is its age at midnight. The default object is Ingress
// "shop/web".
func newReportsWith(ago map[time.Duration]input.Event) *reports {
	r := &reports{now: func() time.Time { return midnight }}
	for d, e := range ago {
		e.Time = midnight.Add(-d)
		if e.Kind == "" {
			e.Kind, e.Namespace, e.Name = "Ingress", "shop", "web"
		}
		if e.Component == "" {
			e.Component = "ingress"
		}
		r.recordEvent(e)
	}
	return r
}

// warningLines returns one line for each warning: severity, object, reason, reason of the finding, and age at midnight.
func warningLines(r reportedWarnings) string {
	var out []string
	for _, w := range r.Events {
		out = append(out, fmt.Sprintf("%s %s/%s %s %s %s", w.Severity, w.Object.Namespace, w.Object.Name, w.Reason, w.Finding, midnight.Sub(w.At)))
	}
	return strings.Join(out, "\n")
}

func TestLastingWarningsAreShown(t *testing.T) {
	denied := input.Event{Warning: true, Reason: "FailedDeployModel", Message: "AccessDenied: not authorized; add it to the controller's IAM policy"}
	quota := input.Event{Warning: true, Reason: "FailedDeployModel", Message: "QuotaReached: rule: AWS refuses 3 rules"}
	advice := input.Event{Warning: true, Reason: "TargetsUnhealthy", Message: "TargetsUnhealthy: m"}
	success := input.Event{Reason: "SuccessfullyReconciled", Message: "Successfully reconciled"}
	from := func(e input.Event, by string) input.Event { e.Component = by; return e }
	of := func(e input.Event, name string) input.Event {
		e.Kind, e.Namespace, e.Name = "Ingress", "shop", name
		return e
	}
	for name, c := range map[string]struct {
		ago  map[time.Duration]input.Event
		want string
	}{
		"two faults":           {map[time.Duration]input.Event{time.Minute: denied, 5 * time.Minute: quota, 7 * time.Minute: denied}, "error shop/web FailedDeployModel AccessDenied 1m0s\nerror shop/web FailedDeployModel QuotaReached 5m0s"},
		"errors first":         {map[time.Duration]input.Event{time.Minute: of(advice, "x"), 5 * time.Minute: quota}, "error shop/web FailedDeployModel QuotaReached 5m0s\nwarning shop/x TargetsUnhealthy TargetsUnhealthy 1m0s"},
		"over":                 {map[time.Duration]input.Event{5 * time.Minute: denied, time.Minute: success}, ""},
		"over, another object": {map[time.Duration]input.Event{5 * time.Minute: denied, time.Minute: of(success, "x")}, "error shop/web FailedDeployModel AccessDenied 5m0s"},
		"again":                {map[time.Duration]input.Event{5 * time.Minute: success, time.Minute: denied}, "error shop/web FailedDeployModel AccessDenied 1m0s"},
		"success of another":   {map[time.Duration]input.Event{5 * time.Minute: denied, time.Minute: from(success, "someone")}, "error shop/web FailedDeployModel AccessDenied 5m0s"},
		"an hour old":          {map[time.Duration]input.Event{durations.EventRetention: denied}, ""},
		"of another component": {map[time.Duration]input.Event{time.Minute: from(denied, "kubelet")}, ""},
		"of a Gateway":         {map[time.Duration]input.Event{time.Minute: from(denied, "gateway.k8s.aws/nlb")}, "error shop/web FailedDeployModel AccessDenied 1m0s"},
		"a wait":               {map[time.Duration]input.Event{time.Minute: {Reason: "WaitingForTargets"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := warningLines(newReportsWith(c.ago).lastingWarnings().reportedFor(alwaysExists, nil)); got != c.want {
				t.Errorf("shown:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestWarningsNotFoundByLastRefreshArePast checks that a warning is past if the last refresh does not find its problem. A
// warning that AWS denies a change is not past, because a refresh cannot find that. Repaired drift is shown although the
// object was reconciled afterwards.
func TestWarningsNotFoundByLastRefreshArePast(t *testing.T) {
	of := func(finding, name string) input.Event {
		return input.Event{Kind: "Ingress", Namespace: "shop", Name: name, Warning: true, Reason: "FailedDeployModel", Message: finding + ": m"}
	}
	success := input.Event{Kind: "Ingress", Namespace: "shop", Name: "web", Reason: "SuccessfullyReconciled"}
	web := output.Object{Kind: "Ingress", Namespace: "shop", Name: "web"}
	look := &tree.Document{Stacks: []tree.Stack{{Members: []output.Object{web}, Findings: []output.Finding{
		{Object: output.Object{Kind: "Service", Namespace: "shop", Name: "web"}, Reason: finding.ServiceWithoutEndpoints},
	}}}}
	all := map[time.Duration]input.Event{
		1: of("IngressClassInvalid", "web"), 3: of("AccessDenied", "web"),
		4: of("ServiceWithoutEndpoints", "web"), 5: of("IngressClassInvalid", "x"), 6: success, 7: of("DriftRepaired", "web"),
	}
	past := func(look *tree.Document) string {
		var out []string
		for _, w := range newReportsWith(all).lastingWarnings().reportedFor(alwaysExists, look).Events {
			out = append(out, fmt.Sprint(w.Severity, " ", w.Object.Name, " ", w.Finding, " ", w.Past))
		}
		return strings.Join(out, "\n")
	}
	const want = `error web AccessDenied false
error web ServiceWithoutEndpoints false
error x IngressClassInvalid false
error web DriftRepaired true
info web IngressClassInvalid true`
	if got := past(look); got != want {
		t.Errorf("after a successful refresh:\n%s\nwant:\n%s", got, want)
	}
	if got := past(nil); strings.Contains(got, "true") {
		t.Errorf("after a failed refresh, a warning is past:\n%s", got)
	}
}

// TestWarningsAreShownOnlyForExistingObjects checks that warnings about deleted objects are not shown, even if a new object
// has the same name.
func TestWarningsAreShownOnlyForExistingObjects(t *testing.T) {
	w := func(name, uid string) input.Event {
		return input.Event{Kind: "Ingress", Namespace: "shop", Name: name, UID: uid, Warning: true, Reason: "FailedDeployModel", Message: "m"}
	}
	r := newReportsWith(map[time.Duration]input.Event{1: w("web", "new"), 2: w("web", "old"), 3: w("gone", "x")})
	got := r.lastingWarnings().reportedFor(func(o output.Object) (string, bool) { return "new", o.Name == "web" }, nil)
	if text := warningLines(got); text != "error shop/web FailedDeployModel  1ns" {
		t.Errorf("shown:\n%s", text)
	}
}

// TestReportedWarningsAreBounded checks the maximum numbers of stored objects and of shown warnings with very many events.
func TestReportedWarningsAreBounded(t *testing.T) {
	r := &reports{now: func() time.Time { return midnight }}
	for i := range 3 * maxReportedObjects {
		r.recordEvent(input.Event{Kind: "Ingress", Namespace: "flood", Name: fmt.Sprint(i), Component: "ingress", Warning: true, Reason: "FailedDeployModel", Message: "m", Time: midnight.Add(time.Duration(i-20000) * time.Millisecond)})
	}
	for i := range 100 {
		r.recordEvent(input.Event{Kind: "Ingress", Namespace: "shop", Name: "web", Component: "ingress", Warning: true, Reason: fmt.Sprint("Failed", i), Message: "m", Time: midnight})
	}
	got := r.lastingWarnings().reportedFor(alwaysExists, nil)
	if len(got.Events) != maxReportedWarnings || got.More == 0 || !got.Partial || len(r.byObject) > maxReportedObjects {
		t.Errorf("%d are shown and %d more, of %d objects; partial: %v", len(got.Events), got.More, len(r.byObject), got.Partial)
	}
	own := 0
	for _, w := range got.Events {
		if w.Object.Name == "web" {
			own++
		}
	}
	if own != maxWarningsOfObject {
		t.Errorf("%d warnings of one object are shown", own)
	}
}

// TestPagesReceiveReportedWarnings checks that a page receives the warnings from before it was opened, and receives warnings
// again only when they change. Expired warnings are not sent.
func TestPagesReceiveReportedWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.hub.uidOf = alwaysExists
		fault := input.Event{Kind: "Ingress", Namespace: "shop", Name: "web", Component: "ingress", Warning: true, Reason: "FailedDeployModel", Message: "AccessDenied: m", Time: time.Now()}
		l.hub.updateReports(func(r *reports) { r.recordList([]input.Event{fault}, true) })
		v := l.openPage(false)
		first := l.hub.updateFor(latestState(t, v), 0)
		var got reportedWarnings
		if err := json.Unmarshal(first.Reported, &got); err != nil || len(got.Events) != 1 || got.Events[0].Finding != "AccessDenied" {
			t.Errorf("at first: %s, %v", first.Reported, err)
		}
		time.Sleep(2 * time.Second)
		if n := l.hub.updateFor(latestState(t, v), 1); n.Reported != nil {
			t.Errorf("without a change: %s", n.Reported)
		}
		l.hub.updateReports(func(r *reports) { r.setUnavailable(errors.New("events is forbidden")) })
		time.Sleep(2 * time.Second)
		if n := l.hub.updateFor(latestState(t, v), 2); !strings.Contains(string(n.Reported), "events cannot be read: events is forbidden") {
			t.Errorf("without a right: %s", n.Reported)
		}
		time.Sleep(durations.EventRetention)
		if n := l.hub.updateFor(latestState(t, v), 0); strings.Contains(string(n.Reported), "AccessDenied") {
			t.Errorf("after an hour: %s", n.Reported)
		}
	})
}
