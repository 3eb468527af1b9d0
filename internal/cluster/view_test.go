package cluster

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// versions is a source that notes the versions which it is to confirm.
type versions struct {
	Source
	asked []string
}

func (v *versions) Confirm(obj Object) error {
	v.asked = append(v.asked, obj.GetResourceVersion())
	return nil
}

// A view reads again while AWS is asked, and may find a later version of an object: what was confirmed of the one before
// says nothing about it.
func TestEachVersionIsConfirmed(t *testing.T) {
	t.Parallel()
	src := &versions{}
	view := NewView(src)
	for _, version := range []string{"1", "1", "2", "2"} {
		view.Confirm(&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", ResourceVersion: version}})
	}
	if len(src.asked) != 2 || src.asked[0] != "1" || src.asked[1] != "2" {
		t.Errorf("confirmed %v", src.asked)
	}
}
