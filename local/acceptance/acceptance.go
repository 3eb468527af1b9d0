// Package acceptance tries Fulcrum in an account of AWS and a cluster that a person names, as "make acceptance" does.
// It runs the controller on this machine, for one namespace of its own, and stands between it and AWS, so that each call
// is recorded. What it makes has tags of its own. A run that was cut off goes on where it was, and in the end everything
// is removed and looked for.
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
	// Kubeconfig is a path; if empty, KUBECONFIG or the file in the home directory is read.
	Kubeconfig string
	// Context is the one of the kubeconfig. It is named, never the current one by chance.
	Context string
	Region  string
	// Parts are those of Names to run; all if empty.
	Parts []string
	// Dir has a directory for each run: its state, logs, report and recording.
	Dir string
	// Controller is the path of Fulcrum.
	Controller string
	// Image answers requests. Default: the echo server of Gateway API's conformance tests.
	Image string
	// Resolver is the HOST:PORT of a DNS server for the names of load balancers; if empty, the system's. One on a
	// loopback address is that of a local world.
	Resolver string
	// Yes answers the question.
	Yes bool
	In  io.Reader
	Out io.Writer
}

// ErrFailed is returned after a run whose report says that a part failed or that something is left.
var ErrFailed = errors.New("not everything passed; the report has the reasons")

// ErrCut is returned if the run was cut off: what it has made is still there, and the same call goes on with it.
var ErrCut = errors.New("the run is cut off, and what it made is still there and costs money; the same command goes on with it and removes it")

// ErrDeclined is returned if the question was not answered with yes.
var ErrDeclined = errors.New("nothing was made")

const defaultImage = "registry.k8s.io/gateway-api/echo-basic:v1.5.1"

// run is one under way.
type run struct {
	Options
	dir     string // of this run
	state   state
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	applier *manifest.Applier
	config  clientcmd.ClientConfig
	asker   asker

	proxy      *proxy
	site       site
	children   *child.Launcher
	controller controller
}

// Run runs the parts, removes what it has made and writes the report. Errors are ErrFailed, ErrDeclined, ErrCut, or that
// it could not begin.
func Run(ctx context.Context, o Options) error {
	if o.Image == "" {
		o.Image = defaultImage
	}
	if len(o.Parts) == 0 {
		o.Parts = Names()
	}
	for _, p := range o.Parts {
		if !slices.Contains(Names(), p) {
			return fmt.Errorf("there is no part %q, only %s", p, strings.Join(Names(), ", "))
		}
	}
	if _, err := exec.LookPath(o.Controller); err != nil {
		return fmt.Errorf("the controller: %w; \"make build\" makes it", err)
	}
	r := &run{Options: o, asker: asker{o.Resolver}}
	if err := r.connect(); err != nil {
		return err
	}
	resumed, err := r.open()
	if err != nil {
		return err
	}
	if err = r.begin(ctx, resumed); err != nil {
		if !resumed { // it has made nothing
			os.RemoveAll(r.dir)
		}
		return err
	}
	defer r.proxy.Close()
	r.children = child.NewLauncher()
	defer r.children.Close()
	defer r.controller.stop()
	if err := r.carryOut(ctx); err != nil {
		return fmt.Errorf("%w\n%w. State: %s", err, ErrCut, r.dir)
	}
	return r.report()
}

// begin does all that comes before something is made. After an error nothing runs.
func (r *run) begin(ctx context.Context, resumed bool) (err error) {
	if r.proxy, err = startProxy(ctx, r); err != nil {
		return err
	}
	if err = r.look(ctx); err == nil {
		err = r.ask(resumed)
	}
	if err != nil {
		r.proxy.Close()
	}
	return err
}

// carryOut prepares, runs the parts and removes everything. An error says that it has to go on later.
func (r *run) carryOut(ctx context.Context) error {
	if !r.state.Tested {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		if err := r.runParts(ctx); err != nil {
			return err
		}
		r.state.Tested = true
		if err := r.save(); err != nil {
			return err
		}
	}
	return r.clean(ctx)
}

// connect makes the clients of the cluster.
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

// newRun returns a name for a run: that of its cluster in AWS, its namespace, its class. It has no digits, so that it
// looks like no id of AWS.
func newRun() string {
	letters := make([]byte, 6)
	rand.Read(letters)
	for i := range letters {
		letters[i] = 'g' + letters[i]%20
	}
	return "acceptance-" + string(letters)
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Out, format+"\n", args...)
}

func (r *run) file(name ...string) string {
	return filepath.Join(append([]string{r.dir}, name...)...)
}
