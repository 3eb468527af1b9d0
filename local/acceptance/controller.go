package acceptance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
)

// runTag has the run's name, on all that the controller makes in AWS.
const runTag = "fulcrum.dev/acceptance"

// startController starts Fulcrum for the run's namespace and waits until it is ready. It has the user's rights in the
// cluster, and calls AWS through the proxy.
func (r *run) startController(ctx context.Context) error {
	kubeconfig, err := r.writeKubeconfig()
	if err != nil {
		return err
	}
	if r.health, err = freePort(); err != nil {
		return err
	}
	if r.metrics, err = freePort(); err != nil {
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
		"--load-balancer-class=" + r.loadBalancerClass(),
		"--leader-election-namespace=" + r.state.Run,
		"--aws-region=" + r.Region,
		"--aws-vpc-id=" + r.site.VPC,
		awsclient.Endpoints(r.proxy.address),
		"--default-tags=" + runTag + "=" + r.state.Run,
		"--default-target-type=ip",
		"--import-tls-secrets=ingress",
		"--replacement-deletion-delay=1m",
		"--enable-pod-readiness-gate-inject=false",
		"--webhooks=off",
		"--health-probe-bind-addr=" + r.health,
		"--metrics-bind-addr=" + r.metrics,
	}
	env := []string{
		"AWS_ACCESS_KEY_ID=" + r.proxy.controllerKey, "AWS_SECRET_ACCESS_KEY=" + anySecret, "AWS_SESSION_TOKEN=", "AWS_PROFILE=",
		"AWS_ENDPOINT_URL=", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + r.file("no-config"), "AWS_SHARED_CREDENTIALS_FILE=" + r.file("no-credentials"),
	}
	if r.process, err = r.children.Start("controller", r.dir, program, args, env); err != nil {
		return err
	}
	return r.until(ctx, "the controller is ready", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.health+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New("its readiness answers " + res.Status)
		}
		return nil
	})
}

func (r *run) loadBalancerClass() string { return "fulcrum.dev/" + r.state.Run }

// stopController ends the controller, if it runs.
func (r *run) stopController() {
	if r.process != nil && r.process.Alive() {
		r.process.Stop(30 * time.Second)
	}
	r.process = nil
}

// writeKubeconfig writes one that has the context of the run alone, for the controller has no flag for it.
func (r *run) writeKubeconfig() (string, error) {
	raw, err := r.config.RawConfig()
	if err != nil {
		return "", err
	}
	raw.CurrentContext = r.Context
	if err := clientapi.MinifyConfig(&raw); err != nil {
		return "", fmt.Errorf("context %q of the kubeconfig: %w", r.Context, err)
	}
	if err := clientapi.FlattenConfig(&raw); err != nil {
		return "", err
	}
	text, err := clientcmd.Write(raw)
	if err != nil {
		return "", err
	}
	name := r.file("kubeconfig")
	return name, os.WriteFile(name, text, 0o600)
}

// freePort is an address on loopback that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Waiting. AWS takes 2 to 5 minutes for a load balancer, and as long again until it can be asked by its name.
const (
	limit    = 15 * time.Minute
	interval = time.Second
)

// until asks until check returns nil. It ends early with errCut if AWS is out of reach, and if the controller has ended.
func (r *run) until(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errors.New("not asked yet")
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := r.proxy.reachable(); err != nil {
			return err
		}
		if r.process != nil && !r.process.Alive() {
			return r.process.Died()
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("not within %s: %s: %w", limit, what, last)
			}
			return fmt.Errorf("%w: %w", errInterrupted, ctx.Err())
		case <-time.After(interval):
		}
	}
}

// errInterrupted is as errCut, by the user.
var errInterrupted = errors.New("interrupted")
