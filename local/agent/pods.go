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

// Annotations of pods; the package comment describes them.
const (
	annotationAddress = "local.fulcrum/address"
	annotationStopped = "local.fulcrum/stopped"
	annotationStatus  = "local.fulcrum/status"
	annotationSigterm = "local.fulcrum/sigterm"
)

// podEmulation is the emulation of one pod: its address, and its server or the program of its image.
type podEmulation struct {
	uid             types.UID
	node            string
	address         netip.Addr
	usesNodeAddress bool // the pod has the address of the node
	server          *echo.Server
	program         *images.Program
}

// shutdown ends the server and the program of the pod.
func (c *podEmulation) shutdown(ctx context.Context) {
	c.server.Shutdown(ctx)
	if c.program != nil {
		c.program.Shutdown(ctx)
	}
}

// syncPod starts or stops the servers of a pod according to its state. requeueAfter is zero if the pod needs no further
// sync without an event.
func (a *agent) syncPod(ctx context.Context, key string) (requeueAfter time.Duration, err error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return 0, nil
	}
	pod, err := a.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, a.removePodEmulation(ctx, key)
	}
	if err != nil {
		return 0, err
	}
	if c := a.podEmulationOf(key); c != nil && c.uid != pod.UID {
		if err := a.removePodEmulation(ctx, key); err != nil {
			return 0, err
		}
	}
	if _, ours := a.nodes[pod.Spec.NodeName]; !ours {
		return 0, nil
	}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		if err := a.removePodEmulation(ctx, key); err != nil {
			return 0, err
		}
		if pod.DeletionTimestamp != nil {
			return 0, a.annotate(ctx, pod, annotationStopped, "true")
		}
		return 0, nil
	case pod.DeletionTimestamp != nil:
		if left := time.Until(programEndTime(pod)); left > 0 && a.podEmulationOf(key) != nil {
			return left, nil
		}
		a.stopServers(ctx, key, pod)
		return 0, a.annotate(ctx, pod, annotationStopped, "true")
	default:
		return 0, a.startPod(ctx, key, pod)
	}
}

// startPod assigns an address to a pod and opens its ports, unless that has been done already.
func (a *agent) startPod(ctx context.Context, key string, pod *corev1.Pod) error {
	c := a.podEmulationOf(key)
	if c == nil {
		var err error
		if c, err = a.createPodEmulation(ctx, pod); err != nil {
			return err
		}
		a.setPodEmulation(key, c)
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
func (a *agent) openPorts(pod *corev1.Pod, c *podEmulation) error {
	for _, port := range a.podPorts(pod, corev1.ProtocolTCP) {
		if err := c.server.Listen(port); err != nil {
			return fmt.Errorf("open port %d: %w", port, err)
		}
	}
	for _, port := range a.podPorts(pod, corev1.ProtocolUDP) {
		if err := c.server.ListenUDP(port); err != nil {
			return fmt.Errorf("open port %d for datagrams: %w", port, err)
		}
	}
	return nil
}

func (a *agent) createPodEmulation(ctx context.Context, pod *corev1.Pod) (*podEmulation, error) {
	node := a.nodes[pod.Spec.NodeName]
	c := &podEmulation{uid: pod.UID, node: node.Name, usesNodeAddress: pod.Spec.HostNetwork}
	switch previous, err := netip.ParseAddr(pod.Annotations[annotationAddress]); {
	case c.usesNodeAddress:
		c.address = node.Address
	case err == nil && node.PodRange.Contains(previous):
		c.address = previous // The agent was restarted.
		a.pools.reserve(node.Name, previous)
	default:
		if c.address, err = a.pools.allocate(node.Name); err != nil {
			return nil, err
		}
	}
	if !c.usesNodeAddress {
		if err := a.assigner.Assign(ctx, node, c.address); err != nil {
			a.pools.release(node.Name, c.address)
			return nil, fmt.Errorf("assign %s to %s: %w", c.address, node.ENI, err)
		}
	}
	key := pod.Namespace + "/" + pod.Name
	c.server = echo.New(echo.Config{
		Address:     c.address,
		Identity:    func() echo.Identity { return a.podIdentity(key, c) },
		Protocol:    func(port int) echo.Protocol { return a.portProtocol(key, port) },
		Status:      func() int { return a.forcedStatus(key) },
		Certificate: a.cert,
	})
	klog.InfoS("Pod runs", "pod", key, "node", c.node, "address", c.address)
	return c, nil
}

// stopServers stops a pod's servers. The pod keeps its address until it is deleted.
func (a *agent) stopServers(ctx context.Context, key string, pod *corev1.Pod) {
	c := a.podEmulationOf(key)
	if c == nil {
		return
	}
	// Current requests may use the rest of the grace period.
	limit := time.Until(pod.DeletionTimestamp.Time)
	ctx, cancel := context.WithTimeout(ctx, max(limit, 100*time.Millisecond))
	defer cancel()
	c.shutdown(ctx)
}

// removePodEmulation stops the servers of a pod and releases its address.
func (a *agent) removePodEmulation(ctx context.Context, key string) error {
	c := a.podEmulationOf(key)
	if c == nil {
		return nil
	}
	now, cancel := context.WithCancel(ctx)
	cancel()
	c.shutdown(now)
	if !c.usesNodeAddress {
		if err := a.assigner.Unassign(ctx, a.nodes[c.node], c.address); err != nil {
			return fmt.Errorf("unassign %s: %w", c.address, err)
		}
		a.pools.release(c.node, c.address)
	}
	a.setPodEmulation(key, nil)
	klog.InfoS("Pod is removed", "pod", key, "node", c.node, "address", c.address)
	return nil
}

// reserveUsedAddresses reserves the addresses of pods that were started by an earlier agent process.
func (a *agent) reserveUsedAddresses() error {
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, p := range pods {
		if previous, err := netip.ParseAddr(p.Annotations[annotationAddress]); err == nil {
			a.pools.reserve(p.Spec.NodeName, previous)
		}
	}
	return nil
}

// stopAll ends all servers without waiting for requests, because ctx has ended.
func (a *agent) stopAll(ctx context.Context) {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.podEmulations))
	a.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.shutdown(ctx) })
	}
	wg.Wait()
}

func (a *agent) podEmulationOf(key string) *podEmulation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.podEmulations[key]
}

func (a *agent) setPodEmulation(key string, c *podEmulation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c == nil {
		delete(a.podEmulations, key)
		return
	}
	a.podEmulations[key] = c
}

// annotate sets an annotation of a pod, but not of a later pod with the same name.
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

// forcedStatus returns the HTTP status in the pod's annotation, or 0.
func (a *agent) forcedStatus(key string) int {
	pod, err := a.podOf(key)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(pod.Annotations[annotationStatus])
	if err != nil || n < 200 || n > 599 {
		return 0
	}
	return n
}

func (a *agent) podOf(key string) (*corev1.Pod, error) {
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
