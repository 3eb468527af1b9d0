package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// webApp is a Deployment "web" with two pods, and its Service.
const webApp = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: web, image: echo, ports: [{name: http, containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
`

// watchedObjects are the objects of TestConsole: an application with an Ingress, a Service without pods, and an Ingress with
// markup that a hostile tenant might write.
const watchedObjects = sharedObjects + webApp + `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: "5"
    alb.ingress.kubernetes.io/healthcheck-timeout-seconds: "2"
spec:
  ingressClassName: alb
  rules:
  - host: web.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}
      - {path: /dead, pathType: Exact, backend: {service: {name: dead, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {name: dead, namespace: default}
spec: {selector: {app: dead}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: hostile
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/scheme: <img src=x onerror=alert(1)>
    alb.ingress.kubernetes.io/group.name: evil
spec:
  ingressClassName: alb
  rules:
  - host: evil.example.com
    http:
      paths:
      - {path: "/<img src=x onerror=alert(1)>", pathType: Exact, backend: {service: {name: web, port: {name: http}}}}
      - {path: "/'\"><script>alert(2)</script>", pathType: Exact, backend: {service: {name: nowhere, port: {number: 80}}}}
`

// startConsole runs "fulcrum console" with args for a local world until the test ends, and returns the URL of its page.
func startConsole(t *testing.T, w *world.World, args ...string) string {
	t.Helper()
	cmd := exec.Command(worldtest.ControllerPath(t), append([]string{"console", "--listen=127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), w.Environment()...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the console ended with %v: %s", err, errs.String())
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the console has not printed its URL: %v", err)
	}
	go io.Copy(io.Discard, lines)
	return strings.TrimSpace(strings.TrimPrefix(line, "console: "))
}

const (
	rowsText   = `[...document.querySelectorAll("#rows .row")].map((r) => r.innerText).join("\n")`
	answerText = `document.querySelector("#answer").innerText`
)

// TestConsole checks the console in a browser with a real cluster: its pages, search, links, keys and command buttons. It
// checks that the page shows a failing target, and that it shows markup in objects as text.
func TestConsole(t *testing.T) {
	if worldtest.IsOtherControllerTested() {
		t.Skip("the console is Fulcrum's")
	}
	t.Parallel()
	tab := browser.Open(t)
	w := worldPool.AcquireForTest(t, world.Options{})
	s, err := scenario.New(w)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(watchedObjects))
	if err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := applier.Delete(ctx, objects); err != nil {
			t.Error(err)
		}
	})
	if err := w.StartController(worldtest.ControllerPath(t)); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error { return s.CheckHealthyTargets(ctx, "default", "web", 2) })

	page := startConsole(t, w)
	show := func(hash string) { browser.Eval[string](tab, fmt.Sprintf("location.hash = %q", hash)) }
	tab.Do(chromedp.Navigate(page))
	tab.WaitUntil(rowsText + `.includes("load balancer k8s-default-web-")`)
	tab.Screenshot("topology")

	// A search for a host finds the rule and its parents.
	tab.Do(chromedp.SendKeys(chromedp.CSS("#query"), "web.example.com"))
	tab.WaitUntil(rowsText + `.includes("host web.example.com") && !` + rowsText + `.includes("evil")`)
	if hash := browser.Eval[string](tab, "location.hash"); hash != "#/topology?query=web.example.com" {
		t.Errorf("the link to the search is %q", hash)
	}
	// The End key selects the last row, which is the rule, and the page shows its details.
	tab.Do(chromedp.Focus(chromedp.CSS("#list")), chromedp.KeyEvent(kb.End))
	tab.WaitUntil(`document.querySelector("#detail h3").innerText.startsWith("rule ")`)
	tab.WaitUntil(`document.querySelector("#detail").innerText.includes("of Ingress default/web")`)
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="plan Ingress default/web"]`)))
	tab.WaitUntil(`document.querySelector("#detail .answer").innerText.includes("fulcrum plan --namespace=default ingress/web")`)
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="explain Ingress default/web"]`)))
	tab.WaitUntil(`document.querySelector("#detail .answer ol.rules")?.innerText.includes("host web.example.com")`)

	// The URL of the view opens the same view again.
	link := browser.Eval[string](tab, "location.href")
	tab.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
	tab.WaitUntil(`document.querySelector("#detail h3")?.innerText.startsWith("rule ")`)

	// The page "Ask" shows which rule matches a request.
	show("#/ask")
	tab.Do(chromedp.SetValue(chromedp.CSS("#ask-url"), "http://web.example.com/cart"), chromedp.Click(chromedp.CSS("#ask button")))
	tab.WaitUntil(answerText + `.includes("spec.rules[0].http.paths[0] of Ingress default/web") && ` + answerText + `.includes("2 healthy")`)
	tab.Screenshot("ask")
	tab.Do(chromedp.SetValue(chromedp.CSS("#ask-url"), "http://nope.example.com/"), chromedp.Click(chromedp.CSS("#ask button")))
	tab.WaitUntil(answerText + `.includes('No rule for http on port 80 names host "nope.example.com"')`)
	tab.Screenshot("ask-unserved")

	// The page "Trouble" shows findings and the results of `fulcrum doctor`.
	show("#/trouble")
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("<img src=x onerror=alert(1)>")`)
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("checks are ok")`)
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("no targets")`)
	tab.Screenshot("trouble")
	tab.Do(chromedp.Click(chromedp.CSS("#again")))
	tab.WaitUntil(`document.querySelector("#again").getAttribute("aria-busy") === "false" && !document.querySelector("#trouble").innerText.includes("is running")`)

	// The page "Migrate" shows the Gateways that would replace the Ingresses.
	show("#/migrate")
	tab.WaitUntil(`document.querySelector("#migrate").innerText.includes("Ingress default/web → Gateway default/web-gateway-")`)
	tab.Do(chromedp.Click(chromedp.CSS(`#migrate details[data-id="default/web"] > summary`)))
	tab.WaitUntil(`document.querySelector('#migrate details[data-id="default/web"]').innerText.includes("answered alike")`)
	tab.Do(chromedp.Click(chromedp.CSS(`#migrate details[data-id="default/web"] > details:last-of-type > summary`)))
	tab.WaitUntil(`document.querySelector('#migrate details[data-id="default/web"] pre.manifests').innerText.includes("# spec.rules[0].http.paths[0]")`)
	tab.Screenshot("migrate")
	show("#/migrate?id=evil")
	tab.WaitUntil(`document.querySelector("#migrate").innerText.includes("<img src=x onerror=alert(1)>")`)

	// Markup in objects is shown as text and not interpreted.
	show("#/topology?query=hostile&row=/Ingress%20evil")
	tab.WaitUntil(`document.querySelector("#detail").innerText.includes("<img src=x onerror=alert(1)>")`)
	if n := browser.Eval[int](tab, `document.querySelectorAll("main img, main script, main iframe, main object").length`); n != 0 {
		t.Errorf("markup in an object created %d elements in the page", n)
	}
	if errs := tab.TakePageErrors(); len(errs) > 0 {
		t.Errorf("in the page: %q", errs)
	}

	// The page shows a failing target.
	show("#/topology?query=target&kind=Ingress")
	tab.WaitUntil(rowsText + `.includes("2 of 2 healthy")`)
	pods, err := s.ReadyPods(t.Context(), "default", "app=web", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := annotatePod(t.Context(), s, "default", pods[0], "local.fulcrum/status", "503"); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
		if s.CheckHealthyTargets(ctx, "default", "web", 2) == nil {
			return fmt.Errorf("both targets are healthy")
		}
		return nil
	})
	took := tab.WaitUntil(rowsText + `.includes("1 of 2 healthy") && ` + rowsText + `.includes("unhealthy")`)
	t.Logf("BENCH the page shows a target that fails %.1f s after AWS does", took.Seconds())
	tab.Screenshot("target")
	show("#/history")
	tab.WaitUntil(`document.querySelector("#history").innerText.includes("unhealthy")`)

	// No page is wider than the screen of a phone or a tablet.
	for _, width := range []int64{320, 768} {
		tab.Do(chromedp.EmulateViewport(width, 640))
		for _, name := range []string{"topology", "trouble", "ask", "migrate", "history"} {
			show("#/" + name)
			tab.Screenshot(fmt.Sprintf("%s-%d", name, width))
			if wide := browser.Eval[int64](tab, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("page %s is %d pixels wide on a screen of %d pixels", name, wide, width)
			}
		}
	}
	if errs := tab.TakePageErrors(); len(errs) > 0 {
		t.Errorf("in the page: %q", errs)
	}
}

