package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fulcrum-lb/fulcrum/internal/cli/console"
	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// document is a part of what the program answers to the page.
type document = map[string]any

// answers is the program for a page: it says what a test has it say.
type answers struct {
	mu       sync.Mutex
	news     document
	changed  chan struct{} // closed once there is other news
	commands map[string]document
	exit     int      // of commands
	asked    []string // paths of commands, and of what has AWS read again
}

func (a *answers) say(change func(news document)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.news)
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *answers) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

func (a *answers) latest() ([]byte, chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, err := json.Marshal(a.news)
	return data, a.changed, err
}

func (a *answers) looks(w http.ResponseWriter, r *http.Request) {
	for {
		data, changed, err := a.latest()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

func (a *answers) ask(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.URL.RequestURI())
	json.NewEncoder(w).Encode(document{"command": "fulcrum " + r.PathValue("name"), "exit": a.exit, "calls": 7, "document": a.commands[r.PathValue("name")]})
}

// answeredPage opens the page of a program that has these stacks, and answers commands with these documents.
func answeredPage(t *testing.T, stacks []document, commands map[string]document) (*browser.Tab, *answers, func(hash string)) {
	t.Helper()
	if worldtest.Foreign() {
		t.Skip("the console is Fulcrum's")
	}
	t.Parallel()
	keys, stacks := []string{}, append([]document{}, stacks...)
	for _, s := range stacks {
		keys = append(keys, fmt.Sprintf("%s %s", s["kind"], s["id"]))
	}
	a := &answers{
		news: document{"have": "x.1", "cluster": "test", "keys": keys, "stacks": stacks, "changes": []document{}, "at": "2026-01-01T00:00:00Z", "next": 30, "reads": 1,
			"aws": document{"look": 5, "minute": 5, "looks": 5, "budget": 100}},
		changed: make(chan struct{}), commands: commands,
	}
	mux := http.NewServeMux()
	mux.Handle("/", console.Page())
	mux.HandleFunc("/api/looks", a.looks)
	mux.HandleFunc("/api/command/{name}", a.ask)
	mux.HandleFunc("/api/again", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, r.URL.RequestURI())
		w.WriteHeader(http.StatusNoContent)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections) // the page listens as long as it may
	tab := browser.Open(t)
	tab.Do(chromedp.Navigate(srv.URL))
	tab.Until(`document.querySelector("#cluster").innerText === "test"`)
	t.Cleanup(func() {
		if faults := tab.Faults(); len(faults) > 0 {
			t.Errorf("in the page: %q", faults)
		}
	})
	return tab, a, func(hash string) { browser.Ask[string](tab, fmt.Sprintf("location.hash = %q", hash)) }
}

// narrow checks that nothing is wider than a phone.
func narrow(t *testing.T, tab *browser.Tab) {
	t.Helper()
	tab.Do(chromedp.EmulateViewport(320, 640))
	if wide := browser.Ask[int64](tab, "document.documentElement.scrollWidth"); wide > 320 {
		t.Errorf("the page is %d wide on a screen of 320", wide)
	}
	tab.Do(chromedp.EmulateViewport(1200, 800))
}

var webIngress = document{"kind": "Ingress", "namespace": "shop", "name": "web"}

