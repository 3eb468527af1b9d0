package kube

import (
	"context"
	"encoding/json"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// FlagsAnnotation of the Lease has the flags of the controller that holds it.
const FlagsAnnotation = "fulcrum.dev/flags"

// mostFlags are the bytes of the annotation that are written and read.
const mostFlags = 16 << 10

// published is the value of the annotation. Another controller that takes the Lease leaves the annotation as it is, so
// that it counts for its holder only.
type published struct {
	Holder string   `json:"holder"`
	Flags  []string `json:"flags"`
}

// Publish lets the Lease show flags, from the next renewal on. It is called before the Lease is used.
func (l *Lease) Publish(flags []string) {
	value, err := json.Marshal(published{l.Identity(), flags})
	if err == nil && len(value) <= mostFlags {
		l.flags.value = string(value)
	}
}

// PublishedFlags returns the flags of the controller that holds a Lease; false if they are not known.
func PublishedFlags(lease *coordinationv1.Lease) ([]string, bool) {
	value := lease.Annotations[FlagsAnnotation]
	var out published
	if value == "" || len(value) > mostFlags || json.Unmarshal([]byte(value), &out) != nil {
		return nil, false
	}
	holder := lease.Spec.HolderIdentity
	return out.Flags, holder != nil && *holder != "" && *holder == out.Holder
}

// flaggedLeases writes the annotation whenever the Lease is written.
type flaggedLeases struct {
	coordinationv1client.CoordinationV1Interface
	value string
}

// Leases implements the client.
func (f *flaggedLeases) Leases(namespace string) coordinationv1client.LeaseInterface {
	return annotating{f.CoordinationV1Interface.Leases(namespace), f}
}

type annotating struct {
	coordinationv1client.LeaseInterface
	*flaggedLeases
}

func (a annotating) annotate(lease *coordinationv1.Lease) *coordinationv1.Lease {
	if a.value == "" || lease.Annotations[FlagsAnnotation] == a.value {
		return lease
	}
	lease = lease.DeepCopy()
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, FlagsAnnotation, a.value)
	return lease
}

// Create implements the client.
func (a annotating) Create(ctx context.Context, lease *coordinationv1.Lease, opt metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Create(ctx, a.annotate(lease), opt)
}

// Update implements the client.
func (a annotating) Update(ctx context.Context, lease *coordinationv1.Lease, opt metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Update(ctx, a.annotate(lease), opt)
}
