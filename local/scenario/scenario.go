// Package scenario implements queries that demos and end-to-end tests make in a local world, such as the hostname of an
// Ingress, the healthy targets of a Service, and the pod that responds to a request.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/local/echo"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// Scenario reads the state of one local world, in Kubernetes and in AWS.
type Scenario struct {
	World     *world.World
	Inspector *inspect.Inspector
	dynamic   dynamic.Interface
}

// New returns a Scenario for a local world, which must have AWS.
func New(w *world.World) (*Scenario, error) {
	client, err := dynamic.NewForConfig(w.RESTConfig())
	if err != nil {
		return nil, err
	}
	return &Scenario{World: w, Inspector: inspect.New(w.AWSConfig(), w.Layout().VPC), dynamic: client}, nil
}

// FrontendNLBHostname returns the DNS name of the frontend NLB in an Ingress's status, or an error if there is none. The
// entry of the frontend NLB is the one without ports.
func (s *Scenario) FrontendNLBHostname(ctx context.Context, namespace, ingress string) (string, error) {
	got, err := s.World.KubeClient().NetworkingV1().Ingresses(namespace).Get(ctx, ingress, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, lb := range got.Status.LoadBalancer.Ingress {
		if lb.Hostname != "" && len(lb.Ports) == 0 {
			return lb.Hostname, nil
		}
	}
	return "", fmt.Errorf("ingress %s/%s has no frontend NLB in its status", namespace, ingress)
}

// Hostname returns the DNS name of the load balancer in an Ingress's status, or an error if there is none.
func (s *Scenario) Hostname(ctx context.Context, namespace, ingress string) (string, error) {
	i, err := s.World.KubeClient().NetworkingV1().Ingresses(namespace).Get(ctx, ingress, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, lb := range i.Status.LoadBalancer.Ingress {
		if lb.Hostname != "" {
			return lb.Hostname, nil
		}
	}
	return "", fmt.Errorf("ingress %s/%s has no load balancer in its status", namespace, ingress)
}

// Targets returns the targets of the target groups that are bound to a Service.
func (s *Scenario) Targets(ctx context.Context, namespace, service string) ([]inspect.Target, error) {
	arns, err := inspect.TargetGroupsOf(ctx, s.dynamic, namespace, service)
	if err != nil {
		return nil, err
	}
	return s.Inspector.Targets(ctx, arns)
}

// CheckHealthyTargets returns an error unless exactly n targets of a Service are healthy and all others are draining.
func (s *Scenario) CheckHealthyTargets(ctx context.Context, namespace, service string, n int) error {
	targets, err := s.Targets(ctx, namespace, service)
	if err != nil {
		return err
	}
	healthy := 0
	var other []string
	for _, t := range targets {
		switch t.State {
		case "healthy":
			healthy++
		case "draining":
		default:
			other = append(other, t.String())
		}
	}
	if healthy != n || len(other) > 0 {
		return fmt.Errorf("%d of %d targets of %s/%s are healthy%s", healthy, n, namespace, service, otherTargetsText(other))
	}
	return nil
}

func otherTargetsText(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "; others: " + strings.Join(items, ", ")
}

// ReadyPods returns the names of the ready pods that match a label selector, and an error unless there are exactly n.
// Pods that are being deleted do not count.
func (s *Scenario) ReadyPods(ctx context.Context, namespace, selector string, n int) ([]string, error) {
	pods, err := s.World.KubeClient().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var ready []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && isReady(p) {
			ready = append(ready, p.Name)
		}
	}
	slices.Sort(ready)
	if len(ready) != n {
		return ready, fmt.Errorf("%d of %d pods with %s are ready", len(ready), n, selector)
	}
	return ready, nil
}

func isReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Scale sets the number of replicas of a Deployment.
func (s *Scenario) Scale(ctx context.Context, namespace, deployment string, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := s.World.KubeClient().AppsV1().Deployments(namespace).Patch(ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	return err
}

// Reply is the response to an HTTP request or a datagram.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	// Certificate contains the DNS names in the server's certificate, separated by commas; it is empty without TLS.
	Certificate string
	// Pod is the response of a pod, or nil if no pod responded.
	Pod *echo.Response
}

// String returns the status with the pod that responded or the target of a redirect.
func (r Reply) String() string {
	text := fmt.Sprint(r.Status)
	switch {
	case r.Pod != nil:
		text += fmt.Sprintf(" from pod %s on %s", r.Pod.Pod, r.Pod.Node)
	case r.Header.Get("Location") != "":
		text += " to " + r.Header.Get("Location")
	}
	return text
}

// Get sends a GET request and returns the response. The header "Host" sets the host of the request.
func Get(ctx context.Context, client *http.Client, url string, header http.Header) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Reply{}, err
	}
	for k, v := range header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	res, err := client.Do(req)
	if err != nil {
		return Reply{}, err
	}
	return replyOf(res)
}

// replyOf converts a response to a Reply. It reads at most 1 MiB of the body and closes it.
func replyOf(res *http.Response) (Reply, error) {
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return Reply{}, errors.Join(errors.New("read the response"), err)
	}
	r := Reply{Status: res.StatusCode, Header: res.Header, Body: string(b)}
	if res.TLS != nil && len(res.TLS.PeerCertificates) > 0 {
		r.Certificate = strings.Join(res.TLS.PeerCertificates[0].DNSNames, ",")
	}
	var a echo.Response
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") && json.Unmarshal(b, &a) == nil && a.Pod != "" {
		r.Pod = &a
	}
	return r, nil
}
