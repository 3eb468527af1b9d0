package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// writeTempFiles writes files to a new temporary directory, and returns the directory.
func writeTempFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runWithInput runs a command line with the given standard input and environment variables.
func runWithInput(t *testing.T, stdin string, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), output.Environment{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(k string) string { return env[k] },
	})
	return code, out.String(), errs.String()
}

const classYAML = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`

const serviceYAML = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, ports: [{port: 80}]}
`

const ingressYAML = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: alb
  defaultBackend: {service: {name: web, port: {number: 80}}}
`

// TestObjectsComeFromFilesDirectoriesAndStandardInput checks that the plan is the same whether the objects are in files, in
// a directory, in standard input, or in several of these.
func TestObjectsComeFromFilesDirectoriesAndStandardInput(t *testing.T) {
	_, flags := startEmulator(t)
	dir := writeTempFiles(t, map[string]string{"1.yaml": classYAML, "2.YML": serviceYAML, "3.yaml": ingressYAML, "notes.txt": "no object", "old/4.yaml": "no: object"})
	file := func(n string) string { return filepath.Join(dir, n) }
	all := strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n")
	var want string
	for _, tc := range []struct {
		name, stdin string
		args        []string
	}{
		{"directory", "", []string{"-f", dir}},
		{"files", "", []string{"-f", file("1.yaml"), "-f", file("2.YML"), "-f", file("3.yaml")}},
		{"standard input", all, []string{"-f", "-"}},
		{"both", ingressYAML, []string{"-f", file("1.yaml"), "-f", "-", "-f", file("2.YML")}},
	} {
		code, out, stderr := runWithInput(t, tc.stdin, nil, slices.Concat([]string{"plan"}, tc.args, flags)...)
		if code != output.ExitChanges {
			t.Fatalf("%s: exit %d: %s", tc.name, code, stderr)
		}
		if want == "" {
			want = out
		}
		if out != want || !strings.Contains(out, "+ create load-balancer/LoadBalancer") {
			t.Errorf("%s:\n%s", tc.name, out)
		}
	}
}

func TestADirectoryWithoutManifestsIsAnError(t *testing.T) {
	dir := writeTempFiles(t, map[string]string{"readme.md": ""})
	code, _, stderr := run(t, "plan", "--cluster-name=c", "-f", dir)
	if code != 1 || !strings.Contains(stderr, "has no file that ends in .yaml") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// unusedAddress returns an address on which nothing listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func kubeconfigOf(address string) string {
	return `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://` + address + `"}}]
users: [{name: u, user: {}}]
`
}

// TestKubeconfigIsReadFromEnvironment checks that KUBECONFIG selects the cluster of a command, that --kubeconfig overrides
// it, and that ~/.kube/config is the default. If the API server does not answer, the command fails, also if files are given.
func TestKubeconfigIsReadFromEnvironment(t *testing.T) {
	_, flags := startEmulator(t)
	first, second := unusedAddress(t), unusedAddress(t)
	dir := writeTempFiles(t, map[string]string{"first": kubeconfigOf(first), "second": kubeconfigOf(second), "empty": "", "objects/web.yaml": classYAML + "---\n" + serviceYAML + "---\n" + ingressYAML})
	path := func(name string) string { return filepath.Join(dir, name) }
	tests := map[string]struct {
		kubeconfig string
		args       []string
		want       string
	}{
		"environment":         {path("first"), nil, `the API server at "http://` + first + `" does not answer: `},
		"the flag wins":       {path("first"), []string{"--kubeconfig", path("second")}, `the API server at "http://` + second + `" does not answer: `},
		"a list of files":     {path("none") + string(filepath.ListSeparator) + path("first"), nil, `"http://` + first + `" does not answer`},
		"with files":          {path("first"), []string{"-f", path("objects")}, "or plan without the cluster by --files-only"},
		"no such file":        {path("none"), nil, `KUBECONFIG "` + path("none") + `" names no cluster`},
		"empty file":          {path("empty"), nil, "names no cluster"},
		"nothing":             {"", nil, "give objects with -f or a cluster with --kubeconfig or KUBECONFIG"},
		"no file of the flag": {path("first"), []string{"--kubeconfig", path("none")}, `--kubeconfig "` + path("none") + `" cannot be read`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"plan", "tree", "orphans"} {
				if command == "orphans" && slices.Contains(tc.args, "-f") {
					continue
				}
				code, _, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": tc.kubeconfig}, slices.Concat([]string{command}, tc.args, flags)...)
				if code != 1 || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("exit %d: %s", code, stderr)
				}
			}
		})
	}
	t.Run("files only", func(t *testing.T) {
		code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": path("first")}, slices.Concat([]string{"plan", "--files-only", "-f", path("objects")}, flags)...)
		if code != output.ExitChanges || !strings.Contains(out, "+ create load-balancer") {
			t.Errorf("exit %d: %s", code, stderr)
		}
		code, _, stderr = runWithInput(t, "", map[string]string{"KUBECONFIG": path("first")}, slices.Concat([]string{"plan", "--files-only"}, flags)...)
		if code != output.ExitFailed || !strings.Contains(stderr, "--files-only needs the objects of files; name them with -f") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
	home := writeTempFiles(t, map[string]string{".kube/config": kubeconfigOf(first)})
	t.Run("home", func(t *testing.T) {
		code, _, stderr := runWithInput(t, "", map[string]string{"HOME": home}, slices.Concat([]string{"plan"}, flags)...)
		if code != 1 || !strings.Contains(stderr, `the API server at "http://`+first+`" does not answer: `) {
			t.Errorf("exit %d: %s", code, stderr)
		}
		code, _, stderr = runWithInput(t, "", map[string]string{"HOME": home, "KUBECONFIG": path("second")}, slices.Concat([]string{"plan"}, flags)...)
		if code != 1 || !strings.Contains(stderr, second) {
			t.Errorf("exit %d: %s", code, stderr)
		}
		code, _, stderr = runWithInput(t, "", map[string]string{"HOME": dir}, slices.Concat([]string{"plan"}, flags)...)
		if code != 1 || !strings.Contains(stderr, `.kube/config" cannot be read either`) {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
	t.Run("controller", func(t *testing.T) {
		code, _, stderr := runWithInput(t, "", map[string]string{"HOME": home}, "--cluster-name=c")
		if code != 1 || !strings.Contains(stderr, "neither --kubeconfig nor KUBECONFIG is set") {
			t.Errorf("exit %d: %s", code, stderr)
		}
	})
}

