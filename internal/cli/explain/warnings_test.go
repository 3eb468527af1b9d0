package explain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
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

// TestAdviceOfListenersIsShown checks that the warnings about a Gateway include the messages of conditions that are met, but
// say what the user may not expect.
func TestAdviceOfListenersIsShown(t *testing.T) {
	met := func(of, message string) metav1.Condition {
		return metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: of, Message: message}
	}
	gw := &gwv1.Gateway{Status: gwv1.GatewayStatus{Listeners: []gwv1.ListenerStatus{{Name: "https", Conditions: []metav1.Condition{
		met("Accepted", "Listener is accepted."),
		met("ResolvedRefs", `Secrets of certificateRefs are not read, because --import-tls-secrets does not name "gateway"; certificates are found in ACM.`),
		met("Programmed", "No route is attached; the load balancer does not listen on port 443 until one is."),
	}}}}}
	got, err := unmetConditions(gw)
	if err != nil || len(got) != 2 || got[0].In != "listener https condition ResolvedRefs" || got[1].In != "listener https condition Programmed" {
		t.Errorf("%+v, %v", got, err)
	}
}
