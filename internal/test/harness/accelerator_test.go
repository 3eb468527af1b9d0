package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// newAcceleratorHarness returns a harness that serves GlobalAccelerators and has Ingress "shop/web".
func newAcceleratorHarness(t *testing.T, opt Options) *Harness {
	t.Helper()
	opt.Accelerators = true
	r := shopWith(t, opt)
	r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
	r.Settle(10 * time.Minute)
	return r
}

// edgeAccelerator returns GlobalAccelerator "shop/edge". listeners are in YAML flow style.
func edgeAccelerator(listeners string) string {
	return accelerator("shop", "edge", "listeners: ["+listeners+"]")
}

func accelerator(namespace, name, spec string) string {
	return fmt.Sprintf(`
apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: %[2]s, namespace: %[1]s, uid: %[1]s-%[2]s}
spec: {%[3]s}
`, namespace, name, spec)
}

// webListener is a listener for TCP port 80 with Ingress "web" as endpoint.
const webListener = `{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]}`

// acceleratorState returns one line for each accelerator, listener, endpoint group and endpoint in AWS, sorted. Load
// balancers are named instead of their ARNs.
func acceleratorState(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, RegionOf(r.Emulator))
	names := r.nameReplacer(p)
	for _, a := range w.AcceleratorState(Account).Accelerators {
		out = append(out, fmt.Sprintf("accelerator %s %s enabled=%t %v", a.Name, a.Addressing, a.Enabled, a.Tags))
		for _, l := range a.Listeners {
			out = append(out, fmt.Sprintf("%s listener %s %v %s", a.Name, l.Protocol, l.Ranges, l.Affinity))
			for _, g := range l.Groups {
				out = append(out, fmt.Sprintf("%s group %v %s dial=%v overrides=%v", a.Name, l.Ranges, g.Region, g.Dial, g.Overrides))
				for _, e := range g.Endpoints {
					out = append(out, fmt.Sprintf("%s endpoint %v %s %s weight=%d preserve=%t", a.Name, l.Ranges, g.Region, names.Replace(e.ID), e.Weight, e.PreserveClient))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func acceleratorObject(r *Harness, namespace, name string) *aga.GlobalAccelerator {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindGlobalAccelerator, Namespace: namespace, Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	ga, _ := obj.(*aga.GlobalAccelerator)
	return ga
}

// readyCondition returns "status reason" of the condition Ready, or "" without that condition.
func readyCondition(ga *aga.GlobalAccelerator) string {
	for _, c := range ga.Status.Conditions {
		if c.Type == "Ready" {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// acceleratorsInAWS returns the accelerators that exist in AWS.
func acceleratorsInAWS(r *Harness) []*store.Accelerator {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	var out []*store.Accelerator
	for _, a := range w.AcceleratorState(Account).Accelerators {
		out = append(out, a)
	}
	return out
}

func TestAcceleratorLifecycle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		before := r.State()
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		name := "k8s_shop_edge_"
		if d := cmp.Diff([]string{
			"accelerator " + name + " IPV4 enabled=true map[aga.k8s.aws/resource:GlobalAccelerator aga.k8s.aws/stack:shop/edge elbv2.k8s.aws/cluster:rig elbv2.k8s.aws/cluster-region:us-west-2]",
			name + " endpoint [{80 80}] us-west-2 lb:k8s-shop-web-",
			name + " group [{80 80}] us-west-2 dial=100 overrides=[]",
			name + " listener TCP [{80 80}] NONE",
		}, withoutHashes(acceleratorState(r))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		ga := acceleratorObject(r, "shop", "edge")
		if !slices.Equal(ga.Finalizers, []string{naming.AcceleratorFinalizer}) || readyCondition(ga) != "True AcceleratorReady" || ga.Status.Status != "DEPLOYED" ||
			ga.Status.AcceleratorARN == "" || ga.Status.DNSName == "" || len(ga.Status.IPSets) != 1 || len(ga.Status.IPSets[0].IPAddresses) != 2 {
			t.Errorf("status %+v, finalizers %v", ga.Status, ga.Finalizers)
		}
		r.Emulator.Calls().Reset()
		r.Settle(30 * time.Minute)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls without a change: %v", calls)
		}
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		r.Settle(30 * time.Minute)
		if left := acceleratorState(r); len(left) > 0 {
			t.Errorf("accelerators left after the deletion: %v", left)
		}
		if ga := acceleratorObject(r, "shop", "edge"); ga != nil {
			t.Errorf("the object is still there: %v", ga.Finalizers)
		}
		if d := cmp.Diff(before, withoutAcceleratorSecurityGroup(r.State())); d != "" {
			t.Errorf("load balancers were changed: %s", d)
		}
	})
}

// withoutAcceleratorSecurityGroup removes the security group that AWS creates for the ENIs of accelerators. AWS does
// not delete it with the accelerators.
func withoutAcceleratorSecurityGroup(state []string) []string {
	return slices.DeleteFunc(state, func(line string) bool { return strings.HasPrefix(line, `security-group ["GlobalAccelerator"`) })
}

// withoutHashes removes the hashes from generated names in lines, and all words that follow the name of a load
// balancer.
func withoutHashes(lines []string) []string {
	for i, l := range lines {
		words := strings.Fields(l)
		for j, w := range words {
			if strings.HasPrefix(w, "k8s_") {
				words[j] = w[:strings.LastIndex(w, "_")+1]
			}
			if strings.HasPrefix(w, "lb:k8s-") {
				words[j] = w[:strings.LastIndex(w, "-")+1]
				words = words[:j+1]
				break
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	return lines
}

// acceleratorMutations returns the operations of the mutating calls to Global Accelerator.
func acceleratorMutations(r *Harness) (out []string) {
	for _, c := range r.Emulator.Calls().Entries() {
		if c.Service == "globalaccelerator" && c.Mutating {
			out = append(out, c.Operation)
		}
	}
	return out
}
