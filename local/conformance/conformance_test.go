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

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayconformance "sigs.k8s.io/gateway-api/conformance"
	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// Environment variables with which `make conformance` selects what runs. The flags of the suite, such as -run-test,
// work too.
const (
	controllerVariable = "FULCRUM_CONFORMANCE_CONTROLLER" // controller name of the GatewayClass
	profilesVariable   = "FULCRUM_CONFORMANCE_PROFILES"   // names, separated by commas
	reportVariable     = "FULCRUM_CONFORMANCE_REPORT"     // file for the report
)

// The controller names of GatewayClasses: anyController chooses the type of load balancer for each Gateway, albController
// creates Application Load Balancers.
const (
	anyController = "gateway.fulcrum.dev/aws"
	albController = "gateway.k8s.aws/alb"
)

// profilesOf returns the conformance profiles that Fulcrum claims for a controller name.
func profilesOf(controller string) string {
	if controller == albController {
		return string(suite.GatewayHTTPConformanceProfileName)
	}
	return "GATEWAY-HTTP,GATEWAY-TCP,GATEWAY-UDP"
}

// className is the name of the GatewayClass of all Gateways in the suite.
const className = "fulcrum"

// TestConformance runs the conformance suite of Gateway API. docs/conformance.md lists the tests that it skips.
func TestConformance(t *testing.T) {
	w := worldtest.Start(t, world.Options{GatewayAPI: "standard", ActiveImmediately: true, KeepState: os.Getenv("FULCRUM_KEEP") != ""})
	useWorldResolver(t, w)
	t.Setenv("KUBECONFIG", w.Kubeconfig())
	opts := gatewayconformance.DefaultOptions(t)
	opts.RestConfig.QPS = -1
	grantSecretAccess(t, w)
	startController(t, w)
	applyConfiguration(t, w)
	controller := cmp.Or(os.Getenv(controllerVariable), anyController)
	createClass(t, opts.Client, controller)

	opts.GatewayClassName = className
	opts.Implementation = confv1.Implementation{
		Organization: "fulcrum-lb", Project: "fulcrum", URL: "https://github.com/fulcrum-lb/fulcrum",
		Version: "main", Contact: []string{"https://github.com/fulcrum-lb/fulcrum/issues"},
	}
	if opts.ConformanceProfiles == nil {
		for name := range strings.SplitSeq(cmp.Or(os.Getenv(profilesVariable), profilesOf(controller)), ",") {
			opts.ConformanceProfiles = append(opts.ConformanceProfiles, suite.ConformanceProfileName(name))
		}
	}
	opts.SkipTests = append(opts.SkipTests, skippedTests(controller)...)
	opts.ReportOutputPath = cmp.Or(opts.ReportOutputPath, os.Getenv(reportVariable))
	// On a busy machine, the API server takes longer than the suite's default of 10 s for these calls. Other calls
	// have a timeout of a minute.
	opts.TimeoutConfig.GetTimeout, opts.TimeoutConfig.DeleteTimeout = time.Minute, time.Minute
	opts.RoundTripper = &roundtripper.DefaultRoundTripper{
		Debug: opts.Debug, TimeoutConfig: opts.TimeoutConfig, CustomDialContext: w.Dialer(""),
	}
	// Kubernetes takes 40 seconds to delete a namespace with pods. All objects are deleted with the local world.
	opts.CleanupBaseResources = false
	gatewayconformance.RunConformanceWithOptions(t, opts)
}

// useWorldResolver makes the default resolver resolve the load balancers of a local world, because the suite's clients for
// TCP, UDP and gRPC do not accept a dialer.
func useWorldResolver(t *testing.T, w *world.World) {
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.ResolverAddress())
		},
	}
	t.Cleanup(func() { net.DefaultResolver = before })
}

// grantSecretAccess allows Fulcrum to read the Secrets that Gateways refer to. The roles in config/rbac do not allow
// that.
func grantSecretAccess(t *testing.T, w *world.World) {
	t.Helper()
	const name = "gateway-secrets"
	_, err := w.KubeClient().RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.KubeClient().RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: "fulcrum"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func startController(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.StartController(worldtest.ControllerPath(t), "--default-target-type=ip", "--import-tls-secrets=gateway"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.AwaitControllerReady(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 40))
		}
	})
}

// defaultConfiguration is the default configuration of all load balancers of the GatewayClass. The UDP servers of the suite
// do not respond to any health check that AWS supports, so they get traffic only because the target groups fail open.
// Traffic must be cross-zone because the suite has only one pod of each server.
const defaultConfiguration = `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: conformance, namespace: default}
spec:
  defaultTargetGroupConfiguration: {name: conformance}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: conformance, namespace: default}
spec:
  defaultConfiguration:
    healthCheckConfig: {healthCheckInterval: 5, healthCheckTimeout: 2, healthyThresholdCount: 2, unhealthyThresholdCount: 2}
    targetGroupAttributes:
    - {key: load_balancing.cross_zone.enabled, value: "true"}
    - {key: deregistration_delay.timeout_seconds, value: "1"}
`

func applyConfiguration(t *testing.T, w *world.World) {
	t.Helper()
	objects, err := manifest.Parse([]byte(defaultConfiguration))
	if err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
}

// createClass creates the GatewayClass and waits until the controller has accepted it, because the suite reads the
// supported features from its status.
func createClass(t *testing.T, c client.Client, controller string) {
	t.Helper()
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: className}}
	class.Spec.ControllerName = gatewayv1.GatewayController(controller)
	class.Spec.ParametersRef = &gatewayv1.ParametersReference{
		Group: "gateway.k8s.aws", Kind: "LoadBalancerConfiguration", Name: "conformance", Namespace: new(gatewayv1.Namespace("default")),
	}
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, time.Minute, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(class), class); err != nil {
			return err
		}
		for _, of := range []gatewayv1.GatewayClassConditionType{gatewayv1.GatewayClassConditionStatusAccepted, gatewayv1.GatewayClassConditionStatusSupportedVersion} {
			if !meta.IsStatusConditionTrue(class.Status.Conditions, string(of)) {
				return fmt.Errorf("condition %s of the GatewayClass is not True: %v", of, class.Status.Conditions)
			}
		}
		return nil
	})
}
