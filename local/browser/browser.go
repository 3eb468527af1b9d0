// Package browser controls a headless Chromium for tests of pages. It uses Debian's package, or the program in the
// environment variable FULCRUM_CHROMIUM.
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

// ChromiumVariable is the environment variable with the path of a Chromium program.
const ChromiumVariable = "FULCRUM_CHROMIUM"

// actionTimeout is the timeout of one action in the browser.
const actionTimeout = 2 * time.Minute

// Tab is a page in a separate browser. If an action fails, the test fails.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	pageErrors []string
}

// Open starts a browser that is closed at the end of the test. Without a Chromium, it skips the test, or fails it
// in CI, where Chromium is installed.
func Open(t testing.TB) *Tab {
	t.Helper()
	path := os.Getenv(ChromiumVariable)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium was found; tools/chromium.sh installs it")
		}
		t.Skip("no Chromium was found; install it (apt-get install chromium), or set " + ChromiumVariable)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1200, 800))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	tab := &Tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // the browser ends when the context of the first call ends
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError { // an error such as a violation of a content security policy
				tab.addPageError(m.String())
			}
		}
	}()
	return tab
}

func (tab *Tab) addPageError(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.pageErrors = append(tab.pageErrors, text)
}

// TakePageErrors returns the errors of the page since the last call: exceptions, and requests that the browser blocked.
func (tab *Tab) TakePageErrors() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	out := tab.pageErrors
	tab.pageErrors = nil
	return out
}

// Do performs actions of a user, such as clicks.
func (tab *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	performAction(tab, chromedp.Steps(steps...))
}

// performAction performs an action and returns its value.
func performAction[T any](tab *Tab, a chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, done := context.WithTimeout(tab.ctx, actionTimeout)
	defer done()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		tab.t.Fatal(err)
	}
	return out
}

// Eval returns the value of a JavaScript expression in the page. If the value is a promise, it awaits the promise.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return performAction(tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// WaitUntil waits until an expression is true in the page, and returns how long that took.
func (tab *Tab) WaitUntil(expression string) time.Duration {
	tab.t.Helper()
	return tab.pollUntil(expression, func(time.Duration) {})
}

// PressUntil presses a key each second until an expression is true in the page. It repeats the key because a
// browser on a busy machine may ignore a key that scrolls.
func (tab *Tab) PressUntil(key, expression string) {
	tab.t.Helper()
	presses := 0
	tab.pollUntil(expression, func(waited time.Duration) {
		if waited >= time.Duration(presses)*time.Second {
			presses++
			tab.Do(chromedp.KeyEvent(key))
		}
	})
}

// pollUntil waits until an expression is true in the page, and returns how long that took. Before each evaluation it
// calls act with the time so far.
func (tab *Tab) pollUntil(expression string, act func(waited time.Duration)) time.Duration {
	tab.t.Helper()
	began := time.Now()
	for {
		act(time.Since(began))
		if Eval[bool](tab, "Boolean("+expression+")") {
			return time.Since(began)
		}
		if time.Since(began) > actionTimeout {
			tab.t.Fatalf("not true within %s: %s; the page:\n%s", actionTimeout, expression, Eval[string](tab, "document.body.innerText"))
		}
		// The interval grows, because each evaluation uses CPU time.
		time.Sleep(min(max(100*time.Millisecond, time.Since(began)/10), time.Second))
	}
}

// Screenshot writes a picture of the page to the directory in FULCRUM_SCREENSHOTS, if the variable is set.
func (tab *Tab) Screenshot(name string) {
	tab.t.Helper()
	dir := os.Getenv("FULCRUM_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(fmt.Sprintf("%s/%s.png", dir, name), performAction(tab, chromedp.CaptureScreenshot()), 0o600); err != nil {
		tab.t.Fatal(err)
	}
}
