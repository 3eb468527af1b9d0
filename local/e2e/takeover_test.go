package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/internal/test/cases"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// highRateLimitsFlag is a controller flag that raises the rate limits of AWS calls. With the default limits, reading 33
// load balancers would be the longest part of the test.
const highRateLimitsFlag = "--aws-api-throttle=Elastic Load Balancing v2:.*=500:500,EC2:.*=500:500"

// TestTakeOverRehearsal runs the commands of docs/install.md in a local world. Then it creates the state that another
// controller leaves after it has served the recorded cases, and runs the commands of docs/takeover.md. The plan must have no
// changes. The takeover, and a second takeover after a rollback, must make no mutating AWS calls. After the rollback, AWS
// and the objects must be as the other controller left them. At the end, the test runs the commands of other pages.
func TestTakeOverRehearsal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: harness.ClusterName, Region: harness.Region, Nodes: 3, ActiveImmediately: true, GatewayAPI: "standard"})
	t.Cleanup(func() {
		if t.Failed() && w.HasStarted(world.RoleController) {
			t.Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 40))
		}
	})
	s := &scriptCluster{ctx: t.Context()}
	var err error
	if s.Scenario, err = scenario.New(w); err != nil {
		t.Fatal(err)
	}
	sh := newShell(t, w, highRateLimitsFlag)
	sh.createRelease()
	followInstallPage(t, s, sh)
	followTakeOverPage(t, s, sh, createRecordedState(t, w))
	sh.mustRun("helm uninstall -n kube-system aws-load-balancer-controller")
	sh.requireNoError(os.WriteFile(filepath.Join(sh.dir, "web.yaml"), cases.ManifestText(t, "ingress-minimal", harness.Seeded{}), 0o600))
	sh.runOtherCommands()
}

const releaseName = "aws-load-balancer-controller"

// followInstallPage runs the commands of docs/install.md. The pods of the Deployment run no controller in a local world, so
// the controller is a process outside the cluster, with the arguments of the pods.
func followInstallPage(t *testing.T, s *scriptCluster, sh *shell) {
	t.Helper()
	sh.followPage("docs/install.md", map[string]func(command, output string){
		"kubectl -n kube-system rollout status": func(string, string) {
			image := sh.mustRun("kubectl -n kube-system get deployment " + releaseName + " -o jsonpath={.spec.template.spec.containers[0].image}")
			if index := sh.mustRun("cat image/index.json"); !strings.Contains(index, "\""+image[strings.Index(image, "@")+1:]+"\"") {
				t.Errorf("the Deployment has image %s, which is not in the image index of the release:\n%s", image, index)
			}
			startControllerAsDeployed(t, s)
		},
		"kubectl fulcrum version": func(_, output string) {
			if output != "started\n" {
				t.Errorf("the plugin prints %q", output)
			}
		},
		"fulcrum plan": func(_, output string) {
			if !strings.HasSuffix(output, "\nno object that was read belongs to a load balancer of this controller\n") || !strings.HasPrefix(output, "# with the flags of the controller that holds Lease ") {
				t.Errorf("the plan of an empty cluster is\n%s", output)
			}
		},
		"helm template charts/fulcrum --set clustername=": func(_, output string) {
			if !strings.Contains(output, "additional properties 'clustername' not allowed") {
				t.Errorf("Helm does not reject the misspelled value as expected:\n%s", output)
			}
		},
		"helm uninstall": func(string, string) { sh.requireNoError(s.World.StopController()) },
	})
	if out := sh.mustRun("kubectl -n kube-system get secret,deployment -o name"); strings.Contains(out, "fulcrum") || strings.Contains(out, "aws-load-balancer") {
		t.Errorf("these objects still exist after the uninstallation:\n%s", out)
	}
	sh.mustRun("kubectl get crd ingressclassparams.elbv2.k8s.aws targetgroupbindings.elbv2.k8s.aws")
}

// emptyPlanSummary is the summary line that `fulcrum plan` prints if there are no changes.
const emptyPlanSummary = "\nplan: 0 to create, 0 to change, 0 to replace, 0 to delete\n"

