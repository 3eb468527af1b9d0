package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/child"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
)

// runTag is the key of the tag with the name of the run, on all AWS resources that the controller creates.
const runTag = "fulcrum.dev/acceptance"

// controller is the process of the controller, with the addresses of its health probes and metrics.
type controller struct {
	process                       *child.Process
	healthAddress, metricsAddress string
}

// startController starts Fulcrum for the run's namespace and waits until it is ready. The controller has the user's
// permissions in the cluster, and calls AWS through the proxy.
func (r *run) startController(ctx context.Context) error {
	kubeconfig, c := r.filePath("kubeconfig"), &r.controller
	err := writeKubeconfig(r.config, r.Context, kubeconfig)
	if err != nil {
		return err
	}
	if c.healthAddress, err = freeLoopbackAddress(); err != nil {
		return err
	}
	if c.metricsAddress, err = freeLoopbackAddress(); err != nil {
		return err
	}
	program, err := filepath.Abs(r.Controller)
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--cluster-name=" + r.state.Run,
		"--watch-namespace=" + r.state.Run,
		"--ingress-class=" + r.state.Run,
		"--load-balancer-class=" + loadBalancerClass(r.state.Run),
		"--leader-election-namespace=" + r.state.Run,
		"--aws-region=" + r.Region,
		"--aws-vpc-id=" + r.site.VPC,
		"--default-tags=" + runTag + "=" + r.state.Run,
		"--default-target-type=ip",
		"--import-tls-secrets=ingress",
		"--replacement-deletion-delay=1m",
		"--enable-pod-readiness-gate-inject=false",
		"--webhooks=off",
		"--health-probe-bind-addr=" + c.healthAddress,
		"--metrics-bind-addr=" + c.metricsAddress,
	}
	// The controller gets the user's environment, since the kubeconfig may name programs that log in to the cluster
	// with AWS credentials.
	env := awsclient.Environment(r.proxy.address + r.proxy.controllerPath)
	if c.process, err = r.children.Start("controller", r.dir, program, args, env); err != nil {
		return err
	}
	return r.awaitSuccess(ctx, "the controller is ready", r.controller.checkReady)
}

// reconcileCount returns the number of reconciles of the controller.
func (c *controller) reconcileCount(ctx context.Context) (int, error) {
	res, err := httpGet(ctx, "http://"+c.metricsAddress+"/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return 0, err
	}
	return inspect.ReconcileCount(string(text))
}

// checkReady returns an error until the readiness probe of the controller succeeds.
func (c *controller) checkReady(ctx context.Context) error {
	res, err := httpGet(ctx, "http://"+c.healthAddress+"/readyz")
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New("the readiness probe returned " + res.Status)
	}
	return nil
}

func httpGet(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// isAlive reports whether the controller runs.
func (c *controller) isAlive() bool { return c.process != nil && c.process.IsAlive() }

// stop ends the controller, if it runs.
func (c *controller) stop() {
	if c.isAlive() {
		c.process.Stop(30 * time.Second)
	}
	c.process = nil
}

func loadBalancerClass(run string) string { return "fulcrum.dev/" + run }

// writeKubeconfig writes a kubeconfig with only the context of the run, since the controller has no flag for a
// context.
func writeKubeconfig(from clientcmd.ClientConfig, context, name string) error {
	raw, err := from.RawConfig()
	if err != nil {
		return err
	}
	raw.CurrentContext = context
	if err := clientapi.MinifyConfig(&raw); err != nil {
		return fmt.Errorf("context %q of the kubeconfig: %w", context, err)
	}
	if err := clientapi.FlattenConfig(&raw); err != nil {
		return err
	}
	text, err := clientcmd.Write(raw)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// freeLoopbackAddress returns a loopback address with a port that is not in use.
func freeLoopbackAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

const (
	// awaitLimit and awaitInterval are the deadline and the interval of awaitSuccess. AWS takes 2 to 5 minutes to
	// create a load balancer, and the same time again until its DNS name resolves.
	awaitLimit    = 15 * time.Minute
	awaitInterval = time.Second
)

// awaitSuccess calls check until it returns nil. It ends early with errUnreachable if AWS is unreachable, and with another
// error if the controller has ended.
func (r *run) awaitSuccess(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, awaitLimit)
	defer cancel()
	last := errors.New("not checked yet")
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := r.proxy.checkReachable(); err != nil {
			return err
		}
		if p := r.controller.process; p != nil && !p.IsAlive() {
			return p.ExitError()
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("timed out after %s, waiting until %s: %w", awaitLimit, what, last)
			}
			return fmt.Errorf("%w: %w", errInterrupted, ctx.Err())
		case <-time.After(awaitInterval):
		}
	}
}

// errInterrupted is the error of a run that the user interrupts. The run can be continued.
var errInterrupted = errors.New("interrupted")
