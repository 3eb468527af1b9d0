package kube

import (
	"context"
	"encoding/json"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// FlagsAnnotation is the key of an annotation of a Lease. Its value has the flags of the controller that holds the Lease.
const FlagsAnnotation = "fulcrum.dev/flags"

// maxFlagsBytes is the maximum length of the value of FlagsAnnotation.
const maxFlagsBytes = 16 << 10

// flagsOfHolder is the value of FlagsAnnotation as JSON. It names the holder of the Lease, because another controller may
// acquire the Lease without updating the annotation.
type flagsOfHolder struct {
	Holder string   `json:"holder"`
	Flags  []string `json:"flags"`
}

// PublishFlags sets the flags that each write of the Lease stores in FlagsAnnotation. Flags that need more than
// maxFlagsBytes are not stored. PublishFlags must be called before the Lease is used.
func (l *Lease) PublishFlags(flags []string) {
	value, err := json.Marshal(flagsOfHolder{l.Identity(), flags})
	if err == nil && len(value) <= maxFlagsBytes {
		l.flags.value = string(value)
	}
}

// PublishedFlags returns the flags of the controller that holds a Lease, from FlagsAnnotation; false if the annotation is
// missing, not valid, or of another holder.
func PublishedFlags(lease *coordinationv1.Lease) ([]string, bool) {
	value := lease.Annotations[FlagsAnnotation]
	var out flagsOfHolder
	if value == "" || len(value) > maxFlagsBytes || json.Unmarshal([]byte(value), &out) != nil {
		return nil, false
	}
	holder := lease.Spec.HolderIdentity
	return out.Flags, holder != nil && *holder != "" && *holder == out.Holder
}

// leasesWithFlags is a client that sets FlagsAnnotation to value on each Lease that it writes, unless value is empty.
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

// addFlags returns a Lease with FlagsAnnotation. It does not change its argument.
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
