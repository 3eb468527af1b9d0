package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/fulcrum-lb/fulcrum/internal/cli/console"
	"github.com/fulcrum-lb/fulcrum/local/browser"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// document is a JSON object that the console server sends to the page.
type document = map[string]any

// fakeConsole is a fake server for the page of the console. It sends the page the state and the command output that a test
// sets.
type fakeConsole struct {
	mu             sync.Mutex
	latestState    document
	stateChanged   chan struct{}       // closed when latestState changes
	commands       map[string]document // output of commands, by name of the command
	exitCode       int                 // exit code of commands
	requestedPaths []string            // paths of commands, and of requests to read AWS again
}

func (a *fakeConsole) editState(change func(news document)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.latestState)
	close(a.stateChanged)
	a.stateChanged = make(chan struct{})
}

func (a *fakeConsole) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requestedPaths)
}

func (a *fakeConsole) latestJSON() ([]byte, chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, err := json.Marshal(a.latestState)
	return data, a.stateChanged, err
}

func (a *fakeConsole) serveStates(w http.ResponseWriter, r *http.Request) {
	for {
		data, changed, err := a.latestJSON()
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

func (a *fakeConsole) runCommand(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requestedPaths = append(a.requestedPaths, r.URL.RequestURI())
	json.NewEncoder(w).Encode(document{"command": "fulcrum " + r.PathValue("name"), "exit": a.exitCode, "calls": 7, "document": a.commands[r.PathValue("name")]})
}

// openFakeConsole starts a fake console server with stacks and with the output of commands, and opens its page. It returns
// the tab, the server, and a function that changes the location hash of the page. It makes t a parallel test. At the end of
// the test, errors of the page fail the test.
func openFakeConsole(t *testing.T, stacks []document, commands map[string]document) (*browser.Tab, *fakeConsole, func(hash string)) {
	t.Helper()
	if worldtest.IsOtherControllerTested() {
		t.Skip("the other controller has no console")
	}
	t.Parallel()
	keys, stacks := []string{}, append([]document{}, stacks...)
	for _, s := range stacks {
		keys = append(keys, fmt.Sprintf("%s %s", s["kind"], s["id"]))
	}
	a := &fakeConsole{
		latestState: document{"have": "x.1", "cluster": "test", "keys": keys, "stacks": stacks, "changes": []document{}, "at": "2026-01-01T00:00:00Z", "next": 30, "reads": 1,
			"aws": document{"look": 5, "minute": 5, "looks": 5, "budget": 100}},
		stateChanged: make(chan struct{}), commands: commands,
	}
	mux := http.NewServeMux()
	mux.Handle("/", console.PageHandler())
	mux.HandleFunc("/api/looks", a.serveStates)
	mux.HandleFunc("/api/command/{name}", a.runCommand)
	mux.HandleFunc("/api/again", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requestedPaths = append(a.requestedPaths, r.URL.RequestURI())
		w.WriteHeader(http.StatusNoContent)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections) // closes the stream of updates, which the page keeps open
	tab := browser.Open(t)
	tab.Do(chromedp.Navigate(srv.URL))
	tab.WaitUntil(`document.querySelector("#cluster").innerText === "test"`)
	t.Cleanup(func() {
		if errs := tab.TakePageErrors(); len(errs) > 0 {
			t.Errorf("errors in the page: %q", errs)
		}
	})
	return tab, a, func(hash string) { browser.Eval[string](tab, fmt.Sprintf("location.hash = %q", hash)) }
}

// checkFitsPhone checks that the page is not wider than a screen of 320 pixels. It leaves the page 1200 pixels wide.
func checkFitsPhone(t *testing.T, tab *browser.Tab) {
	t.Helper()
	tab.Do(chromedp.EmulateViewport(320, 640))
	if wide := browser.Eval[int64](tab, "document.documentElement.scrollWidth"); wide > 320 {
		t.Errorf("the page is %d pixels wide on a screen of 320 pixels", wide)
	}
	tab.Do(chromedp.EmulateViewport(1200, 800))
}

var webIngress = document{"kind": "Ingress", "namespace": "shop", "name": "web"}
