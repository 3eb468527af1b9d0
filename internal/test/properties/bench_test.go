package properties

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// manyPaths returns the objects of an IngressGroup with n paths and 10 Services. Each Ingress has its own host and 100
// paths. Every fourth path redirects.
func manyPaths(n int) []cluster.Object {
	id := model.StackID{Kind: model.Ingress, Name: "g"}
	class := "alb"
	out := []cluster.Object{
		&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	}
	for s := range 10 {
		out = append(out, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("s", s), UID: types.UID(fmt.Sprint("uid", s))},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080)}}},
		})
	}
	prefix := networkingv1.PathTypePrefix
	for i := range n / 100 {
		ing := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("m%d", i), Finalizers: []string{naming.Finalizer(id)},
				Annotations: map[string]string{
					settings.Prefix + "group.name": "g", settings.Prefix + "scheme": "internal", settings.Prefix + "listen-ports": `[{"HTTP":80}]`,
					settings.Prefix + "actions.moved": `{"type":"redirect","redirectConfig":{"host":"new.example.com","statusCode":"HTTP_301"}}`,
				},
			},
			Spec: networkingv1.IngressSpec{IngressClassName: &class},
		}
		rule := networkingv1.IngressRule{Host: fmt.Sprintf("h%d.example.com", i), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
		for p := range 100 {
			to := &networkingv1.IngressServiceBackend{Name: fmt.Sprint("s", p%10), Port: networkingv1.ServiceBackendPort{Number: 80}}
			if p%4 == 0 {
				to = &networkingv1.IngressServiceBackend{Name: "moved", Port: networkingv1.ServiceBackendPort{Name: "use-annotation"}}
			}
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{
				Path: fmt.Sprintf("/p%d", p), PathType: &prefix, Backend: networkingv1.IngressBackend{Service: to},
			})
		}
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
		out = append(out, ing)
	}
	return out
}

// BenchmarkDraft measures the CPU time to translate an IngressGroup, and to plan, describe and digest a new load
// balancer for it.
func BenchmarkDraft(b *testing.B) {
	for _, n := range []int{400, 4000, 20000} {
		src, err := cluster.NewMemory(nil)
		if err == nil {
			err = src.Put(manyPaths(n)...)
		}
		if err != nil {
			b.Fatal(err)
		}
		id := model.StackID{Kind: model.Ingress, Name: "g"}
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig", MaxRules: n}, Class: "alb", MaxListeners: 10})
		have := emptyState()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			runtime.GC()
			var begun, took [4]time.Duration
			phase := func(i int, do func()) {
				begun[i] = cpuTime()
				do()
				took[i] += cpuTime() - begun[i]
			}
			for b.Loop() {
				var s model.Stack
				phase(0, func() { s, _ = f.Translate(cluster.NewView(src), id, nil) })
				if len(s.LoadBalancer.Listeners[0].Rules) != n {
					b.Fatalf("%d rules of %d", len(s.LoadBalancer.Listeners[0].Rules), n)
				}
				answerQuestions(&have, s.Questions(), alwaysHealthy)
				phase(1, func() { planner.Make(s, have, planOptions, plan.Memory{}) })
				phase(2, func() { planner.Describe(s, have, planOptions, plan.Memory{}) })
				phase(3, func() { checkpoint.Digest(s, nil, planOptions, nil) })
			}
			for i, name := range []string{"translate", "plan", "describe", "digest"} {
				b.ReportMetric(float64(took[i])/float64(b.N)/1e6, name+"-cpu-ms/op")
			}
		})
	}
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
