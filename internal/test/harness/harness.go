package harness

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// ClusterName is the cluster name, and Region the AWS region, of each harness. A harness with Options.SharesAWSWith uses
// SecondRegion instead of Region.
const (
	ClusterName = "rig"
	Region      = "us-west-2"
)

// Options configure a harness. With the zero value, the controller has its documented defaults.
type Options struct {
	// Ingress, Service, Gateway, Plan and Cloud change the options of these packages before each start of the controller.
	Ingress func(*ingress.Options)
	Service func(*services.Options)
	Gateway func(*gateways.Options)
	Plan    func(*plan.Options)
	// Accelerators makes the controller reconcile GlobalAccelerators. Accelerator changes the options for them before
	// each start.
	Accelerators bool
	Accelerator  func(*accelerators.Options)
	// Classes changes, before each start, the configuration for the reconciler of GatewayClasses and of the
	// configurations of Gateways.
	Classes func(*config.Config)
	Cloud   func(*cloud.Config)
	// Frontends replaces the frontends of the given kinds of stacks. A nil value disables the kind.
	Frontends map[model.Kind]engine.Frontend
	// Source wraps the source from which the controller reads objects.
	Source func(cluster.Source) cluster.Source
	// Fence returns an error when the controller must no longer write. Default: the controller may always write.
	Fence func() error
	// API wraps the API server at each start. A test can make writes fail with it, or kill the process during a write.
	API func(kube.API) kube.API
	// Checkpoints enables checkpoints, as in the real controller. Without them, the controller reconciles all stacks
	// immediately after each start, which most tests need.
	Checkpoints bool
	// Transport wraps the connection to AWS, so that a test can block requests.
	Transport func(http.RoundTripper) http.RoundTripper
	// OnPlan, if not nil, is called with each plan and its inputs.
	OnPlan func(engine.Draft)
	// AfterRun, if not nil, is called by Settle after each run of an item, such as a stack or a binding. what names
	// the item, and err is the result of the run.
	AfterRun func(what string, err error)
	// Resync is the interval at which unchanged stacks are compared with AWS. Default: the default of the controller.
	Resync time.Duration
	// Drift enables the detection of drift, as in the real controller.
	Drift bool
	// DriftMode is the reaction to drift. Default: the default of the controller.
	DriftMode engine.DriftMode
	// Workers, if not 0, is the number of workers for each queue. Default: none; Settle runs one item after the other.
	Workers int
	// StacksOnly makes Settle ignore TargetGroupBindings.
	StacksOnly bool
	// Log is the logger of the queues. The zero value writes nothing.
	Log logr.Logger
	// Metrics are the metrics of the queues. Default: new ones.
	Metrics *controller.Metrics
	// TaggingLag, if not 0, makes the controller find its load balancers through the Resource Groups Tagging API, which
	// shows changes after this delay. Default: the controller reads the tags of all load balancers.
	TaggingLag time.Duration
	// Policies are the IAM policies of the controller. Default: all policies of config/iam.
	Policies [][]byte
	// Roles are the roles of the controller in the cluster. Default: all roles of config/rbac.
	Roles []rights.Role
	// Addresses are IP addresses of pods. Each is assigned to an ENI of the node whose subnet contains the address.
	Addresses []string
	// Emulator has the options of the emulated AWS. They have no effect with SharesAWSWith.
	Emulator emulator.Options
	// SharesAWSWith, if not nil, is the harness of another cluster. This harness uses the emulated AWS of that one, in
	// SecondRegion instead of Region.
	SharesAWSWith *Harness
	// InitialState is the state of AWS and the cluster before the first start. Default: the seeded state.
	InitialState *Snapshot
}

// Harness is an emulated AWS and a cluster with one process of the controller at a time.
type Harness struct {
	T        testing.TB
	Emulator *emulator.Emulator
	Store    *cluster.Memory
	Seeded   Seeded
	// Models checks requests and responses against the service models of AWS.
	Models *awsmodel.Checker

	opt     Options
	api     roleBoundAPI // API server that enforces the roles of the controller
	process *process
	stop    func()
	// recoveryTimes has an entry for each call of settleAndRecordRecovery that restarted the controller: the time from the
	// last start to the last change.
	recoveryTimes []time.Duration
}

