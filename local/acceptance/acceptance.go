// Package acceptance tests Fulcrum in an AWS account and a cluster that the user names, for "make acceptance". It
// runs the controller on this machine, restricted to a namespace of the run, and records its calls to AWS in a proxy.
// All resources of the run are tagged. An interrupted run can be continued. At the end it removes all its resources
// and checks that none remain.
package acceptance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	client "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fulcrum-lb/fulcrum/local/child"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

// Options describe a run. Context, Region, Dir, Controller, In and Out are required.
type Options struct {
	// Kubeconfig is the path of the kubeconfig; if empty, KUBECONFIG or the file in the home directory is read.
	Kubeconfig string
	// Context is the context in the kubeconfig. It is required, so that a run never uses the current context by
	// accident.
	Context string
	Region  string
	// Parts lists the names of the parts to run; PartNames returns the valid names. Default: all.
	Parts []string
	// Dir is the directory for runs. Each run has a subdirectory with its state, logs, report and recording.
	Dir string
	// Controller is the path of the Fulcrum binary.
	Controller string
	// Image is the image of the pods. Default: the echo server of Gateway API's conformance tests.
	Image string
	// Resolver is the HOST:PORT of a DNS server for the names of load balancers; if empty, the system's resolver is
	// used. A loopback address means the resolver of a local world.
	Resolver string
	// AssumeYes skips the confirmation.
	AssumeYes bool
	In        io.Reader
	Out       io.Writer
}

// ErrFailed is returned after a run in which a part failed, or the controller left resources.
var ErrFailed = errors.New("at least one part failed, or the controller left resources; see the report")

// ErrResumable is returned if the run was interrupted. Its resources still exist, and the same call continues it.
var ErrResumable = errors.New("the run was interrupted; its resources still exist and cost money. The same command continues the run and removes them")

// ErrDeclined is returned if the user did not confirm the run with yes.
var ErrDeclined = errors.New("the run was not confirmed with \"yes\"; nothing was created")

const defaultImage = "registry.k8s.io/gateway-api/echo-basic:v1.5.1"

// run has the options, clients and state of an acceptance test that is in progress.
type run struct {
	Options
	dir       string // directory of this run
	state     state
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	applier   *manifest.Applier
	config    clientcmd.ClientConfig
	requester requester

	proxy      *proxy
	site       clusterNetwork
	children   *child.Launcher
	controller controller
}

// Run runs the parts, removes their resources and writes the report. Errors are ErrFailed, ErrDeclined, ErrResumable,
// or an error about the start of the run.
func Run(ctx context.Context, o Options) error {
	if o.Image == "" {
		o.Image = defaultImage
	}
	if len(o.Parts) == 0 {
		o.Parts = PartNames()
	}
	for _, p := range o.Parts {
		if !slices.Contains(PartNames(), p) {
			return fmt.Errorf("unknown part %q; the parts are %s", p, strings.Join(PartNames(), ", "))
		}
	}
	if _, err := exec.LookPath(o.Controller); err != nil {
		return fmt.Errorf("controller binary: %w; build it with \"make build\"", err)
	}
	r := &run{Options: o, requester: requester{o.Resolver}}
	if err := r.connect(); err != nil {
		return err
	}
	resumed, err := r.loadOrCreateState()
	if err != nil {
		return err
	}
	if err = r.setUpRun(ctx, resumed); err != nil {
		if !resumed { // the run has created nothing
			os.RemoveAll(r.dir)
		}
		return err
	}
	defer r.proxy.Close()
	r.children = child.NewLauncher()
	defer r.children.Close()
	defer r.controller.stop()
	if err := r.testAndClean(ctx); err != nil {
		return fmt.Errorf("%w\n%w. State: %s", err, ErrResumable, r.dir)
	}
	return r.report()
}

// setUpRun starts the proxy, checks the account and the network, and asks the user for confirmation. After an error the proxy
// is stopped.
func (r *run) setUpRun(ctx context.Context, resumed bool) (err error) {
	if r.proxy, err = startProxy(ctx, r); err != nil {
		return err
	}
	if err = r.readClusterNetwork(ctx); err == nil {
		err = r.confirm(resumed)
	}
	if err != nil {
		r.proxy.Close()
	}
	return err
}

// testAndClean prepares the cluster, runs the parts, and removes all objects and resources of the run. After an error the
// run can be continued.
func (r *run) testAndClean(ctx context.Context) error {
	if !r.state.Tested {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		if err := r.runParts(ctx); err != nil {
			return err
		}
		r.state.Tested = true
		if err := r.saveState(); err != nil {
			return err
		}
	}
	return r.clean(ctx)
}

// connect creates the clients of the cluster.
func (r *run) connect() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = r.Kubeconfig
	r.config = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: r.Context})
	rest, err := r.config.ClientConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig with context %q: %w", r.Context, err)
	}
	rest.Timeout = time.Minute
	rest.WarningHandler = client.NoWarnings{}
	if r.kube, err = kubernetes.NewForConfig(rest); err != nil {
		return err
	}
	if r.dynamic, err = dynamic.NewForConfig(rest); err != nil {
		return err
	}
	r.applier, err = manifest.NewApplier(rest)
	return err
}

// newRunName returns a name for a run, which is also the name of its cluster, namespace, ingress class and GatewayClass. It
// has no digits, so that the redaction does not mistake it for an AWS ID.
func newRunName() string {
	letters := make([]byte, 6)
	rand.Read(letters)
	for i := range letters {
		letters[i] = 'g' + letters[i]%20
	}
	return "acceptance-" + string(letters)
}

func (r *run) printf(format string, args ...any) {
	fmt.Fprintf(r.Out, format+"\n", args...)
}

func (r *run) filePath(name ...string) string {
	return filepath.Join(append([]string{r.dir}, name...)...)
}
