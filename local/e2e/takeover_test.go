package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/internal/rig"
	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// fastAWS admits as many calls as this AWS answers: the documented rates would make reading 33 load balancers the
// longest part of the test.
const fastAWS = "--aws-api-throttle=Elastic Load Balancing v2:.*=500:500,EC2:.*=500:500"

// TestTakeOverRehearsal follows docs/takeover.md in a local world where another controller has served the recorded
// cases: the plan says that there is nothing to do, the swap and the start after a roll-back make no call that
// changes AWS, and what the other controller finds after the roll-back is what it has left.
func TestTakeOverRehearsal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: rig.ClusterName, Region: rig.Region, Nodes: 3, ActiveAtOnce: true, GatewayAPI: "standard"})
	t.Cleanup(func() {
		if t.Failed() && w.Started(world.RoleController) {
			t.Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 40))
		}
	})
	s := &stage{ctx: t.Context()}
	var err error
	if s.Scenario, err = scenario.New(w); err != nil {
		t.Fatal(err)
	}
	runs := leaveRecorded(t, w)
	aws, kubernetes := found(t, s)

	planNothing(t, w)
	for _, when := range []string{"swap", "start after the roll-back"} {
		forget(t, s) // the other controller has its own lease and none of our Secrets
		if _, err := s.calls([]string{"reset"}); err != nil {
			t.Fatal(err)
		}
		if err := w.StartController(worldtest.Controller(t), "--enable-leader-election=true", "--leader-election-namespace=kube-system", fastAWS); err != nil {
			t.Fatal(err)
		}
		if err := w.ControllerReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		untouched(t, s, when, runs)
		if err := w.StopController(); err != nil {
			t.Fatal(err)
		}
		nowAWS, nowKubernetes := found(t, s)
		if d := cmp.Diff(aws, nowAWS); d != "" {
			t.Errorf("%s: AWS changed:\n%s", when, d)
		}
		if d := cmp.Diff(kubernetes, nowKubernetes); d != "" {
			t.Errorf("%s: objects changed:\n%s", when, d)
		}
	}
	planNothing(t, w)
}

// forget removes what only Fulcrum leaves: its Secrets and its lease.
func forget(t *testing.T, s *stage) {
	t.Helper()
	kube := s.World.Kube()
	for _, name := range []string{"fulcrum-checkpoints", "fulcrum-memberships"} {
		if err := kube.CoreV1().Secrets("kube-system").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if err := kube.CoordinationV1().Leases("kube-system").Delete(t.Context(), "aws-load-balancer-controller-leader", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// found is what AWS has, and what objects show of it.
func found(t *testing.T, s *stage) ([]string, map[string]any) {
	t.Helper()
	inventory, err := s.Inspector.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := dynamic.NewForConfig(s.World.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, kind := range []schema.GroupVersionResource{
		{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"},
		{Version: "v1", Resource: "services"},
	} {
		list, err := kubernetes.Resource(kind).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			t.Fatalf("there are no %s", kind.Resource)
		}
		for _, u := range list.Items {
			notes := u.GetAnnotations()
			maps.DeleteFunc(notes, func(key, _ string) bool { return strings.HasPrefix(key, "elbv2.k8s.aws/checkpoint") })
			fillProtocols(u.Object["status"])
			out[manifest.Name(&u)] = []any{u.GetUID(), u.GetFinalizers(), u.GetLabels(), notes, u.Object["spec"], u.Object["status"]}
		}
	}
	return slices.Sorted(slices.Values(inventory)), out
}

// fillProtocols fills in the protocol of ports, as the controller does where the other one leaves it empty.
func fillProtocols(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["protocol"] == "" {
			v["protocol"] = "TCP"
		}
		for _, item := range v {
			fillProtocols(item)
		}
	case []any:
		for _, item := range v {
			fillProtocols(item)
		}
	}
}

// runLine is a line of the controller's metrics.
var runLine = regexp.MustCompile(`(?m)^controller_runtime_reconcile_total{[^}]*} (\d+)$`)

// untouched waits until the controller has run for each stack and binding, and then sees that it changes nothing.
func untouched(t *testing.T, s *stage, when string, runs int) {
	t.Helper()
	worldtest.Eventually(t, 2*time.Minute, func(ctx context.Context) error {
		r, err := scenario.Get(ctx, http.DefaultClient, s.World.ControllerMetrics(), nil)
		if err != nil {
			return err
		}
		n := 0
		for _, match := range runLine.FindAllStringSubmatch(r.Body, -1) {
			count, err := strconv.Atoi(match[1])
			if err != nil {
				return err
			}
			n += count
		}
		if n < runs {
			return fmt.Errorf("%d of %d runs", n, runs)
		}
		return nil
	})
	err := await.Throughout(t.Context(), 5*time.Second, func(context.Context) error {
		text, err := s.calls([]string{"-mutating"})
		if err == nil && text != "sum 0\n" {
			err = fmt.Errorf("calls change AWS: %s", text)
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// planNothing runs the command of docs/takeover.md.
func planNothing(t *testing.T, w *world.World) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), worldtest.Controller(t), "plan", "--all", "--cluster-name="+w.Layout().Cluster, "--aws-vpc-id="+w.Layout().VPC, fastAWS)
	cmd.Env = append(os.Environ(), w.Environment()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("fulcrum plan --all: %v\n%s", err, out)
	}
}
