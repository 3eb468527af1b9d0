package adversary

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// revertingAPI wraps an API server. It simulates an attacker that immediately reverts the controller's writes of finalizers
// and status to the attacker's objects.
type revertingAPI struct {
	kube.API
	mu                sync.Mutex
	store             *cluster.Memory // nil: no write is reverted
	writes            map[types.UID][]time.Time
	frequentlyWritten []string // objects that were written more than ten times in a minute
}

// startReverting makes the API revert writes to the attacker's objects in a store. A nil store ends this.
func (u *revertingAPI) startReverting(store *cluster.Memory) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.store = store
}

func (u *revertingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	err := u.API.Patch(ctx, obj, part, kind, data)
	u.mu.Lock()
	defer u.mu.Unlock()
	if ref := cluster.RefOf(obj); err == nil && u.store != nil && ref.Namespace == attackerNamespace {
		u.revertWrite(ref)
	}
	return err
}

func (u *revertingAPI) revertWrite(ref cluster.Ref) {
	cur, err := u.store.Get(ref)
	if err != nil || cur == nil {
		return
	}
	next := cur.DeepCopyObject().(cluster.Object)
	switch o := next.(type) {
	case *networkingv1.Ingress:
		o.Status = networkingv1.IngressStatus{}
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
	case *elbv2.TargetGroupBinding:
		o.Status = elbv2.TargetGroupBindingStatus{}
	default:
		return
	}
	id := cur.GetUID() // an object that is created again has another UID
	all := append(u.writes[id], time.Now())
	if u.writes[id] = all; len(all) > 10 && all[len(all)-1].Sub(all[len(all)-11]) < time.Minute {
		u.frequentlyWritten = append(u.frequentlyWritten, ref.String())
	}
	next.SetFinalizers(nil)
	next.SetResourceVersion("")
	if _, err := u.store.Update(next, cluster.MainPart); err == nil {
		_, _ = u.store.Update(next, cluster.StatusPart) // an object in deletion may be deleted now
	}
}
