package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// plainGateway contains GatewayClass "alb" and a Gateway; %[1]s is the name of the Gateway.
const plainGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[1]s, namespace: default}
spec: {gatewayClassName: alb, listeners: [{name: http, port: 80, protocol: HTTP}]}
`

// TestClusterWithoutGatewayAPI starts a local world without the CRDs of the Gateway API, for two tests.
func TestClusterWithoutGatewayAPI(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: "later", Nodes: 1})
	t.Run("Gateways are served when the Gateway API is installed later", func(t *testing.T) { testGatewayKindsInstalledLater(t, w) })
	if err := w.KillController(); err != nil {
		t.Fatal(err)
	}
	t.Run("the API server calls the webhooks", func(t *testing.T) { testAdmission(t, w) })
}

// testGatewayKindsInstalledLater checks that the controller starts in a cluster without the Gateway API, serves Gateways
// when the Gateway API is installed, and serves new Gateways after the CRD of UDPRoute is deleted.
func testGatewayKindsInstalledLater(t *testing.T, w *world.World) {
	if err := w.StartController(worldtest.ControllerPath(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := world.GatewayAPICRDs("standard")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(objects []*unstructured.Unstructured) {
		t.Helper()
		if err := applier.Apply(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(name string) {
		t.Helper()
		objects, err := manifest.Parse(fmt.Appendf(nil, plainGateway, name))
		if err != nil {
			t.Fatal(err)
		}
		apply(objects)
		worldtest.Eventually(t, defaultWaitLimit, gatewayProgrammedCheck(t, w, name))
	}
	apply(kinds)
	serve("first")

	var gone []*unstructured.Unstructured
	for _, crd := range kinds {
		if strings.HasPrefix(crd.GetName(), "udproutes.") {
			gone = append(gone, crd)
		}
	}
	if len(gone) != 1 {
		t.Fatalf("%d CRDs define UDPRoute, want 1", len(gone))
	}
	if err := applier.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	serve("second")
	if !w.IsAlive(world.RoleController) {
		t.Error(w.LogTail(world.RoleController, 20))
	}
}

// gatewayProgrammedCheck returns a function that returns an error unless a Gateway has the condition Programmed.
func gatewayProgrammedCheck(t *testing.T, w *world.World, name string) func(context.Context) error {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := kubeclient.New(w.RESTConfig(), kubeclient.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		gw := &gatewayv1.Gateway{}
		if err := c.Get(ctx, kubeclient.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, gw); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(gw.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed)) {
			return fmt.Errorf("%w: %+v", errors.New("the Gateway does not have the condition Programmed"), gw.Status.Conditions)
		}
		return nil
	}
}
