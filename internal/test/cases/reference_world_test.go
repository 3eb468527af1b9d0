package cases

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/reference"
)

// moment is a state of an adoption in which the other controller may take over the cluster.
type moment struct {
	harness.Snapshot
	step   string
	n      int    // calls and writes since the step began
	change string // the operation of the last change
}

func (m moment) String() string { return fmt.Sprintf("%s, change %d, %s", m.step, m.n, m.change) }

// direction returns whether the load balancer is being adopted, returned or released.
func (m moment) direction() string { return strings.TrimSuffix(m.step, " again") }

// recorder records the moments of an adoption: after each mutating call to AWS and each write to Kubernetes. A
// process killed there leaves the same state.
type recorder struct {
	kube.API
	a       *adoption
	on      bool
	moments []moment
	n       int
}

func (rec *recorder) note(change string) {
	if rec.on {
		rec.n++
		rec.moments = append(rec.moments, moment{harness.SnapshotOf(rec.a.r), rec.a.step, rec.n, change})
	}
}

// begin begins a step, and records the moment before its first change.
func (rec *recorder) begin(step string) {
	rec.a.step, rec.n, rec.on = step, -1, true
	rec.note("none")
}

func (rec *recorder) transport(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripper(func(req *http.Request) (*http.Response, error) {
		before := rec.a.changes()
		res, err := next.RoundTrip(req)
		if rec.a.changes() > before {
			entries := rec.a.r.Emulator.Calls().Entries()
			rec.note(entries[len(entries)-1].Operation)
		}
		return res, err
	})
}

// changes returns the number of mutating calls.
func (a *adoption) changes() int {
	if a.r == nil {
		return 0
	}
	return a.r.Emulator.Calls().Mutating()
}

func (rec *recorder) written(verb string, obj cluster.Object, err error) error {
	if err == nil {
		kind, _ := cluster.KindOf(obj)
		rec.note(fmt.Sprint(verb, " ", kind))
	}
	return err
}

func (rec *recorder) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	return rec.written("Patch", obj, rec.API.Patch(ctx, obj, part, kind, data))
}

func (rec *recorder) Update(ctx context.Context, obj cluster.Object) error {
	return rec.written("Update", obj, rec.API.Update(ctx, obj))
}

func (rec *recorder) Delete(ctx context.Context, obj cluster.Object) error {
	return rec.written("Delete", obj, rec.API.Delete(ctx, obj))
}

// Create records no moments for events.
func (rec *recorder) Create(ctx context.Context, obj cluster.Object) error {
	err := rec.API.Create(ctx, obj)
	if _, is := cluster.KindOf(obj); is {
		return rec.written("Create", obj, err)
	}
	return err
}

// successor is the other controller, started from the state of a moment.
type successor struct {
	*adoption
	of         *adoption // the adoption to which the moment belongs
	controller *reference.Controller
	stacks     []reference.Stack // the stack of the Ingresses first, then that of the Gateway
	frontends  map[model.Kind]engine.Frontend
	// before are the answers when the other controller began, last are the current answers.
	before, last map[string]map[string]string
	// lost describes the first difference of the answers after a change, deleted the first one after a deletion.
	lost, deleted string
	changed       []reference.Change
}

// restoreMoment restores the state of a moment, without a running controller.
func (a *adoption) restoreMoment(m moment, desired *desires) *successor {
	s := &successor{of: a, frontends: map[model.Kind]engine.Frontend{}}
	s.adoption = &adoption{t: a.t, groups: a.groups, arns: a.arns, step: m.String()}
	s.r = NewWorld(a.t, harness.Options{From: &m.Snapshot, Frontends: s.frontends})
	s.controller = &reference.Controller{AWS: harness.AWSConfig(s.r.Emulator), Cluster: harness.ClusterName, VPC: s.r.World.VPC, Objects: s.r.Store,
		Bindings: func() { s.r.Settle(horizon); s.recordLostAnswers() }}
	s.controller.AWS.HTTPClient = checked{s.r.Emulator.Client(), s}
	for _, g := range s.groups {
		var members []cluster.Ref
		for _, m := range g.Members {
			members = append(members, cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name})
		}
		s.stacks = append(s.stacks, desired.stack(g.ID, members))
	}
	for _, g := range s.groups {
		id := gatewayStack(g.Gateway.Namespace, g.Gateway.Name)
		s.stacks = append(s.stacks, desired.stack(id, []cluster.Ref{{Kind: cluster.KindGateway, Namespace: id.Namespace, Name: id.Name}}))
	}
	return s
}

func gatewayStack(namespace, name string) model.StackID {
	return model.StackID{Kind: model.ALBGateway, Namespace: namespace, Name: name}
}

// states returns the states that `fulcrum migrate status` shows for the IngressGroups.
func (s *successor) states() (out []handover.State) {
	for _, g := range s.groups {
		by, from := s.r.Draft(gatewayStack(g.Gateway.Namespace, g.Gateway.Name)), s.r.Draft(g.ID)
		out = append(out, handover.StateOf(handover.StateFacts{Gateway: by.Translated, Other: from.Translated, Have: by.Have, Found: by.Findings}))
	}
	return out
}

// handOverToOtherController ends this controller, except for TargetGroupBindings, which it serves for the other controller from now on.
func (s *successor) handOverToOtherController() {
	for _, kind := range []model.Kind{model.Ingress, model.Service, model.ALBGateway, model.NLBGateway} {
		s.frontends[kind] = nil
	}
	s.r.Start()
	s.r.Emulator.Calls().Reset()
	s.before = s.served()
	s.last = s.before
}

