package explain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestWarningsOfEarlierObjectAreOmitted checks that warnings about a deleted object are not shown for a new object of the
// same name.
func TestWarningsOfEarlierObjectAreOmitted(t *testing.T) {
	now := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "now"}}
	for uid, want := range map[types.UID]bool{"now": false, "before": true, "": false} {
		if got := isOfEarlierObject(uid, now); got != want {
			t.Errorf("UID %q: %t", uid, got)
		}
	}
}
