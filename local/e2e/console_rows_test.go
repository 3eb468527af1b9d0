package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fulcrum-lb/fulcrum/local/browser"
)

// plainStack returns the stack of one Ingress, whose observed state is the desired state. It has two rules and one target
// group.
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

// sharedStack returns the stack of IngressGroup "edge" with the Ingresses "shop/front" and "shop/back".
func sharedStack() document {
	s := plainStack("shop", "front")
	s["id"] = "edge"
	s["members"] = []document{{"kind": "Ingress", "namespace": "shop", "name": "front"}, {"kind": "Ingress", "namespace": "shop", "name": "back"}}
	l := s["loadBalancers"].([]document)[0]["listeners"].([]document)[0]
	l["rules"] = append(l["rules"].([]document), document{"state": "live", "priority": 3, "conditions": "path /c", "actions": "answer 200", "from": "spec.rules[0].http.paths[0] of Ingress shop/back"})
	return s
}

func findingAbout(severity, kind, namespace, name, field, message string) document {
	return document{"severity": severity, "reason": "Odd", "object": document{"kind": kind, "namespace": namespace, "name": name}, "field": field, "message": message, "blocks": "nothing"}
}

const (
	selectedRow  = `(document.querySelector("#rows .row.selected")?.innerText || "").replace(/\s+/g, " ")`
	detailTitle  = `(document.querySelector("#detail h3")?.innerText || "")`
	troubleLinks = `[...document.querySelectorAll("#trouble article a")]`
)

// TestConsolePageLinksSelectRowOfObject checks that the link to an object selects the row of the object, although
// objects in other namespaces have the same name. It checks this also for a page that is opened with the link.
func TestConsolePageLinksSelectRowOfObject(t *testing.T) {
	bank := plainStack("bank", "web")
	bank["findings"] = []document{findingAbout("warning", "Ingress", "bank", "web", "", "odd"), findingAbout("warning", "Service", "bank", "app", "", "odd too")}
	stacks := []document{bank, plainStack("shop", "web"), sharedStack()}
	for i := range 15 { // more stacks than those whose rows the page opens at first
		stacks = append(stacks, plainStack(fmt.Sprintf("other-%d", i), "web"))
	}
	migrated := document{"groups": []document{{"id": "edge", "members": []string{"shop/front", "shop/back"}, "annotations": []document{}, "notes": []document{}, "differences": []document{}, "requests": 0}}, "notOurs": []string{}, "deleted": []string{}}
	tab, program, show := openFakeConsole(t, stacks, map[string]document{"migrate": migrated, "status": {"loadBalancers": []document{}}})
	show("#/trouble")
	tab.WaitUntil(troubleLinks + `.length >= 2`)
	browser.Eval[bool](tab, troubleLinks+`.find((a) => a.innerText === "Ingress bank/web").click() || true`)
	tab.WaitUntil(selectedRow + `.includes("Ingress bank/web") && ` + detailTitle + `.includes("bank/web")`)
	if hash := browser.Eval[string](tab, "location.hash"); hash != "#/topology?object=Ingress+bank%2Fweb" {
		t.Errorf("the link to the object is %q", hash)
	}
	show("#/trouble")
	browser.Eval[bool](tab, troubleLinks+`.find((a) => a.innerText === "Service bank/app").click() || true`)
	tab.WaitUntil(selectedRow + `.includes("load balancer k8s-bank-web")`)
	// For an Ingress that shares a load balancer, the link selects the first rule of the Ingress, and opens the parents of
	// that row.
	show("#/migrate?id=edge")
	tab.WaitUntil(`[...document.querySelectorAll("#migrate a")].some((a) => a.innerText === "Ingress shop/back")`)
	browser.Eval[bool](tab, `[...document.querySelectorAll("#migrate a")].find((a) => a.innerText === "Ingress shop/back").click() || true`)
	tab.WaitUntil(selectedRow + `.includes("of Ingress shop/back") && ` + detailTitle + `.startsWith("rule")`)
	// The link in an event also selects the row, even if the page is opened with this link.
	program.editState(func(n document) {
		n["changes"] = []document{{"at": "2026-01-01T00:00:00Z", "of": "Ingress shop/web", "event": document{"warning": true, "by": "x", "reason": "Odd", "message": "odd"}}}
	})
	show("#/history")
	tab.WaitUntil(`document.querySelector("#history a") !== null`)
	browser.Eval[bool](tab, `document.querySelector("#history a").click() || true`)
	tab.WaitUntil(selectedRow + `.includes("Ingress shop/web")`)
	link := browser.Eval[string](tab, "location.href")
	tab.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(link))
	tab.WaitUntil(selectedRow + `.includes("Ingress shop/web")`)
	// The link to an object without a load balancer does not select the row of another object.
	show("#/topology?object=Ingress+gone%2Fweb")
	tab.WaitUntil(`document.querySelector("#detail").innerText.includes("No load balancer that is shown has this object") && !` + selectedRow)
	checkFitsPhone(t, tab)
}

