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

// ClusterName and Region of every harness.
const (
	ClusterName = "rig"
	Region      = "us-west-2"
)

// Options of a harness. The zero value is a controller with the documented defaults.
type Options struct {
	// Ingress, Service, Gateway, Plan, Cloud change settings before each start of the controller.
	Ingress func(*ingress.Options)
	Service func(*services.Options)
	Gateway func(*gateways.Options)
	Plan    func(*plan.Options)
	// Accelerators serves GlobalAccelerators, Accelerator changes their settings likewise.
	Accelerators bool
	Accelerator  func(*accelerators.Options)
	// Classes changes the configuration of the line of classes likewise.
	Classes func(*config.Config)
	Cloud   func(*cloud.Config)
	// Frontends take the place of those of their kinds; nil switches a kind off.
	Frontends map[model.Kind]engine.Frontend
	// Source wraps what the controller reads of the cluster.
	Source func(cluster.Source) cluster.Source
	// Fence returns an error once the controller must not write any more. Nil: it always may.
	Fence func() error
	// API wraps the API server, so that a test can let writes fail or the process die there.
	API func(kube.API) kube.API
	// Checkpoints are kept over restarts, as the real controller does. Otherwise every start looks
	// at everything at once, which most tests are about.
	Checkpoints bool
	// Transport wraps the connection to AWS, so that a test can let requests hang.
	Transport func(http.RoundTripper) http.RoundTripper
	// Planned gets each plan with what it was made of.
	Planned func(engine.Draft)
	// Ran is called after each run of a stack or a binding. Only Settle calls it.
	Ran func(what string, err error)
	// Resync is how often what has not changed is compared with AWS; 0: the default.
	Resync time.Duration
	// Drift looks for what others change in AWS, as the real controller does.
	Drift bool
	// DriftMode is what happens to it; empty: the default.
	DriftMode engine.DriftMode
	// Workers runs the controller's own queues with so many workers each, instead of one item
	// after the other by Settle.
	Workers int
	// StacksOnly leaves TargetGroupBindings alone. Only Settle heeds it.
	StacksOnly bool
	// Log is that of the queues; the zero value writes nothing.
	Log logr.Logger
	// Metrics are those of the queues; nil: new ones that are not read.
	Metrics *controller.Metrics
	// TaggingLag lets the controller find its load balancers by the Resource Groups Tagging API,
	// which is behind by so much; 0: by their own tags.
	TaggingLag time.Duration
	// Policies are what the controller may do in AWS. Nil: all policies that are shipped.
	Policies [][]byte
	// Roles are what it may do in the cluster. Nil: all roles that are shipped.
	Roles []rights.Role
	// Addresses of pods, which the nodes have whose subnets they lie in.
	Addresses []string
	// Emulator options.
	Emulator emulator.Options
	// Beside is another cluster of the account, whose AWS this one has too, in Elsewhere in place of the usual region. Whoever
	// settles one of them settles the other too.
	Beside *Harness
	// From is what the world begins with in place of the usual.
	From *Moment
}

// Harness is one world with one controller at a time.
type Harness struct {
	T        testing.TB
	Emulator *emulator.Emulator
	Store    *cluster.Memory
	World    Seeded
	// Models holds requests and answers against what AWS's models say.
	Models *awsmodel.Checker

	opt     Options
	bound   roleBound // what the controller may do in the cluster
	process *process
	stop    func()
	// recovered is how long processes that followed a dead one made changes.
	recovered []time.Duration
}

