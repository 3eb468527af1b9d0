package world

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/config/rbac"
	"github.com/fulcrum-lb/fulcrum/local/child"
	"github.com/fulcrum-lb/fulcrum/local/layout"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

//go:embed kwok.yaml
var kwokStages []byte

// World is a running local world. Its methods, except SetPropagationDelay, are safe for concurrent use.
type World struct {
	opts           Options
	startedAt      time.Time
	slot           *slot
	controlAddress netip.Addr // address of the control plane
	creds          *credentials
	kubeconfig     string
	restConfig     *rest.Config
	kube           kubernetes.Interface
	layout         layout.Layout
	launcher       *child.Launcher
	manifests      []*unstructured.Unstructured // objects that Start applies

	mu        sync.Mutex
	processes map[string]*child.Process
	closed    bool
}

// Start starts a local world without a controller. It returns when the API server and the nodes are ready, and the manifests
// are applied. It reports faults in the manifests before it starts any process. If ctx ends before Start returns, or Start
// returns another error, it stops and removes everything that it has started. A started local world runs until Close, even
// if ctx ends.
func Start(ctx context.Context, opts Options) (*World, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()

	w := &World{opts: opts, startedAt: time.Now(), processes: map[string]*child.Process{}}
	if err := w.loadManifests(); err != nil {
		return nil, err
	}
	for _, dir := range removeEndedWorlds(opts.BaseDir) {
		w.reportStep("removed " + dir + ", left by an earlier world")
	}
	if w.slot, err = reserveSlot(opts.BaseDir); err != nil {
		return nil, err
	}
	w.launcher = child.NewLauncher()
	w.controlAddress = loopback.Addr(w.slot.Addr(255, 1))
	if err := w.start(ctx); err != nil {
		// An error of Close is ignored, because err names what Start was waiting for.
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *World) start(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.startCluster(gctx) })
	if !w.opts.WithoutAWS {
		g.Go(func() error { return w.startAWS(gctx) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := w.layout.Write(w.filePath(layoutFile)); err != nil {
		return err
	}
	if err := w.StartRole(ctx, RoleAgent); err != nil {
		return err
	}
	g, gctx = errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := w.waitFor(gctx, "nodes", w.checkNodesReady, RoleAgent, RoleKwok); err != nil {
			return err
		}
		w.reportStep("nodes are ready")
		return nil
	})
	g.Go(func() error {
		return w.waitFor(gctx, "default service account", w.checkDefaultServiceAccount, RoleControllerManager)
	})
	g.Go(func() error { return w.applyManifests(gctx) })
	return g.Wait()
}

// prepare writes the files of the state directory, and creates the layout and the clients. No process runs yet.
func (w *World) prepare() error {
	for _, d := range []string{"logs", child.PIDsDir, "kwok"} {
		if err := os.Mkdir(w.filePath(d), 0o700); err != nil {
			return err
		}
	}
	var err error
	if w.creds, err = newCredentials(w.filePath("pki"), w.controlAddress.AsSlice()); err != nil {
		return err
	}
	// All TLS ports of pods share one certificate.
	if err := w.creds.issueServerCert("echo", []string{"echo.fulcrum.local"}, nil); err != nil {
		return err
	}
	server := "https://" + w.controlHostPort(portAPIServer)
	w.kubeconfig = w.filePath("kubeconfig")
	if err := w.creds.writeKubeconfig(w.kubeconfig, server, userAdmin); err != nil {
		return err
	}
	if err := w.creds.writeKubeconfig(w.filePath("controller.kubeconfig"), server, userController); err != nil {
		return err
	}
	if err := os.WriteFile(w.filePath("kwok.yaml"), kwokStages, 0o600); err != nil {
		return err
	}
	if w.layout, err = layout.Plan(w.slot.number, w.opts.Cluster, w.opts.Region, w.opts.Nodes); err != nil {
		return err
	}
	if w.restConfig, err = clientcmd.BuildConfigFromFlags("", w.kubeconfig); err != nil {
		return err
	}
	w.restConfig.QPS = -1 // No rate limit: tests make many requests, and the server is on this machine.
	w.kube, err = kubernetes.NewForConfig(w.restConfig)
	return err
}

func (w *World) startCluster(ctx context.Context) error {
	if err := w.StartRole(ctx, RoleEtcd); err != nil {
		return err
	}
	w.reportStep("etcd is ready")
	if err := w.StartRole(ctx, RoleAPIServer); err != nil {
		return err
	}
	w.reportStep("the API server is ready")
	// Start waits later for the effects of these three roles.
	for _, role := range []string{RoleControllerManager, RoleScheduler, RoleKwok} {
		if err := w.StartRole(ctx, role); err != nil {
			return err
		}
	}
	return nil
}

// loadManifests reads the CRDs of the Gateway API, Fulcrum's CRDs and RBAC manifests, and Options.Manifests. Fulcrum's are
// omitted in a local world without AWS.
func (w *World) loadManifests() error {
	var shipped []*unstructured.Unstructured
	if !w.opts.WithoutAWS {
		documents, err := crd.Documents()
		if err != nil {
			return err
		}
		rights, err := rbac.Documents()
		if err != nil {
			return err
		}
		if shipped, err = manifest.ParseAll(append(documents, rights...)); err != nil {
			return err
		}
	}
	gateway, err := readGatewayAPICRDs(w.opts.GatewayAPI)
	if err != nil {
		return err
	}
	shipped = append(gateway, shipped...)
	named, err := manifest.LoadAndCheck(shipped, w.opts.Manifests...)
	if err != nil {
		return fmt.Errorf("the objects to apply have faults; nothing is started:\n%w", err)
	}
	w.manifests = append(shipped, named...)
	return nil
}

