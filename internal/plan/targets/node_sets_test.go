package targets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestCachedNodeListsEqualFullComputation adds, changes and removes nodes at random. The results with the cache must equal
// the results without a cache, for bindings with different selectors.
func TestCachedNodeListsEqualFullComputation(t *testing.T) {
	selectors := []*metav1.LabelSelector{
		nil, {MatchLabels: map[string]string{"pool": "a"}}, {MatchLabels: map[string]string{"pool": "b"}},
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "Wrong"}}},
	}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		store, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(nodePortService()); err != nil {
			t.Fatal(err)
		}
		sets := &NodeSets{}
		for step := range 30 {
			name := fmt.Sprintf("n%d", r.IntN(12))
			if r.IntN(4) == 0 {
				err = store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: name})
			} else {
				err = store.Put(randomNode(r, name))
			}
			if err != nil && !strings.Contains(err.Error(), "not found") {
				t.Fatal(err)
			}
			if r.IntN(3) == 0 {
				continue // several changes before the next computation
			}
			for i, s := range selectors {
				b := nodeBinding(s)
				open := r.IntN(2) == 0
				got := Resolve(cluster.NewView(store), b, Options{NodeCache: sets, FailOpen: open})
				want := Resolve(cluster.NewView(store), b, Options{FailOpen: open})
				if resolutionText(got) != resolutionText(want) {
					t.Fatalf("seed %d, step %d, selector %d: want\n%s\ngot\n%s", seed, step, i, resolutionText(want), resolutionText(got))
				}
				checkNodeList(t, r, got)
				if !slices.IsSortedFunc(got.Endpoints(), func(a, b Endpoint) int { return strings.Compare(a.Identity(), b.Identity()) }) {
					t.Fatalf("seed %d, step %d: not in order: %s", seed, step, resolutionText(got))
				}
			}
		}
	}
}