// New makes the world and starts a controller in it.
func New(t testing.TB, opt Options) *Harness {
	t.Helper()
	objects, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	r := &Harness{T: t, Store: objects}
	if opt.Beside != nil {
		r.Models, r.Emulator = opt.Beside.Models, opt.Beside.Emulator
	} else {
		r.Models = awsmodel.Watch(t, &opt.Emulator)
		r.Emulator = emulator.New(opt.Emulator)
	}
	if r.World, err = begin(t.Context(), r.Emulator, objects, opt); err != nil {
		t.Fatal(err)
	}
	r.opt = opt
	if opt.Policies == nil {
		t.Cleanup(func() {
			for denied := range r.Emulator.Denials() {
				t.Errorf("the policies that are shipped lack a permission: %s", denied)
			}
		})
		opt.Policies = shippedPolicies(t, r.Emulator)
	}
	r.Allow(opt.Policies...)
	r.bound = roleBound{roles: opt.Roles, denied: map[string]bool{}}
	if opt.Roles == nil {
		r.bound.roles = rights.Kubernetes
		t.Cleanup(func() {
			for _, verb := range r.bound.lacking() {
				t.Errorf("the roles that are shipped lack %s", verb)
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

// Allow limits the controller to policies from now on.
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

// Apply creates the objects of YAML documents, or changes them as a user does.
func (r *Harness) Apply(docs ...string) {
	r.T.Helper()
	for _, doc := range docs {
		objects, err := read(doc)
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

// mostObservations is how often a run may read a stack in AWS; every test holds the controller to it.
const mostObservations = 8

// process is a process of the controller: caches and a queue, which end with it.
type process struct {
	harness *Harness
	ctx     context.Context
	kill    context.CancelFunc
	// end asks the workers to stop, and waits until they have.
	end      func()
	started  time.Time
	engine   *engine.Engine
	frontend *ingress.Frontend
	bindings *bindings.Reconciler
	stacks   *queue.Triggers[model.StackID]
	tracked  *queue.Triggers[bindings.Key]
	classes  queue.Line[cluster.Ref]
	queue    dueQueue
	watch    *drift.Watch // nil: nothing is looked for

	k8s  *kube.Cluster
	line engine.Config
	fill bindings.Config

	checkpoints *controller.Checkpoints // nil: none are kept
	memberships *controller.Memberships // nil: as checkpoints
	saved       time.Time
}

// Start starts the controller again; what the one before remembered is gone.
func (r *Harness) Start() {
	r.T.Helper()
	if r.stop != nil {
		r.process.save()
		r.stop()
	}
	ctx, kill := context.WithCancel(context.Background())
	p := &process{harness: r, ctx: ctx, kill: kill, started: time.Now()}
	var wire http.RoundTripper = transport{p}
	if r.opt.Transport != nil {
		wire = r.opt.Transport(wire)
	}
	cfg := cloud.Config{
		Cluster: ClusterName, Region: regionOf(r), VPC: r.World.VPC, RuleTags: true, Reachability: true, TaggingAPI: r.opt.TaggingLag > 0,
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
	r.bound.api = kube.InMemory{Store: r.Store}
	var api kube.API = &r.bound
	if r.opt.API != nil {
		api = r.opt.API(api)
	}
	var source cluster.Source = r.Store
	if r.opt.Source != nil {
		source = r.opt.Source(source)
	}
	k8s := kube.New(&cluster.Reduced{Source: source, QUICEnv: targets.DefaultQUICVariable}, killableServer{p, api}, clock.RealClock{})
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
	p.stacks = controller.StackTriggers(k8s, frontends, k8s.Members)
	classes := config.Default()
	if r.opt.Classes != nil {
		r.opt.Classes(&classes)
	}
	p.classes = controller.ClassLine(classes, k8s, controller.NewMetrics(), r.opt.fence(), clock.RealClock{}, versions())
	p.tracked = queue.NewTriggers(k8s, []cluster.Kind{cluster.KindBinding}, bindingChanges{process: p})
	options := plan.Options{Cluster: ClusterName, VPC: r.World.VPC, RuleTags: true, SubnetClusterCheck: true, StrictGroups: in.StrictGroups, Propagation: 10 * time.Second, Stabilization: 2 * time.Minute,
		CreateFirst: true, DeletionDelay: 15 * time.Minute, Accelerators: r.opt.Accelerators}
	if r.opt.Plan != nil {
		r.opt.Plan(&options)
	}
	line := engine.Config{
		Cloud: aws, Cluster: k8s, Options: options, Clock: clock.RealClock{}, Fence: r.opt.fence(), Resync: r.opt.Resync,
		Frontends: frontends,
		Recorder:  stackRecorder{process: p},
		Silence:   aws.Client(),
		Drift:     r.opt.DriftMode,
	}
	book := checkpoint.New()
	line.Secrets = book
	if r.opt.Checkpoints {
		p.checkpoints = &controller.Checkpoints{Book: book, Store: kube.Checkpoints{API: killableServer{p, api}, Namespace: "kube-system"}}
		if r.opt.Workers == 0 {
			p.checkpoints.Load(ctx)
		}
		p.saved = time.Now()
		line.Checkpoints = book
		if r.opt.Workers == 0 {
			line.Checkpoints, line.Secrets = savedAtOnce{book, p}, savedAtOnce{book, p}
		}
		p.memberships = &controller.Memberships{
			Memory: k8s.Members, Store: kube.Checkpoints{API: killableServer{p, api}, Namespace: "kube-system", Name: kube.MembershipsName},
		}
		k8s.Store = p.memberships
	}
	fill := bindings.Config{
		Cloud: aws, Silence: aws.Client(), Cluster: k8s, ClusterName: ClusterName, VPC: r.World.VPC,
		Targets:  targets.Options{FailOpen: true},
		Recorder: bindingRecorder{process: p},
		Clock:    clock.RealClock{}, Fence: r.opt.fence(), Resync: r.opt.Resync, Drift: r.opt.DriftMode,
	}
	p.k8s, p.line, p.fill = k8s, line, fill
	r.process = p
	if r.opt.Workers > 0 {
		r.stop = p.work(r.opt.Workers)
		return
	}
	p.engine, p.bindings = engine.New(line), bindings.New(fill)
	p.watchDrift()
	p.loadMemberships()
	p.listAll()
	unwatch := r.Store.Watch(p.event)
	r.stop = func() { unwatch(); kill() }
}

// watchDrift queues looking for what others have changed, as an item that is always due again.
func (p *process) watchDrift() {
	aws, ok := p.line.Cloud.(controller.DriftReader)
	if !ok || !p.harness.opt.Drift {
		return
	}
	aws.NotifyOutside(outsideChanges{p})
	p.bindings.Queue = bindingQueue{p}
	p.watch = controller.DriftWatch(aws, p.bindings, p.harness.opt.Log)
	p.queue.add(key{drift: true}, time.Now())
}

// Kill ends the controller at once: no further call of it arrives.
func (r *Harness) Kill() { r.process.kill() }

// Dead reports whether the controller was killed.
func (r *Harness) Dead() bool { return r.process.ctx.Err() != nil }

// Settle runs the controller until nothing is due within the horizon, or it is dead. It returns
// the errors of the last run of each item.
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
		p.queue.take(k)
		if time.Since(p.saved) >= durations.Request {
			p.save()
		}
		after, err := p.run(k)
		idle.ran(r, k)
		if r.opt.Ran != nil {
			r.opt.Ran(k.String(), err)
		}
		delete(failed, k.String())
		if err != nil {
			failed[k.String()] = err
			after = p.queue.backOff(k)
		} else {
			p.queue.forgive(k)
		}
		if after > 0 {
			p.queue.add(k, time.Now().Add(after))
		}
	}
	r.T.Fatalf("the controller does not come to rest; failing: %v", failed)
	return nil
}

func (p *process) run(k key) (time.Duration, error) {
	if k.binding != (bindings.Key{}) {
		out, err := p.bindings.Reconcile(p.ctx, k.binding)
		return out.RetryAfter, err
	}
	if k.drift {
		return max(p.watch.Step(p.ctx), time.Millisecond), nil
	}
	if k.class != (cluster.Ref{}) {
		p.classes.Triggers.Begin(k.class)
		next, err := p.classes.Reconciler.Reconcile(p.ctx, k.class)
		p.classes.Triggers.End(k.class)
		return next.After, err
	}
	if p.k8s.Store != nil {
		p.k8s.Store.Keep(p.ctx)
	}
	out, err := p.engine.Reconcile(p.ctx, k.stack)
	if out.Observations > mostObservations {
		p.harness.T.Errorf("%s was observed %d times in one run", k.stack, out.Observations)
	}
	if err == nil {
		err = out.Err
		if out.IsOver() {
			p.stacks.Forget(k.stack)
		}
	}
	return out.RetryAfter, err
}

// Draft returns the plan of a stack as it stands.
func (r *Harness) Draft(id model.StackID) engine.Draft {
	r.T.Helper()
	d, err := r.process.engine.Draft(r.process.ctx, id)
	if err != nil {
		r.T.Fatal(err)
	}
	return d
}

// Plan returns what a stack becomes, nil if that is not known.
func (r *Harness) Plan(id model.StackID) *document.Document {
	r.T.Helper()
	return r.Draft(id).Describe()
}

// Orphans are the stacks of which AWS has something and that no object asks for.
func (r *Harness) Orphans() []controller.Orphan {
	r.T.Helper()
	p := r.process
	out, err := controller.FindOrphans(p.ctx, p.line.Cloud.(controller.OwnedLister), p.k8s.View, p.line.Frontends, "")
	if err != nil {
		r.T.Fatal(err)
	}
	return out
}

// Stacks are those that an object belongs to.
func (r *Harness) Stacks(obj cluster.Object) []model.StackID {
	var out []model.StackID
	for _, kind := range model.Kinds {
		if f := r.process.line.Frontends[kind]; f != nil {
			out = append(out, f.Stacks(r.process.k8s.View(), obj)...)
		}
	}
	return out
}

// transport reaches the emulator while the process lives.
type transport struct{ p *process }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.p.ctx.Err(); err != nil {
		return nil, fmt.Errorf("the process is dead: %w", err)
	}
	res, err := t.p.harness.Emulator.RoundTripper().RoundTrip(req)
	if dead := t.p.ctx.Err(); dead != nil {
		return nil, fmt.Errorf("the process died before the answer came: %w", dead)
	}
	return res, err
}
