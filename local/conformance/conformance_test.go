package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayconformance "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// Variables of the environment by which `make conformance` says what runs. The flags of
// the suite work too, such as -run-test.
const (
	controllerVariable = "FULCRUM_CONFORMANCE_CONTROLLER" // name of the class's controller
	profilesVariable   = "FULCRUM_CONFORMANCE_PROFILES"   // names, with commas between them
	reportVariable     = "FULCRUM_CONFORMANCE_REPORT"     // file that the report is written to
)

// className is the GatewayClass of all Gateways of the suite.
const className = "fulcrum"

// TestConformance runs the suite. What it skips is in docs/conformance.md.
func TestConformance(t *testing.T) {
	if os.Getenv(reportVariable) == "" {
		t.Skip(reportVariable + " is not set")
	}
	w := worldtest.Start(t, world.Options{GatewayAPI: "standard", Keep: os.Getenv("FULCRUM_KEEP") != ""})
	resolveIn(t, w)
	t.Setenv("KUBECONFIG", w.Kubeconfig())
	opts := gatewayconformance.DefaultOptions(t)
	opts.RestConfig.QPS = -1
	startController(t, w)
	createClass(t, opts.Client)

	opts.GatewayClassName = className
	opts.Implementation = confv1.Implementation{
		Organization: "fulcrum-lb", Project: "fulcrum", URL: "https://github.com/fulcrum-lb/fulcrum",
		Version: "main", Contact: []string{"https://github.com/fulcrum-lb/fulcrum/issues"},
	}
	if opts.ConformanceProfiles == nil {
		for name := range strings.SplitSeq(cmp.Or(os.Getenv(profilesVariable), "GATEWAY-HTTP,GATEWAY-TCP,GATEWAY-UDP"), ",") {
			opts.ConformanceProfiles = append(opts.ConformanceProfiles, suite.ConformanceProfileName(name))
		}
	}
	opts.SkipTests = append(opts.SkipTests, skipped()...)
	opts.ReportOutputPath = cmp.Or(opts.ReportOutputPath, os.Getenv(reportVariable))
	opts.RoundTripper = &roundtripper.DefaultRoundTripper{
		Debug: opts.Debug, TimeoutConfig: opts.TimeoutConfig, CustomDialContext: w.Dialer(""),
	}
	gatewayconformance.RunConformanceWithOptions(t, opts)
}

// resolveIn lets the suite, whose clients for TCP, UDP and gRPC cannot be given a
// dialer, find the load balancers of a world by name.
func resolveIn(t *testing.T, w *world.World) {
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.Resolver())
		},
	}
	t.Cleanup(func() { net.DefaultResolver = before })
}

func startController(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.StartController(worldtest.Controller(t), "--default-target-type=ip"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.ControllerReady(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 40))
		}
	})
}

// createClass makes the GatewayClass and waits until the controller has accepted it,
// because the suite reads the features that it supports from it.
func createClass(t *testing.T, c client.Client) {
	t.Helper()
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: className}}
	class.Spec.ControllerName = gatewayv1.GatewayController(cmp.Or(os.Getenv(controllerVariable), "gateway.fulcrum.dev/aws"))
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, time.Minute, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(class), class); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(class.Status.Conditions, string(gatewayv1.GatewayClassConditionStatusAccepted)) {
			return fmt.Errorf("the GatewayClass is not accepted: %v", class.Status.Conditions)
		}
		return nil
	})
}
