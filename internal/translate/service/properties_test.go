package service_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

func TestTranslationDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	enginetest.EachCase(t, testdata, func(t *testing.T, src *cluster.Memory) {
		f := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}})
		for _, id := range enginetest.StacksOfKind(t, f, src, cluster.KindService) {
			want, wantFound := enginetest.Translate(t, f, src, id, nil)
			for seed := range uint64(5) {
				v := cluster.NewView(&cluster.ReducedSource{Source: enginetest.NewShuffledSource(src, seed)})
				got, found := f.Translate(v, id, nil)
				if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
					t.Fatalf("stack %s:\n%s", id, diff)
				}
				if diff := cmp.Diff(wantFound, found); diff != "" {
					t.Fatalf("findings of %s:\n%s", id, diff)
				}
			}
		}
	})
}

// TestTranslationDependsOnlyOnRecordedReads checks that the translation depends only on objects that the view has recorded
// as read, such as the Service of a weighted backend, because changes of other objects start no new translation.
func TestTranslationDependsOnlyOnRecordedReads(t *testing.T) {
	enginetest.EachCase(t, testdata, func(t *testing.T, src *cluster.Memory) {
		f := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}})
		for _, id := range enginetest.StacksOfKind(t, f, src, cluster.KindService) {
			reduced := &cluster.ReducedSource{Source: src}
			v := cluster.NewView(reduced)
			want, _ := f.Translate(v, id, nil)
			got, _ := f.Translate(cluster.NewView(enginetest.NewViewedSource(reduced, v)), id, nil)
			if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
				t.Fatalf("stack %s:\n%s", id, diff)
			}
		}
	})
}

// FuzzOnePortNeverStopsTheOther checks, for any annotation and any second port, that an annotation of one port does not hold
// the listener of the other port, and that each listener has an action or is held.
func FuzzOnePortNeverStopsTheOther(f *testing.F) {
	rows := settings.ServiceAnnotations.Rows()
	for i := range rows {
		f.Add(i, "TCP-80", "x", uint16(80), uint8(0))
		f.Add(i, "80", "a=b", uint16(81), uint8(1))
		f.Add(i, "TLS-80", `{"type":"forward"}`, uint16(82), uint8(2))
	}
	ofPort := []string{"actions.", "aws-load-balancer-listener-attributes.", "aws-load-balancer-target-group-attributes."}
	f.Fuzz(func(t *testing.T, row int, name, value string, number uint16, protocol uint8) {
		if row < 0 || row >= len(rows) || rows[row].Key == cluster.LoadBalancerGroupAnnotation {
			t.Skip() // the Service would share the load balancer of another stack
		}
		head, _, open := strings.Cut(rows[row].Key, "<")
		if open {
			head += name
		}
		if !strings.Contains(head, "/") {
			head = settings.ServicePrefix + head
		}
		class := service.DefaultClass
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{head: value}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Ports: []corev1.ServicePort{
				{Name: "good", Port: 70000, TargetPort: intstr.FromInt32(8080), NodePort: 30080},
				{Name: "odd", Port: int32(number), Protocol: corev1.Protocol([]string{"TCP", "UDP", "SCTP", ""}[protocol%4]), TargetPort: intstr.FromString(name), NodePort: 30081},
			}},
		}
		src, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Put(svc); err != nil {
			t.Skip()
		}
		front := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}})
		id := front.Stacks(cluster.NewView(src), svc)[0] // its own stack, or a shared one
		live := &observed.Stack{LoadBalancers: []observed.LoadBalancer{{ResourceID: model.LoadBalancerID, ARN: "arn", Type: "network", Scheme: model.Internal}}}
		for _, have := range []*observed.Stack{nil, live} {
			stack, found := front.Translate(cluster.NewView(src), id, have)
			if stack.LoadBalancer == nil {
				t.Fatalf("%v", found)
			}
			perPort := open && slices.ContainsFunc(ofPort, func(h string) bool { return strings.HasPrefix(rows[row].Key, h) })
			for _, l := range stack.LoadBalancer.Listeners {
				if l.Port == 70000 && l.DefaultHeld != 0 && perPort && !strings.Contains(name, "70000") {
					t.Errorf("%v\n%s", found, goldentest.Dump(stack))
				}
				if l.DefaultHeld == 0 && len(l.Default) == 0 {
					t.Errorf("a listener does nothing:\n%s", goldentest.Dump(stack))
				}
			}
			for _, x := range found {
				if x.Message == "" || x.Object != stack.Members[0].Ref {
					t.Errorf("%s", x)
				}
			}
		}
	})
}

