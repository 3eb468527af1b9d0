package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

// pageClient sends requests to a console as the page in a browser does.
type pageClient struct {
	t     *testing.T
	url   string
	token string
}

// startConsole runs the command console until the test ends, and returns a client for its page.
func startConsole(t *testing.T, args ...string) pageClient {
	t.Helper()
	out, in := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- Run(ctx, output.Environment{Args: append([]string{"console", "--listen=127.0.0.1:0"}, args...), Stdout: in, Stderr: &errs, Getenv: func(string) string { return "" }})
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 || errs.Len() > 0 {
			t.Errorf("the console exited with code %d: %s", code, errs.String())
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the console prints no line: %v: %s", err, errs.String())
	}
	go io.Copy(io.Discard, lines)
	at := strings.TrimSpace(strings.TrimPrefix(line, "console: "))
	at, token, _ := strings.Cut(at, "#token=")
	return pageClient{t, strings.TrimSuffix(at, "/"), token}
}

// sendRequest sends a GET request as the page does, and returns the status code, the header and the body. change, if not
// nil, modifies the request. For /api/looks it returns only the data of the first event.
func (p pageClient) sendRequest(path string, change func(*http.Request)) (int, http.Header, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("X-Fulcrum-Console", "1")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(path, "/api/looks") && resp.StatusCode == http.StatusOK {
		event, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil {
			p.t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, strings.TrimPrefix(event, "data: ")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

// TestMigrateConsoleOpensItsPage checks that "migrate console" prints a link to the page about the migration.
func TestMigrateConsoleOpensItsPage(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, output.Environment{Args: []string{"migrate", "console", "--listen=127.0.0.1:0"}, Stdout: in, Stderr: io.Discard, Getenv: func(string) string { return "" }})
		in.Close()
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	go io.Copy(io.Discard, lines)
	if err != nil || !strings.HasPrefix(line, "console: http://127.0.0.1:") || !strings.HasSuffix(line, "/#/migrate\n") {
		t.Errorf("%q, %v", line, err)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestConsoleShowsDocumentsOfCommands checks that the console sends to the page the documents that the commands print as
// JSON. If the console cannot run a command, it sends the reason.
func TestConsoleShowsDocumentsOfCommands(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		flags := append(emulatorFlags(t, em, vpc), "-f", objects)
		p := startConsole(t, flags...)
		printed := func(args ...string) any {
			t.Helper()
			code, out, errs := run(t, append(append(args, flags...), "-o", "json")...)
			if out == "" {
				t.Fatalf("%v: exit %d: %s", args, code, errs)
			}
			return decodeDocument(t, out)
		}
		_, _, event := p.sendRequest("/api/looks", nil)
		var news struct {
			Cluster string
			Stacks  []any
			AWS     struct{ Look, Minute, Budget int }
			Text    string
		}
		if err := json.Unmarshal([]byte(event), &news); err != nil {
			t.Fatalf("%v: %s", err, event)
		}
		if diff := cmp.Diff(printed("tree"), any(map[string]any{"cluster": news.Cluster, "stacks": news.Stacks})); diff != "" {
			t.Errorf("the page has another tree (-tree +page):\n%s", diff)
		}
		if news.AWS.Look == 0 || news.AWS.Minute != news.AWS.Look || news.AWS.Budget != 100 {
			t.Errorf("calls to AWS: %+v", news.AWS)
		}
		for path, command := range map[string][]string{
			"migrate": {"migrate", "--check"},
			"explain?kind=Ingress&namespace=shop&name=web":         {"explain", "ingress/web", "-n", "shop"},
			"plan?kind=Ingress&namespace=shop&name=web":            {"plan", "ingress/web", "-n", "shop"},
			"request?url=" + url.QueryEscape("http://x.invalid/"):  {"explain", "request", "http://x.invalid/"},
			"request?url=http://shop.example.com/api&header=x%3A1": {"explain", "request", "http://shop.example.com/api", "-H", "x:1"},
		} {
			code, _, body := p.sendRequest("/api/command/"+path, nil)
			var a struct {
				Command  string
				Document any
				Exit     int
			}
			if err := json.Unmarshal([]byte(body), &a); code != http.StatusOK || err != nil {
				t.Errorf("%s: %d: %v: %s", path, code, err, body)
				continue
			}
			if diff := cmp.Diff(printed(command...), a.Document); diff != "" {
				t.Errorf("%s (-%s +page):\n%s", path, command[0], diff)
			}
			if !strings.HasPrefix(a.Command, "fulcrum "+command[0]) {
				t.Errorf("%s: the page shows the command %q", path, a.Command)
			}
		}
		// This console reads files, but the status of a migration needs a cluster.
		if code, _, body := p.sendRequest("/api/command/status", nil); code != http.StatusBadRequest || !strings.Contains(body, "start it without --filename") {
			t.Errorf("status of files: %d: %s", code, body)
		}
		// If a command fails, the answer has its error message.
		if _, _, body := p.sendRequest("/api/command/orphans", nil); !strings.Contains(body, "omit these flags to compare the cluster with AWS") {
			t.Errorf("orphans of files: %s", body)
		}
		return nil
	})
}

func decodeDocument(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestConsoleAcceptsOnlyRequestsOfItsPage checks that the console refuses requests from other sites, for other host names,
// and without the token or the header of the page. Every response has the security headers.
func TestConsoleAcceptsOnlyRequestsOfItsPage(t *testing.T) {
	const path = "/api/command/orphans"
	objects := writeTempFiles(t, map[string]string{"web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"})
	p := startConsole(t, "--cluster-name=c", "--aws-region=us-west-2", "--aws-vpc-id=vpc-1", "--token=0123456789abcdef", "--files-only", "-f", objects)
	for name, tc := range map[string]struct {
		path   string
		change func(*http.Request)
		code   int
	}{
		"another host":               {path, func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"another host, for the page": {"/", func(r *http.Request) { r.Host = "localhost.evil.example:7442" }, http.StatusMisdirectedRequest},
		"localhost":                  {"/", func(r *http.Request) { r.Host = "localhost:7442" }, http.StatusOK},
		"an address":                 {"/", func(r *http.Request) { r.Host = "[::1]:7442" }, http.StatusOK},
		"another origin":             {path, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"no origin":                  {"/", func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"its origin":                 {"/", func(r *http.Request) { r.Header.Set("Origin", p.url) }, http.StatusOK},
		"another site":               {path, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"a site of the same domain":  {path, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden},
		"a link from another site":   {"/", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusOK},
		"without the header":         {path, func(r *http.Request) { r.Header.Del("X-Fulcrum-Console") }, http.StatusForbidden},
		"reading AWS again":          {"/api/again", func(r *http.Request) { r.Header.Del("X-Fulcrum-Console") }, http.StatusForbidden},
		"looks without the header":   {"/api/looks", func(r *http.Request) { r.Header.Del("X-Fulcrum-Console") }, http.StatusForbidden},
		"without the token":          {path, func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"with another token":         {"/api/looks", func(r *http.Request) { r.Header.Set("Authorization", "Bearer 0123456789abcdeF") }, http.StatusUnauthorized},
		"the page, without a token":  {"/", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusOK},
		"a write":                    {path, func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"what is no file":            {"/page/index.html", nil, http.StatusNotFound},
		"above the files":            {"/..%2f..%2fhub.go", nil, http.StatusNotFound},
		"no such command":            {"/api/command/version", nil, http.StatusBadRequest},
		"explain of nothing":         {"/api/command/explain", nil, http.StatusBadRequest},
		"a request to nowhere":       {"/api/command/request", nil, http.StatusBadRequest},
		"the page itself":            {"/app.js", nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			code, head, body := p.sendRequest(tc.path, tc.change)
			if code != tc.code {
				t.Errorf("status %d, want %d: %s", code, tc.code, body)
			}
			for header, want := range map[string]string{
				"Content-Security-Policy": "require-trusted-types-for 'script'", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
				"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			} {
				if !strings.Contains(head.Get(header), want) {
					t.Errorf("%s is %q", header, head.Get(header))
				}
			}
			if csp := head.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("the policy is %q", csp)
			}
			if len(head.Values("Set-Cookie")) > 0 || head.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers: %v", head)
			}
		})
	}
}

// TestConsoleShowsReasonOfFailedRefresh checks that the console sends to the page why a refresh failed, here because no
// cluster name is set.
func TestConsoleShowsReasonOfFailedRefresh(t *testing.T) {
	objects := writeTempFiles(t, map[string]string{"web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"})
	p := startConsole(t, "--aws-region=us-west-2", "--aws-vpc-id=vpc-1", "--files-only", "-f", objects)
	_, _, event := p.sendRequest("/api/looks", nil)
	var news struct{ Failed, Since string }
	if err := json.Unmarshal([]byte(event), &news); err != nil {
		t.Fatalf("%v: %s", err, event)
	}
	if !strings.Contains(news.Failed, "--cluster-name is not set; set it to the name of the cluster") || news.Since == "" {
		t.Errorf("the page receives %+v", news)
	}
}

// TestObjectNamesAreNotParsedAsFlags checks that requests with kinds, names or namespaces that look like flags or shell
// commands fail, and that the command line that the page shows quotes them.
func TestObjectNamesAreNotParsedAsFlags(t *testing.T) {
	objects := writeTempFiles(t, map[string]string{"web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"})
	p := startConsole(t, "--cluster-name=c", "--aws-region=us-west-2", "--aws-vpc-id=vpc-1", "--files-only", "-f", objects)
	dir, err := os.MkdirTemp("", "record") // no upper-case letters, because the console converts kinds to lower case
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, q := range []url.Values{
		{"kind": {"--record=" + dir}, "name": {"x"}}, // a valid flag of explain
		{"kind": {"--help"}, "name": {"web"}},
		{"kind": {"ingress"}, "name": {"--kubeconfig=/etc/passwd"}},
		{"kind": {"ingress"}, "name": {"web"}, "namespace": {"shop --record=/tmp/x"}},
		{"kind": {"ingress"}, "name": {"'; touch x; '"}},
	} {
		_, _, body := p.sendRequest("/api/command/explain?"+q.Encode(), nil)
		var a struct {
			Command, Notes string
			Exit           int
			Document       any
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		if a.Exit == 0 || a.Document != nil || !strings.Contains(a.Notes, "Error: ") {
			t.Errorf("%v: exit %d: %s", q, a.Exit, body)
		}
		if strings.HasPrefix(q.Get("kind"), "-") && !strings.HasSuffix(a.Command, " -- "+q.Get("kind")+"/"+q.Get("name")) {
			t.Errorf("%v: the command for a shell has a flag: %s", q, a.Command)
		}
		if unquoted := regexp.MustCompile(`'[^']*'|\\'`).ReplaceAllString(a.Command, ""); strings.ContainsAny(unquoted, ";&|$`<>'\"") {
			t.Errorf("%v: the command for a shell is %s", q, a.Command)
		}
	}
	if written, err := os.ReadDir(dir); err != nil || len(written) > 0 {
		t.Errorf("files were written: %v, %v", written, err)
	}
}

func TestConsoleRefusesInvalidFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--listen=0.0.0.0:0":                             "set --token",
		"--listen=:7442":                                 "set --token",
		"--listen=console.example:80":                    "set --token",
		"--listen=127.0.0.1":                             "not an address with a port",
		"--listen=0.0.0.0:0 --token=short":               "at least 16 are needed",
		"--aws-calls-per-minute=0":                       "less than 1",
		"-f -":                                           "standard input can be read only once",
		"--listen=192.0.2.1:1 --token=0123456789abcdefg": "set another address with --listen",
	} {
		code, _, errs := run(t, append([]string{"console", "--cluster-name=c"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", args, code, errs)
		}
	}
}