func (w *World) applyManifests(ctx context.Context) error {
	if len(w.manifests) == 0 {
		return nil
	}
	applier, err := manifest.NewApplier(w.restConfig)
	if err != nil {
		return err
	}
	if err := applier.Apply(ctx, w.manifests); err != nil {
		return err
	}
	w.reportStep(fmt.Sprintf("%d objects are applied", len(w.manifests)))
	return nil
}

func (w *World) reportStep(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opts.Progress(Step{Name: name, SinceStart: time.Since(w.startedAt)})
}

// StartRole starts the process of a role other than RoleController and RoleConsole. It waits until etcd, the API server or
// AWS is ready; for other roles, it does not wait. It returns an error if the role is already running.
func (w *World) StartRole(ctx context.Context, role string) error {
	args, env := w.roleCommand(role)
	if len(args) == 1 {
		return fmt.Errorf("world: no role %q", role)
	}
	program := w.opts.Binary
	if path := w.opts.assetPath(role); path != "" {
		program, args = path, args[1:]
	}
	if err := w.startProcess(role, program, args, env); err != nil {
		return err
	}
	ready, ok := w.readinessCondition(role)
	if !ok {
		return nil
	}
	return w.waitFor(ctx, role, ready, role)
}

func (w *World) startProcess(role, path string, args, env []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("world: the local world is closed")
	}
	if p := w.processes[role]; p != nil && p.IsAlive() {
		return fmt.Errorf("world: %s is already running", role)
	}
	p, err := w.launcher.Start(role, w.slot.dir, path, args, env)
	if err != nil {
		return err
	}
	w.processes[role] = p
	return nil
}

func (w *World) process(role string) *child.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.processes[role]
}

// Kill kills the process of a role with SIGKILL, as in a crash, and waits until it has ended. StartRole or
// StartController can start it again. Exception: Kill sends SIGTERM to the process of RoleAWS, because AWS must keep its
// state, as in an outage.
func (w *World) Kill(role string) error {
	p := w.process(role)
	if p == nil || !p.IsAlive() {
		return fmt.Errorf("world: %s is not running", role)
	}
	if role == RoleAWS {
		p.Stop(10 * time.Second)
		return nil
	}
	p.Kill()
	return nil
}

// IsAlive reports whether a role's process runs.
func (w *World) IsAlive(role string) bool {
	p := w.process(role)
	return p != nil && p.IsAlive()
}

// HasStarted reports whether a role was ever started.
func (w *World) HasStarted(role string) bool { return w.process(role) != nil }

// ExitStatus describes how a role's process ended, such as "signal: killed" or "exit status 1". It is empty if the
// process runs or was never started.
func (w *World) ExitStatus(role string) string {
	p := w.process(role)
	if p == nil || p.IsAlive() {
		return ""
	}
	return p.ExitStatus()
}

// LogPath returns the path of a role's log.
func (w *World) LogPath(role string) string { return w.filePath("logs", role+".log") }

// LogTail returns the given number of last lines of a role's log, indented.
func (w *World) LogTail(role string, lines int) string { return child.Tail(w.LogPath(role), lines) }

// Close kills all processes, and removes the state directory unless Options.KeepState is set. Further calls have no effect.
func (w *World) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	processes := make([]*child.Process, 0, len(w.processes))
	for _, p := range w.processes {
		processes = append(processes, p)
	}
	w.mu.Unlock()
	// Processes are killed without time to save their state, because the state is not used again.
	var wg sync.WaitGroup
	for _, p := range processes {
		wg.Go(p.Kill)
	}
	wg.Wait()
	w.launcher.Close()
	var err error
	if !w.opts.KeepState {
		err = os.RemoveAll(w.slot.dir)
	}
	w.slot.release()
	return err
}

// Kubeconfig returns the path of a kubeconfig for a cluster admin.
func (w *World) Kubeconfig() string { return w.kubeconfig }

// RESTConfig returns a new client configuration with the permissions of a cluster admin.
func (w *World) RESTConfig() *rest.Config { return rest.CopyConfig(w.restConfig) }

// KubeClient returns a client of the API server with the permissions of a cluster admin.
func (w *World) KubeClient() kubernetes.Interface { return w.kube }

// Layout returns the addresses, subnets and nodes of the local world, and their IDs in AWS.
func (w *World) Layout() layout.Layout { return w.layout }

// Number returns the number of the local world: its VPC is 10.Number.0.0/16.
func (w *World) Number() int { return w.slot.number }

// Dir returns the state directory. Close removes it unless Options.KeepState is set.
func (w *World) Dir() string { return w.slot.dir }

// CAFile returns the path of the certificate of the CA that signs all certificates of the local world, including those
// in ACM. Its key is in ca.key in the same directory.
func (w *World) CAFile() string { return w.creds.path("ca.crt") }
