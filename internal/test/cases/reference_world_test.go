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

// moment is a state during an adoption in which the reference controller may take over the cluster.
type moment struct {
	harness.Snapshot
	step        string
	changeCount int    // calls and writes since the step began
	change      string // the operation of the last change
}

func (m moment) String() string {
	return fmt.Sprintf("%s, change %d, %s", m.step, m.changeCount, m.change)
}

// direction returns the step without the suffix " again", so that both adoptions have the same direction.
func (m moment) direction() string { return strings.TrimSuffix(m.step, " again") }

// momentRecorder records a moment after each mutating call to AWS and each write to Kubernetes. A process that is killed there
// leaves the same state.
type momentRecorder struct {
	kube.API
	a           *adoption
	isRecording bool
	moments     []moment
	changeCount int
}

func (rec *momentRecorder) recordMoment(change string) {
	if rec.isRecording {
		rec.changeCount++
		rec.moments = append(rec.moments, moment{harness.SnapshotOf(rec.a.r), rec.a.step, rec.changeCount, change})
	}
}

// beginStep begins a step, and records the moment before its first change.
func (rec *momentRecorder) beginStep(step string) {
	rec.a.step, rec.changeCount, rec.isRecording = step, -1, true
	rec.recordMoment("none")
}

func (rec *momentRecorder) transport(next http.RoundTripper) http.RoundTripper {
	return harness.RoundTripperFunc(func(req *http.Request) (*http.Response, error) {
		before := rec.a.countChanges()
		res, err := next.RoundTrip(req)
		if rec.a.countChanges() > before {
			entries := rec.a.r.Emulator.Calls().Entries()
			rec.recordMoment(entries[len(entries)-1].Operation)
		}
		return res, err
	})
}

// countChanges returns the number of mutating calls.
func (a *adoption) countChanges() int {
	if a.r == nil {
		return 0
	}
	return a.r.Emulator.Calls().CountMutating()
}

func (rec *momentRecorder) recordWrite(verb string, obj cluster.Object, err error) error {
	if err == nil {
		kind, _ := cluster.KindOf(obj)
		rec.recordMoment(fmt.Sprint(verb, " ", kind))
	}
	return err
}

func (rec *momentRecorder) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	return rec.recordWrite("Patch", obj, rec.API.Patch(ctx, obj, part, kind, data))
}

func (rec *momentRecorder) Update(ctx context.Context, obj cluster.Object) error {
	return rec.recordWrite("Update", obj, rec.API.Update(ctx, obj))
}

func (rec *momentRecorder) Delete(ctx context.Context, obj cluster.Object) error {
	return rec.recordWrite("Delete", obj, rec.API.Delete(ctx, obj))
}

// Create records no moments for events.
func (rec *momentRecorder) Create(ctx context.Context, obj cluster.Object) error {
	err := rec.API.Create(ctx, obj)
	if _, is := cluster.KindOf(obj); is {
		return rec.recordWrite("Create", obj, err)
	}
	return err
}

// referenceControllerRun is the reference controller, started from the state of a moment.
type referenceControllerRun struct {
	*adoption
	sourceAdoption *adoption // the adoption to which the moment belongs
	controller     *reference.Controller
	stacks         []reference.Stack // the stack of the Ingresses first, then that of the Gateway
	frontends      map[model.Kind]engine.Frontend
	// firstAnswers has the answers when the reference controller started, and lastAnswers the current ones.
	firstAnswers, lastAnswers map[string]map[string]string
	// lostAnswers describes the first difference from firstAnswers. deletionFault describes the first difference that a
	// deletion has caused.
	lostAnswers, deletionFault string
	changeLog                  []reference.Change
}

// restoreMoment restores the state of a moment, without a running controller.
func (a *adoption) restoreMoment(m moment, desired *desiredStates) *referenceControllerRun {
	s := &referenceControllerRun{sourceAdoption: a, frontends: map[model.Kind]engine.Frontend{}}
	s.adoption = &adoption{t: a.t, ingressGroups: a.ingressGroups, arns: a.arns, step: m.String()}
	s.r = NewHarness(a.t, harness.Options{InitialState: &m.Snapshot, Frontends: s.frontends})
	s.controller = &reference.Controller{AWS: harness.AWSConfig(s.r.Emulator), Cluster: harness.ClusterName, VPC: s.r.Seeded.VPC, Objects: s.r.Store,
		RunBindings: func() { s.r.Settle(controllerRunTime); s.recordLostAnswers() }}
	s.controller.AWS.HTTPClient = answerCheckingClient{s.r.Emulator.Client(), s}
	for _, g := range s.ingressGroups {
		var members []cluster.Ref
		for _, m := range g.Members {
			members = append(members, cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name})
		}
		s.stacks = append(s.stacks, desired.referenceStack(g.ID, members))
	}
	for _, g := range s.ingressGroups {
		id := gatewayStack(g.Gateway.Namespace, g.Gateway.Name)
		s.stacks = append(s.stacks, desired.referenceStack(id, []cluster.Ref{{Kind: cluster.KindGateway, Namespace: id.Namespace, Name: id.Name}}))
	}
	return s
}

func gatewayStack(namespace, name string) model.StackID {
	return model.StackID{Kind: model.ALBGateway, Namespace: namespace, Name: name}
}

