package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readyCondition returns nil if a condition is met, and otherwise an error that describes what is missing. An error that
// wraps errPermanent ends the wait.
type readyCondition func(ctx context.Context) error

var errPermanent = errors.New("permanent error")

// pollInterval is short because all servers are on this machine.
const pollInterval = 40 * time.Millisecond

// waitFor polls until the condition ready is met, and returns nil. It returns an error when ctx ends, when the process of
// one of the roles has ended, or when ready returns a permanent error. what names the condition in errors.
func (w *World) waitFor(ctx context.Context, what string, ready readyCondition, roles ...string) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		if errors.Is(last, errPermanent) {
			return fmt.Errorf("%s: %w", what, last)
		}
		for _, role := range roles {
			if p := w.process(role); p != nil && !p.IsAlive() {
				return p.ExitError()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last seen: %w", what, context.Cause(ctx), last)
		}
	}
}

// readinessCondition returns the condition that is met when a role is ready, and false for a role without such a
// condition. For such a role, Start waits for the effects of the role, such as ready nodes.
func (w *World) readinessCondition(role string) (readyCondition, bool) {
	switch role {
	case RoleEtcd:
		return httpOKCondition("http://" + w.controlHostPort(portEtcd) + "/health"), true
	case RoleAPIServer:
		return w.checkAPIServerReady, true
	case RoleAWS:
		return httpOKCondition("http://" + w.controlHostPort(portAWS) + awsHealthPath), true
	}
	return nil, false
}

func httpOKCondition(url string) readyCondition {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return errors.Join(errPermanent, err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s returned status %s", url, res.Status)
		}
		return nil
	}
}

func (w *World) checkAPIServerReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := w.kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

func (w *World) checkNodesReady(ctx context.Context) error {
	nodes, err := w.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := 0
	for _, n := range nodes.Items {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	if ready < w.opts.Nodes {
		return fmt.Errorf("%d of %d are ready", ready, w.opts.Nodes)
	}
	return nil
}

// checkDefaultServiceAccount returns an error unless namespace "default" has its service account "default". No pod can be
// created in the namespace without this service account.
func (w *World) checkDefaultServiceAccount(ctx context.Context) error {
	_, err := w.kube.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}
