package harness

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// clientSecret returns YAML of Secret "shop/login" with an OIDC client secret.
func clientSecret(value string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
data: {clientID: c2hvcA==, clientSecret: %s}
`, base64.StdEncoding.EncodeToString([]byte(value)))
}

// clientSecretsInAWS returns the OIDC client secrets of all rules in AWS, including default rules.
func clientSecretsInAWS(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, rule := range w.Partition(Account, Region).ELB.Rules {
		for _, a := range rule.Actions {
			if c := a.AuthenticateOidcConfig; c != nil {
				out = append(out, *c.ClientSecret)
			}
		}
	}
	return out
}

// oidcConfiguration is the value of annotation auth-idp-oidc. It names the Secret of clientSecret.
const oidcConfiguration = `{"issuer":"https://login.example.com","authorizationEndpoint":"https://login.example.com/a","tokenEndpoint":"https://login.example.com/t","userInfoEndpoint":"https://login.example.com/u","secretName":"login"}`

// TestChangedClientSecretIsSentToAWS checks that a changed client secret is written to AWS, even if it changes while no
// controller runs. An unchanged client secret is not written again.
func TestChangedClientSecretIsSentToAWS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{Checkpoints: true})
		for i, a := range podAddresses {
			if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[i%3], a); err != nil {
				t.Fatal(err)
			}
		}
		secure := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidcConfiguration)
		r.Apply(shop, clientSecret("one"), readyPods("web", podAddresses[:3]...), webIngress(secure, "/=web", "/b=web"))
		step := func(what, want string, writes int) {
			t.Helper()
			r.runFor(2 * time.Hour)
			got := clientSecretsInAWS(r)
			if len(got) != 2 || got[0] != want || got[1] != want {
				t.Errorf("%s: AWS holds %v", what, got)
			}
			if n := r.Emulator.Calls().CountMutating(); writes >= 0 && n != writes {
				t.Errorf("%s: %d writes: %v", what, n, r.Emulator.Calls().Counts())
			}
			r.Emulator.Calls().Reset()
		}
		step("at first", "one", -1)
		r.process.enqueueExistingObjects()
		step("another reconciliation", "one", 0)
		r.Apply(clientSecret("two"))
		step("changed", "two", 2)
		r.Start()
		step("a restart", "two", 0)
		r.process.saveCheckpoints()
		r.Kill()
		r.Apply(clientSecret("three"))
		r.Start()
		step("changed while no controller ran", "three", 2)
		// Without checkpoints, a process cannot compare the client secret, and assumes that AWS has the current one.
		for _, o := range r.Store.All("Secret") {
			if o.GetNamespace() == "kube-system" {
				if err := r.Store.DeleteObject(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.Kill()
		r.Start()
		step("without checkpoints", "three", 0)
	})
}

// TestRevertedClientSecretIsSentToAWS checks a process that is killed while it writes a changed client secret, before
// it stores its checkpoints. If the client secret is reverted before the next process starts, AWS gets the reverted
// value.
func TestRevertedClientSecretIsSentToAWS(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 2} {
		t.Run(fmt.Sprintf("after call %d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkRevertedClientSecret(t, at) })
		})
	}
}

// checkRevertedClientSecret checks the case of a process that is killed after the mutating call with number at.
func checkRevertedClientSecret(t *testing.T, at int) {
	r := shopWith(t, Options{Checkpoints: true})
	secure := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidcConfiguration)
	r.Apply(shop, clientSecret("one"), readyPods("web", podAddresses[:3]...), webIngress(secure, "/=web", "/b=web"))
	r.runFor(time.Hour)
	r.process.saveCheckpoints()
	n := 0
	r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
		if countMutation(call, &n); call.Mutating && n == at {
			return fault.Action{After: r.Kill}
		}
		return fault.Action{}
	})
	r.Apply(clientSecret("two"))
	r.Settle(20 * time.Second)
	r.Emulator.Faults().SetHook(nil)
	if !r.WasKilled() || !slices.Contains(clientSecretsInAWS(r), "two") {
		t.Fatalf("AWS holds %v", clientSecretsInAWS(r))
	}
	r.Apply(clientSecret("one"))
	r.Start()
	r.Settle(50 * time.Second)
	if d := cmp.Diff([]string{"one", "one"}, clientSecretsInAWS(r)); d != "" {
		t.Errorf("AWS holds (-want +got):\n%s", d)
	}
	r.Emulator.Calls().Reset()
	r.Start()
	r.runFor(2 * time.Hour)
	if n := r.Emulator.Calls().CountMutating(); n > 0 {
		t.Errorf("%d writes after another start", n)
	}
}

// TestChangedClientSecretOfNewRuleIsSentToAWS checks a process that is killed after it creates a rule, before it stores
// its checkpoints. If the client secret changes before the next process starts, AWS gets the new value.
func TestChangedClientSecretOfNewRuleIsSentToAWS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Checkpoints: true})
		secure := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidcConfiguration)
		r.Apply(shop, clientSecret("one"), readyPods("web", podAddresses[:3]...), webIngress(secure, "/=web"))
		r.runFor(time.Hour)
		r.process.saveCheckpoints()
		r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
			if call.Operation == "CreateRule" {
				return fault.Action{After: r.Kill}
			}
			return fault.Action{}
		})
		r.Apply(webIngress(secure, "/=web", "/b=web"))
		r.Settle(20 * time.Second)
		r.Emulator.Faults().SetHook(nil)
		if !r.WasKilled() {
			t.Fatal("no rule is created")
		}
		r.Apply(clientSecret("two"))
		r.Start()
		r.runFor(2 * time.Hour)
		if d := cmp.Diff([]string{"two", "two"}, clientSecretsInAWS(r)); d != "" {
			t.Errorf("AWS holds (-want +got):\n%s", d)
		}
		r.process.saveCheckpoints()
		r.Kill()
		r.Emulator.Calls().Reset()
		r.Start()
		r.runFor(2 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d writes after another start", n)
		}
	})
}

// TestNewRuleBesideDefaultActionWithClientSecret checks that AWS accepts a new rule while its targets are not healthy yet,
// if the default action, which then answers its requests, has a client secret. AWS never returns client secrets.
func TestNewRuleBesideDefaultActionWithClientSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		secure := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc", "auth-idp-oidc", oidcConfiguration)
		r.Apply(shop, clientSecret("one"), readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[2:4]...), webIngress(secure, "/a=web"))
		r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.DefaultBackend = &ing.Spec.Rules[0].HTTP.Paths[0].Backend })
		r.advanceTime(5 * time.Minute)
		r.editIngress("web", func(ing *networkingv1.Ingress) {
			added := *ing.Spec.Rules[0].HTTP.Paths[0].DeepCopy()
			added.Path, added.Backend.Service.Name = "/b", "api"
			ing.Spec.Rules[0].HTTP.Paths = append(ing.Spec.Rules[0].HTTP.Paths, added)
		})
		r.advanceTime(5 * time.Minute)
		if got := clientSecretsInAWS(r); !slices.Equal(got, []string{"one", "one", "one"}) {
			t.Errorf("AWS holds %v", got)
		}
		for _, o := range r.Store.All("Event") {
			if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning {
				t.Error(e.Message)
			}
		}
	})
}
