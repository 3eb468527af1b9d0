package ingress_test

import (
	"fmt"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

const storefront = `
apiVersion: v1
kind: Service
metadata: {name: web-frontend, namespace: shop, uid: 11111111-2222-3333-4444-555555555555}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: storefront
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/target-type: ip, kubernetes.io/ingress.class: alb%s}
spec:
  rules:
    - host: shop.example.com
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: web-frontend, port: {%s}}}}]
`

// The names are frozen: a live load balancer is found again only by the same ones.
func TestFrozenNames(t *testing.T) {
	implicit := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "storefront"}
	group := model.StackID{Kind: model.Ingress, Name: "my-team.awesome-group"}
	for name, c := range map[string]struct {
		id                model.StackID
		annotations, port string
		alb, sg, tg, tgID string
	}{
		"internal, port by number": {id: implicit, port: "number: 80",
			alb: "k8s-shop-storefro-9b510ce6f3", sg: "k8s-shop-storefro-7ae56988e5", tg: "k8s-shop-webfront-680c29966b", tgID: "shop/storefront-web-frontend:80"},
		"internet-facing, port by name": {id: implicit, annotations: ", alb.ingress.kubernetes.io/scheme: internet-facing", port: "name: http",
			alb: "k8s-shop-storefro-05ff25d5f6", sg: "k8s-shop-storefro-7ae56988e5", tg: "k8s-shop-webfront-bd8721fcd6", tgID: "shop/storefront-web-frontend:http"},
		"control port": {id: implicit, annotations: `, alb.ingress.kubernetes.io/target-control-port.web-frontend.80: "3000"`, port: "number: 80",
			alb: "k8s-shop-storefro-9b510ce6f3", sg: "k8s-shop-storefro-7ae56988e5", tg: "k8s-shop-webfront-4178e094ee", tgID: "shop/storefront-web-frontend:80"},
		"explicit group": {id: group, annotations: ", alb.ingress.kubernetes.io/scheme: internet-facing, alb.ingress.kubernetes.io/group.name: my-team.awesome-group", port: "number: 80",
			alb: "k8s-myteamawesomegrou-f8f96ed77b", sg: "k8s-myteamawesomegrou-01d54777f6", tgID: "shop/storefront-web-frontend:80"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ingress.New(ingress.Options{Cluster: "prod-eks", Class: "alb"})
			stack, found := translate(t, f, load(t, fmt.Sprintf(storefront, c.annotations, c.port)), c.id)
			if len(found) > 0 {
				t.Fatal(found)
			}
			check := func(what, want, got string) {
				if want != "" && want != got {
					t.Errorf("%s: want %s, got %s", what, want, got)
				}
			}
			check("load balancer", c.alb, stack.ALB.Name)
			check("security group", c.sg, stack.ALB.SecurityGroups.(model.GroupsManaged).Group.Name)
			check("target group", c.tg, stack.TargetGroups[0].Name)
			check("target group id", c.tgID, stack.TargetGroups[0].ID)
			check("binding", stack.TargetGroups[0].Name, stack.TargetGroups[0].Binding.Name)
		})
	}
}
