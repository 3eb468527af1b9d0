package ingress_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestServiceAnnotationsApplyOnlyToASingleService checks whose annotations authenticate the requests of a rule: those of the
// Service, per annotation, and then those of the Ingress, if the rule forwards only to this Service; otherwise those of the
// Ingress alone. It also checks that a missing Service is answered with 503 only if the rule forwards to no other.
func TestServiceAnnotationsApplyOnlyToASingleService(t *testing.T) {
	const objects = `
apiVersion: v1
kind: Service
metadata:
  name: login
  namespace: ns
  annotations: {alb.ingress.kubernetes.io/auth-type: cognito, alb.ingress.kubernetes.io/auth-scope: email}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: ns}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: ns
  annotations:
    kubernetes.io/ingress.class: alb
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]'
    alb.ingress.kubernetes.io/certificate-arn: c
    alb.ingress.kubernetes.io/auth-type: %q
    alb.ingress.kubernetes.io/auth-scope: openid
    alb.ingress.kubernetes.io/auth-session-cookie: mine
    alb.ingress.kubernetes.io/auth-idp-cognito: '{"userPoolARN":"pool","userPoolClientID":"client","userPoolDomain":"login"}'
    alb.ingress.kubernetes.io/actions.act: '{"type":"forward","forwardConfig":{"targetGroups":[%s]}}'
spec:
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: %s}}}]}}]
`
	const login, plain, missing = `{"serviceName":"login","servicePort":80,"weight":1}`, `{"serviceName":"plain","servicePort":80,"weight":1}`, `{"serviceName":"missing","servicePort":80,"weight":1}`
	for name, c := range map[string]struct{ authType, targets, backend, want string }{
		"a Service":                                  {"none", plain, "login, port: {number: 80}", "email mine, forward"},
		"a Service in an action":                     {"none", login, "act, port: {name: use-annotation}", "email mine, forward"},
		"several Services":                           {"none", plain + "," + login, "act, port: {name: use-annotation}", "forward"},
		"several Services behind an Ingress":         {"cognito", login + "," + plain, "act, port: {name: use-annotation}", "openid mine, forward"},
		"a Service without annotations":              {"cognito", login, "plain, port: {number: 80}", "openid mine, forward"},
		"a missing Service":                          {"cognito", login, "missing, port: {number: 80}", "openid mine, 503"},
		"a missing Service in an action":             {"none", missing, "act, port: {name: use-annotation}", "503"},
		"a missing Service besides another":          {"none", plain + "," + missing, "act, port: {name: use-annotation}", "held"},
		"a missing Service besides another, in turn": {"none", missing + "," + plain, "act, port: {name: use-annotation}", "held"},
		"an action that does not exist":              {"cognito", login, "login, port: {name: use-annotation}", "openid mine, 503"},
	} {
		t.Run(name, func(t *testing.T) {
			src := enginetest.LoadObjects(t, fmt.Sprintf(objects, c.authType, c.targets, c.backend))
			stack, _ := enginetest.Translate(t, ingress.New(ingress.Options{Options: assemble.Options{Cluster: "c"}, Class: "alb"}), src, model.StackID{Kind: model.Ingress, Namespace: "ns", Name: "web"}, nil)
			r := stack.LoadBalancer.Listeners[0].Rules[0]
			got := []string{}
			for _, a := range r.Actions {
				switch a := a.(type) {
				case model.AuthCognito:
					got = append(got, a.Scope+" "+a.SessionCookie)
				case model.Forward:
					got = append(got, "forward")
				case model.FixedResponse:
					got = append(got, a.Status)
				}
			}
			if r.Held != 0 {
				got = append(got, "held")
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