// TestConsolePageHasAWSReadAgain: the button has AWS read, the page says when that is if the budget has no room, and asks again what it has
// asked commands for.
func TestConsolePageHasAWSReadAgain(t *testing.T) {
	tab, program, show := answeredPage(t, nil, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	count := func(part string) (n int) {
		for _, r := range program.requests() {
			if strings.Contains(r, part) {
				n++
			}
		}
		return n
	}
	show("#/trouble")
	tab.Until(`document.querySelector("#trouble").innerText.includes("fulcrum doctor") && document.querySelector("#trouble").innerText.includes("fulcrum orphans")`)
	tab.Until(`!document.querySelector("#trouble").innerText.includes("is running")`)
	tab.Do(chromedp.Focus(chromedp.CSS("#again")), chromedp.KeyEvent(kb.Enter))
	tab.Until(`document.querySelector("#again").getAttribute("aria-busy") === "true"`)
	worldtest.Eventually(t, defaultLimit, func(context.Context) error {
		if count("/api/again?after=14") != 1 { // the calls of both commands
			return fmt.Errorf("the page asks for %q", program.requests())
		}
		return nil
	})
	program.say(func(n document) { n["wanted"], n["next"] = true, 40 })
	tab.Until(`document.querySelector("#next").innerText.includes("Look again, within the limit, in ")`)
	if text := browser.Ask[string](tab, `document.querySelector(".looks").innerText`); strings.Count(text, " in ") != 2 || strings.Contains(text, "read again") {
		t.Errorf("there is not one clock for the next look: %q", text) // the other one is "in the last minute"
	}
	if n := count("/api/command/doctor"); n != 1 {
		t.Errorf("the checks were asked for %d times before AWS was read", n)
	}
	narrow(t, tab)
	program.say(func(n document) { n["wanted"], n["next"], n["reads"] = false, 30, 2 })
	tab.Until(`document.querySelector("#again").getAttribute("aria-busy") === "false"`)
	if a, b := count("/api/command/doctor"), count("/api/command/orphans"); a != 2 || b != 2 {
		t.Errorf("checks were asked for %d times and orphans %d times", a, b)
	}
	tab.Until(`document.querySelector("#next").innerText.startsWith("· next look in ")`)
	program.say(func(n document) { n["aws"] = document{"look": 49, "minute": 664, "looks": 98, "budget": 100} })
	tab.Until(`document.querySelector("#status").innerText.includes("calls to AWS in the last minute: looks 98 (limit 100), commands 566")`)
}

// replacedStack is one whose load balancer is being replaced, while something else of it differs for other causes.
func replacedStack(rules int) document {
	made := func(state string, n int) []document {
		var out []document
		for i := range n {
			out = append(out, document{"state": state, "priority": i + 1, "conditions": fmt.Sprintf("host h%d.example.com", i), "actions": "answer 200", "from": fmt.Sprintf("spec.rules[%d] of Ingress shop/web", i)})
		}
		return out
	}
	listener := func(state string, rules []document) []document {
		return []document{{"state": state, "protocol": "HTTP", "port": 80, "default": "answer 404", "rules": rules}}
	}
	warning := func(field, message string) document {
		return document{"severity": "warning", "reason": "Odd", "object": webIngress, "field": field, "message": message, "blocks": "nothing"}
	}
	held := document{"state": "missing", "note": "held, see the findings", "priority": 0, "conditions": "host held.example.com", "actions": "answer 503"}
	return document{
		"kind": "Ingress", "id": "shop/web", "held": false, "members": []document{webIngress},
		"findings": []document{warning("spec.rules[0]", "the same fault"), warning("spec.rules[1]", "the same fault"), warning("spec.rules[2]", "another fault"),
			{"severity": "error", "reason": "Bad", "object": webIngress, "field": "spec.rules[3]", "message": "an error", "blocks": "rule"}},
		"loadBalancers": []document{
			{"state": "surplus", "replaced": "k8s-old", "name": "k8s-old", "type": "application", "scheme": "internal", "listeners": listener("surplus", made("surplus", rules))},
			{"state": "missing", "replaced": "k8s-old", "name": "k8s-new", "type": "application", "scheme": "internet-facing", "listeners": listener("missing", append(made("missing", rules), held))},
		},
		"targetGroups": []document{
			{"state": "missing", "replaced": "k8s-old", "id": "shop/web:80", "name": "k8s-web-2", "type": "ip", "protocol": "HTTP", "port": 80, "targets": nil},
			{"state": "missing", "id": "shop/other:80", "name": "k8s-other", "type": "ip", "protocol": "HTTP", "port": 80, "targets": nil},
		},
		"securityGroups": []document{},
	}
}

// TestConsolePageFoldsOneCause: a replacement is one row that opens, and what is of another cause stays beside it; the worst finding is
// first, and findings that say the same are one.
func TestConsolePageFoldsOneCause(t *testing.T) {
	tab, program, show := answeredPage(t, []document{replacedStack(4)}, map[string]document{})
	show("#/trouble")
	const folds = `[...document.querySelectorAll("#trouble details.fold")]`
	tab.Until(folds + `.some((d) => d.innerText.includes("replacement of load balancer k8s-old: 13 resources") && d.innerText.includes("surplus 6") && d.innerText.includes("missing 7"))`)
	for _, other := range []string{"target group k8s-other", "rule new"} {
		if !browser.Ask[bool](tab, fmt.Sprintf(`document.querySelector("#trouble").innerText.includes(%q)`, other)) {
			t.Errorf("%s is of another cause and not shown", other)
		}
	}
	if got := browser.Ask[string](tab, `[...document.querySelectorAll("#trouble article.finding")].map((f) => f.classList[1] + " " + f.querySelector("p").innerText).join(", ")`); got != "error an error, warning the same fault, warning another fault" {
		t.Errorf("the findings are %s", got)
	}
	// What is missing has the colour of a warning, not that of what is well, and a sign.
	if got := browser.Ask[string](tab, `(() => { const make = (c) => { const e = document.createElement("span"); e.className = "badge " + c; document.body.append(e); const s = getComputedStyle(e), out = s.color + s.backgroundColor; e.remove(); return out; };
		const m = document.querySelector("#trouble .badge.missing"), s = getComputedStyle(m); return (s.color + s.backgroundColor === make("warning") && make("warning") !== make("ok")) + " " + m.innerText; })()`); got != "true + missing" {
		t.Errorf("what is missing is shown as %q", got)
	}
	// It opens by keys, has links, and stays open when something else changes.
	browser.Ask[bool](tab, folds+`.find((d) => d.innerText.includes("k8s-old")).firstElementChild.focus() || true`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	const links = `[...document.querySelectorAll('#trouble details.fold[open] a[href^="#/topology?row="]')].length`
	tab.Until(links + ` === 13`)
	narrow(t, tab)
	program.say(func(n document) {
		s := replacedStack(5)
		n["stacks"] = []document{s}
	})
	tab.Until(links + ` === 15`)
	if !browser.Ask[bool](tab, `document.activeElement.tagName === "SUMMARY" && document.activeElement.innerText.includes("k8s-old")`) {
		t.Error("the keyboard is elsewhere once something has changed")
	}
	// Very many are folded as quickly, and shown so many at a time.
	program.say(func(n document) { n["stacks"] = []document{replacedStack(10000)} })
	tab.Until(folds + `.some((d) => d.innerText.includes("20005 resources"))`)
	if n := browser.Ask[int](tab, links); n != 100 {
		t.Errorf("%d rows are shown", n)
	}
}

// TestConsolePageShowsAPlanAndDecisions: plan and explain are lists with resources, changes, reasons, objects and fields, and what a
// tenant writes is text.
func TestConsolePageShowsAPlanAndDecisions(t *testing.T) {
	const hostile = `<img src=x onerror=alert(1)>`
	step := func(id, verb, kind, resource string, more document) document {
		out := document{"id": id, "verb": verb, "kind": kind, "resource": resource, "changes": []document{}, "impact": "none"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	plan := document{
		"cluster": "test", "bindings": []document{}, "rules": []document{}, "errors": 0, "warnings": 1, "summary": document{"create": 1, "change": 1, "replace": 0, "delete": 0, "waiting": 1},
		"stacks": []document{{
			"kind": "Ingress", "id": "shop/web", "summary": document{"create": 1, "change": 1, "replace": 0, "delete": 0, "waiting": 1}, "findings": []document{}, "result": document{"resources": document{"secret": "raw"}},
			"steps": []document{
				step("create rule/80:1", "create", "rule", "80:1", document{"why": "from spec.rules[0] of Ingress shop/web", "from": "spec.rules[0] of Ingress shop/web", "objects": []document{webIngress},
					"changes": []document{{"field": "conditions", "to": hostile}}}),
				step("health-check", "update", "target-group", "shop/web:80", document{"why": "the health check differs", "impact": "brief", "after": []string{"create rule/80:1"}, "waitsFor": "targets to be healthy", "objects": []document{webIngress},
					"changes": []document{{"field": "interval", "from": "15", "to": "5"}}}),
			},
		}},
	}
	explain := document{
		"cluster": "test", "object": webIngress, "bindings": []document{}, "warnings": []document{},
		"stacks": []document{{
			"kind": "Ingress", "id": "shop/web", "held": false, "members": []document{{"object": webIngress, "state": "accepted"}}, "others": []document{}, "targetGroups": []document{}, "summary": document{},
			"findings": []document{{"severity": "warning", "reason": "Odd", "object": webIngress, "field": "spec.rules[0]", "message": hostile, "blocks": "nothing", "wayOut": "remove it"}},
			"loadBalancers": []document{{"id": "LoadBalancer", "name": "k8s-web", "type": "application", "scheme": "internal", "schemeFrom": "metadata.annotations[scheme] of Ingress shop/web",
				"subnets": document{"how": "discovered", "chosen": []document{{"id": "subnet-1", "zone": "us-west-2a"}}, "refused": []document{{"id": "subnet-2", "why": "it has no free address"}}}, "securityGroups": nil,
				"listeners": []document{{"port": 80, "protocol": "HTTP", "inAWS": true, "made": true, "default": "answer 404",
					"rules": []document{{"priority": 1, "conditions": "host " + hostile, "actions": "forward to web", "from": "spec.rules[0] of Ingress shop/web", "own": true}}}}}},
		}},
	}
	stack := replacedStack(1)
	tab, _, show := answeredPage(t, []document{stack}, map[string]document{"plan": plan, "explain": explain})
	show("#/topology?row=/Ingress%20shop/web")
	const answer = `document.querySelector("#detail .answer")`
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="plan Ingress shop/web"]`)))
	tab.Until(answer + `.querySelectorAll("ol.steps > li").length === 2`)
	steps := browser.Ask[[]string](tab, `[...`+answer+`.querySelectorAll("ol.steps > li")].map((s) => s.innerText.replace(/\s+/g, " "))`)
	for i, want := range [][]string{
		{"+ create", "rule 80:1", "conditions: " + hostile, "reason from spec.rules[0] of Ingress shop/web", "asked for by Ingress shop/web"},
		{"~ change", "target group shop/web:80", "impact: brief", "interval: 15 → 5", "reason the health check differs", "waits for targets to be healthy", "after step 1"},
	} {
		for _, w := range want {
			if !strings.Contains(steps[i], w) {
				t.Errorf("step %d does not say %q: %s", i+1, w, steps[i])
			}
		}
	}
	narrow(t, tab)
	raw := func(of string) {
		t.Helper()
		if text := browser.Ask[string](tab, answer+`.innerText`); strings.ContainsAny(text, "{}") || strings.Contains(text, "raw") {
			t.Errorf("%s is raw: %s", of, text)
		}
		if n := browser.Ask[int](tab, `document.querySelectorAll("main img").length`); n != 0 {
			t.Errorf("%s makes markup of text", of)
		}
	}
	raw("the plan")
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="explain Ingress shop/web"]`)))
	tab.Until(answer + `.querySelectorAll("ol.rules > li").length === 1`)
	text := browser.Ask[string](tab, answer+`.innerText.replace(/\s+/g, " ")`)
	for _, w := range []string{"Ingress shop/web accepted", "way out: remove it", "internal from metadata.annotations[scheme] of Ingress shop/web", "subnet-1 in us-west-2a", "subnet-2: it has no free address",
		"listener HTTP:80", "rule 1 host " + hostile + " → forward to web from spec.rules[0] of Ingress shop/web", "of this object"} {
		if !strings.Contains(text, w) {
			t.Errorf("the decisions do not say %q: %s", w, text)
		}
	}
	raw("explain")
	narrow(t, tab)
}

