// Package browser drives a headless Chromium for tests of pages. It takes Debian's package, or the program that
// FULCRUM_CHROMIUM names.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Variable names an environment variable with the path of a Chromium.
const Variable = "FULCRUM_CHROMIUM"

// limit is how long a browser may take for one thing.
const limit = 2 * time.Minute

// Tab is a page in a browser of its own.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// Open starts a browser that ends with the test. The test is skipped where there is none, but in CI, which installs it.
func Open(t testing.TB) *Tab {
	t.Helper()
	path := os.Getenv(Variable)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium was found; tools/chromium.sh installs it")
		}
		t.Skip("no Chromium was found; install it (apt-get install chromium), or set " + Variable)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1200, 800))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context of the first call
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError { // such as what a content security policy forbids
				tab.fault(m.String())
			}
		}
	}()
	return tab
}

func (tab *Tab) fault(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.faults = append(tab.faults, text)
}

// Faults are what went wrong in the page since the last call: exceptions, and what the browser refused.
func (tab *Tab) Faults() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	out := tab.faults
	tab.faults = nil
	return out
}

// Do carries out what a user does.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	run(tab, chromedp.Steps(steps...))
}

// run is the value of an action.
func run[T any](tab *Tab, a chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, done := context.WithTimeout(tab.ctx, limit)
	defer done()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		tab.t.Fatal(err)
	}
	return out
}

// Ask is the value of an expression in the page, or of the promise that it is.
func Ask[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return run(tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Until waits for an expression to be true in the page, and returns how long that took.
func (tab *Tab) Until(expression string) time.Duration {
	tab.t.Helper()
	began := time.Now()
	for {
		if Ask[bool](tab, "Boolean("+expression+")") {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			tab.t.Fatalf("not within %s: %s; the page:\n%s", limit, expression, Ask[string](tab, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Screenshot writes a picture of the page where FULCRUM_SCREENSHOTS names a directory.
func (tab *Tab) Screenshot(name string) {
	tab.t.Helper()
	dir := os.Getenv("FULCRUM_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(fmt.Sprintf("%s/%s.png", dir, name), run(tab, chromedp.CaptureScreenshot()), 0o600); err != nil {
		tab.t.Fatal(err)
	}
}