// New creates a cluster and an emulated AWS, or uses the one of opt.SharesAWSWith, and starts a controller. At the end
// of the test, it stops the controller, and fails the test if the shipped IAM policies or roles lacked a permission.
func New(t testing.TB, opt Options) *Harness {
	t.Helper()
	objects, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	r := &Harness{T: t, Store: objects}
	if opt.SharesAWSWith != nil {
		r.Models, r.Emulator = opt.SharesAWSWith.Models, opt.SharesAWSWith.Emulator
	} else {
		r.Models = awsmodel.Watch(t, &opt.Emulator)
		r.Emulator = emulator.New(opt.Emulator)
	}
	if r.Seeded, err = createInitialState(t.Context(), r.Emulator, objects, opt); err != nil {
		t.Fatal(err)
	}
	r.opt = opt
	if opt.Policies == nil {
		t.Cleanup(func() {
			for denied := range r.Emulator.Denials() {
				t.Errorf("the shipped IAM policies lack the permission %s", denied)
			}
		})
		opt.Policies = shippedPolicies(t, r.Emulator)
	}
	r.Allow(opt.Policies...)
	r.api = roleBoundAPI{roles: opt.Roles, denied: map[string]bool{}}
	if opt.Roles == nil {
		r.api.roles = rights.KubernetesRoles
		t.Cleanup(func() {
			for _, verb := range r.api.deniedVerbs() {
				t.Errorf("the shipped roles lack the permission %s", verb)
			}
		})
	}
	if opt.TaggingLag > 0 {
		r.Emulator.Faults().Add(fault.Rule{Service: "tagging", Action: fault.Action{Stale: opt.TaggingLag}})
	}
	r.Emulator.Calls().Reset()
	r.Start()
	t.Cleanup(func() { r.stop() })
	return r
}

// Allow replaces the IAM policies of the controller.
func (r *Harness) Allow(policies ...[]byte) {
	r.T.Helper()
	var who store.Principal
	for _, document := range policies {
		p, err := emulated.Parse(document)
		if err != nil {
			r.T.Fatal(err)
		}
		who.Policies = append(who.Policies, p)
	}
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	w.PutPrincipal(ControllerKey, who)
}

// Apply creates or updates the objects in YAML documents, as a user does.
func (r *Harness) Apply(docs ...string) {
	r.T.Helper()
	for _, doc := range docs {
		objects, err := parseDocuments(doc)
		if err != nil {
			r.T.Fatal(err)
		}
		for _, obj := range objects {
			if err := r.Store.Apply(obj); err != nil {
				r.T.Fatal(err)
			}
		}
	}
}

// maxObservations is the maximum number of reads of a stack in AWS during a run. The harness fails a test that
// exceeds it.
const maxObservations = 8

// process is one process of the controller with its caches and queues.
type process struct {
	harness *Harness
	ctx     context.Context
	kill    context.CancelFunc
	// stopWorkers stops the workers and waits until they have ended.
	stopWorkers     func()
	startTime       time.Time
	engine          *engine.Engine
	frontend        *ingress.Frontend
	bindings        *bindings.Reconciler
	stackTriggers   *queue.Triggers[model.StackID]
	bindingTriggers *queue.Triggers[bindings.Key]
	classes         queue.Controller[cluster.Ref]
	queue           dueQueue
	watch           *drift.Watch // nil without Options.Drift

	k8s           *kube.Cluster
	engineConfig  engine.Config
	bindingConfig bindings.Config

	checkpoints *controller.Checkpoints // nil without Options.Checkpoints
	memberships *controller.Memberships // nil without Options.Checkpoints
	lastSave    time.Time
}