// TestConsolePageSearchesForNamespaceAndName checks that a search finds NAMESPACE/NAME, that the list shows when nothing
// matches, and that a search finds orphans.
func TestConsolePageSearchesForNamespaceAndName(t *testing.T) {
	orphans := document{"orphans": []document{{"kind": "Ingress", "id": "old/gone", "resources": []string{"arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/k8s-old-gone/0123456789abcdef"}}}}
	checks := document{"checks": []document{{"result": "warning", "area": "orphans", "message": "no object needs targetgroup/k8s-old-gone of Ingress old/gone", "fix": "delete it"}, {"result": "ok", "area": "discovery", "message": "region"}}}
	tab, program, show := openFakeConsole(t, []document{plainStack("bank", "web"), plainStack("shop", "web"), sharedStack()}, map[string]document{"orphans": orphans, "doctor": checks})
	search := func(text string) { show("#/topology?query=" + url.QueryEscape(text)) }
	for _, of := range [][2]string{{"shop/", "Ingress shop/web"}, {"bank/web", "Ingress bank/web"}, {"Shop/WEB", "Ingress shop/web"}, {"shop/back", "path /c"}, {"ingress bank/web", "Ingress bank/web"}} {
		text, want := of[0], of[1]
		search(text)
		tab.WaitUntil(fmt.Sprintf(`%s.replace(/\s+/g, " ").includes(%q)`, rowsText, want))
	}
	if got := browser.Eval[string](tab, rowsText); strings.Contains(got, "shop/web") && strings.Contains(got, "bank/web") {
		t.Errorf("the search for one Ingress shows both: %s", got)
	}
	// The search also works while the user types the text.
	search("")
	tab.Do(chromedp.SendKeys(chromedp.CSS("#query"), "shop/web"))
	tab.WaitUntil(rowsText + `.includes("shop/web") && !` + rowsText + `.includes("bank/web")`)
	// If nothing matches, the details do not move.
	const place = `((e) => { const r = e.getBoundingClientRect(); return Math.round(r.left) + " " + Math.round(r.top) + " " + Math.round(r.width); })(document.querySelector("#detail"))`
	const empty = `document.querySelector("#empty")`
	before := browser.Eval[string](tab, place)
	search("nothing-has-this")
	tab.WaitUntil(empty + `.innerText.includes("Nothing matches")`)
	if after := browser.Eval[string](tab, place); after != before {
		t.Errorf("the details move from %s to %s if nothing matches", before, after)
	}
	if !browser.Eval[bool](tab, empty+`.getBoundingClientRect().right <= document.querySelector("#detail").getBoundingClientRect().left`) {
		t.Error("the message that nothing matches is not left of the details")
	}
	checkFitsPhone(t, tab)
	// A search finds orphans by namespace, name or ARN. The page requests the orphans only once.
	for _, text := range []string{"old/", "old/gone", "targetgroup/k8s-old-gone/"} {
		search(text)
		tab.WaitUntil(empty + `.innerText.includes("1 orphan matches") && ` + empty + `.querySelector('a[href="#/trouble"]') !== null`)
	}
	asked := strings.Count(strings.Join(program.requests(), "\n"), "/api/command/orphans")
	if asked != 1 {
		t.Errorf("the page requested the orphans %d times, want 1", asked)
	}
	show("#/trouble")
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("checks are ok")`)
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("k8s-old-gone")`)
	if got := browser.Eval[string](tab, `document.querySelector("#trouble").innerText`); strings.Count(got, "old/gone") != 1 {
		t.Errorf("the orphan is not listed exactly once: %s", got)
	}
}

