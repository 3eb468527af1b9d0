package cli

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestWatchShowsChanges checks that "tree --watch" prints the tree once and then only its changes, exits without an error,
// and makes few calls to AWS.
func TestWatchShowsChanges(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		flags := emulatorFlags(t, em, vpc)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out, errs bytes.Buffer
		var shown []int // number of trees printed before each wait
		var calls []int
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		code := Run(ctx, output.Environment{
			Args: append([]string{"tree", "--watch", "--interval=5s", "-f", objects}, flags...), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
			Clock: testclock.FromVariable(&now),
			Wait: func(ctx context.Context, d time.Duration) error {
				if d != 5*time.Second {
					t.Errorf("the watch waits for %s", d)
				}
				shown, calls = append(shown, strings.Count(out.String(), "Ingress shop/web\n")), append(calls, em.Calls().Total())
				em.Calls().Reset()
				now = now.Add(d)
				switch len(shown) {
				case 2:
					applyDrift(t, em, []string{"deregister", "10.0.132.10"})
					// The deleted rule is shown at the same time, although cached rules are less than a minute old.
					applyDrift(t, em, []string{"delete-rule", "80", "1"})
					em.Calls().Reset()
				case 4:
					cancel()
				}
				return ctx.Err()
			},
		})
		if code != 0 || errs.Len() > 0 {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		if len(shown) != 4 || shown[1] != shown[0] || shown[2] <= shown[1] || shown[3] != shown[2] || strings.Count(out.String(), "security group") != 1 {
			t.Errorf("trees printed before each wait: %v\n%s", shown, out.String())
		}
		_, change, _ := strings.Cut(out.String(), "\n\n")
		change = strings.TrimSpace(change)
		want := regexp.MustCompile(`^# 2026-01-02T03:04:15Z
Ingress shop/web
  was       1 host shop\.example\.com, path /api -> .*
  was   target group shop/web-web:80 .*
  now \+     1 host shop\.example\.com, path /api -> .*   missing
  now   target group shop/web-web:80 .*
  now     10\.0\.132\.10:8080 draining: .*
  now \+   10\.0\.132\.10:8080 not registered, an endpoint of its Service$`)
		if !want.MatchString(change) {
			t.Errorf("%s, want %s", change, want)
		}
		if calls[0] < 5 || calls[1] > 2 || calls[3] > 2 {
			t.Errorf("calls to AWS for each refresh: %v", calls)
		}
		return nil
	})
	code, _, stderr := run(t, "tree", "--watch", "--interval=1s")
	if code != 1 || !strings.Contains(stderr, "--interval 1s is shorter than 2s") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, _, stderr = run(t, "tree", "--watch", "-f=-")
	if code != 1 || !strings.Contains(stderr, "standard input can be read only once") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestExplainShowsSourceOfRetainedScheme checks the source that explain shows for a scheme that no object sets. The source
// is the load balancer in AWS if its scheme differs from the default, and the default otherwise.
func TestExplainShowsSourceOfRetainedScheme(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/live/as-desired.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, vpc, objects := runCase(t, c)
		flags := emulatorFlags(t, em, vpc)
		for scheme, want := range map[string]string{"internal": "built-in default", "internet-facing": "the load balancer in AWS, because no object sets a scheme"} {
			_, out, errs := run(t, append([]string{"explain", "ingress/web", "-n", "shop", "-f", objects, "--default-load-balancer-scheme=" + scheme}, flags...)...)
			if !strings.Contains(out, "    scheme internal, from "+want+"\n") {
				t.Errorf("default %s: %s%s", scheme, out, errs)
			}
		}
		return nil
	})
}