// checkNodeList checks that the methods Checkpoint and Compare of a Resolution return the same results as the functions
// Checkpoint and Compare, which read all endpoints.
func checkNodeList(t *testing.T, r *rand.Rand, got Resolution) {
	t.Helper()
	spec := elbv2.TargetGroupBindingSpec{TargetGroupARN: "arn"}
	full, err := Checkpoint(got.Endpoints(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second result comes from the cache
		if have, err := got.Checkpoint(spec); err != nil || have != full {
			t.Fatalf("checkpoint %s, %v; want %s of\n%s", have, err, full, resolutionText(got))
		}
	}
	have := randomTargets(r, got.Endpoints())
	limit := r.IntN(2) * (1 + r.IntN(8))
	want, diff := Compare(got.Endpoints(), have, limit), got.Compare(have, limit)
	if nodeDiffText(want) != nodeDiffText(diff) {
		t.Fatalf("targets %v: want\n%s\ngot\n%s", have, nodeDiffText(want), nodeDiffText(diff))
	}
}

// randomTargets returns targets for most of the endpoints, and some other targets. Some targets are draining or occur twice.
// The list may be sorted by ID or not.
func randomTargets(r *rand.Rand, endpoints []Endpoint) []*observed.Target {
	var out []*observed.Target
	for _, e := range endpoints {
		switch target := (&observed.Target{ID: e.ID, Port: e.Port, State: "healthy"}); r.IntN(12) {
		case 0:
		case 1:
			target.State = "draining"
			out = append(out, target)
		case 2:
			target.Port++
			out = append(out, target)
		case 3:
			other := *target
			other.ServerID = "0x1"
			out = append(out, &other, target)
		case 4:
			out = append(out, target, target)
		default:
			out = append(out, target)
		}
	}
	for range r.IntN(3) {
		out = append(out, &observed.Target{ID: []string{"i-0", "i-12b", "10.0.0.1", "i-4"}[r.IntN(4)], Port: 30080})
	}
	switch r.IntN(4) {
	case 0:
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	case 1:
		for i := range 40 {
			out = append(out, &observed.Target{ID: fmt.Sprintf("i-9%d", i), Port: 30080})
		}
	default:
		slices.SortStableFunc(out, func(a, b *observed.Target) int { return strings.Compare(a.ID, b.ID) })
	}
	return out
}

func nodeDiffText(d Diff) string {
	var b strings.Builder
	var stay []string
	for _, t := range d.MatchedTargets() {
		stay = append(stay, IdentityOf(t)+" "+t.State)
	}
	slices.Sort(stay)
	fmt.Fprintln(&b, "stay", stay)
	for _, e := range d.ToRegister {
		fmt.Fprintln(&b, "register", e.Identity(), e.Node.Name)
	}
	for _, e := range d.OverCapacity {
		fmt.Fprintln(&b, "over", e.Identity(), e.Node.Name)
	}
	for _, t := range d.ToDeregister {
		fmt.Fprintln(&b, "deregister", IdentityOf(t))
	}
	return b.String()
}

func TestNumberOfNodeSetsIsLimited(t *testing.T) {
	sets := &NodeSets{}
	for i := range 3 * maxNodeSets {
		s := &metav1.LabelSelector{MatchLabels: map[string]string{"pool": fmt.Sprint(i)}}
		match, err := nodeSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		sets.nodeSetFor(s, match, nil)
	}
	if len(sets.bySelector) > maxNodeSets {
		t.Errorf("%d selectors are cached", len(sets.bySelector))
	}
}

func resolutionText(r Resolution) string {
	var b strings.Builder
	for _, e := range r.Endpoints() {
		fmt.Fprintln(&b, e.Identity(), e.Node.Name, e.Node.ResourceVersion)
	}
	fmt.Fprintln(&b, r.BackendMissing, r.Faulty, r.SourceMissing, r.ViewInconsistent)
	for _, f := range r.Findings.Sorted() {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func nodePortService() *corev1.Service {
	s := &corev1.Service{}
	s.Namespace, s.Name = "ns", "web"
	s.Spec.Type = corev1.ServiceTypeNodePort
	s.Spec.Ports = []corev1.ServicePort{{Port: 80, NodePort: 30080}}
	return s
}

func nodeBinding(selector *metav1.LabelSelector) *elbv2.TargetGroupBinding {
	b := &elbv2.TargetGroupBinding{}
	b.Namespace, b.Name = "ns", "b"
	instance := elbv2.TargetTypeInstance
	b.Spec.TargetType, b.Spec.NodeSelector = &instance, selector
	b.Spec.ServiceRef.Name, b.Spec.ServiceRef.Port.IntVal = "web", 80
	return b
}

// randomNode returns a node with one of a few instance IDs, so that several nodes may have the same ID. Some IDs are
// prefixes of others.
func randomNode(r *rand.Rand, name string) *corev1.Node {
	n := &corev1.Node{}
	n.Name = name
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	n.Labels = map[string]string{"pool": pick("a", "b"), "turn": fmt.Sprint(r.IntN(3))}
	n.Spec.ProviderID = pick("aws:///z/i-", "aws:///z/i-", "eks-hybrid:///z/i-") + pick("1", "12", "12a", "3", "3"+name, "1:2", "1:3")
	if r.IntN(5) == 0 {
		n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(pick("True", "True", "Unknown", "False"))}}
	return n
}

// TestIDsAreOrderedAsIdentities checks that compareWithColon orders instance IDs in the same way as the identities of
// targets, "<instance ID>:<port>", are ordered. The order of the IDs alone differs if one ID is a prefix of another.
func TestIDsAreOrderedAsIdentities(t *testing.T) {
	ids := []string{"", "i-1", "i-12", "i-1a", "i-1:", "i-1:2", "i-1:3", "i-1::", "i-1/", "i-2"}
	for _, a := range ids {
		for _, b := range ids {
			if got, want := compareWithColon(a, b), strings.Compare(a+":", b+":"); got != want {
				t.Errorf("%q, %q: %d, want %d", a, b, got, want)
			}
		}
	}
}