// TestHostileSizesAreBounded checks that the memory, the number of questions and the length of findings for one Service are
// limited.
func TestHostileSizesAreBounded(t *testing.T) {
	list := func(n int, format string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, ",")
	}
	const prefix = settings.ServicePrefix + "aws-load-balancer-"
	others := `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[` + list(4, `{"serviceName":"s%d","servicePort":80,"weight":1}`) + `]}}`
	for name, c := range map[string]struct {
		ports       int
		ranges      int
		annotations map[string]string
	}{
		"ranges times ports":     {ports: 100, ranges: 9000},
		"prefix lists and ports": {ports: 100, annotations: map[string]string{prefix + "security-group-prefix-lists": list(20000, "pl-%d")}},
		"ports":                  {ports: 50000},
		"lists of ports":         {ports: 100, annotations: map[string]string{prefix + "ssl-cert": "arn", prefix + "ssl-ports": list(20000, "p%d"), prefix + "quic-enabled-ports": list(20000, "q%d")}},
		"lists of more ports":    {ports: 5000, annotations: map[string]string{prefix + "ssl-cert": "arn", prefix + "ssl-ports": list(60000, "p%d")}},
		"attributes":             {ports: 100, annotations: map[string]string{prefix + "target-group-attributes": list(20000, "k%d=v")}},
		"attributes of a port":   {ports: 100, annotations: map[string]string{prefix + "target-group-attributes.1000": list(20000, "k%d=v")}},
		"certificates":           {ports: 100, annotations: map[string]string{prefix + "ssl-cert": list(9000, "arn:aws:acm:%d")}},
		"ranges without groups":  {ports: 100, ranges: 9000, annotations: map[string]string{prefix + "disable-nlb-sg": "true", prefix + "nlb-target-type": "ip"}},
		"weighted backends": {ports: 100, annotations: func() map[string]string {
			out := map[string]string{}
			for i := range 100 {
				out[fmt.Sprintf("%sactions.TCP-%d", settings.ServicePrefix, 1000+i)] = others
			}
			return out
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			class := service.DefaultClass
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: c.annotations},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class}}
			for i := range c.ports {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i), NodePort: int32(30000 + i%2768)})
			}
			for i := range c.ranges {
				svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
			}
			src, err := cluster.NewMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := src.Put(svc); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				if err := src.Put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("s%d", i)}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}}}); err != nil {
					t.Fatal(err)
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stack, found := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}).Translate(cluster.NewView(src), model.StackID{Kind: model.Service, Namespace: "ns", Name: "web"}, nil)
			questions := len(stack.Questions())
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 {
				t.Errorf("the translation takes %d MB", mb)
			}
			if questions > 20 {
				t.Errorf("%d questions", questions)
			}
			for _, x := range found {
				if len(x.Text()) > 1000 {
					t.Errorf("a finding of %d characters: %.200s", len(x.Text()), x.Text())
				}
			}
		})
	}
}

// TestClientRangesOfABackendAreBounded checks that a weighted backend can have as many client ranges as a security group has
// rules, because each range needs a rule in the security groups of nodes and pods. If it has more, the listener is held.
func TestClientRangesOfABackendAreBounded(t *testing.T) {
	class := service.DefaultClass
	for name, c := range map[string]struct {
		ranges int
		held   bool
	}{"as many as a security group takes": {1000, false}, "one more": {1001, true}} {
		t.Run(name, func(t *testing.T) {
			backend := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "api"}, Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30080}},
			}}
			for i := range c.ranges {
				backend.Spec.LoadBalancerSourceRanges = append(backend.Spec.LoadBalancerSourceRanges, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
			}
			web := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{
					settings.ServicePrefix + "aws-load-balancer-disable-nlb-sg": "true",
					settings.ServicePrefix + "actions.TCP-80":                   `{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"api","servicePort":80,"weight":1}]}}`,
				}},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30081}, {Port: 81, TargetPort: intstr.FromInt32(8080), NodePort: 30082}}},
			}
			src, err := cluster.NewMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := src.Put(backend, web); err != nil {
				t.Fatal(err)
			}
			stack, found := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}).Translate(cluster.NewView(src), model.StackID{Kind: model.Service, Namespace: "ns", Name: "web"}, nil)
			for _, l := range stack.LoadBalancer.Listeners {
				if held := l.DefaultHeld != 0; held != (c.held && l.Port == 80) {
					t.Errorf("listener %d: held %v\n%v", l.Port, held, found)
				}
			}
			most := 0
			for _, g := range stack.TargetGroups {
				for _, r := range g.Binding.Networking {
					most = max(most, len(r.From))
				}
			}
			if want := 1000; !c.held && most != want || most > want {
				t.Errorf("a rule has %d peers", most)
			}
		})
	}
}

// TestPaddedClientRangesAreUsed checks that client ranges with spaces, which Kubernetes accepts, are admitted by a load
// balancer without security groups.
func TestPaddedClientRangesAreUsed(t *testing.T) {
	class := service.DefaultClass
	web := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{
			settings.ServicePrefix + "aws-load-balancer-disable-nlb-sg":          "true",
			settings.ServicePrefix + "aws-load-balancer-nlb-target-type":         "ip",
			settings.ServicePrefix + "aws-load-balancer-target-group-attributes": "preserve_client_ip.enabled=true",
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, LoadBalancerSourceRanges: []string{" 10.1.0.0/16 "},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	src, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Put(web); err != nil {
		t.Fatal(err)
	}
	stack, found := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}}).Translate(cluster.NewView(src), model.StackID{Kind: model.Service, Namespace: "ns", Name: "web"}, nil)
	var admitted []string
	for _, g := range stack.TargetGroups {
		for _, r := range g.Binding.Networking {
			for _, p := range r.From {
				admitted = append(admitted, p.CIDR)
			}
		}
	}
	if !slices.Contains(admitted, "10.1.0.0/16") || slices.Contains(admitted, " 10.1.0.0/16 ") {
		t.Errorf("admitted %q; findings %v", admitted, found)
	}
}
