package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/test/cases/testdata"
)

// difference is an intended difference from a recording. change applies it to the recording. The change is as small as
// possible, so that the rest of the case is still compared.
type difference struct {
	description, reason string
	change              func(Record)
}

// commonDifferences are the differences that apply to all cases, although they change only some.
var commonDifferences = []difference{
	{
		description: "the protocol of ports in the status of an Ingress is TCP, not empty",
		reason:      "the field is required; API servers of newer versions refuse a status without it",
		change: func(r Record) {
			walkMaps(map[string]any(r[objectsSection]), func(m map[string]any) {
				if _, ok := m["port"]; ok && m["protocol"] == "" {
					m["protocol"] = "TCP"
				}
			})
		},
	},
	{
		description: "the status of a GatewayClass shows the supported features and the condition SupportedVersion",
		reason:      "the Gateway API requires both, and older controllers wrote neither",
		change: func(r Record) {
			features := albFeatures
			for key, obj := range r[objectsSection] {
				if f, ok := obj.(map[string]any)["finalizers"].([]any); ok && strings.HasPrefix(key, "Gateway ") && slices.Contains(f, any("gateway.k8s.aws/nlb")) {
					features = nlbFeatures
				}
			}
			var names []any
			for _, f := range features {
				names = append(names, map[string]any{"name": f})
			}
			for key, obj := range r[objectsSection] {
				if !strings.HasPrefix(key, "GatewayClass ") {
					continue
				}
				status := obj.(map[string]any)["status"].(map[string]any)
				status["supportedFeatures"] = names
				status["conditions"] = append(status["conditions"].([]any), map[string]any{
					"type": "SupportedVersion", "status": "True", "reason": "SupportedVersion", "observedGeneration": 1,
					"message": "The installed version of the Gateway API CRDs is supported",
				})
			}
		},
	},
}

var (
	albFeatures = []string{
		"Gateway", "GatewayAddressEmpty", "GatewayHTTPListenerIsolation", "HTTPRoute", "HTTPRouteBackendProtocolWebSocket", "HTTPRouteDestinationPortMatching",
		"HTTPRouteMethodMatching", "HTTPRouteNamedRouteRule", "HTTPRouteParentRefPort", "HTTPRoutePortRedirect", "HTTPRouteSchemeRedirect", "ListenerSet", "ReferenceGrant",
	}
	nlbFeatures = []string{"Gateway", "GatewayAddressEmpty", "ListenerSet", "ReferenceGrant", "TCPRoute", "UDPRoute"}
)

