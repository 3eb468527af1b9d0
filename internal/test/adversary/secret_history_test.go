package adversary

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// secretHistories is the default number of histories of attacks with TLS Secrets.
const secretHistories = 4

// secureVictims are a Gateway and an IngressGroup with certificates from TLS Secrets. One Secret of the Gateway is in
// another namespace, permitted by a ReferenceGrant. Every namespace may add ListenerSets and Ingresses.
const secureVictims = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: infra, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra, uid: uid-infra-edge, creationTimestamp: "1999-12-31T00:00:00Z"}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: shop, port: 443, protocol: HTTPS, hostname: shop.pay.com, tls: {certificateRefs: [{name: shop, namespace: pay}]}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
  - {name: api, port: 443, protocol: HTTPS, hostname: api.pay.com, tls: {certificateRefs: [{name: api}]}, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: pay, creationTimestamp: "1999-12-31T00:00:00Z"}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: infra, namespace: pay}
spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}], to: [{group: "", kind: Secret, name: shop}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: pay
  creationTimestamp: "1999-12-31T00:00:00Z"
  annotations: {alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: internal}
spec:
  ingressClassName: alb
  tls: [{hosts: [www.pay.com], secretName: www}]
  rules: [{host: www.pay.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
`

// victimHostsBySecret has the hosts of the victims' certificates by Secret.
var victimHostsBySecret = map[string]string{"pay/shop": "shop.pay.com", "infra/api": "api.pay.com", "pay/www": "www.pay.com"}

// secretTestCluster is a test cluster with an attacker and the victims of secureVictims.
type secretTestCluster struct {
	*gatewayTestCluster
	*authority
	recordedLog controllerLog
	// attackerCertificates has certificates of the attacker by their names, which are separated by commas.
	attackerCertificates map[string][]certificateWithKey
	// certificateARNs has the ARNs of the victims' certificates by Secret, and expectedSerials their expected serial
	// numbers.
	certificateARNs map[string]string
	expectedSerials map[string]int64
	startTime       time.Time
	// isImportDisabled is set if the controller runs without --import-tls-secrets. newestSerials has the serial numbers of the
	// newest certificates by Secret, which the controller imports when it runs with the flag.
	isImportDisabled bool
	newestSerials    map[string]int64
	// mayLeaveOrphans is set if the attacker has made moves while the flag was missing. If a load balancer is deleted during
	// this time, its imported certificates remain in ACM, because the controller does not read them. Later they are reported
	// as orphans.
	mayLeaveOrphans bool
	// checkEffects, if not nil, checks the effects of an attack.
	checkEffects func()
}

// TestSecretHistories runs random histories of a tenant that writes TLS Secrets, uses its own and other namespaces'
// Secrets in Gateways, ListenerSets and Ingresses, and writes and deletes ReferenceGrants. The victims' listeners,
// certificates and renewals must be as without the attacker, there must be few imports, and no private key may appear
// anywhere.
func TestSecretHistories(t *testing.T) {
	t.Parallel()
	first, n := seedRange(secretHistories)
	for seed := first; seed < first+n; seed++ {
		if w := runSecretHistory(t, seed); w.rec.Failed() {
			t.Fatalf("FULCRUM_ADVERSARY_SEED=%d:\n%s\n\n%s", seed, strings.Join(w.rec.failures, "\n"), strings.Join(w.moveLog, "\n"))
		}
	}
}

func runSecretHistory(t *testing.T, seed uint64) *secretTestCluster {
	t.Helper()
	return runInSecretTestCluster(t, seed, func(w *secretTestCluster) {
		for n := range 25 {
			w.makeSecretMove()
			w.Settle(time.Duration(1+w.IntN(90)) * time.Second)
			if w.chance(12) {
				w.restartWithToggledImport()
				w.Settle(2 * time.Minute)
			}
			if n%8 == 7 {
				secret := []string{"infra/api", "pay/shop", "pay/www"}[w.IntN(3)]
				w.moveLog = append(w.moveLog, "the victims renew "+secret)
				w.renewCertificate(secret)
				w.Settle(2 * time.Minute)
			}
			if w.checkSecrets(""); w.rec.Failed() {
				return
			}
		}
		w.deleteAttackerAndCheckCertificates()
	})
}

// runInSecretTestCluster calls run in a test cluster with secureVictims, when the victims are served.
func runInSecretTestCluster(t *testing.T, seed uint64, run func(w *secretTestCluster)) *secretTestCluster {
	t.Helper()
	w := &secretTestCluster{gatewayTestCluster: &gatewayTestCluster{Rand: rand.New(rand.NewPCG(seed, 11))}, attackerCertificates: map[string][]certificateWithKey{}, certificateARNs: map[string]string{}, expectedSerials: map[string]int64{}, newestSerials: map[string]int64{}}
	synctest.Test(t, func(t *testing.T) {
		w.rec = &recorder{TB: t}
		defer recoverStop()
		w.createVictims()
		run(w)
	})
	return w
}

// createVictims starts the controller, creates the objects of the victims, and records their certificates.
func (w *secretTestCluster) createVictims() {
	w.authority = newAuthority()
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(),
		Gateway:   func(o *gateways.Options) { o.DefaultTargetType, o.ImportCertificates = "ip", !w.isImportDisabled },
		Ingress:   func(o *ingress.Options) { o.ImportCertificates = !w.isImportDisabled },
		Plan:      func(o *plan.Options) { o.ImportCertificates = !w.isImportDisabled },
		Cloud:     func(c *cloud.Config) { c.ImportedCertificates = !w.isImportDisabled },
		Log:       funcr.New(w.recordedLog.addLine, funcr.Options{Verbosity: 10}),
		AfterRun: func(what string, err error) {
			if w.runs++; w.runs > 20000 {
				w.rec.Fatalf("too many runs, the last one of %s", what)
			}
			if err != nil {
				w.recordedLog.addLine("", err.Error())
				if strings.Contains(err.Error(), "panic") {
					w.rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
				}
			}
		},
	})
	for _, o := range workloads() {
		w.Apply(o.docs())
	}
	w.Apply(secureVictims)
	for _, secret := range slices.Sorted(maps.Keys(victimHostsBySecret)) {
		w.renewCertificate(secret)
	}
	w.Settle(10 * time.Minute)
	w.recordCertificates()
}

// renewCertificate writes a new certificate into a Secret of the victims.
func (w *secretTestCluster) renewCertificate(secret string) {
	namespace, name, _ := strings.Cut(secret, "/")
	c := w.issue(-1, 90, victimHostsBySecret[secret])
	w.newestSerials[secret] = c.serial
	if !w.isImportDisabled {
		maps.Copy(w.expectedSerials, w.newestSerials)
	}
	w.Apply(secretOf(namespace, name, "kubernetes.io/tls", c.body, c.key, w.root))
}

// restartWithToggledImport restarts the controller, without --import-tls-secrets or with it again.
func (w *secretTestCluster) restartWithToggledImport() {
	w.isImportDisabled = !w.isImportDisabled
	w.moveLog = append(w.moveLog, fmt.Sprintf("the controller is started again, imports: %t", !w.isImportDisabled))
	time.Sleep(time.Second)
	w.Start()
	if !w.isImportDisabled {
		maps.Copy(w.expectedSerials, w.newestSerials)
	}
}

// importedCertificates returns the imported certificates in ACM by Secret. evil selects those of the attacker's stacks,
// otherwise those of the victims' stacks.
func (w *secretTestCluster) importedCertificates(p *emulated.Partition, evil bool) map[string]*emulated.Certificate {
	out := map[string]*emulated.Certificate{}
	for _, c := range p.ACM.Certificates {
		for _, prefix := range []string{"gateway.k8s.aws.alb", "ingress.k8s.aws"} {
			if id, ok := strings.CutPrefix(c.Tags[prefix+"/resource"], "imported/"); ok && strings.HasPrefix(c.Tags[prefix+"/stack"], "evil/") == evil {
				if before := out[id]; before == nil || c.ARN < before.ARN {
					out[id] = c
				}
			}
		}
	}
	return out
}

// recordCertificates records the certificates of the victims.
func (w *secretTestCluster) recordCertificates() {
	p, unlock := w.partition()
	defer unlock()
	for id, c := range w.importedCertificates(p, false) {
		w.certificateARNs[id] = c.ARN
	}
	if len(w.certificateARNs) != 3 || len(p.ELB.LoadBalancers) != 2 {
		w.rec.Fatalf("the victims have %v and %d load balancers", w.certificateARNs, len(p.ELB.LoadBalancers))
	}
	for arn := range p.ELB.LoadBalancers {
		w.lbARNs = append(w.lbARNs, arn)
	}
	w.startTime = time.Now()
	w.Emulator.Calls().Reset()
}

// checkSecrets checks the victims' listeners and certificates, the number of imports, and that no private key appears
// anywhere.
func (w *secretTestCluster) checkSecrets(when string) {
	p, unlock := w.partition()
	defer unlock()
	for secret, arn := range w.certificateARNs {
		c := p.ACM.Certificates[arn]
		if c == nil {
			w.rec.Errorf("%sthe certificate of %s was deleted", when, secret)
			continue
		}
		if want := fmt.Sprintf("%x", w.expectedSerials[secret]); !strings.HasSuffix(strings.ReplaceAll(c.Serial, ":", ""), want) {
			w.rec.Errorf("%s%s has serial %s, want %s", when, secret, c.Serial, want)
		}
	}
	secure := 0
	for _, l := range p.ELB.Listeners {
		for secret, arn := range w.certificateARNs {
			if !slices.Contains(w.lbARNs, l.LoadBalancer) && slices.Contains(append([]string{l.Certificate}, l.SNI...), arn) {
				w.rec.Errorf("%sport %d of %s has the certificate of %s", when, l.Port, l.LoadBalancer, secret)
			}
		}
		if l.Port != 443 || !slices.Contains(w.lbARNs, l.LoadBalancer) {
			continue
		}
		secure++
		all := append([]string{l.Certificate}, l.SNI...)
		for secret, arn := range w.certificateARNs {
			if ingressGroup := !strings.Contains(p.ELB.LoadBalancers[l.LoadBalancer].Name, "edge"); (secret == "pay/www") == ingressGroup && !slices.Contains(all, arn) {
				w.rec.Errorf("%sthe listener has no certificate of %s", when, secret)
			}
		}
		if !slices.Contains(slices.Collect(maps.Values(w.certificateARNs)), l.Certificate) {
			w.rec.Errorf("%sthe default certificate is %s", when, l.Certificate)
		}
		for _, arn := range all {
			c := p.ACM.Certificates[arn]
			if c == nil || slices.Contains(slices.Collect(maps.Values(w.certificateARNs)), arn) {
				continue
			}
			for secret, host := range victimHostsBySecret {
				if ours := slices.Contains(all, w.certificateARNs[secret]); ours && slices.ContainsFunc(c.Names, func(name string) bool { return plan.DomainCovers(strings.ToLower(name), host) }) {
					w.rec.Errorf("%sa certificate for %v is on a listener of the victims", when, c.Names)
				}
			}
		}
	}
	if secure != 2 {
		w.rec.Errorf("%sthe victims have %d listeners with TLS", when, secure)
	}
	// Imports that the attacker may cause: a few for each Secret in each of its stacks. The number of its Secrets and stacks
	// is limited.
	hours := time.Since(w.startTime).Hours()
	if n, most := w.Emulator.Calls().Count("ImportCertificate"), int(250+12*hours+5); n > most {
		w.rec.Errorf("%s%d imports, at most %d", when, n, most)
	}
	w.checkKeys(when)
}

// checkKeys checks that no private key appears in the log, in events, or in objects other than TLS Secrets. It then clears
// the log.
func (w *secretTestCluster) checkKeys(when string) {
	w.recordedLog.mu.Lock()
	defer w.recordedLog.mu.Unlock()
	if w.isKeyIn(w.recordedLog.text.String()) {
		w.rec.Errorf("%sa private key is in the log", when)
	}
	w.recordedLog.text.Reset()
	for _, typ := range cluster.Types() {
		for _, o := range w.Store.All(typ.Kind) {
			if s, ok := o.(*corev1.Secret); ok && s.Data[corev1.TLSPrivateKeyKey] != nil {
				continue
			}
			if text := string(mustValue(json.Marshal(o))); w.isKeyIn(text) {
				w.rec.Errorf("%sa private key is in %s %s/%s", when, typ.Kind, o.GetNamespace(), o.GetName())
			}
		}
	}
	for _, o := range w.Store.All("Event") {
		if w.isKeyIn(string(mustValue(json.Marshal(o)))) {
			w.rec.Errorf("%sa private key is in an event", when)
		}
	}
}

// deleteAttackerAndCheckCertificates deletes all objects of the attacker and checks that its certificates are deleted from
// ACM.
func (w *secretTestCluster) deleteAttackerAndCheckCertificates() {
	if w.isImportDisabled {
		w.restartWithToggledImport()
	}
	w.moveLog = append(w.moveLog, "the attacker leaves")
	w.deleteAttackerNamespaceObjects()
	if failed := w.Settle(2 * time.Hour); len(failed) > 0 {
		w.rec.Errorf("after the attacker has left: %v", failed)
	}
	w.checkSecrets("after the attacker has left: ")
	var reported []string
	for _, o := range w.Orphans() {
		reported = append(reported, o.Resources...)
	}
	p, unlock := w.partition()
	defer unlock()
	for id, c := range w.importedCertificates(p, true) {
		if w.mayLeaveOrphans && slices.Contains(reported, c.ARN) {
			continue
		}
		w.rec.Errorf("the attacker's certificate of %s is not deleted", id)
	}
	for id := range w.importedCertificates(p, false) {
		if w.certificateARNs[id] == "" {
			w.rec.Errorf("certificate of %s is not deleted", id)
		}
	}
}
