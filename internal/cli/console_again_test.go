package cli

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// TestConsoleRunsFullRefresh checks that the console runs a full refresh when a page requests one. The refresh shows a
// change in AWS although cached facts are less than a minute old, and it makes no mutating call.
func TestConsoleRunsFullRefresh(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		p := startConsole(t, append(emulatorFlags(t, em, vpc), "-f", objects, "--aws-calls-per-minute=100000")...)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/looks", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Fulcrum-Console", "1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		events := bufio.NewScanner(resp.Body)
		events.Buffer(nil, 1<<20)
		type news struct {
			Reads  int
			Stacks []tree.Stack
		}
		next := func() news {
			for events.Scan() {
				if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
					var n news
					if err := json.Unmarshal([]byte(data), &n); err != nil {
						t.Fatal(err)
					}
					return n
				}
			}
			t.Fatalf("the page receives no update: %v", events.Err())
			return news{}
		}
		if n := next(); n.Reads != 1 || len(n.Stacks) != 1 {
			t.Fatalf("at first: %+v", n)
		}
		applyDrift(t, em, []string{"add-listener"})
		writes := em.Calls().CountMutating() // calls made by the test
		if code, _, body := p.sendRequest("/api/again?after=5", nil); code != http.StatusNoContent {
			t.Fatalf("request for a full refresh: status %d: %s", code, body)
		}
		n := next()
		for n.Reads < 2 {
			n = next()
		}
		if len(n.Stacks) != 1 || !slices.ContainsFunc(n.Stacks[0].LoadBalancers[0].Listeners, func(l tree.Listener) bool { return l.Port == 8080 }) {
			t.Errorf("the change in AWS is not shown: %+v", n)
		}
		if code, _, _ := p.sendRequest("/api/again?after=-1", nil); code != http.StatusBadRequest {
			t.Errorf("a negative number of calls: status %d", code)
		}
		if n := em.Calls().CountMutating(); n != writes {
			t.Errorf("%d calls that change something, of which %d are the test's", n, writes)
		}
		return nil
	})
}

// TestTreeShowsReplacedLoadBalancer checks that tree shows, for each resource that a replacement creates or deletes, the
// name of the load balancer that is replaced. It does not show this name for other resources.
func TestTreeShowsReplacedLoadBalancer(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/edit.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		code, out, stderr := run(t, append([]string{"tree", "-o", "json", "-f", objects}, emulatorFlags(t, em, vpc)...)...)
		var doc tree.Document
		if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Stacks) != 1 {
			t.Fatalf("exit %d, %v: %s", code, err, stderr)
		}
		s := doc.Stacks[0]
		const old = "k8s-shop-web-b4da647e1f"
		for _, lb := range s.LoadBalancers {
			if lb.Replaced != old {
				t.Errorf("load balancer %s is %s, with replaced load balancer %q", lb.Name, lb.State, lb.Replaced)
			}
		}
		for _, g := range s.TargetGroups {
			if want := map[bool]string{true: old}[g.State == "missing"]; g.Replaced != want {
				t.Errorf("target group %s is %s, with replaced load balancer %q", g.Name, g.State, g.Replaced)
			}
		}
		for _, g := range s.SecurityGroups {
			if g.Replaced != "" {
				t.Errorf("security group %s has the replaced load balancer %q", g.Name, g.Replaced)
			}
		}
		return nil
	})
}