// TestConsolePageSaysFirstThatNoRuleNamesTheHost: what other load balancers would answer comes after it, and is closed.
func TestConsolePageSaysFirstThatNoRuleNamesTheHost(t *testing.T) {
	answer := document{"kind": "Ingress", "id": "shop/web", "loadBalancer": "k8s-web", "type": "application", "protocol": "HTTP", "port": 80, "rule": nil, "does": "answer 404", "shadowed": []document{}}
	request := document{"cluster": "test", "request": "GET http://nope.example.com/", "answers": []document{answer}, "notes": []string{},
		"unserved": document{"host": "nope.example.com", "scheme": "http", "port": 80, "why": "one object names it and is not served there",
			"objects": []document{{"object": document{"kind": "Ingress", "namespace": "shop", "name": "mistyped"}, "field": "spec.rules[0].host", "why": "IngressClass albb does not exist"}}}}
	tab, _, show := answeredPage(t, nil, map[string]document{"request": request})
	show("#/ask?url=http://nope.example.com/")
	tab.Until(answered + `.includes('No rule for http on port 80 names host "nope.example.com"')`)
	text := browser.Ask[string](tab, answered)
	for _, w := range []string{"Ingress shop/mistyped spec.rules[0].host: IngressClass albb does not exist", "What one load balancer answers if DNS leads the host to it"} {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not say %q: %s", w, text)
		}
	}
	if strings.Contains(text, "answer 404") {
		t.Errorf("what another load balancer would answer is shown before it is opened: %s", text)
	}
	tab.Do(chromedp.Click(chromedp.CSS("#answer details summary")))
	tab.Until(answered + `.includes("answer 404") && ` + answered + `.includes("the default action answers")`)
	narrow(t, tab)
}

