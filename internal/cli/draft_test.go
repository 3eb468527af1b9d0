package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// startEmulator starts an emulator with a VPC and subnets. It returns the emulator, and the flags with which commands use
// it.
func startEmulator(t *testing.T) (*emulator.Emulator, []string) {
	t.Helper()
	em := emulator.New(emulator.Options{})
	seeded, err := harness.Seed(t.Context(), em)
	if err != nil {
		t.Fatal(err)
	}
	createOtherTargetGroup(em)
	return em, emulatorFlags(t, em, seeded.VPC)
}

// emulatorFlags serves an emulator over HTTP, and sets environment variables with credentials for it. It clears the call log
// of the emulator, and returns the flags with which commands use the emulator.
func emulatorFlags(t *testing.T, em *emulator.Emulator, vpc string) []string {
	t.Helper()
	url := serveEmulator(t, em)
	t.Setenv("AWS_ACCESS_KEY_ID", harness.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	var endpoints []string
	for _, s := range []string{"EC2", "Elastic Load Balancing v2", "ACM", "WAFV2", "WAF Regional", "Shield", "STS", "IAM", "Global Accelerator"} {
		endpoints = append(endpoints, s+"="+url)
	}
	em.Calls().Reset()
	return []string{"--cluster-name=" + harness.ClusterName, "--aws-region=" + harness.Region, "--aws-vpc-id=" + vpc,
		"--aws-api-endpoints=" + strings.Join(endpoints, ",")}
}

// serveEmulator serves an emulator over HTTP, and returns its URL.
func serveEmulator(t *testing.T, em *emulator.Emulator) string {
	t.Helper()
	server := httptest.NewServer(em.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// createOtherTargetGroup adds a target group of another owner to the emulator state. It has the fixed ARN that golden files
// name, which the API would not choose.
func createOtherTargetGroup(em *emulator.Emulator) {
	w := em.Store()
	w.Lock()
	defer w.Unlock()
	const arn = "arn:aws:elasticloadbalancing:" + harness.Region + ":" + harness.Account + ":targetgroup/other/1"
	w.Partition(harness.Account, harness.Region).ELB.TargetGroups[arn] = &store.TargetGroup{ARN: arn, Name: "other"}
}

func TestPlanAndTreeShowMissingResourcesAndCreateNone(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		em, flags := startEmulator(t)
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		if err := os.WriteFile(file, []byte(c.Text("cluster.yaml")), 0o600); err != nil {
			t.Fatal(err)
		}
		var out []goldentest.File
		flags = append(flags, strings.Fields(c.Text("flags.txt"))...)
		for _, o := range []struct{ command, name string }{{"plan", "plan.txt"}, {"tree", "tree.txt"}, {"plan -o json", "plan.json"}} {
			code, stdout, stderr := run(t, slices.Concat(strings.Fields(o.command), []string{"-f", file}, flags)...)
			if code == output.ExitFailed {
				t.Fatalf("%s: exit %d: %s", o.command, code, stderr)
			}
			out = append(out, goldentest.File{Name: o.name, Text: strings.ReplaceAll(stdout, file, "cluster.yaml")})
		}
		if n := em.Calls().CountMutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return out
	})
}

func TestPlanFromRecordingEqualsPlanFromAWS(t *testing.T) {
	_, flags := startEmulator(t)
	dir := t.TempDir()
	file, rec := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "aws.json")
	data, err := testdata.ReadFile("testdata/new.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "-- cluster.yaml --\n")
	body, _, _ = strings.Cut(body, "-- plan.txt --")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	code, live, stderr := run(t, append([]string{"plan", "-f", file, "--record", rec}, flags...)...)
	if code != output.ExitChanges {
		t.Fatal(stderr)
	}
	code, offline, stderr := run(t, "plan", "-f", file, "--observed", rec, "--cluster-name="+harness.ClusterName)
	if code != output.ExitChanges {
		t.Fatal(stderr)
	}
	if d := cmp.Diff(live, offline); d != "" || !strings.Contains(live, "+ create load-balancer") {
		t.Errorf("%s\n%s", live, d)
	}
}
