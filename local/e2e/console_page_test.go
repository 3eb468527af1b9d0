package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestConsolePageRequestsFullRefresh checks that the button "again" requests that the server reads AWS again. While the
// server delays the read because of the call budget, the page shows the time until the next read. After the read, the page
// runs its commands again.
func TestConsolePageRequestsFullRefresh(t *testing.T) {
	tab, program, show := openFakeConsole(t, nil, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	count := func(part string) (n int) {
		for _, r := range program.requests() {
			if strings.Contains(r, part) {
				n++
			}
		}
		return n
	}
	show("#/trouble")
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("fulcrum doctor") && document.querySelector("#trouble").innerText.includes("fulcrum orphans")`)
	tab.WaitUntil(`!document.querySelector("#trouble").innerText.includes("is running")`)
	tab.Do(chromedp.Focus(chromedp.CSS("#again")), chromedp.KeyEvent(kb.Enter))
	tab.WaitUntil(`document.querySelector("#again").getAttribute("aria-busy") === "true"`)
	worldtest.Eventually(t, defaultWaitLimit, func(context.Context) error {
		if count("/api/again?after=14") != 1 { // 7 AWS calls for each of both commands
			return fmt.Errorf("the page has sent the requests %q", program.requests())
		}
		return nil
	})
	program.editState(func(n document) { n["wanted"], n["next"] = true, 40 })
	tab.WaitUntil(`document.querySelector("#next").innerText.includes("Look again, within the limit, in ")`)
	if text := browser.Eval[string](tab, `document.querySelector(".looks").innerText`); strings.Count(text, " in ") != 2 || strings.Contains(text, "read again") {
		t.Errorf("the header does not show exactly one time of the next read: %q", text) // the second " in " is part of "in the last minute"
	}
	if n := count("/api/command/doctor"); n != 1 {
		t.Errorf("the page requested the checks %d times before AWS was read", n)
	}
	checkFitsPhone(t, tab)
	program.editState(func(n document) { n["wanted"], n["next"], n["reads"] = false, 30, 2 })
	tab.WaitUntil(`document.querySelector("#again").getAttribute("aria-busy") === "false"`)
	if a, b := count("/api/command/doctor"), count("/api/command/orphans"); a != 2 || b != 2 {
		t.Errorf("the page requested the checks %d times and the orphans %d times, want 2", a, b)
	}
	tab.WaitUntil(`document.querySelector("#next").innerText.startsWith("· next look in ")`)
	program.editState(func(n document) { n["aws"] = document{"look": 49, "minute": 664, "looks": 98, "budget": 100} })
	tab.WaitUntil(`document.querySelector("#status").innerText.includes("calls to AWS in the last minute: looks 98 (limit 100), commands 566")`)
}

// replacedStack returns a stack whose load balancer "k8s-old" is being replaced by "k8s-new", each with the given number of
// rules. It also has two differences with other causes: a target group and a held rule.
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

// TestConsolePageGroupsFindingsOfOneCause checks that all differences of a replacement are one row that can be opened, and
// that differences with other causes are separate rows. The worst finding is first, and findings with the same message are
// one row.
func TestConsolePageGroupsFindingsOfOneCause(t *testing.T) {
	tab, program, show := openFakeConsole(t, []document{replacedStack(4)}, map[string]document{})
	show("#/trouble")
	const folds = `[...document.querySelectorAll("#trouble details.fold")]`
	tab.WaitUntil(folds + `.some((d) => d.innerText.includes("replacement of load balancer k8s-old: 13 resources") && d.innerText.includes("surplus 6") && d.innerText.includes("missing 7"))`)
	for _, other := range []string{"target group k8s-other", "rule new"} {
		if !browser.Eval[bool](tab, fmt.Sprintf(`document.querySelector("#trouble").innerText.includes(%q)`, other)) {
			t.Errorf("%s has another cause, but is not shown as a separate row", other)
		}
	}
	if got := browser.Eval[string](tab, `[...document.querySelectorAll("#trouble article.finding")].map((f) => f.classList[1] + " " + f.querySelector("p").innerText).join(", ")`); got != "error an error, warning the same fault, warning another fault" {
		t.Errorf("the findings are %s", got)
	}
	// A missing resource has the colour of a warning and not of ok, and the sign "+".
	if got := browser.Eval[string](tab, `(() => { const make = (c) => { const e = document.createElement("span"); e.className = "badge " + c; document.body.append(e); const s = getComputedStyle(e), out = s.color + s.backgroundColor; e.remove(); return out; };
		const m = document.querySelector("#trouble .badge.missing"), s = getComputedStyle(m); return (s.color + s.backgroundColor === make("warning") && make("warning") !== make("ok")) + " " + m.innerText; })()`); got != "true + missing" {
		t.Errorf("a missing resource is shown as %q", got)
	}
	// The row opens with the Enter key, has links, and remains open and focused when the state changes.
	browser.Eval[bool](tab, folds+`.find((d) => d.innerText.includes("k8s-old")).firstElementChild.focus() || true`)
	tab.Do(chromedp.KeyEvent(kb.Enter))
	const links = `[...document.querySelectorAll('#trouble details.fold[open] a[href^="#/topology?row="]')].length`
	tab.WaitUntil(links + ` === 13`)
	checkFitsPhone(t, tab)
	program.editState(func(n document) {
		s := replacedStack(5)
		n["stacks"] = []document{s}
	})
	tab.WaitUntil(links + ` === 15`)
	if !browser.Eval[bool](tab, `document.activeElement.tagName === "SUMMARY" && document.activeElement.innerText.includes("k8s-old")`) {
		t.Error("the row loses the focus when the state changes")
	}
	// A row with 20005 resources shows only the first 100.
	program.editState(func(n document) { n["stacks"] = []document{replacedStack(10000)} })
	tab.WaitUntil(folds + `.some((d) => d.innerText.includes("20005 resources"))`)
	if n := browser.Eval[int](tab, links); n != 100 {
		t.Errorf("%d rows are shown, want 100", n)
	}
}

// TestConsolePageShowsPlanAndExplain checks that the page shows the output of the commands "plan" and "explain" as lists
// with resources, changes, reasons, objects and fields, and that it shows markup in objects as text.
func TestConsolePageShowsPlanAndExplain(t *testing.T) {
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
	tab, _, show := openFakeConsole(t, []document{stack}, map[string]document{"plan": plan, "explain": explain})
	show("#/topology?row=/Ingress%20shop/web")
	const answer = `document.querySelector("#detail .answer")`
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="plan Ingress shop/web"]`)))
	tab.WaitUntil(answer + `.querySelectorAll("ol.steps > li").length === 2`)
	steps := browser.Eval[[]string](tab, `[...`+answer+`.querySelectorAll("ol.steps > li")].map((s) => s.innerText.replace(/\s+/g, " "))`)
	for i, want := range [][]string{
		{"+ create", "rule 80:1", "conditions: " + hostile, "reason from spec.rules[0] of Ingress shop/web", "requested by Ingress shop/web"},
		{"~ change", "target group shop/web:80", "impact: brief", "interval: 15 → 5", "reason the health check differs", "waits for targets to be healthy", "after step 1"},
	} {
		for _, w := range want {
			if !strings.Contains(steps[i], w) {
				t.Errorf("step %d does not contain %q: %s", i+1, w, steps[i])
			}
		}
	}
	checkFitsPhone(t, tab)
	raw := func(of string) {
		t.Helper()
		if text := browser.Eval[string](tab, answer+`.innerText`); strings.ContainsAny(text, "{}") || strings.Contains(text, "raw") {
			t.Errorf("%s is shown as raw JSON: %s", of, text)
		}
		if n := browser.Eval[int](tab, `document.querySelectorAll("main img").length`); n != 0 {
			t.Errorf("%s contains text that the page interprets as markup", of)
		}
	}
	raw("the plan")
	tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="explain Ingress shop/web"]`)))
	tab.WaitUntil(answer + `.querySelectorAll("ol.rules > li").length === 1`)
	text := browser.Eval[string](tab, answer+`.innerText.replace(/\s+/g, " ")`)
	for _, w := range []string{"Ingress shop/web accepted", "fix: remove it", "internal from metadata.annotations[scheme] of Ingress shop/web", "subnet-1 in us-west-2a", "subnet-2: it has no free address",
		"listener HTTP:80", "rule 1 host " + hostile + " → forward to web from spec.rules[0] of Ingress shop/web", "of this object"} {
		if !strings.Contains(text, w) {
			t.Errorf("the output of explain does not contain %q: %s", w, text)
		}
	}
	raw("explain")
	checkFitsPhone(t, tab)
}

// TestConsolePageShowsUnservedHostFirst checks that the page "Ask" first shows that no load balancer serves the host. How
// other load balancers would respond is hidden until it is opened.
func TestConsolePageShowsUnservedHostFirst(t *testing.T) {
	answer := document{"kind": "Ingress", "id": "shop/web", "loadBalancer": "k8s-web", "type": "application", "protocol": "HTTP", "port": 80, "rule": nil, "does": "answer 404", "shadowed": []document{}}
	request := document{"cluster": "test", "request": "GET http://nope.example.com/", "answers": []document{answer}, "notes": []string{},
		"unserved": document{"host": "nope.example.com", "scheme": "http", "port": 80, "why": "one object names the host, but no load balancer in the scope of this command has such a rule",
			"objects": []document{{"object": document{"kind": "Ingress", "namespace": "shop", "name": "mistyped"}, "field": "spec.rules[0].host", "why": "IngressClass albb does not exist"}}}}
	tab, _, show := openFakeConsole(t, nil, map[string]document{"request": request})
	show("#/ask?url=http://nope.example.com/")
	tab.WaitUntil(answerText + `.includes('No rule for http on port 80 names host "nope.example.com"')`)
	text := browser.Eval[string](tab, answerText)
	for _, w := range []string{"Ingress shop/mistyped spec.rules[0].host: IngressClass albb does not exist", "What one load balancer answers if DNS leads the host to it"} {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not contain %q: %s", w, text)
		}
	}
	if strings.Contains(text, "answer 404") {
		t.Errorf("the response of another load balancer is shown before it is opened: %s", text)
	}
	tab.Do(chromedp.Click(chromedp.CSS("#answer details summary")))
	tab.WaitUntil(answerText + `.includes("answer 404") && ` + answerText + `.includes("the default action answers")`)
	checkFitsPhone(t, tab)
}