// plainStack is one as desired, of one Ingress.
func plainStack(namespace, name string) document {
	id := namespace + "/" + name
	arn := "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/k8s-" + namespace + "/0123456789abcdef"
	return document{
		"kind": "Ingress", "id": id, "held": false, "members": []document{{"kind": "Ingress", "namespace": namespace, "name": name}}, "findings": []document{},
		"loadBalancers": []document{{"state": "live", "name": "k8s-" + namespace + "-" + name, "type": "application", "scheme": "internal", "status": "active", "listeners": []document{{"state": "live", "protocol": "HTTP", "port": 80, "default": "answer 404",
			"rules": []document{
				{"state": "live", "priority": 1, "conditions": "host " + name + "." + namespace + ".example.com", "actions": "forward to " + id + "-app:80", "from": "spec.rules[0].http.paths[0] of Ingress " + id, "targetGroups": []string{id + "-app:80"}},
				{"state": "live", "priority": 2, "conditions": "path /b", "actions": "answer 200", "from": "spec.rules[0].http.paths[1] of Ingress " + id},
			}}}}},
		"targetGroups":   []document{{"state": "live", "id": id + "-app:80", "name": "k8s-" + namespace + "-app", "arn": arn, "type": "ip", "protocol": "HTTP", "port": 80, "targets": []document{{"id": "10.0.0.1", "port": 8080, "state": "healthy"}}}},
		"securityGroups": []document{},
	}
}

// sharedStack is an IngressGroup of two Ingresses.
func sharedStack() document {
	s := plainStack("shop", "front")
	s["id"] = "edge"
	s["members"] = []document{{"kind": "Ingress", "namespace": "shop", "name": "front"}, {"kind": "Ingress", "namespace": "shop", "name": "back"}}
	l := s["loadBalancers"].([]document)[0]["listeners"].([]document)[0]
	l["rules"] = append(l["rules"].([]document), document{"state": "live", "priority": 3, "conditions": "path /c", "actions": "answer 200", "from": "spec.rules[0].http.paths[0] of Ingress shop/back"})
	return s
}

// findingAbout is a finding about an object.
func findingAbout(severity, kind, namespace, name, field, message string) document {
	return document{"severity": severity, "reason": "Odd", "object": document{"kind": kind, "namespace": namespace, "name": name}, "field": field, "message": message, "blocks": "nothing"}
}

const (
	selectedRow  = `(document.querySelector("#rows .row.selected")?.innerText || "").replace(/\s+/g, " ")`
	detailTitle  = `(document.querySelector("#detail h3")?.innerText || "")`
	troubleLinks = `[...document.querySelectorAll("#trouble article a")]`
)

