package adversary

import (
	"reflect"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// fieldValues has functions that return random values of class parameters, by the name of the field. Fields that are not
// listed are generated from their Go type, so that new fields are part of the grammar.
var fieldValues = map[string]func(g *grammar) any{
	"Group": func(g *grammar) any {
		return &elbv2.IngressGroup{Name: pick(g, "open", "open", "vault", "vault", "own", "Bad/Name", "")}
	},
	"NamespaceSelector": func(g *grammar) any {
		return pick(g, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: pick(g, metav1.LabelSelectorOpDoesNotExist, "Sometimes")}}}, &metav1.LabelSelector{MatchLabels: map[string]string{"trusted": "yes"}})
	},
	"LoadBalancerName": func(g *grammar) any { return pick(g, "evil", "k8s-open-2cc30f7c14", long63) },
	"CertificateArn":   func(g *grammar) any { return pick(g, []string{"$CERTAPP"}, []string{noSuchCertificate}, []string{""}) },
	"Scheme": func(g *grammar) any {
		return ptr(pick(g, elbv2.LoadBalancerSchemeInternetFacing, elbv2.LoadBalancerSchemeInternal))
	},
	"InboundCIDRs": func(g *grammar) any {
		return pick(g, []string{"0.0.0.0/0"}, []string{"x"}, []string{"10.0.0.0/8", "::/0"})
	},
	"SSLPolicy":       func(g *grammar) any { return pick(g, "ELBSecurityPolicy-2016-08", "none") },
	"SSLRedirectPort": func(g *grammar) any { return pick(g, "444", "443", "x") },
	"Subnets": func(g *grammar) any {
		return pick(g, &elbv2.SubnetSelector{IDs: []elbv2.SubnetID{"$SUBNET0", "$SUBNET1"}}, &elbv2.SubnetSelector{Tags: map[string][]string{"kubernetes.io/role/elb": {"1"}}}, &elbv2.SubnetSelector{IDs: []elbv2.SubnetID{"subnet-0"}})
	},
	"IPAddressType": func(g *grammar) any { return ptr(pick(g, elbv2.IPAddressTypeDualStack, elbv2.IPAddressTypeIPv4)) },
	"Tags": func(g *grammar) any {
		return []elbv2.Tag{pick(g, elbv2.Tag{Key: "Owner", Value: "evil"}, elbv2.Tag{Key: "ingress.k8s.aws/stack", Value: "pay/solo"}, elbv2.Tag{Key: "elbv2.k8s.aws/cluster", Value: "x"})}
	},
	"TargetType": func(g *grammar) any { return ptr(pick(g, elbv2.TargetTypeIP, elbv2.TargetTypeInstance)) },
	"LoadBalancerAttributes": func(g *grammar) any {
		return []elbv2.Attribute{pick(g, elbv2.Attribute{Key: "deletion_protection.enabled", Value: "true"}, elbv2.Attribute{Key: "access_logs.s3.enabled", Value: "true"}, elbv2.Attribute{Key: "idle_timeout.timeout_seconds", Value: "1"}, elbv2.Attribute{Key: "x", Value: "x"})}
	},
	"Listeners": func(g *grammar) any {
		return []elbv2.Listener{{Protocol: pick(g, elbv2.ListenerProtocol("HTTPS"), "HTTP", ""), Port: pick(g, int32(443), 80, 0), ListenerAttributes: []elbv2.Attribute{{Key: pick(g, "routing.http.response.server.enabled", "x"), Value: "true"}}}}
	},
	"MinimumLoadBalancerCapacity": func(g *grammar) any {
		return &elbv2.MinimumLoadBalancerCapacity{CapacityUnits: pick(g, int32(100), 1500, -1)}
	},
	"IPAMConfiguration": func(g *grammar) any {
		return &elbv2.IPAMConfiguration{IPv4IPAMPoolId: ptr("ipam-pool-00000000000000000")}
	},
	"PrefixListsIDs":       func(g *grammar) any { return []string{pick(g, "$PREFIXLIST", "pl-0")} },
	"PrefixListsIDsLegacy": func(g *grammar) any { return []string{"$PREFIXLIST"} },
	"WAFv2ACLArn":          func(g *grammar) any { return pick(g, "none", "$WEBACL", "x") },
	"WAFv2ACLName":         func(g *grammar) any { return pick(g, "none", "gone") },
}

// setRandomFields sets each field of the parameters with a probability in percent.
func (g *grammar) setRandomFields(spec *elbv2.IngressClassParamsSpec, percent int) {
	v := reflect.ValueOf(spec).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !g.chance(percent) {
			continue
		}
		if make, listed := fieldValues[field.Name]; listed {
			v.Field(i).Set(reflect.ValueOf(make(g)))
			continue
		}
		g.setRandomValue(v.Field(i))
	}
}

// setRandomValue sets v to a random value of its type.
func (g *grammar) setRandomValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(pick(g, "evil", "none", "", "x\ny"))
	case reflect.Bool:
		v.SetBool(g.chance(50))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(pick(g, 0, 1, 443, -1)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.setRandomValue(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		g.setRandomValue(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		g.setRandomValue(key)
		g.setRandomValue(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				g.setRandomValue(v.Field(i))
			}
		}
	}
}

// parameters returns parameters of the attacker's own class.
func (g *grammar) parameters() cluster.Object {
	p := &elbv2.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: attackerClass}}
	g.setRandomFields(&p.Spec, 15)
	if g.chance(60) {
		p.Spec.Group = &elbv2.IngressGroup{Name: pick(g, "open", "vault", "vault")}
	}
	if len(p.Spec.PrefixListsIDs) > 0 { // the API server accepts only one of the two fields
		p.Spec.PrefixListsIDsLegacy = nil
	}
	return p
}

// ingressClass returns the attacker's own class.
func (g *grammar) ingressClass() cluster.Object {
	c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: attackerClass}}
	if g.chance(20) {
		c.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}
	}
	c.Spec.Controller = pick(g, "ingress.k8s.aws/alb", "ingress.k8s.aws/alb", "ingress.k8s.aws/alb", "k8s.io/ingress-nginx")
	if g.chance(80) {
		c.Spec.Parameters = &networkingv1.IngressClassParametersReference{APIGroup: ptr("elbv2.k8s.aws"), Kind: pick(g, "IngressClassParams", "IngressClassParams", "Secret"), Name: pick(g, attackerClass, attackerClass, "pinned", "none")}
	}
	return c
}