// TestConsoleRejectsRequestsOfOtherSites checks that requests to the console fail if a page of another site in the same
// browser sends them, and that such a page cannot read the console in a frame.
func TestConsoleRejectsRequestsOfOtherSites(t *testing.T) {
	if worldtest.IsOtherControllerTested() {
		t.Skip("the console is Fulcrum's")
	}
	t.Parallel()
	tab := browser.Open(t)
	w := worldPool.AcquireForTest(t, world.Options{})
	page := strings.TrimSuffix(startConsole(t, w), "/")
	// The console responds, so requests of the hostile page can only fail because the console or the browser refuses them.
	for _, path := range []string{"/", "/app.js", "/icon.svg"} {
		res, err := http.Get(page + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: status %d, want 200", path, res.StatusCode)
		}
	}
	tab.Do(chromedp.Navigate("data:text/html,<h1>hostile</h1>"))
	for name, try := range map[string]string{
		"a simple request":                    `fetch("%s/api/command/orphans")`,
		"with the header of the console page": `fetch("%s/api/command/orphans", {headers: {"X-Fulcrum-Console": "1"}})`,
		"without CORS":                        `fetch("%s/", {mode: "no-cors"})`,
		"looks":                               `fetch("%s/api/looks", {headers: {"X-Fulcrum-Console": "1"}})`,
		"a write":                             `fetch("%s/api/command/plan", {method: "POST", body: "x"})`,
		"a script":                            `new Promise((yes, no) => { const s = document.createElement("script"); s.src = "%s/app.js"; s.onload = yes; s.onerror = no; document.body.append(s); })`,
		"a picture":                           `new Promise((yes, no) => { const s = new Image(); s.src = "%s/icon.svg"; s.onload = yes; s.onerror = no; })`,
		"another host name":                   `fetch("http://evil.localhost:" + new URL("%s").port + "/")`,
	} {
		got := browser.Eval[string](tab, fmt.Sprintf(`(`+try+`).then(() => "answered", () => "refused")`, page))
		if got != "refused" {
			t.Errorf("%s: the request is %s, want refused", name, got)
		}
	}
	frames := browser.Eval[string](tab, fmt.Sprintf(`new Promise((done) => { const f = document.createElement("iframe"); f.src = %q; f.onload = () => { try { done(f.contentDocument ? "read" : "closed"); } catch { done("closed"); } }; document.body.append(f); })`, page))
	if frames != "closed" {
		t.Errorf("a frame with the page of the console is %s, want closed", frames)
	}
}