// Start stops the current process of the controller after it has saved its checkpoints, and starts a new process
// without its caches. A killed process saves nothing.
func (r *Harness) Start() {
	r.T.Helper()
	if r.stop != nil {
		r.process.saveCheckpoints()
		r.stop()
	}
	ctx, kill := context.WithCancel(context.Background())
	p := &process{harness: r, ctx: ctx, kill: kill, startTime: time.Now()}
	var wire http.RoundTripper = transport{p}
	if r.opt.Transport != nil {
		wire = r.opt.Transport(wire)
	}
	cfg := cloud.Config{
		Cluster: ClusterName, Region: regionOf(r), VPC: r.Seeded.VPC, RuleTags: true, SubnetDiscoveryByReachability: true, TaggingAPI: r.opt.TaggingLag > 0,
		Credentials: credentials.NewStaticCredentialsProvider(ControllerKey, "secret", ""),
		HTTP:        &http.Client{Transport: wire}, Clock: clock.RealClock{}, Fence: r.opt.fence(),
	}
	if r.opt.Cloud != nil {
		r.opt.Cloud(&cfg)
	}
	aws, err := cloud.New(ctx, cfg)
	if err != nil {
		r.T.Fatal(err)
	}
	r.api.api = kube.MemoryAPI{Store: r.Store}
	var api kube.API = &r.api
	if r.opt.API != nil {
		api = r.opt.API(api)
	}
	var source cluster.Source = r.Store
	if r.opt.Source != nil {
		source = r.opt.Source(source)
	}
	k8s := kube.New(&cluster.ReducedSource{Source: source, QUICEnv: targets.DefaultQUICVariable}, killableServer{p, api}, clock.RealClock{})
	in := ingress.Options{Options: assemble.Options{Cluster: ClusterName}, Class: "alb"}
	if r.opt.Ingress != nil {
		r.opt.Ingress(&in)
	}
	p.frontend = ingress.New(in)
	of := services.Options{Options: assemble.Options{Cluster: ClusterName, StrictGroups: in.StrictGroups}}
	if r.opt.Service != nil {
		r.opt.Service(&of)
	}
	routed := gateways.Options{Options: assemble.Options{Cluster: ClusterName, StrictGroups: in.StrictGroups}, ListenerSets: true}
	if r.opt.Gateway != nil {
		r.opt.Gateway(&routed)
	}
	frontends := map[model.Kind]engine.Frontend{
		model.Ingress: p.frontend, model.Service: services.New(of),
		model.ALBGateway: gateways.New(model.ALBGateway, routed), model.NLBGateway: gateways.New(model.NLBGateway, routed),
	}
	maps.Copy(frontends, r.opt.Frontends)
	maps.DeleteFunc(frontends, func(_ model.Kind, f engine.Frontend) bool { return f == nil })
	if r.opt.Accelerators {
		of := accelerators.Options{Cluster: ClusterName, Frontends: maps.Clone(frontends)}
		if r.opt.Accelerator != nil {
			r.opt.Accelerator(&of)
		}
		frontends[model.GlobalAccelerator] = accelerators.New(of)
	}
	p.stackTriggers = controller.StackTriggers(k8s, frontends, k8s.Members)
	classes := config.Default()
	if r.opt.Classes != nil {
		r.opt.Classes(&classes)
	}
	p.classes = controller.ClassController(classes, k8s, controller.NewMetrics(), r.opt.fence(), clock.RealClock{}, gatewayAPIVersions())
	p.bindingTriggers = queue.NewTriggers(k8s, []cluster.Kind{cluster.KindBinding}, bindingChanges{process: p})
	options := plan.Options{Cluster: ClusterName, VPC: r.Seeded.VPC, RuleTags: true, SubnetClusterCheck: true, StrictGroups: in.StrictGroups, Propagation: 10 * time.Second, Stabilization: 2 * time.Minute,
		CreateFirst: true, DeletionDelay: classes.Replacement.DeletionDelay, Accelerators: r.opt.Accelerators}
	if r.opt.Plan != nil {
		r.opt.Plan(&options)
	}
	line := engine.Config{
		Cloud: aws, Cluster: k8s, Options: options, Clock: clock.RealClock{}, Fence: r.opt.fence(), Resync: r.opt.Resync,
		Frontends:       frontends,
		Recorder:        stackRecorder{process: p},
		UnansweredCalls: aws.Client(),
		Drift:           r.opt.DriftMode,
	}
	registry := checkpoint.New()
	line.Secrets = registry
	if r.opt.Checkpoints {
		p.checkpoints = &controller.Checkpoints{Registry: registry, Store: kube.SecretStore{API: killableServer{p, api}, Namespace: "kube-system", Name: kube.CheckpointsName}}
		if r.opt.Workers == 0 {
			p.checkpoints.Load(ctx)
		}
		p.lastSave = time.Now()
		line.Checkpoints = registry
		if r.opt.Workers == 0 {
			line.Checkpoints, line.Secrets = synchronousCheckpoints{registry, p}, synchronousCheckpoints{registry, p}
		}
		p.memberships = &controller.Memberships{
			Members: k8s.Members, Store: kube.SecretStore{API: killableServer{p, api}, Namespace: "kube-system", Name: kube.MembershipsName},
		}
		k8s.Store = p.memberships
	}
	fill := bindings.Config{
		Cloud: aws, UnansweredCalls: aws.Client(), Cluster: k8s, ClusterName: ClusterName, VPC: r.Seeded.VPC,
		Targets:  targets.Options{FailOpen: true},
		Recorder: bindingRecorder{process: p},
		Clock:    clock.RealClock{}, Fence: r.opt.fence(), Resync: r.opt.Resync, Drift: r.opt.DriftMode,
	}
	p.k8s, p.engineConfig, p.bindingConfig = k8s, line, fill
	r.process = p
	if r.opt.Workers > 0 {
		r.stop = p.startWorkers(r.opt.Workers)
		return
	}
	p.engine, p.bindings = engine.New(line), bindings.New(fill)
	p.watchDrift()
	p.loadMemberships()
	p.enqueueExistingObjects()
	unwatch := r.Store.Watch(p.enqueueAffected)
	r.stop = func() { unwatch(); kill() }
}