// checked compares the answers after each call of the other controller.
type checked struct {
	*http.Client
	s *successor
}

func (c checked) Do(req *http.Request) (*http.Response, error) {
	before := c.s.changes()
	res, err := c.Client.Do(req)
	if c.s.changes() > before {
		c.s.recordLostAnswers()
	}
	return res, err
}

// recordLostAnswers compares the current answers with those at the beginning.
func (s *successor) recordLostAnswers() {
	if s.before == nil {
		return
	}
	now := s.served()
	if s.lost == "" {
		s.lost = s.difference(s.before, now)
	}
	if n := len(s.changed); n > 0 && s.deleted == "" && strings.HasPrefix(s.changed[n-1].Operation, "Delete") {
		s.deleted = s.difference(s.last, now)
	}
	s.last = now
}

func (s *successor) difference(before, after map[string]map[string]string) string {
	if reflect.DeepEqual(before, after) {
		return ""
	}
	return fmt.Sprintf("after %v (-before +after):\n%s", s.changed, cmp.Diff(before, after))
}

// served returns the answers of the load balancers, and the sources that may reach them.
func (s *successor) served() map[string]map[string]string {
	out := s.answers()
	all := s.r.Emulator.Store()
	all.Lock()
	defer all.Unlock()
	p := all.Partition(harness.Account, harness.Region)
	for _, arn := range s.arns {
		of := map[string]string{}
		out[arn] = of
		lb := p.ELB.LoadBalancers[arn]
		if lb == nil {
			continue
		}
		var open []string
		for _, id := range lb.SecurityGroups {
			for _, rule := range p.SecurityGroups[id].Ingress {
				open = append(open, fmt.Sprint(rule.Protocol, rule.From != nil && rule.To != nil, rule.Peer.CIDR, rule.Peer.PrefixList))
			}
		}
		of["open"] = strings.Join(slices.Compact(slices.Sorted(slices.Values(open))), " ")
	}
	return out
}

// reconcile lets the other controller reconcile a stack. At its n-th change it first reconciles all other stacks; 0
// for never.
func (s *successor) reconcile(stack reference.Stack, at int) reference.Outcome {
	n, outer := 0, s.controller.Before
	defer func() { s.controller.Before = outer }()
	s.controller.Before = func(c reference.Change) {
		s.changed = append(s.changed, c)
		if n++; n != at {
			return
		}
		for _, o := range s.stacks {
			if o.ID != stack.ID {
				s.reconcile(o, 0)
			}
		}
	}
	out := s.controller.Reconcile(s.t.Context(), stack)
	s.recordLostAnswers()
	return out
}

// reconcileAllStacks lets the other controller reconcile all stacks in an order for some rounds, and returns the last outcomes.
func (s *successor) reconcileAllStacks(order []int, at int) map[model.StackID]reference.Outcome {
	out := map[model.StackID]reference.Outcome{}
	for range 3 {
		for _, i := range order {
			out[s.stacks[i].ID] = s.reconcile(s.stacks[i], at)
			at = 0
		}
	}
	s.controller.Bindings()
	return out
}

// forwards returns the indexes of the stacks in order.
func (s *successor) forwards() (out []int) {
	for i := range s.stacks {
		out = append(out, i)
	}
	return out
}

// desires computes desired states as the other controller does: from its own objects alone, in an AWS without load
// balancers.
type desires struct {
	t     *testing.T
	empty []byte // the state of AWS
	made  map[string][]byte
	from  harness.Snapshot
}

func (d *desires) stack(id model.StackID, of []cluster.Ref) reference.Stack {
	return reference.Stack{ID: id, Objects: of, Desired: func(live []cluster.Ref) ([]byte, error) {
		key := fmt.Sprint(id.Kind, id, live)
		if d.made[key] == nil {
			d.made[key] = d.make(id, live)
		}
		return d.made[key], nil
	}}
}

func (d *desires) make(id model.StackID, live []cluster.Ref) []byte {
	from := harness.Snapshot{AWS: d.empty, World: d.from.World}
	for _, obj := range d.from.Objects {
		ref := cluster.RefOf(obj)
		if slices.Contains([]cluster.Kind{cluster.KindIngress, cluster.KindGateway}, ref.Kind) && !slices.Contains(live, ref) || ref.Kind == cluster.KindBinding {
			continue
		}
		obj = obj.DeepCopyObject().(cluster.Object)
		obj.SetFinalizers(nil)
		annotations := maps.Clone(obj.GetAnnotations())
		for _, ours := range []string{naming.AdoptAnnotation, naming.AdoptedByAnnotation, naming.DryRunAnnotation} {
			delete(annotations, ours)
		}
		obj.SetAnnotations(annotations)
		from.Objects = append(from.Objects, obj)
	}
	r := NewWorld(d.t, harness.Options{From: &from})
	doc := r.Plan(id)
	if doc == nil {
		d.t.Fatalf("it is not known what %s becomes", id)
	}
	return []byte(doc.JSON())
}

// sample returns the moments after the first change of each kind in each direction that is not in seen, or all with
// FULCRUM_ADOPTIONS=all.
func sample(moments []moment, seen map[string]bool) (out []moment) {
	for _, m := range moments {
		key := m.direction() + " " + m.change
		if !seen[key] || os.Getenv("FULCRUM_ADOPTIONS") == "all" {
			out = append(out, m)
		}
		seen[key] = true
	}
	return out
}