// handoverStates returns the states that `fulcrum migrate status` shows for the IngressGroups.
func (s *referenceControllerRun) handoverStates() (out []handover.State) {
	for _, g := range s.ingressGroups {
		by, from := s.r.Draft(gatewayStack(g.Gateway.Namespace, g.Gateway.Name)), s.r.Draft(g.ID)
		out = append(out, handover.StateOf(handover.StateFacts{Gateway: by.TranslatedStack, Other: from.TranslatedStack, Have: by.Have, Findings: by.Findings}))
	}
	return out
}

// handOverToReferenceController stops this controller, except for TargetGroupBindings, which it continues to reconcile for the
// reference controller.
func (s *referenceControllerRun) handOverToReferenceController() {
	for _, kind := range []model.Kind{model.Ingress, model.Service, model.ALBGateway, model.NLBGateway} {
		s.frontends[kind] = nil
	}
	s.r.Start()
	s.r.Emulator.Calls().Reset()
	s.firstAnswers = s.servedAnswers()
	s.lastAnswers = s.firstAnswers
}

// answerCheckingClient compares the answers after each mutating call of the reference controller.
type answerCheckingClient struct {
	*http.Client
	s *referenceControllerRun
}

func (c answerCheckingClient) Do(req *http.Request) (*http.Response, error) {
	before := c.s.countChanges()
	res, err := c.Client.Do(req)
	if c.s.countChanges() > before {
		c.s.recordLostAnswers()
	}
	return res, err
}

// recordLostAnswers compares the current answers with the first and the last ones, and records the first differences.
func (s *referenceControllerRun) recordLostAnswers() {
	if s.firstAnswers == nil {
		return
	}
	now := s.servedAnswers()
	if s.lostAnswers == "" {
		s.lostAnswers = s.answerDifference(s.firstAnswers, now)
	}
	if n := len(s.changeLog); n > 0 && s.deletionFault == "" && strings.HasPrefix(s.changeLog[n-1].Operation, "Delete") {
		s.deletionFault = s.answerDifference(s.lastAnswers, now)
	}
	s.lastAnswers = now
}

func (s *referenceControllerRun) answerDifference(before, after map[string]map[string]string) string {
	if reflect.DeepEqual(before, after) {
		return ""
	}
	return fmt.Sprintf("after %v (-before +after):\n%s", s.changeLog, cmp.Diff(before, after))
}

// servedAnswers returns the current answers of the load balancers, and the sources that may reach the load balancers.
func (s *referenceControllerRun) servedAnswers() map[string]map[string]string {
	out := s.currentAnswers()
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

// reconcile lets the reference controller reconcile a stack. Before the change with number at, counted from 1, it reconciles
// all other stacks. 0 means never.
func (s *referenceControllerRun) reconcile(stack reference.Stack, at int) reference.Outcome {
	n, outer := 0, s.controller.BeforeChange
	defer func() { s.controller.BeforeChange = outer }()
	s.controller.BeforeChange = func(c reference.Change) {
		s.changeLog = append(s.changeLog, c)
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

// reconcileAllStacks lets the reference controller reconcile all stacks three times in an order, and returns the last
// outcome of each. at is for the first stack; see reconcile.
func (s *referenceControllerRun) reconcileAllStacks(order []int, at int) map[model.StackID]reference.Outcome {
	out := map[model.StackID]reference.Outcome{}
	for range 3 {
		for _, i := range order {
			out[s.stacks[i].ID] = s.reconcile(s.stacks[i], at)
			at = 0
		}
	}
	s.controller.RunBindings()
	return out
}

// stackIndexes returns the indexes of the stacks in order.
func (s *referenceControllerRun) stackIndexes() (out []int) {
	for i := range s.stacks {
		out = append(out, i)
	}
	return out
}

// desiredStates computes desired states as the reference controller does: only from the objects that it knows, and for an
// AWS without load balancers.
type desiredStates struct {
	t             *testing.T
	emptyAWS      []byte // the state of AWS
	documentCache map[string][]byte
	snapshot      harness.Snapshot
}

func (d *desiredStates) referenceStack(id model.StackID, of []cluster.Ref) reference.Stack {
	return reference.Stack{ID: id, Objects: of, DesiredDocument: func(live []cluster.Ref) ([]byte, error) {
		key := fmt.Sprint(id.Kind, id, live)
		if d.documentCache[key] == nil {
			d.documentCache[key] = d.desiredDocument(id, live)
		}
		return d.documentCache[key], nil
	}}
}

func (d *desiredStates) desiredDocument(id model.StackID, live []cluster.Ref) []byte {
	from := harness.Snapshot{AWS: d.emptyAWS, Seeded: d.snapshot.Seeded}
	for _, obj := range d.snapshot.Objects {
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
	r := NewHarness(d.t, harness.Options{InitialState: &from})
	doc := r.Plan(id)
	if doc == nil {
		d.t.Fatalf("%s has no desired state", id)
	}
	return []byte(doc.JSON())
}

// sampleMoments returns the moments after the first change of each kind in each direction that is not in seen, and adds
// these to seen. With FULCRUM_ADOPTIONS=all it returns all moments.
func sampleMoments(moments []moment, seen map[string]bool) (out []moment) {
	for _, m := range moments {
		key := m.direction() + " " + m.change
		if !seen[key] || os.Getenv("FULCRUM_ADOPTIONS") == "all" {
			out = append(out, m)
		}
		seen[key] = true
	}
	return out
}
