package adversary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// makeAcceleratorMove makes one random move of the attacker.
func (w *acceleratorTestCluster) makeAcceleratorMove() {
	switch n := w.IntN(20); {
	case n < 8:
		w.changeConsent(func() { w.applyDoc(attackerDocuments{w}.randomAccelerator()) })
	case n < 10:
		w.changeConsent(w.deleteRandomObject)
	case n < 12:
		w.changeConsent(func() { w.applyDoc(attackerDocuments{w}.randomIngress()) })
	case n == 12:
		w.applyDoc(attackerDocuments{w}.randomServiceWithNLB())
	case n == 13:
		w.useWithdrawnConsent()
	case n == 14:
		w.applyDoc(w.acceleratorGrant(attackerNamespace, w.pickText("evil", "pay", "blog")))
	case n == 15:
		w.applyDoc(fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: evil}\nspec: {gatewayClassName: %s, listeners: [{name: http, port: 80, protocol: HTTP}]}\n", w.pickText("gate", "g1"), w.pickText("alb", "none")))
	case n == 15+1:
		if w.chance(50) {
			w.recreateAccelerator()
		} else {
			w.useForgedEndpoint()
		}
	case n == 17:
		w.changeFinalizers()
	default:
		w.forgeStatus()
	}
}

// attackerDocuments generates the YAML of objects that the attacker applies.
type attackerDocuments struct{ *acceleratorTestCluster }

// randomAcceleratorName returns the name of one of the attacker's GlobalAccelerators.
func (w attackerDocuments) randomAcceleratorName() string {
	return w.pickText("g0", "g1", "g2", "edge")
}

// randomLoadBalancerARN returns the ARN of a random load balancer of the victims or of the attacker.
func (w attackerDocuments) randomLoadBalancerARN() string {
	p, unlock := w.partition()
	defer unlock()
	all := slices.Sorted(maps.Keys(p.ELB.LoadBalancers))
	return all[w.IntN(len(all))]
}

// randomEndpoint returns a random endpoint for any resource that the attacker can name.
func (w attackerDocuments) randomEndpoint() string {
	more := w.pickText("", "", ", weight: 0", ", weight: 255", ", clientIPPreservationEnabled: false", ", clientIPPreservationEnabled: true")
	id := ""
	switch w.IntN(12) {
	case 0, 1, 2:
		id = w.randomLoadBalancerARN()
	case 3:
		id = w.pickText("i-0123456789abcdef0", "eipalloc-0123456789abcdef0", w.Seeded.EIPs[0], strings.ToUpper(w.arnsByStack["pay/web"]), w.arnsByStack["pay/front"]+"/", strings.Replace(w.arnsByStack["shared"], "us-west-2", "eu-west-1", 1), "nonsense")
	default:
		namespace := w.pickText("", ", namespace: evil", ", namespace: pay", ", namespace: pay", ", namespace: blog", `, namespace: ""`)
		return fmt.Sprintf("{type: %s%s, name: %s%s}", w.pickText("Ingress", "Ingress", "Service", "Service", "Gateway"), namespace, w.pickText("web", "shop", "blog", "front", "front", "gate", "i0", "i1", "e2", "missing"), more)
	}
	return fmt.Sprintf("{type: EndpointID, endpointID: %q%s}", id, more)
}

func (w attackerDocuments) randomEndpoints() string {
	n := w.IntN(4)
	if w.chance(4) {
		n = 40
	}
	var out []string
	for range n {
		out = append(out, w.randomEndpoint())
	}
	return strings.Join(out, ", ")
}

