package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// serverIDInjector is the name of the check in metrics.
const serverIDInjector = "serverIDInjector"

// injectServerIDs sets a server ID on each container that the annotation of a new pod names. If no server ID can be
// generated, it denies the pod, because a QUIC listener cannot distinguish pods without server IDs.
func (c Config) injectServerIDs(ctx context.Context, r Request) (Response, error) {
	pod := &corev1.Pod{}
	if err := r.decode(r.Object, pod); err != nil {
		return Response{}, err
	}
	if c.ServerIDs == nil || r.Operation != admissionv1.Create {
		return Response{}, nil
	}
	changes, err := c.serverIDChanges(ctx, pod)
	if err != nil {
		return deny(serverIDInjector, "generate a QUIC server ID: %v", err), nil
	}
	return Response{Changes: changes}, nil
}

// serverIDChanges returns the changes that add an environment variable with a server ID to the containers that the pod lists
// in the annotation targets.QUICAnnotation. It omits containers that already have this environment variable.
func (c Config) serverIDChanges(ctx context.Context, pod *corev1.Pod) ([]PatchOperation, error) {
	named := map[string]bool{}
	for _, n := range strings.Split(pod.Annotations[targets.QUICAnnotation], ",") {
		if n = strings.TrimSpace(n); n != "" {
			named[n] = true
		}
	}
	var out []PatchOperation
	for _, list := range []struct {
		path       string
		containers []corev1.Container
	}{{"/spec/containers", pod.Spec.Containers}, {"/spec/initContainers", pod.Spec.InitContainers}} {
		for i, con := range list.containers {
			hasID := slices.ContainsFunc(con.Env, func(e corev1.EnvVar) bool { return e.Name == c.ServerIDVariable })
			if !named[con.Name] || hasID {
				continue
			}
			id, err := c.ServerIDs.Next(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, envVarChange(fmt.Sprintf("%s/%d/env", list.path, i), con, corev1.EnvVar{Name: c.ServerIDVariable, Value: id}))
		}
	}
	return out, nil
}

// envVarChange returns the change that adds an environment variable to a container.
func envVarChange(path string, con corev1.Container, v corev1.EnvVar) PatchOperation {
	if len(con.Env) == 0 {
		return newSetChange(path, []corev1.EnvVar{v})
	}
	return newSetChange(path+"/-", v)
}
