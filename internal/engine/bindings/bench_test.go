package bindings_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// podsPerBinding is how many pods are behind each Service of the benchmarks.
const podsPerBinding = 20

// The work for one event in clusters of different sizes, without AWS and its emulator:
//
//	go test ./internal/engine/bindings -run '^$' -bench . -benchtime 20x

func BenchmarkPodReplacedAfterRegistration(b *testing.B) {
	forPods(b, func(b *testing.B, w *world) {
		w.run("b0")
		flip := false
		defer cpuTime(b)()
		for b.Loop() {
			flip = !flip
			b.StopTimer()
			w.put(crowdDoc(0, flip)) // the last pod has another name and address
			b.StartTimer()
			w.run("b0")
		}
	})
}

func BenchmarkFirstLookAtBindingAfterRestart(b *testing.B) {
	forPods(b, func(b *testing.B, w *world) {
		i := 0
		bindings := len(w.aws.groups)
		defer cpuTime(b)()
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

func BenchmarkAddressNotKnownYet(b *testing.B) {
	forPods(b, func(b *testing.B, w *world) {
		w.run("b0")
		w.put(nodeDoc(9999)) // without any interface
		w.put(strings.Replace(crowdDoc(0, true), "nodeName: n0", "nodeName: n9999", 1))
		defer cpuTime(b)()
		for b.Loop() {
			w.run("b0")
		}
	})
}

func BenchmarkNodeAdded(b *testing.B) {
	for _, nodes := range []int{50, 2000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := crowded(b, 0, nodes)
			for i := range 10 {
				w.aws.groups[fmt.Sprintf("arn/b%d", i)] = nil
				w.put(serviceDoc(fmt.Sprintf("s%d", i), "NodePort"), bindingDoc(fmt.Sprintf("b%d", i), fmt.Sprintf("s%d", i), "instance", 30080))
			}
			run := func() {
				for i := range 10 {
					w.run(fmt.Sprintf("b%d", i))
				}
			}
			run()
			next := nodes
			defer cpuTime(b)()
			for b.Loop() {
				b.StopTimer()
				w.addNode(next, 0)
				next++
				b.StartTimer()
				run()
			}
		})
	}
}

// cpuTime reports the CPU time of the process per round, which other work on the machine does not change.
func cpuTime(b *testing.B) (report func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// forPods runs a benchmark with different numbers of pods.
func forPods(b *testing.B, run func(b *testing.B, w *world)) {
	for _, pods := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) { run(b, crowded(b, pods/podsPerBinding, max(50, pods/10))) })
	}
}

// crowded is a world of many nodes, and many bindings with podsPerBinding pods each.
func crowded(b *testing.B, bindings, nodes int) *world {
	b.Helper()
	w := newWorld(b)
	clear(w.aws.groups)
	for i := range nodes {
		w.addNode(i, bindings)
	}
	for i := range bindings {
		name := fmt.Sprintf("b%d", i)
		w.aws.groups["arn/"+name+"/id"] = []observed.Target(nil)
		w.put(serviceDoc(fmt.Sprintf("s%d", i), "ClusterIP"), crowdDoc(i, false), strings.Replace(bindingDoc(name, fmt.Sprintf("s%d", i), "ip", 8080), "arn/"+name, "arn/"+name+"/id", 1))
	}
	return w
}

// addNode makes a node whose interface carries the addresses that crowdDoc gives to its pods.
func (w *world) addNode(i, bindings int) {
	w.t.Helper()
	var addresses []string
	for k := range bindings {
		for j := range podsPerBinding + 1 {
			if nodeOf(k, j) == i {
				addresses = append(addresses, crowdAddress(k, j))
			}
		}
	}
	w.aws.enis[fmt.Sprintf("i-n%d", i)] = []network.Interface{{ID: fmt.Sprintf("eni-%d", i), Addresses: addresses, Groups: []network.InterfaceGroup{{ID: "sg-node"}}}}
	w.put(nodeDoc(i))
}

func nodeDoc(i int) string {
	return strings.NewReplacer("n1", fmt.Sprintf("n%d", i), "i-1", fmt.Sprintf("i-n%d", i)).Replace(strings.SplitN(nodes, "---", 2)[0])
}

// nodeOf is the node of pod j behind Service k; few of them are used in a large cluster.
func nodeOf(k, j int) int { return (k + j) % 50 }

func crowdAddress(k, j int) string { return fmt.Sprintf("10.%d.%d.%d", 1+k/250, k%250, 1+j) }

// crowdDoc are the pods of Service k; turned, the last is replaced by another.
func crowdDoc(k int, turned bool) string {
	var pods []pod
	for j := range podsPerBinding {
		if turned && j == podsPerBinding-1 {
			j++
		}
		pods = append(pods, pod{name: fmt.Sprintf("p%d-%d", k, j), ip: crowdAddress(k, j), node: fmt.Sprintf("n%d", nodeOf(k, j)), serving: true})
	}
	return podDocs(fmt.Sprintf("s%d", k), pods...)
}
