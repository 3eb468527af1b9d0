package bindings_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// podsPerBinding is the number of pods of each Service in the benchmarks.
const podsPerBinding = 20

// BenchmarkPodReplacedAfterRegistration measures the work for a replaced pod in clusters of different sizes. Like the other
// benchmarks of this file, it needs neither AWS nor the emulator:
//
//	go test ./internal/engine/bindings -run '^$' -bench . -benchtime 20x
func BenchmarkPodReplacedAfterRegistration(b *testing.B) {
	benchmarkPods(b, func(b *testing.B, w *harness) {
		w.run("b0")
		flip := false
		defer startCPUTimer(b)()
		for b.Loop() {
			flip = !flip
			b.StopTimer()
			w.putObjects(benchmarkPodsDoc(0, flip)) // replaces the last pod by one with another name and address
			b.StartTimer()
			w.run("b0")
		}
	})
}

func BenchmarkFirstRunAfterRestart(b *testing.B) {
	benchmarkPods(b, func(b *testing.B, w *harness) {
		i := 0
		bindings := len(w.aws.targetsByGroup)
		defer startCPUTimer(b)()
		for b.Loop() {
			w.run(fmt.Sprintf("b%d", i%bindings))
			if i++; i%bindings == 0 {
				b.StopTimer()
				w.restart()
				b.StartTimer()
			}
		}
	})
}

func BenchmarkAddressMissingInAWS(b *testing.B) {
	benchmarkPods(b, func(b *testing.B, w *harness) {
		w.run("b0")
		w.putObjects(nodeDoc(9999)) // a node without an ENI
		w.putObjects(strings.Replace(benchmarkPodsDoc(0, true), "nodeName: n0", "nodeName: n9999", 1))
		defer startCPUTimer(b)()
		for b.Loop() {
			w.run("b0")
		}
	})
}

// BenchmarkNodeAdded measures the runs of ten bindings with different node ports after a node was added.
func BenchmarkNodeAdded(b *testing.B) {
	for _, nodes := range []int{50, 2000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := newLargeHarness(b, 0, nodes)
			quick := benchmarkAWS{w.aws, map[string][]bindings.Target{}}
			w.conf.Cloud = quick
			w.restart()
			for i := range 10 {
				name, service, port := fmt.Sprintf("b%d", i), fmt.Sprintf("s%d", i), fmt.Sprint(30080+i)
				w.aws.targetsByGroup["arn/"+name] = nil
				w.putObjects(strings.ReplaceAll(serviceDoc(service, "NodePort"), "30080", port), bindingDoc(name, service, "instance", 30080+i))
			}
			run := func() {
				for i := range 10 {
					w.run(fmt.Sprintf("b%d", i))
				}
			}
			run()
			next := nodes
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				for arn := range w.aws.targetsByGroup {
					quick.applyRegistrations(arn)
				}
				w.addNode(next, 0)
				next++
				w.aws.log = nil
				b.StartTimer()
				start := cpuUsed(b)
				run()
				used += cpuUsed(b) - start
			}
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
		})
	}
}

// benchmarkAWS is a fakeAWS that returns target lists in the form of a warm cache: sorted, shared between callers, and never
// modified. A registered target is added to a copy of the list by applyRegistrations, at the latest when the targets are
// read.
type benchmarkAWS struct {
	*fakeAWS
	registered map[string][]bindings.Target // by target group, since the last call of applyRegistrations
}

func (a benchmarkAWS) TargetGroupsOf(bindings.Account) bindings.TargetGroups { return a }

func (a benchmarkAWS) TargetHealth(_ context.Context, arn string, _ time.Duration) (observed.Health, error) {
	a.applyRegistrations(arn)
	return observed.Health{Targets: a.targetsByGroup[arn]}, nil
}

func (a benchmarkAWS) Register(_ context.Context, arn string, _ bindings.CallPriority, add []bindings.Target) error {
	a.registered[arn] = append(a.registered[arn], add...)
	return nil
}