// TestConsolePageLeadsToTheObject: the link of an object selects its row among others of the same name, and says so to somebody else.
func TestConsolePageLeadsToTheObject(t *testing.T) {
	bank := plainStack("bank", "web")
	bank["findings"] = []document{findingAbout("warning", "Ingress", "bank", "web", "", "odd"), findingAbout("warning", "Service", "bank", "app", "", "odd too")}
	stacks := []document{bank, plainStack("shop", "web"), sharedStack()}
	for i := range 15 { // more than are open at first
		stacks = append(stacks, plainStack(fmt.Sprintf("other-%d", i), "web"))
	}
	migrated := document{"groups": []document{{"id": "edge", "members": []string{"shop/front", "shop/back"}, "annotations": []document{}, "notes": []document{}, "differences": []document{}, "requests": 0}}, "notOurs": []string{}, "deleted": []string{}}
	tab, program, show := answeredPage(t, stacks, map[string]document{"migrate": migrated, "status": {"loadBalancers": []document{}}})
	show("#/trouble")
	tab.Until(troubleLinks + `.length >= 2`)
	browser.Ask[bool](tab, troubleLinks+`.find((a) => a.innerText === "Ingress bank/web").click() || true`)
	tab.Until(selectedRow + `.includes("Ingress bank/web") && ` + detailTitle + `.includes("bank/web")`)
	if hash := browser.Ask[string](tab, "location.hash"); hash != "#/topology?object=Ingress+bank%2Fweb" {
		t.Errorf("the link to the object is %q", hash)
	}
	show("#/trouble")
	browser.Ask[bool](tab, troubleLinks+`.find((a) => a.innerText === "Service bank/app").click() || true`)
	tab.Until(selectedRow + `.includes("load balancer k8s-bank-web")`)
	// Of an Ingress that shares a load balancer, it is the first row that comes from it, and what that is in is opened.
	show("#/migrate?id=edge")
	tab.Until(`[...document.querySelectorAll("#migrate a")].some((a) => a.innerText === "Ingress shop/back")`)
	browser.Ask[bool](tab, `[...document.querySelectorAll("#migrate a")].find((a) => a.innerText === "Ingress shop/back").click() || true`)
	tab.Until(selectedRow + `.includes("of Ingress shop/back") && ` + detailTitle + `.startsWith("rule")`)
	// An event leads there too, and the link is the same for who opens it first.
	program.say(func(n document) {
		n["changes"] = []document{{"at": "2026-01-01T00:00:00Z", "of": "Ingress shop/web", "event": document{"warning": true, "by": "x", "reason": "Odd", "message": "odd"}}}
	})
	show("#/history")
	tab.Until(`document.querySelector("#history a") !== null`)
	browser.Ask[bool](tab, `document.querySelector("#history a").click() || true`)
	tab.Until(selectedRow + `.includes("Ingress shop/web")`)
	link := browser.Ask[string](tab, "location.href")
	tab.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
	tab.Until(selectedRow + `.includes("Ingress shop/web")`)
	// What is in no load balancer is not mistaken for another one.
	show("#/topology?object=Ingress+gone%2Fweb")
	tab.Until(`document.querySelector("#detail").innerText.includes("No load balancer that is shown has this object") && !` + selectedRow)
	narrow(t, tab)
}

// TestConsolePageSearchesForNamespaceAndName: both together match, what matches nothing says so where the rows were, and orphans are
// found.
func TestConsolePageSearchesForNamespaceAndName(t *testing.T) {
	orphans := document{"orphans": []document{{"kind": "Ingress", "id": "old/gone", "resources": []string{"arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/k8s-old-gone/0123456789abcdef"}}}}
	checks := document{"checks": []document{{"result": "warning", "area": "orphans", "message": "no object asks for it of Ingress old/gone", "fix": "delete it"}, {"result": "ok", "area": "discovery", "message": "region"}}}
	tab, program, show := answeredPage(t, []document{plainStack("bank", "web"), plainStack("shop", "web"), sharedStack()}, map[string]document{"orphans": orphans, "doctor": checks})
	search := func(text string) { show("#/topology?query=" + url.QueryEscape(text)) }
	for _, of := range [][2]string{{"shop/", "Ingress shop/web"}, {"bank/web", "Ingress bank/web"}, {"Shop/WEB", "Ingress shop/web"}, {"shop/back", "path /c"}, {"ingress bank/web", "Ingress bank/web"}} {
		text, want := of[0], of[1]
		search(text)
		tab.Until(fmt.Sprintf(`%s.replace(/\s+/g, " ").includes(%q)`, rowsText, want))
	}
	if got := browser.Ask[string](tab, rowsText); strings.Contains(got, "shop/web") && strings.Contains(got, "bank/web") {
		t.Errorf("all is found: %s", got)
	}
	// Each word of it, as a person types it.
	search("")
	tab.Do(chromedp.SendKeys(chromedp.CSS("#query"), "shop/web"))
	tab.Until(rowsText + `.includes("shop/web") && !` + rowsText + `.includes("bank/web")`)
	// Where nothing matches, both boxes stay where they were.
	const place = `((e) => { const r = e.getBoundingClientRect(); return Math.round(r.left) + " " + Math.round(r.top) + " " + Math.round(r.width); })(document.querySelector("#detail"))`
	const empty = `document.querySelector("#empty")`
	before := browser.Ask[string](tab, place)
	search("nothing-has-this")
	tab.Until(empty + `.innerText.includes("Nothing matches")`)
	if after := browser.Ask[string](tab, place); after != before {
		t.Errorf("the details are at %s, and at %s where nothing matches", before, after)
	}
	if !browser.Ask[bool](tab, empty+`.getBoundingClientRect().right <= document.querySelector("#detail").getBoundingClientRect().left`) {
		t.Error("that nothing matches is not said where the rows were")
	}
	narrow(t, tab)
	// An orphan is looked for once, by its namespace, its name or an ARN of it.
	for _, text := range []string{"old/", "old/gone", "targetgroup/k8s-old-gone/"} {
		search(text)
		tab.Until(empty + `.innerText.includes("1 orphan matches") && ` + empty + `.querySelector('a[href="#/trouble"]') !== null`)
	}
	asked := strings.Count(strings.Join(program.requests(), "\n"), "/api/command/orphans")
	if asked != 1 {
		t.Errorf("orphans were looked for %d times", asked)
	}
	show("#/trouble")
	tab.Until(`document.querySelector("#trouble").innerText.includes("checks are ok")`)
	tab.Until(`document.querySelector("#trouble").innerText.includes("k8s-old-gone")`)
	if got := browser.Ask[string](tab, `document.querySelector("#trouble").innerText`); strings.Count(got, "old/gone") != 1 {
		t.Errorf("an orphan is not listed once: %s", got)
	}
}