// followTakeOverPage runs the commands of docs/takeover.md, for a release of the other chart and the resources of its
// controller. runs is the number of stacks and bindings.
func followTakeOverPage(t *testing.T, s *scriptCluster, sh *shell, runs int) {
	t.Helper()
	applier, err := manifest.NewApplier(s.World.RESTConfig())
	sh.requireNoError(err)
	ours, err := manifest.Load(filepath.Join(goldenDir, "default.yaml"))
	sh.requireNoError(err)
	r := &helmRelease{shell: sh, applier: applier, name: "default", valuesFile: "theirs.yaml"}
	// The release creates no IngressClass, because the recorded cases have one.
	ours = slices.DeleteFunc(ours, func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetKind(), "IngressClass") })
	values := "clusterName: " + harness.ClusterName + "\ncreateIngressClassResource: false\n"
	sh.requireNoError(os.WriteFile(filepath.Join(sh.dir, r.valuesFile), []byte(values), 0o600))
	r.runHelm("install "+r.writeChart(toOtherChart(t, ours, webhookSecret(t)), false)+" --server-side=false", nil)
	aws, kubernetes := awsAndObjectState(t, s)

	swap := func(command, _ string) {
		if strings.Contains(command, "--dry-run") {
			return
		}
		sh.mustRun("kubectl -n kube-system rollout status deployment/" + releaseName)
		_, err := s.readOrResetCallLog([]string{"reset"})
		sh.requireNoError(err)
		startControllerAsDeployed(t, s)
		checkNoMutatingCalls(t, s, runs)
	}
	back := func(string, string) {
		if s.World.IsAlive(world.RoleController) {
			sh.requireNoError(s.World.StopController())
		}
		nowAWS, nowKubernetes := awsAndObjectState(t, s)
		if d := cmp.Diff(aws, nowAWS); d != "" {
			t.Errorf("AWS changed:\n%s", d)
		}
		if d := cmp.Diff(kubernetes, nowKubernetes); d != "" {
			t.Errorf("objects changed:\n%s", d)
		}
		if out := sh.mustRun("kubectl -n kube-system get deployment " + releaseName + " -o yaml"); !strings.Contains(out, "registry.example.com/"+releaseName+":v3.5.0") {
			t.Errorf("the rollback does not restore the image of the other controller:\n%s", out)
		}
		deleteFulcrumState(t, s) // the second takeover begins as if only the other controller had run
	}
	sh.followPage("docs/takeover.md", map[string]func(command, output string){
		"fulcrum plan": func(_, output string) {
			if !strings.Contains(output, emptyPlanSummary) {
				t.Errorf("the plan has changes:\n%s", output)
			}
		},
		"helm upgrade":   swap,
		"helm rollback ": back,
	})
}

// startControllerAsDeployed starts the controller to test as startControllerProgram does.
func startControllerAsDeployed(t *testing.T, s *scriptCluster) {
	t.Helper()
	startControllerProgram(t, s, worldtest.ControllerPath(t))
}

// startControllerProgram starts a controller with the arguments of the container in Deployment
// aws-load-balancer-controller. It waits until the controller is ready and its lease exists.
func startControllerProgram(t *testing.T, s *scriptCluster, program string) {
	t.Helper()
	d, err := s.World.KubeClient().AppsV1().Deployments("kube-system").Get(t.Context(), releaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// In a pod, leader election is on by default, and the namespace of the Lease is that of the pod.
	args := append(d.Spec.Template.Spec.Containers[0].Args, "--enable-leader-election=true", "--leader-election-namespace=kube-system", highRateLimitsFlag)
	if err := s.World.StartController(program, args...); err != nil {
		t.Fatal(err)
	}
	if err := s.World.AwaitControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
		_, err := s.World.KubeClient().CoordinationV1().Leases("kube-system").Get(ctx, "aws-load-balancer-controller-leader", metav1.GetOptions{})
		return err
	})
}

// deleteFulcrumState deletes the Secrets that only Fulcrum creates, and its lease.
func deleteFulcrumState(t *testing.T, s *scriptCluster) {
	t.Helper()
	kube := s.World.KubeClient()
	for _, name := range []string{"fulcrum-checkpoints", "fulcrum-memberships"} {
		if err := kube.CoreV1().Secrets("kube-system").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if err := kube.CoordinationV1().Leases("kube-system").Delete(t.Context(), "aws-load-balancer-controller-leader", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// awsAndObjectState returns the sorted inventory of AWS, and the objects with load balancers by manifest.KindAndName:
// their UID, finalizers, labels, annotations, spec and status. It omits the annotations with which Fulcrum stores
// checkpoints.
func awsAndObjectState(t *testing.T, s *scriptCluster) ([]string, map[string]any) {
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
			out[manifest.KindAndName(&u)] = []any{u.GetUID(), u.GetFinalizers(), u.GetLabels(), notes, u.Object["spec"], u.Object["status"]}
		}
	}
	return slices.Sorted(slices.Values(inventory)), out
}

// fillProtocols changes each empty field "protocol" in v, at any depth, to TCP. Fulcrum does the same in the status of
// objects that the other controller has written, so this is not a difference.
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

// checkNoMutatingCalls waits until the controller has done at least the given number of runs, and then checks for five
// seconds that it has made no mutating AWS calls since the last reset of the call log.
func checkNoMutatingCalls(t *testing.T, s *scriptCluster, runs int) {
	t.Helper()
	worldtest.Eventually(t, defaultWaitLimit, func(ctx context.Context) error {
		r, err := scenario.Get(ctx, http.DefaultClient, s.World.ControllerMetricsURL(), nil)
		if err != nil {
			return err
		}
		n, err := inspect.ReconcileCount(r.Body)
		if err != nil {
			return err
		}
		if n < runs {
			return fmt.Errorf("%d of %d reconciles are done", n, runs)
		}
		return nil
	})
	err := await.Consistently(t.Context(), 5*time.Second, func(context.Context) error {
		text, err := s.readOrResetCallLog([]string{"-mutating"})
		if err == nil && text != "sum 0\n" {
			err = fmt.Errorf("mutating AWS calls: %s", text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