// randomAccelerator returns a GlobalAccelerator with random valid and invalid listeners, endpoint groups and
// settings.
func (w attackerDocuments) randomAccelerator() string {
	var listeners []string
	n := w.IntN(4)
	if w.chance(3) {
		n = 30
	}
	for range n {
		var groups []string
		for range w.IntN(3) {
			groups = append(groups, fmt.Sprintf("{%s%s%sendpoints: [%s]}", w.pickText("", "", "", "region: us-west-2, ", "region: eu-west-1, ", "region: nowhere, "), w.pickText("", "", "trafficDialPercentage: 0, ", "trafficDialPercentage: 50, "),
				w.pickText("", "", "", "portOverrides: [{listenerPort: 80, endpointPort: 8080}], ", "portOverrides: [{listenerPort: 80, endpointPort: 443}, {listenerPort: 80, endpointPort: 443}], "), w.randomEndpoints()))
		}
		from := []int{80, 80, 443, 53, 8000, 1}[w.IntN(6)]
		listeners = append(listeners, fmt.Sprintf("{protocol: %s, portRanges: [{fromPort: %d, toPort: %d}], endpointGroups: [%s]%s}", w.pickText("TCP", "TCP", "UDP"), from, from+w.IntN(2)*w.IntN(500), strings.Join(groups, ", "), w.pickText("", "", ", clientAffinity: SOURCE_IP")))
	}
	if w.chance(20) { // protocol and ports default to those of the endpoint
		listeners = []string{fmt.Sprintf("{endpointGroups: [{endpoints: [%s]}]}", w.randomEndpoint())}
	}
	settings := ""
	for _, s := range []string{
		"name: " + w.pickText("evil", "person", "cluster"), `ipAddresses: ["198.51.100.10"]`, "ipAddressType: DUAL_STACK",
		`tags: {aga.k8s.aws/stack: pay/edge, elbv2.k8s.aws/cluster: other, "aws:x": "v", Owner: evil}`,
	} {
		if w.chance(12) {
			settings += s + ", "
		}
	}
	return fmt.Sprintf("apiVersion: aga.k8s.aws/v1beta1\nkind: GlobalAccelerator\nmetadata: {name: %s, namespace: evil%s}\nspec: {%slisteners: [%s]}\n",
		w.randomAcceleratorName(), w.pickText("", "", "", "", `, annotations: {fulcrum.dev/accelerator-protection: "true"}`), settings, strings.Join(listeners, ", "))
}

