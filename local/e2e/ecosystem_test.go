package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// ecosystemVariable is the environment variable with the directory of third-party programs, such as external-dns, which
// `make ecosystem` builds. Real clusters run them together with Fulcrum.
const ecosystemVariable = "FULCRUM_ECOSYSTEM"

// TestEcosystem runs testdata/ecosystem/*.txtar, which are scripts with third-party programs. `make ecosystem` runs it;
// other test runs skip it.
func TestEcosystem(t *testing.T) {
	if os.Getenv(ecosystemVariable) == "" {
		t.Skip("takes minutes to build; " + ecosystemVariable + " is not set")
	}
	t.Parallel()
	runScripts(t, filepath.Join("testdata", "ecosystem"))
}

// cmdProgram starts a third-party program in the background, with the environment variables of World.Environment. The
// program is killed at the end of the script.
func cmdProgram(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: program NAME [ARGUMENT]…")
	}
	path := filepath.Join(os.Getenv(ecosystemVariable), args[0])
	log, err := os.Create(filepath.Join(ts.Getenv("WORK"), args[0]+".log"))
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Env = append(os.Environ(), s.World.Environment()...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Stdout, cmd.Stderr = log, log
	ts.Check(cmd.Start())
	ts.Defer(func() {
		// The program needs no graceful end, because the local world ends too.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil {
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			ts.Logf("the end of the log of %s:\n%s", args[0], strings.Join(lines[max(0, len(lines)-15):], "\n"))
		}
	})
}

// cmdDefinitions implements the script command "definitions PROGRAM MODULE FOLDER". It applies the CRDs in a folder of a Go
// module, in the version that the module ecosystem/PROGRAM requires. It deletes them at the end of the script.
func cmdDefinitions(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	checkArgumentCount(ts, args, 3, "definitions PROGRAM MODULE FOLDER")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fulcrum-lb/fulcrum").Output()
	ts.Check(err)
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", args[1])
	list.Dir = filepath.Join(strings.TrimSpace(string(root)), "ecosystem", args[0])
	dir, err := list.Output()
	ts.Check(err)
	objects, err := manifest.Load(filepath.Join(strings.TrimSpace(string(dir)), args[2]))
	ts.Check(err)
	objects = slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() != "CustomResourceDefinition" })
	checkOutcome(ts, neg, s.applier.Apply(s.ctx, objects))
	ts.Defer(func() { // another script may use the local world later
		if err := s.applier.Delete(context.WithoutCancel(s.ctx), objects); err != nil {
			ts.Logf("delete CRDs: %v", err)
		}
	})
}

// cmdZone creates a public hosted zone, which is deleted at the end of the script.
func cmdZone(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	checkArgumentCount(ts, args, 1, "zone DOMAIN")
	api := route53.NewFromConfig(s.World.AWSConfig())
	made, err := api.CreateHostedZone(s.ctx, &route53.CreateHostedZoneInput{Name: &args[0], CallerReference: aws.String(time.Now().String())})
	checkOutcome(ts, neg, err)
	if err != nil {
		return
	}
	ts.Defer(func() {
		_, err := api.DeleteHostedZone(context.WithoutCancel(s.ctx), &route53.DeleteHostedZoneInput{Id: made.HostedZone.Id})
		if err != nil {
			ts.Logf("delete zone %s: %v", args[0], err)
		}
	})
}

// aliasRecordTarget returns the target of the alias record for a DNS name, in any hosted zone. It returns an error if
// there is none.
func aliasRecordTarget(ctx context.Context, w *world.World, name string) (string, error) {
	api := route53.NewFromConfig(w.AWSConfig())
	zones, err := api.ListHostedZones(ctx, &route53.ListHostedZonesInput{})
	if err != nil {
		return "", err
	}
	for _, z := range zones.HostedZones {
		records, err := api.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: z.Id})
		if err != nil {
			return "", err
		}
		for _, r := range records.ResourceRecordSets {
			if strings.TrimSuffix(aws.ToString(r.Name), ".") == name && r.AliasTarget != nil {
				return strings.TrimSuffix(strings.TrimPrefix(aws.ToString(r.AliasTarget.DNSName), "dualstack."), "."), nil
			}
		}
	}
	return "", fmt.Errorf("there is no alias record %s", name)
}

// checkAliasRecord returns an error unless the target of the alias record for name is the load balancer in the status of ref,
// which is as in hostname. If ref is "-", it returns an error if there is a record.
func checkAliasRecord(ctx context.Context, s *scriptCluster, name, ref string) error {
	at, err := aliasRecordTarget(ctx, s.World, name)
	if ref == "-" {
		if err == nil {
			return fmt.Errorf("alias record %s points to %s, want no record", name, at)
		}
		return nil
	}
	if err != nil {
		return err
	}
	want, err := s.hostname(ctx, ref)
	if err == nil && !strings.EqualFold(at, want) {
		err = fmt.Errorf("alias record %s points to %s, but the status has %s", name, at, want)
	}
	return err
}

