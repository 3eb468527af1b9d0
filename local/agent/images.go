package agent

import (
	"context"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/images"
)

// startImage starts the program of the first container whose image package images can replace, unless it runs already.
// It returns false if the pod has no such container; then the pod needs the echo server.
func (a *agent) startImage(ctx context.Context, pod *corev1.Pod, c *podEmulation) (bool, error) {
	if c.program != nil {
		return true, nil
	}
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		if !images.HasProgram(spec.Image) {
			continue
		}
		var err error
		c.program, err = images.Start(spec.Image, images.Config{
			Address:  c.address,
			Env:      environment(pod, spec, c),
			ReadFile: func(name string) ([]byte, error) { return a.readMountedFile(ctx, pod, spec, name) },
		})
		if err != nil {
			return true, fmt.Errorf("start container %s: %w", spec.Name, err)
		}
		return true, nil
	}
	return false, nil
}

// environment returns the environment of a container. Variables from other objects, such as ConfigMaps, are empty.
func environment(pod *corev1.Pod, spec *corev1.Container, c *podEmulation) map[string]string {
	out := map[string]string{}
	for _, e := range spec.Env {
		out[e.Name] = e.Value
		if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
			continue
		}
		switch e.ValueFrom.FieldRef.FieldPath {
		case "metadata.name":
			out[e.Name] = pod.Name
		case "metadata.namespace":
			out[e.Name] = pod.Namespace
		case "spec.nodeName":
			out[e.Name] = pod.Spec.NodeName
		case "status.podIP":
			out[e.Name] = c.address.String()
		}
	}
	return out
}

// readMountedFile reads the file with the path name in a container, from the mounted Secret or ConfigMap.
func (a *agent) readMountedFile(ctx context.Context, pod *corev1.Pod, spec *corev1.Container, name string) ([]byte, error) {
	for _, m := range spec.VolumeMounts {
		file, below := strings.CutPrefix(path.Clean(name), path.Clean(m.MountPath)+"/")
		if !below {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name {
				return a.readVolume(ctx, pod.Namespace, v, file)
			}
		}
	}
	return nil, fmt.Errorf("%s is in no volume", name)
}

func (a *agent) readVolume(ctx context.Context, namespace string, v corev1.Volume, file string) ([]byte, error) {
	switch {
	case v.Secret != nil:
		s, err := a.kube.CoreV1().Secrets(namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		b, ok := s.Data[volumeKeyOf(v.Secret.Items, file)]
		if !ok {
			return nil, fmt.Errorf("secret %s has no key for file %s", s.Name, file)
		}
		return b, nil
	case v.ConfigMap != nil:
		m, err := a.kube.CoreV1().ConfigMaps(namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		text, ok := m.Data[volumeKeyOf(v.ConfigMap.Items, file)]
		if !ok {
			return nil, fmt.Errorf("ConfigMap %s has no key for file %s", m.Name, file)
		}
		return []byte(text), nil
	}
	return nil, fmt.Errorf("volume %s has a type that the agent does not support", v.Name)
}

// volumeKeyOf returns the key of the Secret or ConfigMap that has the content of a file in a volume; "" if the volume
// does not contain the file.
func volumeKeyOf(items []corev1.KeyToPath, file string) string {
	for _, i := range items {
		if i.Path == file {
			return i.Key
		}
	}
	if len(items) > 0 {
		return "" // The volume has only the items.
	}
	return file
}
