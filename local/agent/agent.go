package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/fulcrum-lb/fulcrum/local/layout"
)

// podWorkers is the number of pods that are started or stopped at the same time.
const podWorkers = 8

type agent struct {
	kube     kubernetes.Interface
	layout   layout.Layout
	nodes    map[string]layout.Node
	cert     tls.Certificate
	assigner addressAssigner
	factory  informers.SharedInformerFactory

	pods       corelisters.PodLister
	services   corelisters.ServiceLister
	nodeLister corelisters.NodeLister
	slices     discoverylisters.EndpointSliceLister

	podQueue workqueue.TypedRateLimitingInterface[string]
	proxy    *proxy
	pools    *addressPools

	mu            sync.Mutex
	podEmulations map[string]*podEmulation // by namespace/name of the pod
}

func newAgent(kube kubernetes.Interface, l layout.Layout, cert tls.Certificate, m addressAssigner) *agent {
	factory := informers.NewSharedInformerFactory(kube, 0)
	a := &agent{
		kube:       kube,
		layout:     l,
		nodes:      map[string]layout.Node{},
		cert:       cert,
		assigner:   m,
		factory:    factory,
		pods:       factory.Core().V1().Pods().Lister(),
		services:   factory.Core().V1().Services().Lister(),
		nodeLister: factory.Core().V1().Nodes().Lister(),
		slices:     factory.Discovery().V1().EndpointSlices().Lister(),
		podQueue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)),
		podEmulations: map[string]*podEmulation{},
	}
	for _, n := range l.Nodes {
		a.nodes[n.Name] = n
	}
	a.pools = newAddressPools(l.Nodes)
	a.proxy = newProxy(a)
	return a
}

// run syncs pods and node ports until ctx ends.
func (a *agent) run(ctx context.Context) error {
	if err := a.registerNodes(ctx); err != nil {
		return err
	}
	if err := a.addEventHandlers(); err != nil {
		return err
	}
	a.factory.Start(ctx.Done())
	for kind, ok := range a.factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("list %v: %w", kind, context.Cause(ctx))
		}
	}
	// Reserve the addresses in use before other addresses are allocated.
	if err := a.reserveUsedAddresses(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range podWorkers {
		wg.Go(func() { a.processPods(ctx) })
	}
	wg.Go(func() { a.proxy.run(ctx) })
	<-ctx.Done()
	a.podQueue.ShutDown()
	wg.Wait()
	a.stopAll(ctx)
	return nil
}

// addEventHandlers registers handlers that enqueue pods and sync the node ports when objects change.
func (a *agent) addEventHandlers() error {
	pods := a.factory.Core().V1().Pods().Informer()
	allEvents := func(f func(obj any)) cache.ResourceEventHandlerFuncs {
		return cache.ResourceEventHandlerFuncs{
			AddFunc:    f,
			UpdateFunc: func(_, obj any) { f(obj) },
			DeleteFunc: func(obj any) {
				if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = gone.Obj
				}
				f(obj)
			},
		}
	}
	handlers := []struct {
		informer cache.SharedIndexInformer
		handler  func(obj any)
	}{
		{pods, func(obj any) {
			if p, ok := obj.(*corev1.Pod); ok {
				a.podQueue.Add(p.Namespace + "/" + p.Name)
			}
		}},
		{a.factory.Core().V1().Services().Informer(), func(obj any) {
			a.proxy.requestSync()
			if s, ok := obj.(*corev1.Service); ok {
				a.enqueuePodsOfService(s)
			}
		}},
		{a.factory.Core().V1().Nodes().Informer(), func(any) { a.proxy.requestSync() }},
		{a.factory.Discovery().V1().EndpointSlices().Informer(), func(obj any) {
			if _, ok := obj.(*discoveryv1.EndpointSlice); ok {
				a.proxy.requestSync()
			}
		}},
	}
	for _, h := range handlers {
		if _, err := h.informer.AddEventHandler(allEvents(h.handler)); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) processPods(ctx context.Context) {
	for {
		key, shutdown := a.podQueue.Get()
		if shutdown {
			return
		}
		requeueAfter, err := a.syncPod(ctx, key)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			klog.ErrorS(err, "Pod has not reached its desired state; retrying", "pod", key)
			a.podQueue.AddRateLimited(key)
		default:
			a.podQueue.Forget(key)
			if requeueAfter > 0 {
				a.podQueue.AddAfter(key, requeueAfter)
			}
		}
		a.podQueue.Done(key)
	}
}
