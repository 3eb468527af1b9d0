package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

const classAndServiceYAML = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 11111111-0000-4000-8000-000000000001}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

func nthIngressYAML(i int) string {
	return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web-%d, namespace: shop, annotations: {alb.ingress.kubernetes.io/target-type: ip}}
spec:
  ingressClassName: alb
  rules: [{host: w%[1]d.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`, i)
}

// twelveIngressesRun has the emulator state and the objects before and after the last of twelve Ingresses gets its load
// balancer. A test can restore either state, as if the controller had created the load balancer during the test.
type twelveIngressesRun struct {
	em                                  *emulator.Emulator
	vpc                                 string
	stateBefore, stateAfter             []byte
	objectsWithoutLast, objectsWithLast string // objects without and with the last Ingress
}

// runTwelveIngresses creates the load balancers of twelve Ingresses, and then restores the state before the last of them.
func runTwelveIngresses(t *testing.T) twelveIngressesRun {
	t.Helper()
	var out twelveIngressesRun
	state := func(em *emulator.Emulator) []byte {
		em.Store().Lock()
		defer em.Store().Unlock()
		data, err := em.Store().Export()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	w := runScenario(t, func(t *testing.T, r *harness.Harness) {
		settle := func() {
			t.Helper()
			if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
				t.Fatal(failed)
			}
			time.Sleep(10 * time.Minute)
		}
		objects := classAndServiceYAML
		for i := range 11 {
			objects += nthIngressYAML(i)
		}
		r.Apply(objects)
		settle()
		out.stateBefore, out.objectsWithoutLast = state(r.Emulator), objectsText(t, r.Store)
		r.Apply(nthIngressYAML(11))
		settle()
		out.objectsWithLast = objectsText(t, r.Store)
	})
	out.em, out.vpc, out.stateAfter = w.em, w.vpc, state(w.em)
	out.restoreState(t, out.stateBefore)
	return out
}

func (o twelveIngressesRun) restoreState(t *testing.T, state []byte) {
	t.Helper()
	o.em.Store().Lock()
	defer o.em.Store().Unlock()
	if err := o.em.Store().Restore(state); err != nil {
		t.Fatal(err)
	}
}

// watchOutput has, for each refresh of a watch, its output and its number of calls to AWS.
type watchOutput struct {
	outputs []string
	calls   []int
}

// runWatch runs "tree --watch" for the objects in a file until it has refreshed looks times. after, if not nil, is called
// with the number of refreshes so far after each of them except the last.
func (o twelveIngressesRun) runWatch(t *testing.T, objects string, looks int, after func(look int)) watchOutput {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flags := emulatorFlags(t, o.em, o.vpc)
	var out, errs bytes.Buffer
	var got watchOutput
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	code := Run(ctx, output.Environment{
		Args: append([]string{"tree", "--watch", "--interval=5s", "-f", objects}, flags...), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
		Clock: testclock.FromVariable(&now),
		Wait: func(ctx context.Context, d time.Duration) error {
			got.outputs, got.calls = append(got.outputs, out.String()), append(got.calls, o.em.Calls().Total())
			out.Reset()
			if now = now.Add(d); len(got.outputs) == looks {
				cancel()
			} else if after != nil {
				after(len(got.outputs))
			}
			o.em.Calls().Reset()
			return ctx.Err()
		},
	})
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	return got
}

// TestWatchShowsChangesOfOthersWithinAMinute checks that "tree --watch" shows a load balancer about a minute after the
// controller has created it.
func TestWatchShowsChangesOfOthersWithinAMinute(t *testing.T) {
	o := runTwelveIngresses(t)
	objects := writeTempFiles(t, map[string]string{"objects.yaml": o.objectsWithLast}) + "/objects.yaml"
	got := o.runWatch(t, objects, 16, func(look int) {
		if look == 1 {
			o.restoreState(t, o.stateAfter)
		}
	})
	if !strings.Contains(got.outputs[0], "missing") {
		t.Fatalf("at first nothing is missing:\n%s", got.outputs[0])
	}
	shown := 0
	for i, out := range got.outputs[1:] {
		if strings.Contains(out, "Ingress shop/web-11\n  was + ") && !strings.Contains(out, "now + ") {
			shown = i + 1
			break
		}
	}
	if shown == 0 || shown > 13 {
		t.Errorf("the load balancer is first shown by refresh %d (0 means never), with one refresh every 5 s\n%s", shown, strings.Join(got.outputs[1:], "---\n"))
	}
}

// TestWatchReadsOnlyNewLoadBalancer checks that "tree --watch" reads only the load balancer of a new Ingress from AWS
// when the Ingress is added, not all load balancers.
func TestWatchReadsOnlyNewLoadBalancer(t *testing.T) {
	o := runTwelveIngresses(t)
	objects := writeTempFiles(t, map[string]string{"objects.yaml": o.objectsWithoutLast}) + "/objects.yaml"
	got := o.runWatch(t, objects, 4, func(look int) {
		if look == 2 {
			o.restoreState(t, o.stateAfter)
			if err := os.WriteFile(objects, []byte(o.objectsWithLast), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if out := got.outputs[2]; !strings.Contains(out, "Ingress shop/web-11\n") || strings.Contains(out, "missing") {
		t.Errorf("a new Ingress with a load balancer:\n%s", out)
	}
	if quiet := got.calls[1]; got.calls[2] > quiet+15 || // 21 calls; 90 if all load balancers were read again
		got.calls[3] > quiet+1 {
		t.Errorf("calls to AWS for each refresh: %v", got.calls)
	}
}

// TestUnchangedLoadBalancersAreReadRarely checks that load balancers without steps are read again only at the maximum cache
// age, here five minutes. A new load balancer is still shown after a minute.
func TestUnchangedLoadBalancersAreReadRarely(t *testing.T) {
	o := runTwelveIngresses(t)
	objects := writeTempFiles(t, map[string]string{"objects.yaml": o.objectsWithLast}) + "/objects.yaml"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cmd := &cobra.Command{}
	v := tree.NewView(cmd, output.Environment{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Clock: testclock.FromVariable(&now)})
	if err := cmd.ParseFlags(append([]string{"-f", objects}, emulatorFlags(t, o.em, o.vpc)...)); err != nil {
		t.Fatal(err)
	}
	v.SetMaxCacheAgeWithoutSteps(5 * time.Minute)
	look := func(after time.Duration) (text string, calls int) {
		t.Helper()
		now = now.Add(after)
		o.em.Calls().Reset()
		_, p, err := v.Update(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		return p.Text, o.em.Calls().Total()
	}
	if text, _ := look(0); strings.Count(text, "missing") == 0 {
		t.Fatalf("nothing is missing:\n%s", text)
	}
	if _, calls := look(2 * time.Minute); calls > 20 {
		t.Errorf("a refresh after two minutes makes %d calls", calls)
	}
	o.restoreState(t, o.stateAfter)
	if text, calls := look(61 * time.Second); strings.Contains(text, "missing") || calls > 35 {
		t.Errorf("the load balancer that the controller created is missing, or too many calls (%d):\n%s", calls, text)
	}
	if _, calls := look(5 * time.Minute); calls < 40 {
		t.Errorf("a refresh after five minutes makes only %d calls, so it does not read expired facts again", calls)
	}
}