// applyRegistrations adds the registered targets to the list of targets of a target group.
func (a benchmarkAWS) applyRegistrations(arn string) {
	added := a.registered[arn]
	if len(added) == 0 {
		return
	}
	delete(a.registered, arn)
	list := slices.Clone(a.targetsByGroup[arn])
	for _, t := range added {
		at, _ := slices.BinarySearchFunc(list, t.ID, func(o *observed.Target, id string) int { return strings.Compare(o.ID, id) })
		list = slices.Insert(list, at, &observed.Target{ID: t.ID, Port: t.Port, State: "healthy"})
	}
	a.targetsByGroup[arn] = list
}

// startCPUTimer starts to measure the CPU time of the process. The returned function reports the CPU time per iteration of
// the benchmark. Other processes on the machine do not affect this metric.
func startCPUTimer(b *testing.B) (report func()) {
	start := cpuUsed(b)
	return func() { b.ReportMetric(float64(cpuUsed(b)-start)/float64(b.N), "cpu-ns/op") }
}

func cpuUsed(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchmarkPods runs a benchmark with 1000 and with 20000 pods.
func benchmarkPods(b *testing.B, run func(b *testing.B, w *harness)) {
	for _, pods := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) { run(b, newLargeHarness(b, pods/podsPerBinding, max(50, pods/10))) })
	}
}

// newLargeHarness returns a test harness with many nodes, and many bindings with podsPerBinding pods each.
func newLargeHarness(b *testing.B, bindings, nodes int) *harness {
	b.Helper()
	w := newHarness(b)
	clear(w.aws.targetsByGroup)
	for i := range nodes {
		w.addNode(i, bindings)
	}
	for i := range bindings {
		name := fmt.Sprintf("b%d", i)
		w.aws.targetsByGroup["arn/"+name+"/id"] = []*observed.Target(nil)
		w.putObjects(serviceDoc(fmt.Sprintf("s%d", i), "ClusterIP"), benchmarkPodsDoc(i, false), strings.Replace(bindingDoc(name, fmt.Sprintf("s%d", i), "ip", 8080), "arn/"+name, "arn/"+name+"/id", 1))
	}
	return w
}

// addNode adds node i. Its ENI has the addresses that benchmarkPodsDoc assigns to the pods of the node.
func (w *harness) addNode(i, bindings int) {
	w.t.Helper()
	var addresses []string
	for k := range bindings {
		for j := range podsPerBinding + 1 {
			if nodeIndexOf(k, j) == i {
				addresses = append(addresses, benchmarkAddress(k, j))
			}
		}
	}
	w.aws.enis[instanceIDOf(i)] = []network.ENI{{ID: fmt.Sprintf("eni-%d", i), Addresses: addresses, SecurityGroups: []network.ENISecurityGroup{{ID: "sg-node"}}}}
	w.putObjects(nodeDoc(i))
}

func nodeDoc(i int) string {
	return strings.NewReplacer("n1", fmt.Sprintf("n%d", i), "i-1", instanceIDOf(i)).Replace(strings.SplitN(nodesDoc, "---", 2)[0])
}

// instanceIDOf returns the EC2 instance ID of node i. Like real IDs, the IDs have a fixed length and no order.
func instanceIDOf(i int) string { return fmt.Sprintf("i-0%016x", uint64(i+1)*0x9e3779b97f4a7c15) }

// nodeIndexOf returns the number of the node on which pod j of Service k runs. Only the first 50 nodes have pods.
func nodeIndexOf(k, j int) int { return (k + j) % 50 }

func benchmarkAddress(k, j int) string { return fmt.Sprintf("10.%d.%d.%d", 1+k/250, k%250, 1+j) }

// benchmarkPodsDoc returns the manifest of the pods of Service k. If turned is true, the last pod is replaced by another one.
func benchmarkPodsDoc(k int, turned bool) string {
	var pods []pod
	for j := range podsPerBinding {
		if turned && j == podsPerBinding-1 {
			j++
		}
		pods = append(pods, pod{name: fmt.Sprintf("p%d-%d", k, j), ip: benchmarkAddress(k, j), node: fmt.Sprintf("n%d", nodeIndexOf(k, j)), readyCondition: true})
	}
	return podDocs(fmt.Sprintf("s%d", k), pods...)
}
