package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestAcceptance runs "make acceptance" against an emulator, in two clusters at the same time. Each run passes and leaves no
// resources. Its recording contains no ID of the VPC or of the node security group and no private key, and the emulator
// gives the same responses as recorded.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts two local worlds")
	}
	if worldtest.IsOtherControllerTested() {
		t.Skip("the acceptance run has flags of Fulcrum")
	}
	first := worldtest.Start(t, world.Options{})
	second := worldtest.Start(t, world.Options{Cluster: "elsewhere", AWSOfWorld: first.Number()})
	before := [2]inspect.Inventory{inventory(t, first), inventory(t, second)}
	t.Run("runs", func(t *testing.T) {
		t.Run("replacement", func(t *testing.T) {
			t.Parallel()
			out, code := acceptanceRunner(t, first, first.AWSEndpoint(), "replacement,take-over")()
			checkPassed(t, first, out, code)
		})
		t.Run("interrupted", func(t *testing.T) {
			t.Parallel()
			checkInterruptedRun(t, second)
		})
	})
	for i, w := range []*world.World{first, second} {
		if left := inventory(t, w).Minus(before[i]); len(left) > 0 {
			t.Errorf("left in AWS: %s", strings.Join(left, "; "))
		}
	}
}

// checkInterruptedRun checks a run in a cluster whose VPC is not the first one in the emulator, and whose subnets have no
// tags. The connection to AWS breaks when the first listener is created. Then the same command continues the run.
func checkInterruptedRun(t *testing.T, w *world.World) {
	removeSubnetTags(t, w)
	line := newBreakableProxy(t, w.AWSEndpoint())
	line.breakAt = "Action=CreateListener&"
	run := acceptanceRunner(t, w, line.url, "ingress,service,gateway,tls-secret,take-over")

	began := time.Now()
	out, code := run()
	if code != 4 || !strings.Contains(out, "AWS cannot be reached") || !strings.Contains(out, "continues the run") {
		t.Fatalf("after the connection to AWS broke, the run ended with code %d:\n%s", code, out)
	}
	t.Logf("the connection broke after %s", time.Since(began).Round(time.Second))
	line.restore()
	out, code = run()
	if !strings.Contains(out, "was interrupted; this command continues it") {
		t.Error("the run was not continued")
	}
	checkPassed(t, w, out, code, `"operation":"ImportCertificate"`, `"status":0`)
}

// checkPassed checks the output, the exit code and the recording of a run in the cluster of w, and that no namespace of it
// is left. The recording contains recorded.
func checkPassed(t *testing.T, w *world.World, out string, code int, recorded ...string) {
	t.Helper()
	t.Log(out)
	if code != 0 {
		t.Fatalf("the run ended with code %d", code)
	}
	for _, want := range []string{"none failed", "nothing is left", "no call changed AWS"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not contain %q", want)
		}
	}
	list, err := w.KubeClient().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: "fulcrum.dev/acceptance"})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("%d namespaces are left, %v", len(list.Items), err)
	}
	checkRecording(t, w, out, recorded...)
}

// acceptanceRunner returns a function that runs parts of fulcrum-acceptance as a user does and confirms the run with "yes".
// The function returns the output and the exit code.
func acceptanceRunner(t *testing.T, w *world.World, endpoint, parts string) func() (string, int) {
	program, dir := worldtest.ProgramPath(t, "local", "fulcrum-acceptance"), t.TempDir()
	return func() (string, int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "--context=fulcrum-local", "--region="+w.Layout().Region,
			"--controller="+worldtest.ControllerPath(t), "--resolver="+w.ResolverAddress(), "--dir="+dir, "--parts="+parts)
		cmd.Env = append(os.Environ(), append(w.Environment(), "AWS_ENDPOINT_URL="+endpoint)...)
		cmd.Stdin = strings.NewReader("yes\n")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 30 * time.Second
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
}

// checkRecording compares the recording with the emulator, and checks that it does not contain data that must be
// redacted. out is the output of the run. recorded are texts that the recording must contain.
func checkRecording(t *testing.T, w *world.World, out string, recorded ...string) {
	t.Helper()
	_, at, _ := strings.Cut(out, "Recording: ")
	file, _, _ := strings.Cut(at, "\n")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{w.Layout().VPC, w.Layout().NodeSecurityGroup, "PRIVATE KEY", store.DefaultAccount} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the recording has %q", secret)
		}
	}
	for _, want := range append(recorded, `"operation":"CreateListener"`) {
		if !strings.Contains(string(text), want) {
			t.Errorf("the recording has no %s", want)
		}
	}
	if text, err := exec.CommandContext(t.Context(), worldtest.ProgramPath(t, ".", "fulcrum-aws"), "compare", file).CombinedOutput(); err != nil {
		t.Errorf("compare: %v\n%s", err, text)
	} else {
		t.Logf("%s", text)
	}
}

// removeSubnetTags removes the role tags and cluster tags from the subnets.
func removeSubnetTags(t *testing.T, w *world.World) {
	t.Helper()
	l := w.Layout()
	var ids []string
	for _, s := range slices.Concat(l.PublicSubnets, l.PrivateSubnets) {
		ids = append(ids, s.ID)
	}
	var tags []types.Tag
	for _, key := range []string{"kubernetes.io/role/elb", "kubernetes.io/role/internal-elb", "kubernetes.io/cluster/" + l.Cluster} {
		tags = append(tags, types.Tag{Key: aws.String(key)})
	}
	if _, err := ec2.NewFromConfig(w.AWSConfig()).DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: ids, Tags: tags}); err != nil {
		t.Fatal(err)
	}
}

func inventory(t *testing.T, w *world.World) inspect.Inventory {
	t.Helper()
	out, err := inspect.New(w.AWSConfig(), w.Layout().VPC).Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// breakableProxy forwards requests to AWS until the body of a request contains breakAt. From then on it closes
// connections without a response, until restore is called.
type breakableProxy struct {
	url        string
	breakAt    string
	isBroken   atomic.Bool
	isRestored atomic.Bool // restore was called; the proxy does not break again
}

func newBreakableProxy(t *testing.T, to string) *breakableProxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	line := &breakableProxy{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if bytes.Contains(body, []byte(line.breakAt)) && !line.isRestored.Load() {
			line.isBroken.Store(true)
		}
		if line.isBroken.Load() {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	line.url = "http://" + l.Addr().String()
	return line
}

func (c *breakableProxy) restore() {
	c.isRestored.Store(true)
	c.isBroken.Store(false)
}
