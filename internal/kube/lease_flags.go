package kube

import (
	"context"
	"encoding/json"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// FlagsAnnotation is the annotation of a Lease with the flags of the controller that holds the Lease.
const FlagsAnnotation = "fulcrum.dev/flags"

// maxFlagsBytes is the maximum length of the value of FlagsAnnotation.
const maxFlagsBytes = 16 << 10

// flagsOfHolder is the value of FlagsAnnotation. It names the holder, because another controller that acquires the Lease may
// not update the annotation.
type flagsOfHolder struct {
	Holder string   `json:"holder"`
	Flags  []string `json:"flags"`
}

// PublishFlags sets the flags that each write of the Lease adds as FlagsAnnotation. It must be called before the Lease is
// used.
func (l *Lease) PublishFlags(flags []string) {
	value, err := json.Marshal(flagsOfHolder{l.Identity(), flags})
	if err == nil && len(value) <= maxFlagsBytes {
		l.flags.value = string(value)
	}
}

// PublishedFlags returns the flags of the controller that holds a Lease; false if they are not known.
func PublishedFlags(lease *coordinationv1.Lease) ([]string, bool) {
	value := lease.Annotations[FlagsAnnotation]
	var out flagsOfHolder
	if value == "" || len(value) > maxFlagsBytes || json.Unmarshal([]byte(value), &out) != nil {
		return nil, false
	}
	holder := lease.Spec.HolderIdentity
	return out.Flags, holder != nil && *holder != "" && *holder == out.Holder
}

// leasesWithFlags is a client that adds FlagsAnnotation to each Lease that it writes.
type leasesWithFlags struct {
	coordinationv1client.CoordinationV1Interface
	value string
}

// Leases implements coordinationv1client.LeasesGetter.
func (f *leasesWithFlags) Leases(namespace string) coordinationv1client.LeaseInterface {
	return namespacedLeasesWithFlags{f.CoordinationV1Interface.Leases(namespace), f}
}

// namespacedLeasesWithFlags is leasesWithFlags for one namespace.
type namespacedLeasesWithFlags struct {
	coordinationv1client.LeaseInterface
	*leasesWithFlags
}

// addFlags returns a Lease with FlagsAnnotation.
func (a namespacedLeasesWithFlags) addFlags(lease *coordinationv1.Lease) *coordinationv1.Lease {
	if a.value == "" || lease.Annotations[FlagsAnnotation] == a.value {
		return lease
	}
	lease = lease.DeepCopy()
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, FlagsAnnotation, a.value)
	return lease
}

// Create implements coordinationv1client.LeaseInterface.
func (a namespacedLeasesWithFlags) Create(ctx context.Context, lease *coordinationv1.Lease, opt metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Create(ctx, a.addFlags(lease), opt)
}

// Update implements coordinationv1client.LeaseInterface.
func (a namespacedLeasesWithFlags) Update(ctx context.Context, lease *coordinationv1.Lease, opt metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return a.LeaseInterface.Update(ctx, a.addFlags(lease), opt)
}