// cmdShares sends 200 requests and compares the percentage that pods with a matching name serve with PERCENT. It repeats
// this until they are equal, within 12 percentage points, which are more than three standard deviations of 200 random
// choices. 0 and 100 percent must be exact.
func cmdShares(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	checkArgumentCount(ts, args, 4, "shares NS/INGRESS URL POD-PATTERN PERCENT")
	pattern := regexp.MustCompile(args[2])
	want, err := strconv.Atoi(args[3])
	ts.Check(err)
	checkOutcome(ts, neg, await.Success(s.ctx, defaultWaitLimit, func(ctx context.Context) error {
		to, err := s.hostname(ctx, args[0])
		if err != nil {
			return err
		}
		const requests = 200
		pods := map[string]int{}
		matching := 0
		for range requests {
			r, err := scenario.Get(ctx, s.World.HTTPClient(to), args[1], nil)
			switch {
			case err != nil:
				return err
			case r.Status != http.StatusOK || r.Pod == nil:
				return errors.New("unexpected response: " + r.String())
			}
			pods[r.Pod.Pod]++
			if pattern.MatchString(r.Pod.Pod) {
				matching++
			}
		}
		if got := 100 * matching / requests; got < want-12 || got > want+12 || want%100 == 0 && got != want {
			return fmt.Errorf("%d %% of the requests reach pods that match %s; pods: %v", got, args[2], slices.Sorted(maps.Keys(pods)))
		}
		return nil
	}))
}

var rolloutsResource = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}

// cmdRollouts implements the script command "argo". "argo promote" ends the current pause of a canary, and "argo abort"
// rolls back, as the kubectl plugin of Argo Rollouts does. "argo stable" waits until the rollout is healthy, and stores the
// hash of its stable pods in the variable STABLE.
func cmdRollouts(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	const usage = "argo promote|abort|stable NS/ROLLOUT"
	checkArgumentCount(ts, args, 2, usage)
	if !slices.Contains([]string{"promote", "abort", "stable"}, args[0]) {
		ts.Fatalf("usage: %s", usage)
	}
	ns, name := splitReference(ts, args[1])
	client, err := dynamic.NewForConfig(s.World.RESTConfig())
	ts.Check(err)
	api := client.Resource(rolloutsResource).Namespace(ns)
	patch := map[string]string{"promote": `{"status":{"pauseConditions":null}}`, "abort": `{"status":{"abort":true}}`}[args[0]]
	if args[0] == "promote" {
		ts.Check(await.Success(s.ctx, defaultWaitLimit, func(ctx context.Context) error {
			u, err := api.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if pauses, _, _ := unstructured.NestedSlice(u.Object, "status", "pauseConditions"); len(pauses) == 0 {
				return fmt.Errorf("rollout %s is not paused", args[1])
			}
			return nil
		}))
	}
	if patch != "" {
		_, err := api.Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		checkOutcome(ts, neg, err)
		return
	}
	checkOutcome(ts, neg, await.Success(s.ctx, defaultWaitLimit, func(ctx context.Context) error {
		u, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		hash, _, _ := unstructured.NestedString(u.Object, "status", "stableRS")
		if phase != "Healthy" || hash == "" {
			return fmt.Errorf("rollout %s is %q, its stable pods have the hash %q", args[1], phase, hash)
		}
		ts.Setenv("STABLE", hash)
		return nil
	}))
}

// cmdCASecret creates a Secret with the CA of the local world and its key.
func cmdCASecret(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	checkArgumentCount(ts, args, 1, "ca-secret NS/NAME")
	ns, name := splitReference(ts, args[0])
	ca, err := os.ReadFile(s.World.CAFile())
	ts.Check(err)
	key, err := os.ReadFile(filepath.Join(filepath.Dir(s.World.CAFile()), "ca.key"))
	ts.Check(err)
	_, err = s.World.KubeClient().CoreV1().Secrets(ns).Create(s.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: ca, corev1.TLSPrivateKeyKey: key},
	}, metav1.CreateOptions{})
	checkOutcome(ts, neg, err)
	ts.Defer(func() {
		if err := s.World.KubeClient().CoreV1().Secrets(ns).Delete(context.WithoutCancel(s.ctx), name, metav1.DeleteOptions{}); err != nil {
			ts.Logf("delete Secret %s: %v", args[0], err)
		}
	})
}

var certificatesResource = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}

// cmdRenew makes cert-manager renew a Certificate, as "cmctl renew" does, and waits for the next revision in its status.
func cmdRenew(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	checkArgumentCount(ts, args, 1, "renew NS/CERTIFICATE")
	ns, name := splitReference(ts, args[0])
	client, err := dynamic.NewForConfig(s.World.RESTConfig())
	ts.Check(err)
	api := client.Resource(certificatesResource).Namespace(ns)
	u, err := api.Get(s.ctx, name, metav1.GetOptions{})
	ts.Check(err)
	before, _, _ := unstructured.NestedInt64(u.Object, "status", "revision")
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by a script",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": u.GetGeneration(),
	})
	ts.Check(unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions"))
	_, err = api.UpdateStatus(s.ctx, u, metav1.UpdateOptions{})
	ts.Check(err)
	checkOutcome(ts, neg, await.Success(s.ctx, defaultWaitLimit, func(ctx context.Context) error {
		u, err := api.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now, _, _ := unstructured.NestedInt64(u.Object, "status", "revision"); now <= before {
			return fmt.Errorf("certificate %s still has revision %d", args[0], now)
		}
		return nil
	}))
}
