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

// Pool contains local worlds that tests reuse, because the start of a local world takes longer than most tests. One test at
// a time uses a local world. All local worlds have the CRDs of the Gateway API, because tests with and without Gateways
// share them. The zero value is ready to use.
type Pool struct {
	mu     sync.Mutex
	worlds map[string][]*PooledWorld // by PooledWorld.optionsKey
}

// PooledWorld is a local world of a pool, for one test at a time.
type PooledWorld struct {
	*world.World
	pool          *Pool
	optionsKey    string // text of the options that must be equal, see Acquire
	inUse         bool
	state         *objectCleaner
	objectsBefore map[string]object // objects in the cluster before the test, by object.String
	aws           *inspect.Inspector
	inventory     inspect.Inventory // resources in AWS before the test
	logCount      int
}

// cleanLimit is how long Clean waits for each of two conditions: that the controller has removed its resources, and that the
// objects of the test are deleted.
const cleanLimit = 2 * time.Minute

// releaseLimit is the timeout of Release. It includes the two waits of cleanLimit in Clean, and other requests.
const releaseLimit = 3 * cleanLimit

// AcquireForTest acquires a local world for a test, and releases it when the test ends. The test must delete the objects
// for which a controller has created AWS resources; the pool deletes all other objects of the test. The test fails if AWS
// resources remain or are missing at its end. If the test has failed, the local world is closed.
func (p *Pool) AcquireForTest(t testing.TB, opts world.Options) *world.World {
	t.Helper()
	if opts.Binary == "" {
		opts.Binary = BinaryPath(t)
	}
	l, err := p.Acquire(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			l.Close()
		} else if err := l.Release(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return l.World
}

// Acquire returns an unused local world of the pool with the same options, or starts one. It does not compare Binary,
// BaseDir, KeepState, Timeout and Progress, and it sets PropagationDelay in the local world that it returns. Release returns
// the local world to the pool; Close ends it.
func (p *Pool) Acquire(ctx context.Context, opts world.Options) (*PooledWorld, error) {
	opts.AdminController = opts.AdminController || IsOtherControllerTested()
	opts.GatewayAPI = cmp.Or(opts.GatewayAPI, "standard")
	opts.ProcessorsPerRole = cmp.Or(opts.ProcessorsPerRole, 1)
	delay := opts.PropagationDelay
	opts.PropagationDelay = 0
	kind := fmt.Sprintf("%+v", struct {
		Cluster, Region, GatewayAPI, AssetsDir string
		Nodes, ProcessorsPerRole, AWSOfWorld   int
		Domains, Manifests                     []string
		ActiveImmediately, Admin               bool
		WithoutTraffic, WithoutAWS             bool
	}{opts.Cluster, opts.Region, opts.GatewayAPI, opts.AssetsDir, opts.Nodes, opts.ProcessorsPerRole, opts.AWSOfWorld, opts.Domains, opts.Manifests,
		opts.ActiveImmediately, opts.AdminController, opts.WithoutTraffic, opts.WithoutAWS})
	l := p.reserve(kind)
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

// reserve returns an unused local world whose optionsKey is kind, and sets its field inUse. If there is none, it adds a
// PooledWorld without a World, which the caller must start.
func (p *Pool) reserve(kind string) *PooledWorld {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.worlds[kind] {
		if !l.inUse {
			l.inUse = true
			return l
		}
	}
	if p.worlds == nil {
		p.worlds = map[string][]*PooledWorld{}
	}
	l := &PooledWorld{pool: p, optionsKey: kind, inUse: true}
	p.worlds[kind] = append(p.worlds[kind], l)
	return l
}

func (l *PooledWorld) start(ctx context.Context, opts world.Options) error {
	var err error
	if l.World, err = startWorld(ctx, opts); err != nil {
		return err
	}
	if l.state, err = newObjectCleaner(l.World); err != nil {
		return err
	}
	l.aws = inspect.New(l.AWSConfig(), l.Layout().VPC)
	if l.inventory, err = l.aws.Inventory(ctx); err != nil {
		return err
	}
	return l.recordState(ctx)
}

// recordState stores all objects of the cluster in objectsBefore. It waits until Kubernetes has created the default objects
// of each namespace, and two successive reads are equal.
func (l *PooledWorld) recordState(ctx context.Context) error {
	return await.Success(ctx, cleanLimit, func(ctx context.Context) error {
		last := l.objectsBefore
		var err error
		if l.objectsBefore, err = l.state.allObjects(ctx); err != nil {
			return err
		}
		for o := range l.objectsBefore {
			if name, ok := strings.CutPrefix(o, "namespaces "); ok {
				for _, made := range []string{"serviceaccounts " + name + "/default", "configmaps " + name + "/kube-root-ca.crt"} {
					if _, ok := l.objectsBefore[made]; !ok {
						return errors.New("Kubernetes has not created " + made)
					}
				}
			}
		}
		_, err = objectDifference(last, l.objectsBefore)
		return err
	})
}

// Release cleans the local world and returns it to the pool. If Clean returns an error, Release closes the local world and
// returns the error.
func (l *PooledWorld) Release(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, releaseLimit)
	defer done()
	if err := l.Clean(ctx); err != nil {
		return errors.Join(fmt.Errorf("the world is not as before the test: %w", err), l.Close())
	}
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	l.inUse = false
	return nil
}

// Close ends the local world and removes it from the pool.
func (l *PooledWorld) Close() error {
	l.pool.mu.Lock()
	others := l.pool.worlds[l.optionsKey][:0]
	for _, other := range l.pool.worlds[l.optionsKey] {
		if other != l {
			others = append(others, other)
		}
	}
	l.pool.worlds[l.optionsKey] = others
	l.pool.mu.Unlock()
	if l.World == nil {
		return nil
	}
	return l.World.Close()
}

// Clean waits until the controller has removed its AWS resources and finalizers. Then it kills the controller, deletes the
// objects of the test, and clears the logs of the emulator. It returns an error if AWS resources, finalizers or changed
// objects remain, if a role does not run, or if AWS has denied a call of the controller.
func (l *PooledWorld) Clean(ctx context.Context) error {
	for _, role := range world.Roles() {
		if role != world.RoleController && !l.IsAlive(role) {
			return fmt.Errorf("%s does not run", role)
		}
	}
	var now map[string]object
	err := await.Success(ctx, cleanLimit, func(ctx context.Context) (err error) {
		now, err = l.checkControllerCleanup(ctx)
		return err
	})
	if err != nil {
		return err
	}
	denied, err := l.AWSDenials(ctx)
	if err != nil {
		return err
	}
	if len(denied) > 0 {
		return fmt.Errorf("config/iam lacks a permission: %s", strings.Join(denied, "; "))
	}
	if l.IsAlive(world.RoleController) {
		if err := l.KillController(); err != nil {
			return err
		}
	}
	if err := l.restoreObjects(ctx, now); err != nil {
		return err
	}
	if err := l.state.deleteEvents(ctx, l.objectsBefore); err != nil {
		return err
	}
	for _, list := range []string{"calls", "faults"} {
		if err := l.clearEmulatorList(ctx, list); err != nil {
			return err
		}
	}
	l.logCount++
	log := l.LogPath(world.RoleController)
	if err := os.Rename(log, fmt.Sprintf("%s.%d", log, l.logCount)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// checkControllerCleanup returns the objects of the cluster. It returns an error if AWS has other resources than before the
// test, or if an object has a finalizer of a load balancer controller.
func (l *PooledWorld) checkControllerCleanup(ctx context.Context) (map[string]object, error) {
	found, err := l.aws.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	if left := found.Minus(l.inventory); len(left) > 0 {
		return nil, fmt.Errorf("left in AWS: %s", strings.Join(left, "; "))
	}
	if lost := l.inventory.Minus(found); len(lost) > 0 {
		return nil, fmt.Errorf("missing in AWS: %s", strings.Join(lost, "; "))
	}
	now, err := l.state.allObjects(ctx)
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

// restoreObjects deletes the objects that were added to the cluster, and waits until the cluster has the same objects as in
// objectsBefore. now contains the current objects. While objects differ, it polls only their kinds.
func (l *PooledWorld) restoreObjects(ctx context.Context, now map[string]object) error {
	before := l.objectsBefore
	return await.Success(ctx, cleanLimit, func(ctx context.Context) error {
		differ, differs := objectDifference(before, now)
		var err error
		if differs == nil {
			before = l.objectsBefore
			if now, err = l.state.allObjects(ctx); err != nil {
				return err
			}
			_, differs = objectDifference(before, now)
			return differs
		}
		if err := l.deleteAddedObjects(ctx, before, differ); err != nil {
			return err
		}
		kinds := map[schema.GroupVersionResource]struct{}{}
		for _, o := range differ {
			kinds[o.resource] = struct{}{}
		}
		before = maps.Clone(l.objectsBefore)
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

// deleteAddedObjects deletes those of objects that are not in before. If pods are among them, it leaves namespaces to a
// later call.
func (l *PooledWorld) deleteAddedObjects(ctx context.Context, before map[string]object, objects []object) error {
	// Kubernetes takes half a minute to delete a namespace that contains pods, so pods are deleted first.
	withPods := slices.ContainsFunc(objects, object.isPod)
	for _, o := range objects {
		if _, ok := before[o.String()]; ok || withPods && o.resource.Resource == "namespaces" {
			continue
		}
		if err := l.state.delete(ctx, o, l.objectsBefore); err != nil {
			return err
		}
	}
	return nil
}

// clearEmulatorList clears a list of the emulator, "calls" or "faults", with its admin API.
func (l *PooledWorld) clearEmulatorList(ctx context.Context, list string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.AWSEndpoint()+"/_fulcrum/"+list, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		err = fmt.Errorf("clear the list of %s: %s", list, res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

// Close ends all local worlds.
func (p *Pool) Close() error {
	p.mu.Lock()
	var all []*PooledWorld
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
