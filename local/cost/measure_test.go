package cost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	k8stypes "k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/local/await"
)

func toUID(uid string) k8stypes.UID { return k8stypes.UID(uid) }

// usage is the CPU time and the memory of the controller.
type usage struct {
	cpu      float64 // seconds of CPU time
	resident float64 // bytes
}

// readUsage reads the process metrics of the controller.
func (h *churnCluster) readUsage(t *testing.T) usage {
	t.Helper()
	text, err := sendRequest(t.Context(), http.MethodGet, h.ControllerMetricsURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) float64 {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, name+" "); ok {
				f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
		}
		t.Fatalf("the controller has no metric %s", name)
		return 0
	}
	return usage{cpu: value("process_cpu_seconds_total"), resident: value("process_resident_memory_bytes")}
}

// awaitTargets waits until at least want targets are registered.
func (h *churnCluster) awaitTargets(t *testing.T, want int) {
	t.Helper()
	api := elb.NewFromConfig(h.AWSConfig())
	if err := await.Success(t.Context(), 30*time.Minute, func(ctx context.Context) error {
		var all []elbtypes.TargetGroup
		for pages := elb.NewDescribeTargetGroupsPaginator(api, &elb.DescribeTargetGroupsInput{}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			all = append(all, page.TargetGroups...)
		}
		n := 0
		for _, g := range all {
			health, err := api.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn})
			if err != nil {
				return err
			}
			n += len(health.TargetHealthDescriptions)
		}
		if n < want {
			return fmt.Errorf("%d of %d targets are registered", n, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// maxIdleCalls is the maximum number of calls in ten seconds by an idle controller with 1,000 load balancers. It makes
// these calls to detect drift.
const maxIdleCalls = 60

// awaitNoCalls waits until the controller makes no calls to AWS except for those that detect drift.
func (h *churnCluster) awaitNoCalls(t *testing.T) {
	t.Helper()
	if err := await.Success(t.Context(), 30*time.Minute, func(context.Context) error {
		before := h.countCalls(t)
		time.Sleep(10 * time.Second)
		if n := h.countCalls(t) - before; n > maxIdleCalls {
			return fmt.Errorf("%d calls in ten seconds", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// countCalls returns the number of calls to AWS since the call log was cleared.
func (h *churnCluster) countCalls(t *testing.T) int {
	t.Helper()
	var log struct{ Total int }
	if err := h.requestAdminJSON(t.Context(), http.MethodGet, "calls?operation=none", nil, &log); err != nil {
		t.Fatal(err)
	}
	return log.Total
}

// targetCallTimes returns, for each address, when AWS responded to the first successful call of an operation with the
// address.
func (h *churnCluster) targetCallTimes(ctx context.Context, operation string, addresses map[string]time.Time) (map[string]time.Time, error) {
	var log struct {
		Calls []struct {
			Time  time.Time
			Code  string
			Input struct{ Targets []struct{ Id string } }
		}
	}
	if err := h.requestAdminJSON(ctx, http.MethodGet, "calls?operation="+operation, nil, &log); err != nil {
		return nil, err
	}
	out := map[string]time.Time{}
	for _, c := range log.Calls {
		for _, x := range c.Input.Targets {
			if _, ok := addresses[x.Id]; ok && c.Code == "" && out[x.Id].IsZero() {
				out[x.Id] = c.Time.Add(callLatency)
			}
		}
	}
	return out, nil
}

// callAdminAPI calls an admin path of the emulator.
func (h *churnCluster) callAdminAPI(t *testing.T, method, path string, body any) {
	t.Helper()
	if err := h.requestAdminJSON(t.Context(), method, path, body, nil); err != nil {
		t.Fatal(err)
	}
}

func (h *churnCluster) requestAdminJSON(ctx context.Context, method, path string, body, answer any) error {
	var in []byte
	if body != nil {
		var err error
		if in, err = json.Marshal(body); err != nil {
			return err
		}
	}
	out, err := sendRequest(ctx, method, h.AWSEndpoint()+"/_fulcrum/"+path, in)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(out, answer)
}

func sendRequest(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, url, answer.Status, text)
	}
	return text, err
}

// formatQuantiles formats the quantiles of durations, which must be in ascending order.
func formatQuantiles(ds []time.Duration) string {
	if len(ds) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration {
		return ds[min(int(q*float64(len(ds))), len(ds)-1)].Round(time.Millisecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v", at(0.5), at(0.99))
}
