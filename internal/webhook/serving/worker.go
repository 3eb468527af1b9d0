package serving

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// The ConfigMap with the next worker number of a cluster.
const (
	WorkerNamespace = "kube-system"
	workerConfigMap = "quic-server-id-worker-tracker"
	workerKey       = "nextWorkerId"
)

// WorkerNumbers assigns worker numbers from a ConfigMap of the cluster. It implements webhook.WorkerNumbers.
type WorkerNumbers struct {
	ConfigMaps corev1client.ConfigMapInterface
	Random     webhook.Random
}

// Claim returns a worker number below webhook.WorkerCount, and writes the next number into the ConfigMap. The first number
// of a cluster is random. The numbers are assigned in ascending order and begin again at 0, so that no other running process
// has the same number.
func (w WorkerNumbers) Claim(ctx context.Context) (uint32, error) {
	const limit = webhook.WorkerCount
	for range 10 {
		have, err := w.ConfigMaps.Get(ctx, workerConfigMap, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if missing {
			have = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: workerConfigMap}}
		} else if err != nil {
			return 0, err
		}
		n := w.Random.IntN(limit)
		if text, ok := have.Data[workerKey]; ok {
			if n, err = strconv.Atoi(text); err != nil || n < 0 || n >= limit {
				return 0, fmt.Errorf("%s of ConfigMap %s/%s is %q, not a number below %d", workerKey, WorkerNamespace, workerConfigMap, text, limit)
			}
		}
		next := have.DeepCopy()
		if next.Data == nil {
			next.Data = map[string]string{}
		}
		next.Data[workerKey] = strconv.Itoa((n + 1) % (limit - 1))
		if missing {
			_, err = w.ConfigMaps.Create(ctx, next, metav1.CreateOptions{})
		} else {
			_, err = w.ConfigMaps.Update(ctx, next, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			return uint32(n), nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return 0, err
		}
	}
	return 0, fmt.Errorf("ConfigMap %s/%s was changed by another client during each attempt", WorkerNamespace, workerConfigMap)
}