// watchDrift adds the detection of drift to the queue, as an item that is requeued after each run. It does nothing
// without Options.Drift.
func (p *process) watchDrift() {
	aws, ok := p.engineConfig.Cloud.(controller.DriftReader)
	if !ok || !p.harness.opt.Drift {
		return
	}
	aws.SetDriftNotifier(outsideChanges{p})
	p.bindings.Queue = bindingQueue{p}
	p.watch = controller.DriftWatch(aws, p.bindings, p.harness.opt.Log)
	p.queue.add(itemKey{drift: true}, time.Now())
}

// Kill ends the process of the controller at once. No further call reaches AWS or the API server, and the process
// receives no further response.
func (r *Harness) Kill() { r.process.kill() }

// WasKilled reports whether the current process of the controller was killed.
func (r *Harness) WasKilled() bool { return r.process.ctx.Err() != nil }

// Settle runs the items of the controller, and advances time, until no item is due within the horizon or the controller
// is killed. It returns the error of each item whose last run failed, by the name of the item.
func (r *Harness) Settle(horizon time.Duration) map[string]error {
	r.T.Helper()
	p := r.process
	end := time.Now().Add(horizon)
	failed, idle := map[string]error{}, idleRuns{}
	for range 20000 {
		k, due, ok := p.queue.next()
		if !ok || due.After(end) || p.ctx.Err() != nil {
			return failed
		}
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		p.queue.remove(k)
		if time.Since(p.lastSave) >= durations.RequestTimeout {
			p.saveCheckpoints()
		}
		after, err := p.runItem(k)
		idle.recordRun(r, k)
		if r.opt.AfterRun != nil {
			r.opt.AfterRun(k.String(), err)
		}
		delete(failed, k.String())
		if err != nil {
			failed[k.String()] = err
			after = p.queue.backOff(k, after)
		} else {
			p.queue.resetBackOff(k)
		}
		if after > 0 {
			p.queue.add(k, time.Now().Add(after))
		}
	}
	r.T.Fatalf("the controller does not become idle; failing: %v", failed)
	return nil
}

func (p *process) runItem(k itemKey) (time.Duration, error) {
	if k.binding != (bindings.Key{}) {
		out, err := p.bindings.Reconcile(p.ctx, k.binding)
		return out.RetryAfter, err
	}
	if k.drift {
		return max(p.watch.RunNextCheck(p.ctx), time.Millisecond), nil
	}
	if k.class != (cluster.Ref{}) {
		p.classes.Triggers.Begin(k.class)
		next, err := p.classes.Reconciler.Reconcile(p.ctx, k.class)
		p.classes.Triggers.End(k.class)
		return next.After, err
	}
	if p.k8s.Store != nil {
		p.k8s.Store.Persist(p.ctx)
	}
	out, err := p.engine.Reconcile(p.ctx, k.stack)
	if out.Observations > maxObservations {
		p.harness.T.Errorf("%s was observed %d times in one run", k.stack, out.Observations)
	}
	if err == nil {
		err = out.Err
		if out.IsStackDeleted() {
			p.stackTriggers.Forget(k.stack)
		}
	}
	return out.RetryAfter, err
}

// Draft returns the current plan of a stack with its inputs.
func (r *Harness) Draft(id model.StackID) engine.Draft {
	r.T.Helper()
	d, err := r.process.engine.DraftPlan(r.process.ctx, id)
	if err != nil {
		r.T.Fatal(err)
	}
	return d
}

// Plan returns the desired state of a stack as a document, or nil if the desired state is unknown.
func (r *Harness) Plan(id model.StackID) *document.Document {
	r.T.Helper()
	return r.Draft(id).Describe()
}

// Orphans returns the stacks that have resources in AWS but no members.
func (r *Harness) Orphans() []controller.Orphan {
	r.T.Helper()
	p := r.process
	out, err := controller.FindOrphans(p.ctx, p.engineConfig.Cloud.(controller.OwnedLister), p.k8s.View, p.engineConfig.Frontends, "")
	if err != nil {
		r.T.Fatal(err)
	}
	return out
}

// Stacks returns the stacks of all kinds to which an object belongs.
func (r *Harness) Stacks(obj cluster.Object) []model.StackID {
	var out []model.StackID
	for _, kind := range model.Kinds {
		if f := r.process.engineConfig.Frontends[kind]; f != nil {
			out = append(out, f.Stacks(r.process.k8s.View(), obj)...)
		}
	}
	return out
}

// transport sends requests to the emulator. After the process is killed, it returns errors for all requests, including
// those in flight.
type transport struct{ p *process }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.p.ctx.Err(); err != nil {
		return nil, fmt.Errorf("the process was killed: %w", err)
	}
	res, err := t.p.harness.Emulator.RoundTripper().RoundTrip(req)
	if dead := t.p.ctx.Err(); dead != nil {
		return nil, fmt.Errorf("the process was killed before the response arrived: %w", dead)
	}
	return res, err
}
