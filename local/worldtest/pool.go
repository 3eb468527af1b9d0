package worldtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// Pool lends local worlds, to one test after the other: the start of a world costs more than most tests do. All have the
// Gateway API, so that those of Ingresses are those of Gateways. The zero value is ready to use.
type Pool struct {
	mu     sync.Mutex
	worlds map[string][]*Loan // by what their options have in common
}

// Loan is a world for one test at a time.
type Loan struct {
	*world.World
	pool   *Pool
	kind   string
	inUse  bool
	state  *kubernetesState
	before map[string]object
	aws    *inspect.Inspector
	held   inspect.Inventory // what AWS held before
	logs   int
}

// cleanLimit is how long the end of a loan waits for what a test has not waited for.
const cleanLimit = time.Minute

// returnLimit is how long the end of a loan takes at most: two waits, and requests between them.
const returnLimit = 3 * cleanLimit

// Lend takes a world for a test and puts it back when the test ends. What the test applies need not be deleted, but
// what a controller has made for it. The test fails if anything in the world is not as before.
func (p *Pool) Lend(t testing.TB, opts world.Options) *world.World {
	t.Helper()
	if opts.Binary == "" {
		opts.Binary = Binary(t)
	}
	l, err := p.Take(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			l.Close()
		} else if err := l.Return(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return l.World
}

// Take takes a world with the options out of the pool, or starts one. It is given back by Return, or ended by Close.
func (p *Pool) Take(ctx context.Context, opts world.Options) (*Loan, error) {
	opts.AdminController = opts.AdminController || Foreign()
	opts.GatewayAPI = cmp.Or(opts.GatewayAPI, "standard")
	delay := opts.PropagationDelay
	opts.PropagationDelay = 0
	kind := fmt.Sprintf("%+v", struct {
		Cluster, Region, GatewayAPI string
		Nodes                       int
		Domains                     []string
		ActiveAtOnce, Admin         bool
		WithoutTraffic              bool
	}{opts.Cluster, opts.Region, opts.GatewayAPI, opts.Nodes, opts.Domains, opts.ActiveAtOnce, opts.AdminController, opts.WithoutTraffic})
	l, err := p.reserve(kind)
	if err != nil {
		return nil, err
	}
	if l.World == nil {
		if err := l.start(ctx, opts); err != nil {
			l.Close()
			return nil, err
		}
	}
	if err := l.SetPropagationDelay(ctx, delay); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// reserve returns a world that is not in use, or one that is to be started.
func (p *Pool) reserve(kind string) (*Loan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.worlds[kind] {
		if !l.inUse {
			l.inUse = true
			return l, nil
		}
	}
	if p.worlds == nil {
		p.worlds = map[string][]*Loan{}
	}
	l := &Loan{pool: p, kind: kind, inUse: true}
	p.worlds[kind] = append(p.worlds[kind], l)
	return l, nil
}

func (l *Loan) start(ctx context.Context, opts world.Options) error {
	var err error
	if l.World, err = world.Start(ctx, opts); err != nil {
		return err
	}
	if l.state, err = newKubernetesState(l.World); err != nil {
		return err
	}
	l.aws = inspect.New(l.AWSConfig(), l.Layout().VPC)
	if l.held, err = l.aws.Inventory(ctx); err != nil {
		return err
	}
	return l.settles(ctx)
}

// settles waits until Kubernetes has made what it makes in every cluster, and notes all that is there.
func (l *Loan) settles(ctx context.Context) error {
	return await.True(ctx, cleanLimit, func(ctx context.Context) error {
		last := l.before
		var err error
		if l.before, err = l.state.all(ctx); err != nil {
			return err
		}
		for o := range l.before {
			if name, ok := strings.CutPrefix(o, "namespaces "); ok {
				for _, made := range []string{"serviceaccounts " + name + "/default", "configmaps " + name + "/kube-root-ca.crt"} {
					if _, ok := l.before[made]; !ok {
						return errors.New("Kubernetes has not made " + made)
					}
				}
			}
		}
		_, err = difference(last, l.before)
		return err
	})
}

// Return puts the world back. An error says what a test has left in it; then the world is ended instead.
func (l *Loan) Return(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, returnLimit)
	defer done()
	if err := l.Clean(ctx); err != nil {
		return errors.Join(fmt.Errorf("the world is not as before the test: %w", err), l.Close())
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.inUse = false
	return nil
}

// Close ends the world instead of putting it back.
func (l *Loan) Close() error {
	l.pool.mu.Lock()
	kept := l.pool.worlds[l.kind][:0]
	for _, other := range l.pool.worlds[l.kind] {
		if other != l {
			kept = append(kept, other)
		}
	}
	l.pool.worlds[l.kind] = kept
	l.pool.mu.Unlock()
	if l.World == nil {
		return nil
	}
	return l.World.Close()
}

// Clean checks that a test has left nothing that a controller has to remove, and removes what only the test put there.
func (l *Loan) Clean(ctx context.Context) error {
	for _, role := range world.Roles() {
		if role != world.RoleController && !l.Alive(role) {
			return fmt.Errorf("%s does not run", role)
		}
	}
	var now map[string]object
	err := await.True(ctx, cleanLimit, func(ctx context.Context) (err error) {
		now, err = l.letGo(ctx)
		return err
	})
	if err != nil {
		return err
	}
	denied, err := l.DeniedByAWS(ctx)
	if err != nil {
		return err
	}
	if len(denied) > 0 {
		return fmt.Errorf("config/iam lacks a permission: %s", strings.Join(denied, "; "))
	}
	if l.Alive(world.RoleController) {
		if err := l.KillController(); err != nil {
			return err
		}
	}
	if err := l.remove(ctx, now); err != nil {
		return err
	}
	if err := l.state.deleteEvents(ctx, l.before); err != nil {
		return err
	}
	for _, what := range []string{"calls", "faults"} {
		if err := l.forget(ctx, what); err != nil {
			return err
		}
	}
	l.logs++
	log := l.Log(world.RoleController)
	if err := os.Rename(log, fmt.Sprintf("%s.%d", log, l.logs)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// letGo lists the objects of the cluster. It is an error as long as AWS holds something that the controller has made, or
// an object waits for it.
func (l *Loan) letGo(ctx context.Context) (map[string]object, error) {
	held, err := l.aws.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	if left := held.Minus(l.held); len(left) > 0 {
		return nil, fmt.Errorf("left in AWS: %s", strings.Join(left, "; "))
	}
	if lost := l.held.Minus(held); len(lost) > 0 {
		return nil, fmt.Errorf("lost in AWS: %s", strings.Join(lost, "; "))
	}
	now, err := l.state.all(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range now {
		if len(o.finalizers) > 0 {
			return nil, fmt.Errorf("%s has finalizers %s", o, strings.Join(o.finalizers, ", "))
		}
	}
	return now, nil
}

// remove deletes what was added to the cluster, and waits until its objects, which are now these, are those of before.
// Only kinds that differ are read again and again.
func (l *Loan) remove(ctx context.Context, now map[string]object) error {
	before := l.before
	return await.True(ctx, cleanLimit, func(ctx context.Context) error {
		differ, differs := difference(before, now)
		var err error
		if differs == nil {
			before = l.before
			if now, err = l.state.all(ctx); err != nil {
				return err
			}
			_, differs = difference(before, now)
			return differs
		}
		if err := l.delete(ctx, before, differ); err != nil {
			return err
		}
		kinds := map[schema.GroupVersionResource]struct{}{}
		for _, o := range differ {
			kinds[o.resource] = struct{}{}
		}
		before = maps.Clone(l.before)
		maps.DeleteFunc(before, func(_ string, o object) bool {
			_, ok := kinds[o.resource]
			return !ok
		})
		if now, err = l.state.objects(ctx, kinds); err != nil {
			return err
		}
		return differs
	})
}

// delete deletes those of the objects that were not there before.
func (l *Loan) delete(ctx context.Context, before map[string]object, objects []object) error {
	// Kubernetes waits half a minute when it finds pods in a namespace that goes.
	withPods := slices.ContainsFunc(objects, object.isPod)
	for _, o := range objects {
		if _, ok := before[o.String()]; ok || withPods && o.resource.Resource == "namespaces" {
			continue
		}
		if err := l.state.delete(ctx, o, l.before); err != nil {
			return err
		}
	}
	return nil
}

// forget empties a list of the emulator.
func (l *Loan) forget(ctx context.Context, list string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.AWSEndpoint()+"/_fulcrum/"+list, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		err = fmt.Errorf("empty the list of %s: %s", list, res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

// Close ends all worlds.
func (p *Pool) Close() error {
	p.mu.Lock()
	var all []*Loan
	for _, loans := range p.worlds {
		all = append(all, loans...)
	}
	p.mu.Unlock()
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
