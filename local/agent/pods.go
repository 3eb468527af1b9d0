package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fulcrum-lb/fulcrum/local/echo"
	"github.com/fulcrum-lb/fulcrum/local/images"
)

// Annotations of pods, explained in the package comment.
const (
	annotationAddress = "local.fulcrum/address"
	annotationStopped = "local.fulcrum/stopped"
	annotationStatus  = "local.fulcrum/status"
	annotationSigterm = "local.fulcrum/sigterm"
)

// container is what runs for one pod: its address and its server, or the program of
// its image.
type container struct {
	uid     types.UID
	node    string
	address netip.Addr
	host    bool // the address is the node's
	server  *echo.Server
	program *images.Program
}

// shutdown ends what runs in the pod.
func (c *container) shutdown(ctx context.Context) {
	c.server.Shutdown(ctx)
	if c.program != nil {
		c.program.Shutdown(ctx)
	}
}

// syncPod brings what runs in line with a pod. again is when to look at it
// next without an event, or zero.
func (a *agent) syncPod(ctx context.Context, key string) (again time.Duration, err error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, nil
	}
	pod, err := a.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, a.end(ctx, key)
	}
	if err != nil {
		return 0, err
	}
	if c := a.get(key); c != nil && c.uid != pod.UID {
		if err := a.end(ctx, key); err != nil {
			return 0, err
		}
	}
	if _, ours := a.nodes[pod.Spec.NodeName]; !ours {
		return 0, nil
	}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		if err := a.end(ctx, key); err != nil {
			return 0, err
		}
		if pod.DeletionTimestamp != nil {
			return 0, a.annotate(ctx, pod, annotationStopped, "true")
		}
		return 0, nil
	case pod.DeletionTimestamp != nil:
		if left := time.Until(servesUntil(pod)); left > 0 && a.get(key) != nil {
			return left, nil
		}
		a.silence(ctx, key, pod)
		return 0, a.annotate(ctx, pod, annotationStopped, "true")
	default:
		return 0, a.start(ctx, key, pod)
	}
}

// start gives a pod its address and its servers, or completes what is missing.
func (a *agent) start(ctx context.Context, key string, pod *corev1.Pod) error {
	c := a.get(key)
	if c == nil {
		var err error
		if c, err = a.create(ctx, pod); err != nil {
			return err
		}
		a.put(key, c)
	}
	known, err := a.startImage(ctx, pod, c)
	if !known {
		err = a.openPorts(pod, c)
	}
	if err != nil {
		return err
	}
	if pod.Annotations[annotationAddress] != c.address.String() {
		return a.annotate(ctx, pod, annotationAddress, c.address.String())
	}
	return nil
}

// openPorts opens the ports of a pod that are not open yet.
func (a *agent) openPorts(pod *corev1.Pod, c *container) error {
	for _, port := range a.ports(pod, corev1.ProtocolTCP) {
		if err := c.server.Listen(port); err != nil {
			return fmt.Errorf("open port %d: %w", port, err)
		}
	}
	for _, port := range a.ports(pod, corev1.ProtocolUDP) {
		if err := c.server.ListenUDP(port); err != nil {
			return fmt.Errorf("open port %d for datagrams: %w", port, err)
		}
	}
	return nil
}

func (a *agent) create(ctx context.Context, pod *corev1.Pod) (*container, error) {
	node := a.nodes[pod.Spec.NodeName]
	c := &container{uid: pod.UID, node: node.Name, host: pod.Spec.HostNetwork}
	switch had, err := netip.ParseAddr(pod.Annotations[annotationAddress]); {
	case c.host:
		c.address = node.Address
	case err == nil && node.Pods.Contains(had):
		c.address = had // The agent was started again.
		a.pools.reserve(node.Name, had)
	default:
		if c.address, err = a.pools.take(node.Name); err != nil {
			return nil, err
		}
	}
	if !c.host {
		if err := a.mirror.Assign(ctx, node, c.address); err != nil {
			a.pools.giveBack(node.Name, c.address)
			return nil, fmt.Errorf("assign %s to %s: %w", c.address, node.Interface, err)
		}
	}
	key := pod.Namespace + "/" + pod.Name
	c.server = echo.New(echo.Config{
		Address:     c.address,
		Identity:    func() echo.Identity { return a.identity(key, c) },
		Protocol:    func(port int) echo.Protocol { return a.protocol(key, port) },
		Status:      func() int { return a.forcedStatus(key) },
		Certificate: a.cert,
	})
	klog.InfoS("Pod runs", "pod", key, "node", c.node, "address", c.address)
	return c, nil
}

// silence stops a pod's servers; its address stays taken until it is gone.
func (a *agent) silence(ctx context.Context, key string, pod *corev1.Pod) {
	c := a.get(key)
	if c == nil {
		return
	}
	// Whatever is left of the grace period is for requests under way.
	limit := time.Until(pod.DeletionTimestamp.Time)
	ctx, cancel := context.WithTimeout(ctx, max(limit, 100*time.Millisecond))
	defer cancel()
	c.shutdown(ctx)
}

// end stops what runs under a key and gives the address back.
func (a *agent) end(ctx context.Context, key string) error {
	c := a.get(key)
	if c == nil {
		return nil
	}
	now, cancel := context.WithCancel(ctx)
	cancel()
	c.shutdown(now)
	if !c.host {
		if err := a.mirror.Unassign(ctx, a.nodes[c.node], c.address); err != nil {
			return fmt.Errorf("unassign %s: %w", c.address, err)
		}
		a.pools.giveBack(c.node, c.address)
	}
	a.put(key, nil)
	klog.InfoS("Pod is gone", "pod", key, "node", c.node, "address", c.address)
	return nil
}

// adopt takes the addresses of pods that ran before this agent.
func (a *agent) adopt() error {
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, p := range pods {
		if had, err := netip.ParseAddr(p.Annotations[annotationAddress]); err == nil {
			a.pools.reserve(p.Spec.NodeName, had)
		}
	}
	return nil
}

// stopAll drops everything at once; ctx has ended already.
func (a *agent) stopAll(ctx context.Context) {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.running))
	a.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.shutdown(ctx) })
	}
	wg.Wait()
}

func (a *agent) get(key string) *container {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running[key]
}

func (a *agent) put(key string, c *container) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c == nil {
		delete(a.running, key)
		return
	}
	a.running[key] = c
}

// annotate sets an annotation on exactly this pod, not on a namesake.
func (a *agent) annotate(ctx context.Context, pod *corev1.Pod, key, value string) error {
	if pod.Annotations[key] == value {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID,
		"annotations": map[string]string{key: value},
	}})
	if err != nil {
		return err
	}
	_, err = a.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}

// forcedStatus is what the pod's annotation wants every answer to be.
func (a *agent) forcedStatus(key string) int {
	pod, err := a.lookup(key)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(pod.Annotations[annotationStatus])
	if err != nil || n < 200 || n > 599 {
		return 0
	}
	return n
}

func (a *agent) lookup(key string) (*corev1.Pod, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	pod, err := a.pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, errors.Join(errors.New("pod "+key), err)
	}
	return pod, nil
}