// TestConsolePageCountsWhatItLists: the badge of a page is the number of what is on it, before it was opened and after that.
func TestConsolePageCountsWhatItLists(t *testing.T) {
	empty := plainStack("bank", "empty") // without a load balancer
	empty["loadBalancers"], empty["targetGroups"] = []document{}, []document{}
	empty["findings"] = []document{findingAbout("error", "Ingress", "bank", "empty", "", "it has none")}
	orphans := document{"orphans": []document{{"kind": "Ingress", "id": "old/gone", "resources": []string{"sg-1"}}}}
	checks := document{"checks": []document{{"result": "warning", "area": "orphans", "message": "no object asks for sg-1 of Ingress old/gone"}, {"result": "error", "area": "permissions", "message": "denied"}, {"result": "ok", "area": "discovery", "message": "region"}}}
	tab, _, show := answeredPage(t, []document{empty, plainStack("shop", "api"), replacedStack(4)}, map[string]document{"orphans": orphans, "doctor": checks})
	const badge = `document.querySelector("#count-%s").innerText`
	if got := browser.Ask[string](tab, fmt.Sprintf(badge, "stacks")); got != "3" {
		t.Errorf("there are %q load balancers", got)
	}
	if n := browser.Ask[string](tab, `(document.querySelector("#query").value = "load balancer", document.querySelector("#query").dispatchEvent(new Event("input")), `+
		`String([...document.querySelectorAll("#rows .what")].filter((e) => e.innerText === "load balancer").length))`); n != "3" {
		t.Errorf("%s load balancers are listed", n)
	}
	const before = "7 + checks" // the finding of the empty one and three folds of them, the replacement, and what is beside it
	if got := browser.Ask[string](tab, fmt.Sprintf(badge, "trouble")); got != before {
		t.Errorf("the badge of Trouble is %q before it is opened", got)
	}
	show("#/trouble")
	tab.Until(`document.querySelector("#trouble").innerText.includes("denied") && document.querySelector("#trouble").innerText.includes("old/gone")`)
	tab.Until(fmt.Sprintf(badge, "trouble") + ` === "9"`)
	listed := browser.Ask[int](tab, `document.querySelectorAll("#trouble > div > article, #trouble > div > ul.plain > li").length`)
	sum := browser.Ask[int](tab, `[...document.querySelectorAll("#trouble h3 .count")].reduce((n, e) => n + Number(e.innerText), 0)`)
	if listed != 9 || sum != 9 {
		t.Errorf("%d entries are listed and %d counted", listed, sum)
	}
	narrow(t, tab)
}

// TestConsolePageMarksRowsWithFaults: a load balancer has the worst severity of findings and events, and a rule that of the findings about
// it, which rows that are closed carry too.
func TestConsolePageMarksRowsWithFaults(t *testing.T) {
	web := plainStack("shop", "web")
	web["findings"] = []document{findingAbout("warning", "Ingress", "shop", "web", "spec.rules[0].http.paths[1].pathType", "odd")}
	wide := plainStack("shop", "wide")
	wide["findings"] = []document{findingAbout("error", "Ingress", "shop", "wide", "spec.rules[0].host", "bad")}
	other := plainStack("shop", "other") // of another object, another path, and no rule
	other["findings"] = []document{findingAbout("warning", "Ingress", "shop", "web", "spec.rules[0].http.paths[0]", "odd"), findingAbout("warning", "Ingress", "shop", "other", "spec.rules[0].http.paths[10]", "odd"),
		findingAbout("warning", "Ingress", "shop", "other", "metadata.annotations[x]", "odd")}
	event := func(name, severity string) document {
		return document{"severity": severity, "object": document{"kind": "Ingress", "namespace": "bank", "name": name}, "at": "2026-01-01T00:00:00Z", "by": "ingress", "reason": "Refused", "message": "AWS refused it"}
	}
	tab, program, _ := answeredPage(t, []document{web, wide, other, plainStack("bank", "denied"), plainStack("bank", "odd"), plainStack("bank", "fine")}, map[string]document{})
	program.say(func(n document) {
		n["reported"] = document{"events": []document{event("odd", "warning"), event("denied", "warning"), event("denied", "error")}}
	})
	// row has the badges of the rows whose text has all of it.
	const row = `[...document.querySelectorAll("#rows .row")].filter((r) => %q.split("|").every((w) => r.innerText.replace(/\s+/g, " ").includes(w))).map((r) => [...r.querySelectorAll(".badge")].map((b) => b.innerText).join(",")).join(";")`
	tab.Until(fmt.Sprintf(row, "Ingress bank/odd|object") + ` === "! warning"`)
	for of, want := range map[string]string{
		"Ingress bank/denied|object": "✕ error", "Ingress bank/fine|object": "", "Ingress shop/web|object": "! warning", "Ingress shop/wide|object": "✕ error", "Ingress shop/other|object": "! warning",
		"listener|HTTP:80": "! 1 inside;✕ 2 inside;;;;",
	} {
		if got := browser.Ask[string](tab, fmt.Sprintf(row, of)); got != want {
			t.Errorf("the row %s has %q, want %q", of, got, want)
		}
	}
	browser.Ask[bool](tab, `(document.querySelector("#query").value = "rule", document.querySelector("#query").dispatchEvent(new Event("input")), true)`)
	for of, want := range map[string]string{
		"rule|paths[0] of Ingress shop/web": "", "rule|paths[1] of Ingress shop/web": "! warning", "rule|paths[0] of Ingress shop/wide": "✕ error", "rule|paths[1] of Ingress shop/wide": "✕ error",
		"rule|paths[0] of Ingress shop/other": "", "rule|paths[1] of Ingress shop/other": "",
	} {
		if got := browser.Ask[string](tab, fmt.Sprintf(row, of)); got != want {
			t.Errorf("the row %s has %q, want %q", of, got, want)
		}
	}
	// Trouble alone has the rows that only an event tells of.
	browser.Ask[bool](tab, `(document.querySelector("#query").value = "bank", document.querySelector("#query").dispatchEvent(new Event("input")), document.querySelector("#state").value = "trouble", document.querySelector("#state").dispatchEvent(new Event("input")), true)`)
	tab.Until(rowsText + `.includes("bank/odd") && ` + rowsText + `.includes("bank/denied") && !` + rowsText + `.includes("bank/fine")`)
}