// TestConsolePageBadgesMatchLists checks that the badge of a page shows the number of items on the page, before and
// after the page is opened.
func TestConsolePageBadgesMatchLists(t *testing.T) {
	empty := plainStack("bank", "empty") // without a load balancer
	empty["loadBalancers"], empty["targetGroups"] = []document{}, []document{}
	empty["findings"] = []document{findingAbout("error", "Ingress", "bank", "empty", "", "it has none")}
	orphans := document{"orphans": []document{{"kind": "Ingress", "id": "old/gone", "resources": []string{"sg-1"}}}}
	checks := document{"checks": []document{{"result": "warning", "area": "orphans", "message": "no object needs sg-1 of Ingress old/gone"}, {"result": "error", "area": "permissions", "message": "denied"}, {"result": "ok", "area": "discovery", "message": "region"}}}
	tab, _, show := openFakeConsole(t, []document{empty, plainStack("shop", "api"), replacedStack(4)}, map[string]document{"orphans": orphans, "doctor": checks})
	const badge = `document.querySelector("#count-%s").innerText`
	if got := browser.Eval[string](tab, fmt.Sprintf(badge, "stacks")); got != "3" {
		t.Errorf("the badge shows %q load balancers, want 3", got)
	}
	if n := browser.Eval[string](tab, `(document.querySelector("#query").value = "load balancer", document.querySelector("#query").dispatchEvent(new Event("input")), `+
		`String([...document.querySelectorAll("#rows .what")].filter((e) => e.innerText === "load balancer").length))`); n != "3" {
		t.Errorf("%s load balancers are listed", n)
	}
	const before = "7 + checks" // one finding of "bank/empty", three of "shop/web", the replacement, two other differences
	if got := browser.Eval[string](tab, fmt.Sprintf(badge, "trouble")); got != before {
		t.Errorf("the badge of page Trouble is %q before the page is opened", got)
	}
	show("#/trouble")
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("denied") && document.querySelector("#trouble").innerText.includes("old/gone")`)
	tab.WaitUntil(fmt.Sprintf(badge, "trouble") + ` === "9"`)
	listed := browser.Eval[int](tab, `document.querySelectorAll("#trouble > div > article, #trouble > div > ul.plain > li").length`)
	sum := browser.Eval[int](tab, `[...document.querySelectorAll("#trouble h3 .count")].reduce((n, e) => n + Number(e.innerText), 0)`)
	if listed != 9 || sum != 9 {
		t.Errorf("%d entries are listed and %d counted", listed, sum)
	}
	checkFitsPhone(t, tab)
}

// TestConsolePageRowsShowSeverities checks that the row of an object shows the worst severity of its findings and events,
// and the row of a rule the worst severity of the findings about that rule. A closed row shows the severities of the rows in
// it.
func TestConsolePageRowsShowSeverities(t *testing.T) {
	web := plainStack("shop", "web")
	web["findings"] = []document{findingAbout("warning", "Ingress", "shop", "web", "spec.rules[0].http.paths[1].pathType", "odd")}
	wide := plainStack("shop", "wide")
	wide["findings"] = []document{findingAbout("error", "Ingress", "shop", "wide", "spec.rules[0].host", "bad")}
	other := plainStack("shop", "other") // findings about another object, about another path, and about no rule
	other["findings"] = []document{findingAbout("warning", "Ingress", "shop", "web", "spec.rules[0].http.paths[0]", "odd"), findingAbout("warning", "Ingress", "shop", "other", "spec.rules[0].http.paths[10]", "odd"),
		findingAbout("warning", "Ingress", "shop", "other", "metadata.annotations[x]", "odd")}
	event := func(name, severity string) document {
		return document{"severity": severity, "object": document{"kind": "Ingress", "namespace": "bank", "name": name}, "at": "2026-01-01T00:00:00Z", "by": "ingress", "reason": "Refused", "message": "AWS refused it"}
	}
	tab, program, _ := openFakeConsole(t, []document{web, wide, other, plainStack("bank", "denied"), plainStack("bank", "odd"), plainStack("bank", "fine")}, map[string]document{})
	program.editState(func(n document) {
		n["reported"] = document{"events": []document{event("odd", "warning"), event("denied", "warning"), event("denied", "error")}}
	})
	// row is an expression for the badges of all rows whose text contains all the words; "|" separates the words.
	const row = `[...document.querySelectorAll("#rows .row")].filter((r) => %q.split("|").every((w) => r.innerText.replace(/\s+/g, " ").includes(w))).map((r) => [...r.querySelectorAll(".badge")].map((b) => b.innerText).join(",")).join(";")`
	tab.WaitUntil(fmt.Sprintf(row, "Ingress bank/odd|object") + ` === "! warning"`)
	for of, want := range map[string]string{
		"Ingress bank/denied|object": "✕ error", "Ingress bank/fine|object": "", "Ingress shop/web|object": "! warning", "Ingress shop/wide|object": "✕ error", "Ingress shop/other|object": "! warning",
		"listener|HTTP:80": "! 1 inside;✕ 2 inside;;;;",
	} {
		if got := browser.Eval[string](tab, fmt.Sprintf(row, of)); got != want {
			t.Errorf("the row %s has %q, want %q", of, got, want)
		}
	}
	browser.Eval[bool](tab, `(document.querySelector("#query").value = "rule", document.querySelector("#query").dispatchEvent(new Event("input")), true)`)
	for of, want := range map[string]string{
		"rule|paths[0] of Ingress shop/web": "", "rule|paths[1] of Ingress shop/web": "! warning", "rule|paths[0] of Ingress shop/wide": "✕ error", "rule|paths[1] of Ingress shop/wide": "✕ error",
		"rule|paths[0] of Ingress shop/other": "", "rule|paths[1] of Ingress shop/other": "",
	} {
		if got := browser.Eval[string](tab, fmt.Sprintf(row, of)); got != want {
			t.Errorf("the row %s has %q, want %q", of, got, want)
		}
	}
	// The filter "trouble" includes objects that have an event and no finding.
	browser.Eval[bool](tab, `(document.querySelector("#query").value = "bank", document.querySelector("#query").dispatchEvent(new Event("input")), document.querySelector("#state").value = "trouble", document.querySelector("#state").dispatchEvent(new Event("input")), true)`)
	tab.WaitUntil(rowsText + `.includes("bank/odd") && ` + rowsText + `.includes("bank/denied") && !` + rowsText + `.includes("bank/fine")`)
}

// TestConsolePageScrollsToCommandOutput checks that, after a click on a command button, the page scrolls to the output and
// focuses it, even if the details are longer than the screen. The title of the output describes the result without the exit
// code.
func TestConsolePageScrollsToCommandOutput(t *testing.T) {
	long := plainStack("shop", "web")
	findings, members := []document{}, []document{{"kind": "Ingress", "namespace": "shop", "name": "web"}}
	for i := range 30 {
		findings = append(findings, findingAbout("warning", "Ingress", "shop", "web", fmt.Sprintf("spec.rules[%d]", i), strings.Repeat("odd ", 20)))
		members = append(members, document{"kind": "Ingress", "namespace": "shop", "name": fmt.Sprintf("web-%d", i)})
	}
	long["findings"], long["members"] = findings, members
	none := document{"cluster": "test", "stacks": []document{}, "bindings": []document{}, "rules": []document{}, "errors": 0, "warnings": 0, "summary": document{}}
	explained := document{"cluster": "test", "object": webIngress, "stacks": []document{}, "bindings": []document{}, "warnings": []document{}}
	tab, program, show := openFakeConsole(t, []document{long}, map[string]document{"plan": none, "explain": explained})
	show("#/topology?object=Ingress+shop%2Fweb")
	tab.WaitUntil(detailTitle + `.includes("shop/web")`)
	const answer = `document.querySelector("#detail .answer")`
	for _, press := range []struct {
		name string
		exit int
		says string
	}{{"plan", 0, "nothing to change, 7 calls"}, {"plan", 2, "there are changes, 7 calls"}, {"plan", 1, "failed, 7 calls"}, {"explain", 0, "7 calls"}} {
		program.editState(func(document) { program.exitCode = press.exit })
		browser.Eval[bool](tab, fmt.Sprintf(`(() => { document.querySelector("#detail").scrollTop = 0; const b = document.querySelector('#detail button[aria-label="%s Ingress shop/web"]'); b.focus(); b.click(); return true; })()`, press.name))
		tab.WaitUntil(fmt.Sprintf(answer+`.innerText.includes(%q)`, press.says))
		text := browser.Eval[string](tab, answer+`.innerText`)
		if !strings.HasPrefix(text, press.name+" of Ingress shop/web") || strings.Contains(text, "exit code") {
			t.Errorf("the output is %q", text)
		}
		if !browser.Eval[bool](tab, `(() => { const t = `+answer+`.firstElementChild.getBoundingClientRect(), d = document.querySelector("#detail").getBoundingClientRect();
			return document.activeElement === `+answer+`.firstElementChild && t.top >= d.top - 1 && t.bottom <= d.bottom && t.bottom <= innerHeight; })()`) {
			t.Errorf("the output of %s with exit code %d is not visible or not focused", press.name, press.exit)
		}
	}
	checkFitsPhone(t, tab)
}

// TestConsolePageListsServiceWithoutEndpointsOnce checks that a Service without ready endpoints is one entry, which
// contains its target groups. Its link selects the load balancer that forwards to the Service.
func TestConsolePageListsServiceWithoutEndpointsOnce(t *testing.T) {
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
	tab, program, show := openFakeConsole(t, []document{told, dead("heard"), dead("alone")}, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	program.editState(func(n document) {
		n["reported"] = document{"events": []document{
			event("Service", "told", "app", "ServiceWithoutEndpoints: Service told/app has no ready endpoints"),
			event("TargetGroupBinding", "told", "k8s-app", "ServiceWithoutEndpoints: Service told/app has no ready endpoints"),
			event("Service", "heard", "app", "ServiceWithoutEndpoints: Service heard/app has no ready endpoints"),
		}}
	})
	show("#/trouble")
	tab.WaitUntil(`document.querySelector("#trouble").innerText.includes("Service heard/app")`)
	got := browser.Eval[[]string](tab, `[...document.querySelectorAll("#trouble > div > article, #trouble > div > ul.plain > li")].map((e) => e.innerText.replace(/\s+/g, " "))`)
	want := [][]string{{"Service told/app", "target group k8s-told-app", "0 of 1 healthy", "codes: [503]"}, {"Service heard/app", "target group k8s-heard-app", "codes: [503]"}, {"target group k8s-alone-app"}, {"target 10.0.0.1"}}
	if len(got) != len(want) {
		t.Fatalf("the entries are %q", got)
	}
	for i, parts := range want {
		for _, p := range parts {
			if !strings.Contains(got[i], p) {
				t.Errorf("entry %d does not contain %q: %s", i+1, p, got[i])
			}
		}
	}
	browser.Eval[bool](tab, troubleLinks+`.find((a) => a.innerText === "Service heard/app").click() || true`)
	tab.WaitUntil(selectedRow + `.includes("load balancer k8s-heard-web")`)
}

// TestConsolePageScrollsByKeysAfterClick checks that keys scroll a page after a click on its name. The key "/" moves
// the focus to the search field, which keeps the focus.
func TestConsolePageScrollsByKeysAfterClick(t *testing.T) {
	stacks := []document{}
	for i := range 60 {
		s := plainStack("shop", fmt.Sprintf("web-%d", i))
		s["findings"] = []document{findingAbout("warning", "Ingress", "shop", fmt.Sprintf("web-%d", i), "", "odd")}
		stacks = append(stacks, s)
	}
	tab, _, _ := openFakeConsole(t, stacks, map[string]document{"doctor": {"checks": []document{}}, "orphans": {"orphans": []document{}}})
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="trouble"]`)))
	tab.WaitUntil(`document.querySelectorAll("#trouble article").length === 60`)
	const troubleHasKeys = `document.activeElement.dataset.page === "trouble" && !document.activeElement.hidden && document.activeElement.tagName === "SECTION"`
	tab.WaitUntil(troubleHasKeys)
	tab.PressUntil(kb.PageDown, `document.querySelector('main > section[data-page="trouble"]').scrollTop > 100`)
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="topology"]`)))
	tab.WaitUntil(`document.activeElement.id === "list"`)
	tab.Do(chromedp.KeyEvent(kb.End))
	tab.WaitUntil(selectedRow + `.includes("shop/web-59") && document.querySelector("#list").scrollTop > 100`)
	tab.Do(chromedp.Click(chromedp.CSS(`nav a[data-page="trouble"]`)))
	tab.WaitUntil(troubleHasKeys)
	tab.Do(chromedp.KeyEvent("/"))
	tab.WaitUntil(`document.activeElement.id === "query"`)
	if got := browser.Eval[string](tab, `new Promise((done) => setTimeout(() => done(document.activeElement.id), 200))`); got != "query" {
		t.Errorf("the search field loses the focus to %q", got)
	}
}

// TestConsolePageShowsLocalTimes checks that the page shows times in command output as local times, with the original time
// as title, and that it shows values of fields unchanged.
func TestConsolePageShowsLocalTimes(t *testing.T) {
	const at, old = "2026-11-28T18:19:52Z", "2020-01-02T03:04:05+00:00"
	explained := document{"cluster": "test", "object": webIngress, "bindings": []document{}, "notServed": "it waits until " + at + " and since " + old + " <b>.",
		"warnings": []document{{"reason": "Refused", "in": "an event", "message": "odd", "last": at, "count": 2}}, "stacks": []document{}}
	plan := document{"cluster": "test", "bindings": []document{}, "rules": []document{}, "errors": 0, "warnings": 0, "summary": document{}, "stacks": []document{{"kind": "Ingress", "id": "shop/web", "summary": document{}, "findings": []document{},
		"steps": []document{{"id": "x", "verb": "update", "kind": "rule", "resource": "80:1", "impact": "none", "waitsFor": "the time " + at, "changes": []document{{"field": "header", "to": at}}}}}}}
	tab, _, show := openFakeConsole(t, []document{plainStack("shop", "web")}, map[string]document{"explain": explained, "plan": plan})
	show("#/topology?object=Ingress+shop%2Fweb")
	const answer = `document.querySelector("#detail .answer")`
	for _, of := range []struct {
		name string
		want []string
	}{{"explain", []string{at, old, at}}, {"plan", []string{at}}} {
		name, want := of.name, of.want
		tab.Do(chromedp.Click(chromedp.CSS(`#detail button[aria-label="` + name + ` Ingress shop/web"]`)))
		tab.WaitUntil(answer + `.innerText.startsWith("` + name + `") && ` + answer + `.innerText.includes("7 calls")`)
		if got := browser.Eval[[]string](tab, `[...`+answer+`.querySelectorAll("time")].map((e) => e.title)`); !slices.Equal(got, want) {
			t.Errorf("%s has the times %q", name, got)
		}
		if !browser.Eval[bool](tab, `[...`+answer+`.querySelectorAll("time")].every((e) => e.innerText.includes(new Date(e.title).toLocaleTimeString()))`) {
			t.Errorf("%s has no local times: %s", name, browser.Eval[string](tab, answer+`.innerText`))
		}
	}
	if got := browser.Eval[string](tab, answer+`.querySelector("ins").innerText`); got != at {
		t.Errorf("the value of a field is %q", got)
	}
}
