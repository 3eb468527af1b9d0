package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestUpgradesFromEarlierVersions checks upgrades as docs/upgrades.md describes them, for each earlier version in
// tools/release/release.yaml. The earlier controller serves the recorded cases, with the arguments of its own chart. The
// upgrade of chart and controller must make no mutating AWS calls. After this version has applied an edit of an Ingress, the
// downgrade and a second upgrade must not make mutating calls either.
func TestUpgradesFromEarlierVersions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	if worldtest.IsOtherControllerTested() {
		t.Skip("this test upgrades only Fulcrum")
	}
	root := worldtest.SourceRoot(t)
	if out, err := exec.Command("git", "-C", root, "rev-parse", "--is-shallow-repository").Output(); err != nil || strings.TrimSpace(string(out)) != "false" {
		t.Skip("needs the sources of earlier versions; the repository is not a full clone")
	}
	for _, version := range supportedVersions(t, root) {
		t.Run(version, func(t *testing.T) { checkUpgrade(t, buildEarlierVersion(t, root, version)) })
	}
}

// supportedVersions returns the tags or commits in tools/release/release.yaml from which an upgrade is supported.
func supportedVersions(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "tools/release/release.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		UpgradesFrom []string `json:"upgradesFrom"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.UpgradesFrom) == 0 {
		t.Fatalf("upgradesFrom in tools/release/release.yaml: %v, %v", file.UpgradesFrom, err)
	}
	return file.UpgradesFrom
}

// earlierVersion contains the paths of the chart, the directory of CRDs and the program of an earlier version.
type earlierVersion struct{ chart, definitions, program string }

// buildEarlierVersion builds a version (a tag or commit) from its source in the repository root. A second build takes only
// seconds, because Go caches compiled packages, and linked programs of "go run".
func buildEarlierVersion(t *testing.T, root, version string) earlierVersion {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", `
git -C "$1" archive "$2" | tar -x -C "$3"
cd "$3" && go run -trimpath -exec "install -m 755" ./cmd/fulcrum "$3/fulcrum.built"`, "-", root, version, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("build version %s: %v\n%s", version, err, out)
	}
	return earlierVersion{chart: filepath.Join(dir, "charts/fulcrum"), definitions: filepath.Join(dir, "config/crd"), program: filepath.Join(dir, "fulcrum.built")}
}

// upgradeValues are the chart values in checkUpgrade. The chart creates no IngressClass, because the recorded cases have
// one.
const upgradeValues = "clusterName: " + harness.ClusterName + "\ncreateIngressClassResource: false\nimage: {repository: registry.example.com/fulcrum, tag: v0}\n"

func checkUpgrade(t *testing.T, from earlierVersion) {
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
	sh.requireNoError(os.WriteFile(filepath.Join(sh.dir, "values.yaml"), []byte(upgradeValues), 0o600))
	runs := applyRecordedCases(t, w)

	sh.mustRun("kubectl apply --server-side --force-conflicts -f " + from.definitions)
	chart := func(command string) {
		t.Helper()
		sh.mustRun(command)
		// No pod in a local world serves the webhooks of the chart, so their configurations would block all changes. Helm
		// creates the configurations each time.
		sh.mustRun("kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations --all")
	}
	chart("helm install " + releaseName + " " + from.chart + " -n kube-system -f values.yaml")
	startControllerProgram(t, s, from.program)
	worldtest.Eventually(t, 5*time.Minute, func(ctx context.Context) error { return checkEmptyPlan(ctx, sh, from.program) })
	aws, kubernetes := awsAndObjectState(t, s)
	sh.requireNoError(w.StopController())

	same := func(when string) {
		t.Helper()
		nowAWS, nowKubernetes := awsAndObjectState(t, s)
		if d := cmp.Diff(aws, nowAWS); d != "" {
			t.Errorf("%s: AWS changed:\n%s", when, d)
		}
		if d := cmp.Diff(kubernetes, nowKubernetes); d != "" {
			t.Errorf("%s: objects changed:\n%s", when, d)
		}
	}
	swap := func(when, program, command string) {
		t.Helper()
		chart(command)
		_, err := s.readOrResetCallLog([]string{"reset"})
		sh.requireNoError(err)
		startControllerProgram(t, s, program)
		checkNoMutatingCalls(t, s, runs)
		same(when)
		text, err := s.readOrResetCallLog(nil)
		sh.requireNoError(err)
		t.Logf("%s, in the first seconds: %s", when, strings.TrimSpace(text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]))
	}
	now := worldtest.ControllerPath(t)
	upgraded := "helm upgrade " + releaseName + " charts/fulcrum -n kube-system -f values.yaml"
	// As in docs/upgrades.md: first the CRDs, then the plan, then the controller.
	sh.mustRun("kubectl apply --server-side --force-conflicts -f config/crd")
	if out := sh.mustRun("fulcrum plan --cluster-name=" + harness.ClusterName + " --all"); !strings.Contains(out, emptyPlanSummary) {
		t.Errorf("the plan of the upgrade is\n%s", out)
	}
	swap("after the upgrade", now, upgraded)

	// An earlier version also accepts the changes that this version applies after an edit.
	editIngress(t, s, sh)
	aws, kubernetes = awsAndObjectState(t, s)
	sh.requireNoError(w.StopController())
	swap("after the downgrade", from.program, "helm rollback "+releaseName+" 1 -n kube-system")
	sh.requireNoError(w.StopController())
	swap("after the second upgrade", now, upgraded)
	sh.requireNoError(w.StopController())
}

// applyRecordedCases creates the objects and pods of the recorded cases in a local world, and the AWS resources to which they
// refer. No controller has served them yet. It returns the number of stacks and bindings.
func applyRecordedCases(t *testing.T, w *world.World) int {
	t.Helper()
	p := newRecordedStateBuilder(t, w)
	p.applyAll(p.seedResources())
	return countRecordedStacksAndBindings(t)
}

// checkEmptyPlan runs the command "plan" of program, and returns an error if the plan has changes.
func checkEmptyPlan(ctx context.Context, sh *shell, program string) error {
	out, code := sh.tryCommand(fmt.Sprintf("%s plan --cluster-name=%s --all %q", program, harness.ClusterName, highRateLimitsFlag))
	if code != 0 {
		return fmt.Errorf("the plan has changes or failed, exit code %d:\n%s", code, out)
	}
	return ctx.Err()
}

// editIngress adds a path to an Ingress, and waits until this version has applied the edit.
func editIngress(t *testing.T, s *scriptCluster, sh *shell) {
	t.Helper()
	const namespace = "ingress-minimal"
	ingresses := s.World.KubeClient().NetworkingV1().Ingresses(namespace)
	list, err := ingresses.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%d Ingresses in %s, %v", len(list.Items), namespace, err)
	}
	more := list.Items[0].Spec.Rules[0].HTTP.Paths[0].DeepCopy()
	more.Path = "/upgraded"
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/rules/0/http/paths/-", "value": more}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingresses.Patch(t.Context(), list.Items[0].Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	worldtest.Eventually(t, 2*time.Minute, func(ctx context.Context) error { return checkEmptyPlan(ctx, sh, worldtest.ControllerPath(t)) })
}
