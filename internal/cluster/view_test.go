package cluster

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// confirmRecorder is a source that records the resource versions of the objects that Confirm is called with.
type confirmRecorder struct {
	Source
	confirmedVersions []string
}

func (v *confirmRecorder) Confirm(obj Object) error {
	v.confirmedVersions = append(v.confirmedVersions, obj.GetResourceVersion())
	return nil
}

// TestEachVersionIsConfirmed checks that View.Confirm calls Confirm of the source once for each resource version of an
// object.
func TestEachVersionIsConfirmed(t *testing.T) {
	t.Parallel()
	src := &confirmRecorder{}
	view := NewView(src)
	for _, version := range []string{"1", "1", "2", "2"} {
		view.Confirm(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", ResourceVersion: version}})
	}
	if len(src.confirmedVersions) != 2 || src.confirmedVersions[0] != "1" || src.confirmedVersions[1] != "2" {
		t.Errorf("confirmed %v", src.confirmedVersions)
	}
}
