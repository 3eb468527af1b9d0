package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// migratedApp is an application with an Ingress whose load balancer is migrated to a Gateway.
const migratedApp = sharedObjects + webApp + `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: default, annotations: {alb.ingress.kubernetes.io/target-type: ip}}
spec:
  ingressClassName: alb
  rules:
  - host: web.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
`

// TestConsoleShowsMigration checks that the console page "Migrate" shows the migration of a load balancer from an Ingress to
// a Gateway: its state, the comparison of the two desired states by field, and the next step.
func TestConsoleShowsMigration(t *testing.T) {
	if worldtest.IsOtherControllerTested() {
		t.Skip("the other controller has no console")
	}
	t.Parallel()
	tab := browser.Open(t)
	w := worldPool.AcquireForTest(t, world.Options{})
	s, err := scenario.New(w)
	if err != nil {
		t.Fatal(err)
	}
	apply := worldtest.NewApplier(t, w)
	apply(migratedApp)
	if err := w.StartController(worldtest.ControllerPath(t)); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error { return s.CheckHealthyTargets(ctx, "default", "web", 2) })

	page := startConsole(t, w, "--aws-calls-per-minute=100000")     // the test reads AWS more often than a user
	const answer = `document.querySelector("#migrate").textContent` // includes the text of closed elements
	again := func() {
		tab.Do(chromedp.Click(chromedp.CSS(`#again`)))
		tab.WaitUntil(`document.querySelector("#again").getAttribute("aria-busy") === "false"`)
	}
	open := func() {
		t.Helper()
		tab.WaitUntil(`(() => { const d = document.querySelector('#migrate details[data-id="default/web"]'); if (d) d.open = true; return !!d; })()`)
	}
	tab.Do(chromedp.Navigate(page))
	browser.Eval[string](tab, `location.hash = "#/migrate"`)
	open()
	tab.WaitUntil(answer + `.includes("no Gateway requests the load balancer") && ` + answer + `.includes("fulcrum migrate --from-cluster --in-place --namespaces=default --ingress-name=web")`)

	// With the dry-run annotation, the page compares the desired states of the Ingress and of the Gateway.
	cmd := exec.Command(worldtest.ControllerPath(t), "migrate", "--from-cluster", "--in-place", "--namespaces=default", "--ingress-name=web", "--output-dir=-")
	cmd.Env = append(os.Environ(), w.Environment()...)
	var report strings.Builder
	cmd.Stderr = &report
	made, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, report.String())
	}
	apply(string(made))
	worldtest.Eventually(t, defaultWaitLimit, func(context.Context) error {
		again()
		tab.WaitUntil(`!` + answer + `.includes("is running")`)
		if got := browser.Eval[string](tab, answer); !strings.Contains(got, "shadow") || !strings.Contains(got, "there is no obstacle") {
			return fmt.Errorf("the page does not show the state shadow without obstacles: %s", got)
		}
		return nil
	})
	open()
	tab.Do(chromedp.Click(chromedp.CSS(`#migrate .status button:not(.quiet)`)))
	tab.WaitUntil(`document.querySelector("#migrate .plans table") !== null`)
	const rows = `[...document.querySelectorAll("#migrate .plans tbody tr")].map((r) => r.innerText).join("\n")`
	if got := browser.Eval[string](tab, rows); !strings.Contains(got, "AWS cannot change it: what exists in AWS stays") || strings.Contains(got, "✓ same") {
		t.Errorf("unexpected list of fields that differ: %s", got)
	}
	if got := browser.Eval[string](tab, `(() => { const s = document.querySelector("#migrate .plans select"); s.value = "same"; s.dispatchEvent(new Event("change"));
		const i = document.querySelector("#migrate .plans input"); i.value = "targetgroup httpcode"; i.dispatchEvent(new Event("input")); return `+rows+`; })()`); !strings.Contains(got, "default/web:80") || strings.Count(got, "\n") > 4 {
		t.Errorf("unexpected list of target groups that are the same: %q", got)
	}
	exported := browser.Eval[string](tab, `new Promise((done) => { const make = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then(done); URL.createObjectURL = make; return make(b); };
		[...document.querySelectorAll("#migrate .plans button")].pop().click(); })`)
	if !strings.Contains(exported, `"status": "same"`) || !strings.Contains(exported, `"state": "shadow"`) {
		t.Errorf("the export is %s", exported)
	}
	tab.Do(chromedp.EmulateViewport(320, 640))
	tab.Screenshot("move-320")
	if wide := browser.Eval[int64](tab, "document.documentElement.scrollWidth"); wide > 320 {
		t.Errorf("the page is %d pixels wide on a screen of 320 pixels", wide)
	}
	tab.Do(chromedp.EmulateViewport(1280, 800))
	tab.Screenshot("move")

	// Without the annotation, the Gateway adopts the load balancer.
	apply(strings.Replace(string(made), "    gateway.k8s.aws/dry-run: \"true\"\n", "", 1))
	worldtest.Eventually(t, defaultWaitLimit, func(context.Context) error {
		again()
		tab.WaitUntil(`!` + answer + `.includes("is running")`)
		got := browser.Eval[string](tab, answer)
		for _, part := range []string{"adopted", "kubectl delete ingress -n default web", "gateway.k8s.aws/dry-run=true"} {
			if !strings.Contains(got, part) { // the controller may still be applying the change
				return fmt.Errorf("the page does not show %q: %s", part, got)
			}
		}
		return nil
	})
	if errs := tab.TakePageErrors(); len(errs) > 0 {
		t.Errorf("errors in the page: %q", errs)
	}
	deleteMigratedApp(t, w, made)
}

// deleteMigratedApp deletes the Ingress, and then the objects of the migration, so that the load balancer is deleted.
func deleteMigratedApp(t *testing.T, w *world.World, made []byte) {
	t.Helper()
	if err := w.KubeClient().NetworkingV1().Ingresses("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse(made)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Delete(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}