// TestConsolePageScrollsToAnAnswer: the answer of a button is in view and has the keyboard, also where the details are longer than the
// screen, and says what came of it in words.
func TestConsolePageScrollsToAnAnswer(t *testing.T) {
	long := plainStack("shop", "web")
	findings, members := []document{}, []document{{"kind": "Ingress", "namespace": "shop", "name": "web"}}
	for i := range 30 {
		findings = append(findings, findingAbout("warning", "Ingress", "shop", "web", fmt.Sprintf("spec.rules[%d]", i), strings.Repeat("odd ", 20)))
		members = append(members, document{"kind": "Ingress", "namespace": "shop", "name": fmt.Sprintf("web-%d", i)})
	}
	long["findings"], long["members"] = findings, members
	none := document{"cluster": "test", "stacks": []document{}, "bindings": []document{}, "rules": []document{}, "errors": 0, "warnings": 0, "summary": document{}}
	explained := document{"cluster": "test", "object": webIngress, "stacks": []document{}, "bindings": []document{}, "warnings": []document{}}
	tab, program, show := answeredPage(t, []document{long}, map[string]document{"plan": none, "explain": explained})
	show("#/topology?object=Ingress+shop%2Fweb")
	tab.Until(detailTitle + `.includes("shop/web")`)
	const answer = `document.querySelector("#detail .answer")`
	for _, press := range []struct {
		name string
		exit int
		says string
	}{{"plan", 0, "nothing to change, 7 calls"}, {"plan", 2, "there are changes, 7 calls"}, {"plan", 1, "failed, 7 calls"}, {"explain", 0, "7 calls"}} {
		program.say(func(document) { program.exit = press.exit })
		browser.Ask[bool](tab, fmt.Sprintf(`(() => { document.querySelector("#detail").scrollTop = 0; const b = document.querySelector('#detail button[aria-label="%s Ingress shop/web"]'); b.focus(); b.click(); return true; })()`, press.name))
		tab.Until(fmt.Sprintf(answer+`.innerText.includes(%q)`, press.says))
		text := browser.Ask[string](tab, answer+`.innerText`)
		if !strings.HasPrefix(text, press.name+" of Ingress shop/web") || strings.Contains(text, "exit code") {
			t.Errorf("the answer is %q", text)
		}
		if !browser.Ask[bool](tab, `(() => { const t = `+answer+`.firstElementChild.getBoundingClientRect(), d = document.querySelector("#detail").getBoundingClientRect();
			return document.activeElement === `+answer+`.firstElementChild && t.top >= d.top - 1 && t.bottom <= d.bottom && t.bottom <= innerHeight; })()`) {
			t.Errorf("the answer of %s with exit code %d is not in view, or has not the keyboard", press.name, press.exit)
		}
	}
	narrow(t, tab)
}