// randomIngress returns an Ingress of the attacker. It may have a class of another controller, and it may join the victims'
// IngressGroup.
func (w attackerDocuments) randomIngress() string {
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: evil, annotations: {%salb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: %s, rules: [{host: evil.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: e0, port: {number: 80}}}}]}}]}
`, w.pickText("i0", "i1", "web"), w.pickText("", "alb.ingress.kubernetes.io/group.name: shared, ", "alb.ingress.kubernetes.io/group.name: web, "), w.pickText("alb", "alb", "alb", "other", "missing"))
}

// randomServiceWithNLB returns a Service of the attacker for which this controller, or another one, creates an NLB.
func (w attackerDocuments) randomServiceWithNLB() string {
	doc := w.serviceWithNLB(w.pickText("e2", "front"))
	if w.chance(40) {
		doc = strings.Replace(doc, "loadBalancerClass: service.k8s.aws/nlb", "loadBalancerClass: other.example/class", 1)
	}
	return doc
}

func (w *acceleratorTestCluster) serviceWithNLB(name string) string {
	return sharedService("evil", name, attackerAddresses[w.IntN(3)], "2030-01-01T00:00:00Z", w.pickText("", schemeAnnotation), "{port: 80, targetPort: 8080}")
}

// acceleratorGrant returns a ReferenceGrant in namespace in. It permits GlobalAccelerators of namespace from to use objects
// there.
func (w *acceleratorTestCluster) acceleratorGrant(in, from string) string {
	kind := w.pickText("Ingress", "Service", "Gateway")
	name := w.pickText("", "", ", name: web", ", name: front", ", name: gate", ", name: shop")
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: a%d, namespace: %s}\nspec: {from: [{group: aga.k8s.aws, kind: GlobalAccelerator, namespace: %s}], to: [{group: %q, kind: %s%s}]}\n",
		w.IntN(2), in, from, apiGroupOfKind[cluster.Kind(kind)], kind, name)
}

// changeVictimConsent grants or withdraws the victims' consent for the attacker.
func (w *acceleratorTestCluster) changeVictimConsent() {
	w.changeConsent(func() {
		if w.chance(40) {
			if w.chance(50) { // with an edit of the attacker that could delay the removal of the endpoint
				defer func() { w.applyDoc(attackerDocuments{w}.randomAccelerator()) }()
			}
			for _, o := range w.Store.All(cluster.KindReferenceGrant) {
				if ref := cluster.RefOf(o); ref.Namespace != attackerNamespace && ref.Name != "blog" {
					w.moveLog = append(w.moveLog, "the victims delete "+ref.String())
					if err := w.Store.Delete(ref); err != nil {
						w.rec.Fatal(err)
					}
				}
			}
			return
		}
		w.moveLog = append(w.moveLog, "the victims:")
		w.applyDoc(w.acceleratorGrant(w.pickText("pay", "pay", "blog"), w.pickText("evil", "evil", "evil", "other")))
	})
}

// attackerAccelerators returns copies of the attacker's GlobalAccelerators.
func (w *acceleratorTestCluster) attackerAccelerators() (out []*aga.GlobalAccelerator) {
	for _, o := range w.Store.All(cluster.KindGlobalAccelerator) {
		if o.GetNamespace() == attackerNamespace {
			out = append(out, o.DeepCopyObject().(*aga.GlobalAccelerator))
		}
	}
	return out
}

func (w *acceleratorTestCluster) storeObject(o cluster.Object, what string) {
	w.moveLog = append(w.moveLog, fmt.Sprintf("%s %s", what, cluster.RefOf(o)))
	if err := w.Store.Put(o); err != nil {
		w.rec.Fatal(err)
	}
}

// recreateAccelerator deletes a GlobalAccelerator and creates it again immediately.
func (w *acceleratorTestCluster) recreateAccelerator() {
	doc := attackerDocuments{w}.randomAccelerator()
	for _, o := range w.attackerAccelerators() {
		if o.DeletionTimestamp == nil {
			w.moveLog = append(w.moveLog, "delete "+o.Name)
			if err := w.Store.Delete(cluster.RefOf(o)); err != nil {
				w.rec.Fatal(err)
			}
			doc = strings.Replace(doc, "metadata: {name: "+w.pickText("g0", "g1", "g2", "edge"), "metadata: {name: "+o.Name, 1)
			break
		}
	}
	w.applyDoc(doc)
}

// useForgedEndpoint writes the hostname of a victim into the status of an object of another controller, and uses that
// object as endpoint.
func (w *acceleratorTestCluster) useForgedEndpoint() {
	w.applyDoc(strings.Replace(w.serviceWithNLB("e2"), "loadBalancerClass: service.k8s.aws/nlb", "loadBalancerClass: other.example/class", 1))
	w.writeVictimHostname(cluster.Ref{Kind: cluster.KindService, Namespace: attackerNamespace, Name: "e2"})
	w.applyDoc(fmt.Sprintf("apiVersion: aga.k8s.aws/v1beta1\nkind: GlobalAccelerator\nmetadata: {name: %s, namespace: evil}\nspec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Service, name: e2}]}]}]}\n", attackerDocuments{w}.randomAcceleratorName()))
}

// useWithdrawnConsent uses a load balancer with the consent of a victim. Then it withdraws the consent and makes a change
// that might keep the endpoint.
func (w *acceleratorTestCluster) useWithdrawnConsent() {
	name, stack := attackerDocuments{w}.randomAcceleratorName(), w.pickText("pay/web", "shared", "pay/front", "pay/gate")
	ref := victimObjects[stack][0]
	endpoint := fmt.Sprintf("{type: %s, namespace: %s, name: %s}", ref.Kind, ref.Namespace, ref.Name)
	if w.chance(40) {
		endpoint = fmt.Sprintf("{type: EndpointID, endpointID: %q}", w.arnsByStack[stack])
	}
	doc := func(more, listeners string) string {
		return fmt.Sprintf("apiVersion: aga.k8s.aws/v1beta1\nkind: GlobalAccelerator\nmetadata: {name: %s, namespace: evil%s}\nspec: {listeners: [%s]}\n", name, more, listeners)
	}
	listener := func(endpoints string) string {
		return fmt.Sprintf("{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [%s]}]}", endpoints)
	}
	w.changeConsent(func() {
		w.applyDoc(fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: keep, namespace: %s}\nspec: {from: [{group: aga.k8s.aws, kind: GlobalAccelerator, namespace: evil}], to: [{group: %q, kind: %s}]}\n", ref.Namespace, apiGroupOfKind[ref.Kind], ref.Kind))
	})
	protected := `, annotations: {fulcrum.dev/accelerator-protection: "true"}`
	w.applyDoc(doc(w.pickText("", protected), listener(endpoint)))
	w.Settle(2 * time.Minute)
	w.moveLog = append(w.moveLog, "the consent is withdrawn, immediately followed by:")
	w.changeConsent(func() {
		if err := w.Store.Delete(cluster.Ref{Kind: cluster.KindReferenceGrant, Namespace: ref.Namespace, Name: "keep"}); err != nil {
			w.rec.Fatal(err)
		}
	})
	switch w.IntN(5) {
	case 0:
		w.applyDoc(doc(protected, listener(endpoint+", {type: Service, name: e2}")+", {}"))
	case 1: // a new endpoint should replace it, but never serves
		w.applyDoc(w.serviceWithNLB("e2") + "---\n" + doc("", listener(endpoint+", {type: Service, name: e2}")))
	case 2:
		w.applyDoc(doc("", listener("{type: EndpointID, endpointID: i-0123456789abcdef0}")))
	case 3:
		w.moveLog = append(w.moveLog, "delete "+name)
		_ = w.Store.Delete(cluster.Ref{Kind: cluster.KindGlobalAccelerator, Namespace: attackerNamespace, Name: name}) // it may be being deleted already
	default:
		for _, o := range w.attackerAccelerators() {
			if o.Name == name {
				o.Finalizers = nil
				w.isFinalizerRemoved = true
				w.storeObject(o, "remove the finalizers of")
				_ = w.Store.Delete(cluster.RefOf(o)) // it may be deleted already
			}
		}
	}
}

// changeFinalizers removes or replaces the finalizers of a GlobalAccelerator, and may delete it.
func (w *acceleratorTestCluster) changeFinalizers() {
	for _, o := range w.attackerAccelerators() {
		if w.chance(50) {
			o.Finalizers = nil
			if w.chance(50) {
				o.Finalizers = []string{"group.ingress.k8s.aws/shared"}
			}
			w.isFinalizerRemoved = true
			w.storeObject(o, "replace the finalizers of")
			if w.chance(50) {
				w.moveLog = append(w.moveLog, "delete "+o.Name)
				_ = w.Store.Delete(cluster.RefOf(o)) // without finalizers it may be deleted already
			}
			return
		}
	}
}

// forgeStatus writes an ARN into the status of a GlobalAccelerator of the attacker: that of another accelerator, or one that
// is empty, unknown or malformed. Or it writes the hostname of a victim's load balancer into the status of a Service or an
// Ingress.
func (w *acceleratorTestCluster) forgeStatus() {
	if w.chance(60) {
		all := append(slices.Sorted(maps.Keys(w.expectedAccelerators)), "", "arn:aws:globalaccelerator::123456789012:accelerator/00000000-0000-0000-0000-000000000000", "nonsense")
		for _, o := range w.attackerAccelerators() {
			if w.chance(50) {
				o.Status.AcceleratorARN = all[w.IntN(len(all))]
				w.storeObject(o, "ARN "+o.Status.AcceleratorARN+" for")
				return
			}
		}
	}
	for _, kind := range []cluster.Kind{cluster.KindService, cluster.KindIngress} {
		for _, o := range w.Store.All(kind) {
			if o.GetNamespace() == attackerNamespace && w.chance(60) {
				w.writeVictimHostname(cluster.RefOf(o))
				return
			}
		}
	}
}

// writeVictimHostname writes the hostname of a victim's load balancer into the status of an object.
func (w *acceleratorTestCluster) writeVictimHostname(ref cluster.Ref) {
	p, unlock := w.partition()
	host := p.ELB.LoadBalancers[w.arnsByStack[w.pickText("pay/web", "shared", "pay/front", "pay/gate")]].DNSName
	unlock()
	switch o := mustValue(w.Store.Get(ref)).DeepCopyObject().(type) {
	case *corev1.Service:
		o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host, Ports: []corev1.PortStatus{{Port: 443, Protocol: "TCP"}}}}
		w.storeObject(o, "hostname "+host+" for")
	case *networkingv1.Ingress:
		o.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: host, Ports: []networkingv1.IngressPortStatus{{Port: 80, Protocol: "TCP"}}}}
		w.storeObject(o, "hostname "+host+" for")
	}
}