// TestAWSSettingsAreReadFromEnvironment checks that environment variables set the region and the endpoints of AWS, as for
// the AWS CLI. AWS_ENDPOINT_URL is for all services. A variable for one service overrides it.
func TestAWSSettingsAreReadFromEnvironment(t *testing.T) {
	em, flags := startEmulator(t)
	flags = slices.DeleteFunc(flags, func(f string) bool {
		return strings.HasPrefix(f, "--aws-api-endpoints") || strings.HasPrefix(f, "--aws-region")
	})
	url := serveEmulator(t, em)
	dir := writeTempFiles(t, map[string]string{"web.yaml": classYAML + "---\n" + serviceYAML + "---\n" + ingressYAML})
	nowhere := "http://" + unusedAddress(t)
	for name, env := range map[string]map[string]string{
		"one for all":    {"AWS_ENDPOINT_URL": url, "AWS_REGION": harness.Region},
		"default region": {"AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": harness.Region},
		"one for each":   {"AWS_ENDPOINT_URL": nowhere, "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2": url, "AWS_ENDPOINT_URL_EC2": url, "AWS_ENDPOINT_URL_WAFV2": url, "AWS_ENDPOINT_URL_WAF_REGIONAL": url, "AWS_ENDPOINT_URL_SHIELD": url, "AWS_REGION": harness.Region},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			for _, command := range []string{"plan", "tree"} {
				code, out, stderr := runWithInput(t, "", env, slices.Concat([]string{command, "-f", dir}, flags)...)
				if code == output.ExitFailed || !strings.Contains(out, "load-balancer") && !strings.Contains(out, "load balancer") {
					t.Errorf("%s: exit %d: %s%s", command, code, stderr, out)
				}
			}
		})
	}
}