// intendedDifferences are the differences of individual cases.
var intendedDifferences = map[string][]difference{
	"ingress-group-conflict-scheme": {{
		description: "the IngressGroup gets the scheme of its first member, and the second one gets an event",
		reason:      "one member must not block a whole IngressGroup; TestStrictGroupConflictStopsTheGroup shows the recorded behaviour, which is an option",
		change: func(r Record) {
			replaceExpectation(r, "ingress-group-conflict-scheme")
		},
	}},
	"gateway-class-missing-config": {{
		description: "the Gateway has the finalizer and is not programmed, and an event reports the fault; the class has the standard reason",
		reason:      "the finalizer is set first, so that a deletion leaves no resources",
		change: func(r Record) {
			const key = "Gateway gateway-class-missing-config/edge"
			r.put(objectsSection, key, map[string]any{
				"finalizers": []any{"gateway.k8s.aws/alb"},
				"status": map[string]any{"conditions": []any{
					map[string]any{"observedGeneration": 1, "reason": "Invalid", "status": "False", "type": "Accepted"},
					map[string]any{"observedGeneration": 1, "reason": "Invalid", "status": "False", "type": "Programmed"},
				}},
			})
			r.put(eventsSection, key, map[string]any{"reason": "FailedBuildModel", "type": "Warning"})
			walkMaps(r[objectsSection]["GatewayClass /gateway-class-missing-config"], func(m map[string]any) {
				if m["reason"] == "NotFound" {
					m["reason"] = "InvalidParameters"
				}
			})
		},
	}},
	"gateway-listeners": {{
		description: "a condition of the Gateway names the listener that is not valid, which supports no kind of route",
		reason:      "no route can be served by a protocol that the load balancer does not have",
		change: func(r Record) {
			walkMaps(map[string]any(r[objectsSection]), func(m map[string]any) {
				if m["reason"] == "ListenersNotValid" {
					m["message"] = `listener "tcp": the load balancer does not support protocol "TCP"; the listener is not served; use one of HTTP, HTTPS`
				}
				if kinds, ok := m["supportedKinds"].([]any); ok && m["name"] == "tcp" {
					m["supportedKinds"] = kinds[:0]
				}
			})
		},
	}, differenceWithoutRoutes(9090)},
	"gateway-no-routes": {differenceWithoutRoutes(80)},
	"gateway-http-weights": {{
		description: "the status of the route reports that all weights of a rule are 0",
		reason:      "nothing else shows why requests are answered with 500",
		change: func(r Record) {
			walkMaps(r[objectsSection]["HTTPRoute gateway-http-weights/w"], func(m map[string]any) {
				if m["type"] == "Accepted" {
					m["message"] = "spec.rules[1].backendRefs: all weights are 0; requests are answered with 500; give a backend a weight above 0"
				}
				if list, ok := m["conditions"].([]any); ok {
					slices.Reverse(list) // they are sorted by text
				}
			})
		},
	}},
	"gateway-rule-auth": {{
		description: "rules that authenticate are not served on HTTP, and the status of the route reports it",
		reason:      "AWS authenticates only on HTTPS, and backends that are to be reached with authentication must not be reached without it",
		change: func(r Record) {
			held := []any{map[string]any{"Type": "fixed-response", "FixedResponseConfig": map[string]any{
				"ContentType": "text/plain", "MessageBody": "Rule is held because its configuration is not valid", "StatusCode": "503",
			}}}
			walkMaps(map[string]any(r[loadBalancersSection]), func(m map[string]any) {
				if rules, ok := m["Rules"].(map[string]any); ok && m["Protocol"] == "HTTP" {
					walkMaps(rules, func(m map[string]any) {
						if m["Actions"] != nil {
							m["Actions"] = held
						}
					})
				}
			})
			walkMaps(map[string]any(r[objectsSection]), func(m map[string]any) {
				if m["attachedRoutes"] != nil {
					m["attachedRoutes"] = 0
				}
			})
			walkMaps(r[objectsSection]["HTTPRoute gateway-rule-auth/web"], func(m map[string]any) {
				if m["type"] == "Accepted" {
					m["status"], m["reason"] = "False", "UnsupportedValue"
				}
			})
		},
	}},
	"service-tls-bad-port": {{
		description: "the Service has the finalizer although it has no load balancer",
		reason:      "the finalizer is set first, so that a deletion leaves no resources",
		change: func(r Record) {
			r.put(objectsSection, "Service service-tls-bad-port/web", map[string]any{
				"finalizers": []any{"service.k8s.aws/resources"}, "status": map[string]any{"loadBalancer": map[string]any{}},
			})
		},
	}},
}

// replaceExpectation replaces the recorded expectation by testdata/<name>.fulcrum.json.
func replaceExpectation(r Record, name string) {
	raw, err := testdata.Files.ReadFile(name + ".fulcrum.json")
	var own Record
	if err == nil {
		err = json.Unmarshal(raw, &own)
	}
	if err != nil {
		panic(err) // the file belongs to this package
	}
	clear(r)
	maps.Copy(r, own)
}

// differenceWithoutRoutes returns the difference for a listener without routes: its status says that the load balancer
// does not listen on the port.
func differenceWithoutRoutes(port int) difference {
	return difference{
		description: "the condition Programmed of a listener without routes says that the load balancer does not listen on the port",
		reason:      "the load balancer gets the listener with the first route",
		change: func(r Record) {
			walkMaps(map[string]any(r[objectsSection]), func(m map[string]any) {
				if m["attachedRoutes"] != any(float64(0)) && m["attachedRoutes"] != nil {
					return
				}
				conditions, _ := m["conditions"].([]any)
				for _, c := range conditions {
					if c := c.(map[string]any); m["supportedKinds"] != nil && c["message"] == "Listener is programmed." {
						c["message"] = fmt.Sprintf("No route is attached; the load balancer does not listen on port %d until one is.", port)
					}
				}
			})
		},
	}
}
