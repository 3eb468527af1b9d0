package cost

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fulcrum-lb/fulcrum/internal/cli/console"
	"github.com/fulcrum-lb/fulcrum/local/browser"
)

type jsonObject map[string]any

// largeTree returns the output of "fulcrum tree" for 300 load balancers with 10,000 rules and 20,000 targets.
func largeTree() jsonObject {
	const balancers, rules, groups, targets = 300, 34, 10, 7
	var keys []string
	var stacks []jsonObject
	for i := range balancers {
		namespace := fmt.Sprintf("team-%d", i%40)
		id := fmt.Sprintf("%s/web-%d", namespace, i)
		var r, g []jsonObject
		for k := range groups {
			var t []jsonObject
			for n := range targets {
				t = append(t, jsonObject{"id": fmt.Sprintf("10.%d.%d.%d", i%250, k, n), "port": 8080, "state": "healthy"})
			}
			g = append(g, jsonObject{"state": "live", "id": fmt.Sprintf("%s-%d:80", id, k), "name": fmt.Sprintf("k8s-web-%d-%d", i, k), "type": "ip", "protocol": "HTTP", "port": 80,
				"arn": fmt.Sprintf("arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/k8s-web-%d-%d/0123456789abcdef", i, k), "targets": t})
		}
		for k := range rules {
			r = append(r, jsonObject{"state": "live", "priority": k + 1, "conditions": fmt.Sprintf("host h%d.example.com, path /p%d/*", i, k), "actions": "forward to " + id,
				"from": fmt.Sprintf("spec.rules[0].http.paths[%d] of Ingress %s", k, id), "targetGroups": []string{fmt.Sprintf("%s-%d:80", id, k%groups)}})
		}
		keys = append(keys, "Ingress "+id)
		stacks = append(stacks, jsonObject{
			"kind": "Ingress", "id": id, "held": false, "members": []jsonObject{{"kind": "Ingress", "namespace": namespace, "name": fmt.Sprintf("web-%d", i)}}, "findings": []jsonObject{},
			"loadBalancers": []jsonObject{{"state": "live", "name": fmt.Sprintf("k8s-web-%d", i), "type": "application", "scheme": "internal", "status": "active", "dnsName": fmt.Sprintf("k8s-web-%d.elb.amazonaws.com", i),
				"listeners": []jsonObject{{"state": "live", "protocol": "HTTP", "port": 80, "default": "answer 404", "rules": r}}}},
			"targetGroups": g, "securityGroups": []jsonObject{},
		})
	}
	return jsonObject{"have": "x.1", "cluster": "large", "keys": keys, "stacks": stacks, "changes": []jsonObject{}, "at": "2026-01-01T00:00:00Z", "next": 2, "aws": jsonObject{"look": 0, "minute": 0, "looks": 0, "budget": 100}}
}

// TestConsoleOfALargeCluster measures the page with 300 load balancers, 10,000 rules and 20,000 targets: the time
// until it shows the first rows, and the time of a filter, a search and a jump in the list.
func TestConsoleOfALargeCluster(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a benchmark; FULCRUM_BENCH is not set")
	}
	data, err := json.Marshal(largeTree())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", console.PageHandler())
	mux.HandleFunc("/api/looks", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "data: %s\n\n", data)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	defer srv.CloseClientConnections() // closes the stream of updates, which the page keeps open
	tab := browser.Open(t)
	tab.Do(chromedp.Navigate(srv.URL))
	tab.WaitUntil(`document.querySelectorAll("#rows .row").length > 10`)
	// The page records when it has drawn its first rows, relative to the start of the navigation.
	first := browser.Eval[float64](tab, `performance.getEntriesByName("first rows")[0].startTime`)
	paint := browser.Eval[float64](tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	t.Logf("BENCH console with 300 load balancers, 10,200 rules and 21,000 targets (%.1f MB): first paint %.0f ms (goal 1000), first rows %.0f ms", float64(len(data))/1e6, paint, first)
	for name, change := range map[string]string{
		"search for a target":       `((q) => { q.value = "10.7.3.2"; q.dispatchEvent(new Event("input")); })(document.querySelector("#query"))`,
		"search for a host":         `((q) => { q.value = "h17.example"; q.dispatchEvent(new Event("input")); })(document.querySelector("#query"))`,
		"search for everything":     `((q) => { q.value = "1"; q.dispatchEvent(new Event("input")); })(document.querySelector("#query"))`,
		"filter by a namespace":     `((q) => { q.value = "team-3"; q.dispatchEvent(new Event("input")); })(document.querySelector("#namespace"))`,
		"targets that fail":         `((q) => { q.value = "unhealthy"; q.dispatchEvent(new Event("input")); })(document.querySelector("#state"))`,
		"a jump through everything": `((l) => { l.scrollTop = l.scrollHeight / 2; l.dispatchEvent(new Event("scroll")); })(document.querySelector("#list"))`,
	} {
		worst := 0.0
		for range 5 {
			tab.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/topology?x=" + Math.random()`))
			tab.WaitUntil(`document.querySelector("#query").value === ""`)
			worst = max(worst, browser.Eval[float64](tab, `(() => { const began = performance.now(); `+change+`; document.body.offsetHeight; return performance.now() - began; })()`))
		}
		t.Logf("BENCH console with 300 load balancers: %s %.0f ms at most of 5 (goal 100)", name, worst)
	}
	if errs := tab.TakePageErrors(); len(errs) > 0 {
		t.Errorf("in the page: %q", errs)
	}
}