// TestConsolePageListsDeadPodsOnce: a Service without endpoints is one entry with its target groups beneath, and a link to the load balancer
// that forwards to it.
func TestConsolePageListsDeadPodsOnce(t *testing.T) {
	dead := func(namespace string) document {
		s := plainStack(namespace, "web")
		s["targetGroups"].([]document)[0]["targets"] = []document{{"id": "10.0.0.1", "port": 8080, "state": "unhealthy", "description": "codes: [503]"}}
		return s
	}
	told := dead("told")
	f := findingAbout("warning", "Service", "told", "app", "", "Service told/app has no ready endpoints")
	f["reason"] = "ServiceWithoutEndpoints"
	told["findings"] = []document{f}
	event := func(kind, namespace, name, message string) document {
		return document{"severity": "warning", "object": document{"kind": kind, "namespace": namespace, "name": name}, "at": "2026-01-01T00:00:00Z", "by": "x", "reason": "Warned", "finding": "ServiceWithoutEndpoints", "message": message}
	}
	tab, program, show := answeredPage(t, []document{told, dead("heard"), dead("alone")}, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	program.say(func(n document) {
		n["reported"] = document{"events": []document{
			event("Service", "told", "app", "ServiceWithoutEndpoints: Service told/app has no ready endpoints"),
			event("TargetGroupBinding", "told", "k8s-app", "ServiceWithoutEndpoints: Service told/app has no ready endpoints"),
			event("Service", "heard", "app", "ServiceWithoutEndpoints: Service heard/app has no ready endpoints"),
		}}
	})
	show("#/trouble")
	tab.Until(`document.querySelector("#trouble").innerText.includes("Service heard/app")`)
	got := browser.Ask[[]string](tab, `[...document.querySelectorAll("#trouble > div > article, #trouble > div > ul.plain > li")].map((e) => e.innerText.replace(/\s+/g, " "))`)
	want := [][]string{{"Service told/app", "target group k8s-told-app", "0 of 1 healthy", "codes: [503]"}, {"Service heard/app", "target group k8s-heard-app", "codes: [503]"}, {"target group k8s-alone-app"}, {"target 10.0.0.1"}}
	if len(got) != len(want) {
		t.Fatalf("the entries are %q", got)
	}
	for i, parts := range want {
		for _, p := range parts {
			if !strings.Contains(got[i], p) {
				t.Errorf("entry %d does not say %q: %s", i+1, p, got[i])
			}
		}
	}
	browser.Ask[bool](tab, troubleLinks+`.find((a) => a.innerText === "Service heard/app").click() || true`)
	tab.Until(selectedRow + `.includes("load balancer k8s-heard-web")`)
}

// TestConsolePageScrollsByKeysOnceAPageIsChosen: a click on the name of a page has keys scroll it, and leaves who types alone.
func TestConsolePageScrollsByKeysOnceAPageIsChosen(t *testing.T) {
	stacks := []document{}
	for i := range 60 {
		s := plainStack("shop", fmt.Sprintf("web-%d", i))
		s["findings"] = []document{findingAbout("warning", "Ingress", "shop", fmt.Sprintf("web-%d", i), "", "odd")}
		stacks = append(stacks, s)
	}
	tab, _, _ := answeredPage(t, stacks, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="trouble"]`)))
	tab.Until(`document.querySelectorAll("#trouble article").length === 60`)
	tab.Do(chromedp.KeyEvent(kb.PageDown))
	tab.Until(`document.querySelector('main > section[data-page="trouble"]').scrollTop > 100`)
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="topology"]`)))
	tab.Until(`document.activeElement.id === "list"`)
	tab.Do(chromedp.KeyEvent(kb.End))
	tab.Until(selectedRow + `.includes("shop/web-59") && document.querySelector("#list").scrollTop > 100`)
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="trouble"]`)))
	tab.Until(`document.activeElement.dataset.page === "trouble" && !document.activeElement.hidden && document.activeElement.tagName === "SECTION"`)
	tab.Do(chromedp.KeyEvent("/"))
	tab.Until(`document.activeElement.id === "query"`)
	if got := browser.Ask[string](tab, `new Promise((done) => setTimeout(() => done(document.activeElement.id), 200))`); got != "query" {
		t.Errorf("the search loses the keyboard to %q", got)
	}
}

// TestConsolePageShowsLocalTimes: times in answers are shown as the header has them, with the full one as title; values of fields are as
// they were written.
func TestConsolePageShowsLocalTimes(t *testing.T) {
	const at, old = "2026-11-28T18:19:52Z", "2020-01-02T03:04:05+00:00"
	explained := document{"cluster": "test", "object": webIngress, "bindings": []document{}, "notServed": "it waits until " + at + " and since " + old + " <b>.",
		"warnings": []document{{"reason": "Refused", "in": "an event", "message": "odd", "last": at, "count": 2}}, "stacks": []document{}}
	plan := document{"cluster": "test", "bindings": []document{}, "rules": []document{}, "errors": 0, "warnings": 0, "summary": document{}, "stacks": []document{{"kind": "Ingress", "id": "shop/web", "summary": document{}, "findings": []document{},
		"steps": []document{{"id": "x", "verb": "update", "kind": "rule", "resource": "80:1", "impact": "none", "waitsFor": "the time " + at, "changes": []document{{"field": "header", "to": at}}}}}}}
	tab, _, show := answeredPage(t, []document{plainStack("shop", "web")}, map[string]document{"explain": explained, "plan": plan})
	show("#/topology?object=Ingress+shop%2Fweb")
	const answer = `document.querySelector("#detail .answer")`
	for _, of := range []struct {
		name string
		want []string
	}{{"explain", []string{at, old, at}}, {"plan", []string{at}}} {
		name, want := of.name, of.want
		tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="` + name + ` Ingress shop/web"]`)))
		tab.Until(answer + `.innerText.startsWith("` + name + `") && ` + answer + `.innerText.includes("7 calls")`)
		if got := browser.Ask[[]string](tab, `[...`+answer+`.querySelectorAll("time")].map((e) => e.title)`); !slices.Equal(got, want) {
			t.Errorf("%s has the times %q", name, got)
		}
		if !browser.Ask[bool](tab, `[...`+answer+`.querySelectorAll("time")].every((e) => e.innerText.includes(new Date(e.title).toLocaleTimeString()))`) {
			t.Errorf("%s has no local times: %s", name, browser.Ask[string](tab, answer+`.innerText`))
		}
	}
	if got := browser.Ask[string](tab, answer+`.querySelector("ins").innerText`); got != at {
		t.Errorf("the value of a field is %q", got)
	}
}
