package finding

import (
	"strings"
	"testing"
)

// TestFixForAMissingSecretHasTwoCommands checks that the fix has two complete kubectl commands, with the namespace of the
// Secret and the service account of the controller.
func TestFixForAMissingSecretHasTwoCommands(t *testing.T) {
	for account, want := range map[string]string{
		"lb:controller": " --serviceaccount=lb:controller",
		"":              " --serviceaccount=NAMESPACE:NAME, with the service account in the Deployment of the controller",
	} {
		got := MissingSecretFix(account, "shop", "tls")
		for _, part := range []string{
			"kubectl create role -n shop read-tls --verb=get,list,watch --resource=secrets --resource-name=tls && ",
			"kubectl create rolebinding -n shop read-tls --role=read-tls" + want,
		} {
			if !strings.Contains(got, part) {
				t.Errorf("%q: want %q in %s", account, part, got)
			}
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q: got %s, want the suffix %q", account, got, want)
		}
	}
}