// TestUnreachableAWSIsReported checks that plan fails with a short error if an AWS endpoint does not answer, or is another
// server.
func TestUnreachableAWSIsReported(t *testing.T) {
	_, flags := startEmulator(t)
	dir := writeTempFiles(t, map[string]string{"web.yaml": classYAML + "---\n" + serviceYAML + "---\n" + ingressYAML})
	nowhere := "http://" + unusedAddress(t)
	flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--aws-api-endpoints") })
	t.Setenv("AWS_ENDPOINT_URL", nowhere)
	code, _, stderr := runWithInput(t, "", nil, slices.Concat([]string{"plan", "-f", dir, "--aws-max-retries=1"}, flags)...)
	if code != 1 || !strings.Contains(stderr, `AWS does not answer at "`+nowhere+`/": dial tcp`) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	t.Setenv("AWS_ENDPOINT_URL", elsewhere.URL)
	code, _, stderr = runWithInput(t, "", nil, slices.Concat([]string{"plan", "-f", dir}, flags)...)
	if code != 1 || !strings.Contains(stderr, `AWS refuses the call "Elastic Load Balancing v2 DescribeLoadBalancers"`) || strings.Contains(stderr, "RequestID") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestMachineReadablePlanIsOneDocument checks that the JSON output of plan for several load balancers is one document. Its
// summary counts a shared step once.
func TestMachineReadablePlanIsOneDocument(t *testing.T) {
	_, flags := startEmulator(t)
	second := strings.Replace(ingressYAML, "name: web, namespace: shop", "name: other, namespace: shop", 1)
	text := strings.Join([]string{classYAML, serviceYAML, ingressYAML, second}, "---\n")
	code, out, stderr := runWithInput(t, text, nil, slices.Concat([]string{"plan", "-o", "json", "-f", "-"}, flags)...)
	var doc PlanDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 2 {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	sum := doc.Stacks[0].Summary.Add(doc.Stacks[1].Summary)
	sum.Create-- // the shared backend security group, which both stacks create
	if len(doc.Stacks) != 2 || doc.Summary != sum || doc.Summary.Create == 0 {
		t.Errorf("%+v", doc.Summary)
	}
	for _, s := range doc.Stacks {
		if len(s.Steps) == 0 || s.Result == nil || s.Steps[0].Verb == "" {
			t.Errorf("%s: %d steps", s.ID, len(s.Steps))
		}
	}
	code, out, stderr = runWithInput(t, classYAML, nil, slices.Concat([]string{"plan", "-o", "json", "-f", "-"}, flags)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Stacks) != 0 {
		t.Errorf("exit %d, %v: %s%s", code, err, out, stderr)
	}
}

// TestFilesWithoutUsableObjectsAreReported checks that commands fail and print the reason if the files have no object of a
// kind that the commands read.
func TestFilesWithoutUsableObjectsAreReported(t *testing.T) {
	_, flags := startEmulator(t)
	tests := map[string]struct {
		text string
		code int
		want string
	}{
		"mistyped kind": {"apiVersion: networking.k8s.io/v1\nkind: Ingres\nmetadata: {name: x}\n", 1, `# -: networking.k8s.io/v1 Ingres x is not used (did you mean "Ingress"?)`},
		"old version":   {"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: x}\n", 1, `# -: extensions/v1beta1 Ingress x is not used; kind Ingress is read with apiVersion "networking.k8s.io/v1"`},
		"other kind":    {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n", 1, "# -: apps/v1 Deployment x is not used\n"},
		"nothing":       {"# a comment\n", 1, "# - contains no object\n"},
		"no object":     {"module example.com/x\n", 1, "Error: -: document 1: not a Kubernetes object; it needs apiVersion, kind and metadata\n"},
		"bare name":     {"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: off}\n", 1, "Error: -: document 1: metadata.name is of type bool, which is not allowed there; write it in quotes if it should be a string\n"},
		"no YAML":       {"text\n`quoted`: {\n", 1, "Error: -: document 1: not valid YAML: line 2: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runWithInput(t, tc.text, nil, slices.Concat([]string{"plan", "--files-only", "-f", "-"}, flags)...)
			if code != tc.code || !strings.Contains(out+stderr, tc.want) || strings.Contains(out, "plan:") {
				t.Errorf("exit %d: %s%s", code, out, stderr)
			}
		})
	}
	_, config := serveCluster(t, strings.Join([]string{classYAML, serviceYAML, ingressYAML}, "---\n"))
	for _, command := range []string{"plan", "tree"} {
		code, out, stderr := runWithInput(t, "# nothing\n", map[string]string{"KUBECONFIG": config}, slices.Concat([]string{command, "--flags-from=none", "-f", "-"}, flags)...)
		if code != output.ExitFailed || strings.Contains(out, "shop/web") || !strings.HasPrefix(stderr, "Error: --filename - has no object of a kind that this command reads; give files with one of ingress, service") {
			t.Errorf("%s: exit %d: %s%s", command, code, out, stderr)
		}
	}
}

// TestMissingRegionOrVPCIsReported checks that the error about a missing region or VPC is one line that names the flag, if
// the instance metadata service returns an error.
func TestMissingRegionOrVPCIsReported(t *testing.T) {
	_, flags := startEmulator(t)
	metadata := httptest.NewServer(http.NotFoundHandler())
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	for flag, want := range map[string]string{"--aws-region": "Error: AWS region not set, and not found in the instance metadata; set --aws-region,", "--aws-vpc-id": "Error: VPC not set, and not found in the instance metadata; set --aws-vpc-id"} {
		rest := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return strings.HasPrefix(f, flag) })
		env := map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.URL}
		code, _, stderr := runWithInput(t, classYAML, env, slices.Concat([]string{"plan", "--files-only", "-f", "-"}, rest)...)
		if code != 1 || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
}

// TestKindsThatAreNotInstalledAreFoundAtEachRead checks that a command that reads the cluster repeatedly, such as the console,
// has each kind that is not installed once.
func TestKindsThatAreNotInstalledAreFoundAtEachRead(t *testing.T) {
	server, config := serveCluster(t, classYAML)
	server.removeKind("Gateway")
	d, cmd := &input.Source{Env: output.Environment{Getenv: func(string) string { return "" }, Stderr: io.Discard}}, &cobra.Command{}
	d.Bind(cmd)
	if err := cmd.ParseFlags([]string{"--kubeconfig=" + config, "--cluster-name=c"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Objects(t.Context(), nil, io.Discard); err != nil {
			t.Fatal(err)
		}
		if kinds := input.NotInstalledKinds(d, cluster.KindGateway); len(kinds) != 1 {
			t.Errorf("not installed: %v", kinds)
		}
	}
}
