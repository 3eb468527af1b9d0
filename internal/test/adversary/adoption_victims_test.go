package adversary

import (
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// tenancy is what other namespaces may do in the victims' IngressGroups.
type tenancy int

const (
	closedGroups   tenancy = iota // the class does not admit the attacker
	sharedGroups                  // everybody may join; the class decides the settings
	isolatedGroups                // everybody may join; each host belongs to one namespace
)

func (t tenancy) String() string { return [...]string{"closed", "shared", "isolated"}[t] }

// configure sets the options of the controller for a tenancy.
func (t tenancy) configure(o *ingress.Options) {
	o.Class = "operator"
	if t == isolatedGroups {
		setIsolatedTenancy(o)
	}
}

// adoptionObjects are the victims' classes, namespaces and Ingresses. No Gateway of the victims requests the load balancer
// of IngressGroup "shared". Gateways of namespace "pay" adopt those of IngressGroup "edge" and of Ingress "solo". $SELECTOR
// is replaced by the namespaces that may use the class.
const adoptionObjects = `
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: alb}
spec:
  $SELECTOR
  scheme: internal
  ipAddressType: ipv4
  targetType: ip
  inboundCIDRs: [10.0.0.0/8]
  tags: [{key: Owner, value: platform}]
  loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "120"}, {key: deletion_protection.enabled, value: "false"}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: alb}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: other}
spec: {controller: other.example/ingress}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog, namespace: blog, uid: uid-ing-blog, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: shared}}
spec: {ingressClassName: alb, rules: [{host: blog.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front, namespace: pay, uid: uid-ing-front, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: edge, fulcrum.dev/adopted-by: pay/edge}}
spec: {ingressClassName: alb, rules: [{host: front.example.com, http: {paths: [{path: /new, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}, {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: post, namespace: blog, uid: uid-ing-post, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: edge, fulcrum.dev/adopted-by: pay/edge}}
spec: {ingressClassName: alb, rules: [{host: post.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: solo, namespace: pay, uid: uid-ing-solo, creationTimestamp: "2000-01-01T00:00:00Z"}
spec: {ingressClassName: alb, rules: [{host: solo.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
`

// adoptionRoutes are the routes and configurations of the victims' Gateways, with the same settings as the Ingresses. A
// ReferenceGrant permits HTTPRoutes of the attacker to use Service "pay/web", so that its Gateways can answer in the same
// way.
const adoptionRoutes = `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: web, namespace: pay}
spec: {scheme: internal, ipAddressType: ipv4, sourceRanges: [10.0.0.0/8], tags: {Owner: platform}, loadBalancerAttributes: [{key: idle_timeout.timeout_seconds, value: "120"}, {key: deletion_protection.enabled, value: "false"}]}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: web, namespace: pay}
spec: {targetReference: {name: web}, defaultConfiguration: {targetType: ip, tags: {Owner: platform}, healthCheckConfig: {healthyThresholdCount: 2, unhealthyThresholdCount: 2, matcher: {httpCode: "200"}}}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: blog, namespace: blog}
spec: {targetReference: {name: blog}, defaultConfiguration: {targetType: ip, tags: {Owner: platform}, healthCheckConfig: {healthyThresholdCount: 2, unhealthyThresholdCount: 2, matcher: {httpCode: "200"}}}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: mail, namespace: pay}
spec: {targetReference: {name: mail}, defaultConfiguration: {targetType: ip, healthCheckConfig: {healthCheckInterval: 10, healthCheckTimeout: 10}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: post, namespace: blog, uid: uid-route-post, creationTimestamp: "2000-01-01T00:00:00Z"}
spec: {parentRefs: [{name: edge, namespace: pay, sectionName: post}], rules: [{backendRefs: [{name: blog, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: solo, namespace: pay, uid: uid-route-solo, creationTimestamp: "2000-01-01T00:00:00Z"}
spec: {parentRefs: [{name: solo}], hostnames: [solo.example.com], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: mail, namespace: pay, uid: uid-route-mail, creationTimestamp: "2000-01-01T00:00:00Z"}
spec: {parentRefs: [{name: mail}], rules: [{backendRefs: [{name: mail, port: 25}]}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: evil, namespace: pay}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: evil}], to: [{group: "", kind: Service, name: web}]}
---
`

// shopIngressOfVersion returns the Ingress of IngressGroup "shared" that the victims edit. In version 2, requests for /new
// go to another Service.
func shopIngressOfVersion(version int) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: pay, uid: uid-ing-shop, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: shared}}
spec: {ingressClassName: alb, rules: [{host: shop.example.com, http: {paths: [{path: /new, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}, {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
`, serviceOfVersion(version))
}

// frontRouteOfVersion returns the route of Gateway "edge" that the victims edit. In version 2, requests for /new go to
// another Service.
func frontRouteOfVersion(version int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: front, namespace: pay, uid: uid-route-front, creationTimestamp: "2000-01-01T00:00:00Z"}
spec:
  parentRefs: [{name: edge, sectionName: front}]
  rules: [{matches: [{path: {type: PathPrefix, value: /new}}], backendRefs: [{name: %s, port: 80}]}, {backendRefs: [{name: web, port: 80}]}]
---
`, serviceOfVersion(version))
}

func serviceOfVersion(version int) string { return map[int]string{1: "web", 2: "web-2"}[version] }

// adoptionWorkloads returns the victims' Services and pods. Service "web-2" has the pods of Service "pay/api".
func adoptionWorkloads() string {
	var b strings.Builder
	for _, o := range workloads() {
		switch o.key() {
		case "pay/web", "blog/blog":
			b.WriteString(o.docs() + "---\n")
		case "pay/api":
			o.name, o.nodePort = "web-2", 0
			b.WriteString(o.docs() + "---\n")
		}
	}
	return b.String() + sharedService("pay", "mail", "10.0.132.14", "2000-01-01T00:00:00Z", "", "{port: 25, targetPort: 8080}")
}

// victimGatewaySpecs has the Gateways of the victims by name, with the load balancer that each adopts. Gateway "edge" has
// two listeners for routes of other namespaces: "post" for trusted namespaces and "open" for all namespaces.
var victimGatewaySpecs = map[string]struct{ class, adopts, listeners string }{
	"edge": {"alb", "ingress-group/edge", `{name: front, hostname: front.example.com, port: 80, protocol: HTTP}, ` +
		`{name: post, hostname: post.example.com, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}, ` +
		`{name: open, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}`},
	"solo": {"alb", "ingress/pay/solo", `{name: http, port: 80, protocol: HTTP}`},
	"mail": {"nlb", "service/pay/mail", `{name: smtp, port: 25, protocol: TCP}`},
}

// victimGateway returns a Gateway of victimGatewaySpecs with annotations.
func victimGateway(name, annotations string) string {
	g, configuration := victimGatewaySpecs[name], ""
	if g.class == "alb" {
		configuration = "\n  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: web}}"
	}
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %[1]s, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {%[2]s}}
spec:
  gatewayClassName: %[3]s%[4]s
  listeners: [%[5]s]
---
`, name, annotations, g.class, configuration, g.listeners)
}

// returnWay is how a Gateway returns a load balancer.
type returnWay int

const (
	returnByDryRun returnWay = iota
	returnByAnnotation
	returnByDeletion
)

func (v returnWay) String() string { return [...]string{"a dry run", "the annotation", "deletion"}[v] }

const dryRunAnnotation = `gateway.k8s.aws/dry-run: "true"`

// adoptionAct is a change by the victims. Within a limited time, load balancer lb must have the answers and settings that a
// run without the attacker has recorded for state.
type adoptionAct struct {
	name, lb, state string
	do              func(w *adoptionTestCluster)
	// requiredState is the state in which the load balancer must be before the act, "" for any. If it is in another state,
	// this act and all later ones are skipped.
	requiredState string
}

// notAdoptedState is the state of a load balancer that no Gateway has adopted.
const notAdoptedState = "own"

func gatewayAdoptionAct(name, state string) adoptionAct {
	return adoptionAct{name: "Gateway " + name + " takes over: " + state, lb: name, state: state, do: func(w *adoptionTestCluster) {
		w.awaitDeletion(cluster.Ref{Kind: cluster.KindGateway, Namespace: "pay", Name: name})
		w.Apply(victimGateway(name, "fulcrum.dev/adopt: "+victimGatewaySpecs[name].adopts))
	}}
}

// awaitDeletion waits until an object that is being deleted does not exist any more, so that it can be created again.
func (w *adoptionTestCluster) awaitDeletion(ref cluster.Ref) {
	for end := time.Now().Add(maxAdoptionTime); ; w.advanceTime(5 * time.Second) {
		obj := mustValue(w.Store.Get(ref))
		if obj == nil || obj.GetDeletionTimestamp() == nil {
			return
		}
		if time.Now().After(end) {
			w.rec.Fatalf("%s is not deleted, finalizers %v", ref, obj.GetFinalizers())
		}
	}
}

func gatewayReturnAct(name string, by returnWay) adoptionAct {
	return adoptionAct{name: fmt.Sprintf("Gateway %s gives back by %s", name, by), lb: name, state: notAdoptedState, do: func(w *adoptionTestCluster) {
		switch by {
		case returnByDryRun:
			w.Apply(victimGateway(name, "fulcrum.dev/adopt: "+victimGatewaySpecs[name].adopts+", "+dryRunAnnotation))
		case returnByAnnotation:
			w.Apply(victimGateway(name, "fulcrum.dev/adopt: ingress-group/none"))
		case returnByDeletion:
			if err := w.Store.Delete(cluster.Ref{Kind: cluster.KindGateway, Namespace: "pay", Name: name}); err != nil {
				w.rec.Fatal(err)
			}
		}
	}}
}

func editAct(lb, state, doc string) adoptionAct {
	return adoptionAct{name: "the victims edit " + lb + ": " + state, lb: lb, state: state, do: func(w *adoptionTestCluster) { w.Apply(doc) }}
}

// In releasedState, the Ingresses of a load balancer are deleted, so it cannot be returned. In finishedState, no tag records
// the adoption.
const releasedState, finishedState = "released", "finished"

func ingressDeletionAct(after string) adoptionAct {
	return adoptionAct{name: "the Ingresses of edge are deleted", lb: "edge", state: releasedState, requiredState: after, do: func(w *adoptionTestCluster) {
		w.released = true
		for _, ref := range statusObjectsByName["edge"] {
			if err := w.Store.Delete(ref); err != nil {
				w.rec.Fatal(err)
			}
		}
	}}
}

func adoptionEndAct() adoptionAct {
	return adoptionAct{name: "adopt annotation of Gateway edge is removed", lb: "edge", state: finishedState, requiredState: releasedState, do: func(w *adoptionTestCluster) {
		w.Apply(victimGateway("edge", "a: b"))
	}}
}

// adoptionActs returns the victims' acts in each history. back has the ways in which load balancers are returned.
func adoptionActs(back [4]returnWay) []adoptionAct {
	return []adoptionAct{
		editAct("shared", "version 2", shopIngressOfVersion(2)),
		gatewayAdoptionAct("solo", "adopted"),
		gatewayAdoptionAct("edge", "version 1"),
		gatewayAdoptionAct("mail", "adopted"),
		editAct("edge", "version 2", frontRouteOfVersion(2)),
		editAct("shared", notAdoptedState, shopIngressOfVersion(1)),
		gatewayReturnAct("mail", back[0]),
		gatewayReturnAct("edge", back[1]),
		gatewayReturnAct("solo", back[2]),
		gatewayAdoptionAct("edge", "version 2"),
		editAct("edge", "version 1", frontRouteOfVersion(1)),
		gatewayReturnAct("edge", back[3]),
		gatewayAdoptionAct("edge", "version 1"),
		ingressDeletionAct("version 1"),
		adoptionEndAct(),
	}
}

// adoptionRequest is a request of a client of the victims.
type adoptionRequest struct {
	lb, host string
	port     int32
	path     string
}

func (r adoptionRequest) String() string { return fmt.Sprintf("%s:%d%s", r.host, r.port, r.path) }

var adoptionRequests = []adoptionRequest{
	{"shared", "shop.example.com", 80, "/"}, {"shared", "shop.example.com", 80, "/new/x"}, {"shared", "blog.example.com", 80, "/"}, {"shared", "blog.example.com", 80, "/x/y"},
	{"edge", "front.example.com", 80, "/"}, {"edge", "front.example.com", 80, "/new/x"}, {"edge", "front.example.com", 80, "/x/y"}, {"edge", "post.example.com", 80, "/"}, {"edge", "post.example.com", 80, "/x/y"},
	{"solo", "solo.example.com", 80, "/"}, {"solo", "solo.example.com", 80, "/x/y"}, {"solo", "none.example.com", 80, "/"},
	{"mail", "", 25, "/"},
}
