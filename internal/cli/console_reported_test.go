package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestConsoleShowsWarningsOfController checks that the console sends to the page the warnings that the controller reported
// before the page was opened. If events cannot be read, it sends an error.
func TestConsoleShowsWarningsOfController(t *testing.T) {
	_, flags := startEmulator(t)
	reported := func(t *testing.T, denied bool) (text string, failed string) {
		t.Helper()
		server, config := serveCluster(t, classYAML+"\n---\n"+namespaceYAML+"\n---\n"+serviceYAML+"\n---\n"+ingressYAML)
		at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }
		server.addEvent("shop", "Ingress", "web", "Warning", "FailedDeployModel", "AccessDenied: not authorized to perform <b>x</b>", at(10*time.Minute), 3)
		server.addEvent("shop", "Ingress", "web", "Warning", "FailedDeployModel", "QuotaReached: rule: AWS refuses 3 rules", at(2*time.Hour), 1)
		server.addEvent("shop", "Ingress", "gone", "Warning", "FailedDeployModel", "AccessDenied: m", at(time.Minute), 1)
		server.addEvent("shop", "Service", "web", "Warning", "FailedBuildModel", "ValueInvalid: m", at(10*time.Minute), 1)
		server.addEvent("shop", "Service", "web", "Normal", "SuccessfullyReconciled", "Successfully reconciled", at(time.Minute), 1)
		server.addEvent("shop", "Ingress", "web", "Warning", "Sync", "of another controller", at(time.Minute), 1)
		for i, o := range server.objects[schema.GroupVersion{Version: "v1"}]["events"] {
			e := o.(*corev1.Event)
			e.Source.Component, e.ReportingController = "ingress", "ingress"
			if e.InvolvedObject.Kind == "Service" {
				e.Source.Component, e.ReportingController = "service", "service"
			}
			if i == 5 {
				e.Source.Component, e.ReportingController = "nginx-ingress-controller", ""
			}
		}
		server.forbiddenResources = map[string]bool{"events": denied}
		p := startConsole(t, append([]string{"-n", "shop", "--kubeconfig=" + config, "--flags-from=none"}, flags...)...)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			_, _, event := p.sendRequest("/api/looks", nil)
			var news struct {
				Reported struct {
					Failed string
					Events []struct {
						Severity, By, Reason, Finding, Message string
						Count                                  int
						Object                                 struct{ Kind, Namespace, Name string }
					}
				}
			}
			if err := json.Unmarshal([]byte(event), &news); err != nil {
				t.Fatalf("%v: %s", err, event)
			}
			if r := news.Reported; len(r.Events) > 0 || r.Failed != "" {
				var lines []string
				for _, e := range r.Events {
					lines = append(lines, strings.Join([]string{e.Severity, e.Object.Kind, e.Object.Name, e.Reason, e.Finding, e.By, e.Message}, "|"))
				}
				return strings.Join(lines, "\n"), r.Failed
			}
		}
		t.Fatal("nothing is reported")
		return "", ""
	}
	t.Run("events", func(t *testing.T) {
		text, failed := reported(t, false)
		if text != "error|Ingress|web|FailedDeployModel|AccessDenied|ingress|AccessDenied: not authorized to perform <b>x</b>" || failed != "" {
			t.Errorf("reported:\n%s\nfailed: %s", text, failed)
		}
	})
	t.Run("without the right", func(t *testing.T) {
		if text, failed := reported(t, true); text != "" || !strings.Contains(failed, "events cannot be read: ") || !strings.Contains(failed, "forbidden") {
			t.Errorf("reported:\n%s\nfailed: %s", text, failed)
		}
	})
}
