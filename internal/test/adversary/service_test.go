package adversary

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// mailService is the victims' Service with its own NLB.
const mailService = "pay/mail"

const serviceAnnotationPrefix = "service.beta.kubernetes.io/"

// mailServiceDoc returns mailService with Elastic IPs, a certificate, client ranges and the annotations in more.
func mailServiceDoc(more string) string {
	return `
apiVersion: v1
kind: Service
metadata:
  name: mail
  namespace: pay
  uid: uid-pay-mail
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip
    service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing
    service.beta.kubernetes.io/aws-load-balancer-subnets: $PUBLIC
    service.beta.kubernetes.io/aws-load-balancer-eip-allocations: $EIPS
    service.beta.kubernetes.io/aws-load-balancer-ssl-cert: $CERT
    service.beta.kubernetes.io/aws-load-balancer-ssl-ports: tls
    service.beta.kubernetes.io/aws-load-balancer-attributes: deletion_protection.enabled=false
    service.beta.kubernetes.io/aws-load-balancer-inbound-sg-rules-on-private-link-traffic: "on"
` + more + `spec: {type: LoadBalancer, loadBalancerClass: ` + services.DefaultClass + `, selector: {app: mail}, loadBalancerSourceRanges: [10.0.0.0/8], ports: [{name: plain, port: 80, targetPort: 8080}, {name: tls, port: 443, targetPort: 8080}]}
`
}

// mailServiceEdit returns an act that adds a tag to mailService.
func mailServiceEdit() act {
	return act{"edit of Service " + mailService, maxChangeTime, func(w *testCluster) {
		w.apply(mailServiceDoc("    " + serviceAnnotationPrefix + "aws-load-balancer-additional-resource-tags: Release=2\n"))
	}}
}

// mailStatusHostname returns the hostname in the status of mailService, or "" if there is none.
func (w *testCluster) mailStatusHostname() string {
	obj, err := w.Store.Get(cluster.Ref{Kind: cluster.KindService, Namespace: "pay", Name: "mail"})
	if err != nil {
		w.rec.Fatal(err)
	}
	if svc, ok := obj.(*corev1.Service); ok && len(svc.Status.LoadBalancer.Ingress) > 0 {
		return svc.Status.LoadBalancer.Ingress[0].Hostname
	}
	return ""
}

// mailPlaceholders returns placeholders, each followed by its value: the name and the security group of the NLB of
// mailService.
func (w *testCluster) mailPlaceholders() []string {
	p, unlock := w.partition()
	defer unlock()
	lb := p.ELB.LoadBalancers[w.lbs["mail"]]
	own := lb.SecurityGroups[0]
	for _, id := range lb.SecurityGroups {
		if g := p.SecurityGroups[id]; g != nil && strings.HasPrefix(g.Name, "k8s-pay-mail-") {
			own = id
		}
	}
	return []string{"$MAILNAME", lb.Name, "$MAILSG", own}
}

// serviceChoices are values for annotations of the attacker's Services.
var serviceChoices = map[string]choice{
	"aws-load-balancer-type":                           {[]string{"external", "nlb-ip"}, []string{"nlb", "alb"}},
	"aws-load-balancer-name":                           {[]string{"$MAILNAME", "k8s-open-2cc30f7c14", "evil"}, []string{"", "-evil", "internal-evil", long63}},
	"aws-load-balancer-scheme":                         {[]string{"internet-facing", "internal"}, []string{"public"}},
	"aws-load-balancer-subnets":                        {[]string{"$PUBLIC", "$PRIVATE"}, []string{"subnet-0", "", "$SUBNET0,$SUBNET0"}},
	"aws-load-balancer-eip-allocations":                {[]string{"$EIPS"}, []string{"eipalloc-0", ""}},
	"aws-load-balancer-private-ipv4-addresses":         {[]string{"10.0.132.10,10.0.148.10,10.0.164.11"}, []string{"10.0.0.0", "::1"}},
	"aws-load-balancer-security-groups":                {[]string{"$EXTRASG", "$MAILSG", "$NODESG", "k8s-traffic-rig-c00ae0a633"}, []string{"sg-0", "no-such"}},
	"aws-load-balancer-disable-nlb-sg":                 {[]string{"true", "false"}, []string{"perhaps"}},
	"aws-load-balancer-attributes":                     {[]string{"deletion_protection.enabled=true", "load_balancing.cross_zone.enabled=true"}, []string{"x", "no.such=1", "deletion_protection.enabled=perhaps"}},
	"aws-load-balancer-additional-resource-tags":       {[]string{"Owner=evil", manyTags}, []string{"service.k8s.aws/stack=pay/mail", "elbv2.k8s.aws/cluster=other", "aws:x=y"}},
	"aws-load-balancer-ssl-cert":                       {[]string{"$CERT", "$CERTAPP"}, []string{noSuchCertificate, "none"}},
	"aws-load-balancer-ssl-ports":                      {[]string{"80", "http"}, []string{"9999", "*"}},
	"load-balancer-source-ranges":                      {[]string{"0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32"}, []string{"10.0.0/8", "::/0"}},
	"aws-load-balancer-security-group-prefix-lists":    {[]string{"$PREFIXLIST"}, []string{"pl-00000000000000000", ""}},
	"aws-load-balancer-target-group-attributes":        {[]string{"deregistration_delay.timeout_seconds=3600", "preserve_client_ip.enabled=false", "stickiness.enabled=true,stickiness.type=source_ip"}, []string{"x", "no.such=1", "preserve_client_ip.enabled=x"}},
	"aws-load-balancer-healthcheck-port":               {[]string{"9", "traffic-port", "80"}, []string{"nowhere", "0", "70000"}},
	"aws-load-balancer-healthcheck-interval":           {[]string{"10", "30"}, []string{"1", "301", "x"}},
	"aws-load-balancer-target-node-labels":             {[]string{"kubernetes.io/hostname=node-0"}, []string{"x", "="}},
	"aws-load-balancer-minimum-load-balancer-capacity": {[]string{"CapacityUnits=2750", "CapacityUnits=0"}, []string{"Units=1", "CapacityUnits=x"}},
	"actions.<protocol-port>": {[]string{
		`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"targetGroupARN":"$TGARN0","weight":1}]}}`,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":0,"targetGroups":[{"targetGroupARN":"$TGARN3","weight":9}]}}`,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"s1","servicePort":80,"weight":1}]}}`,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"targetGroupARN":"$EXTERNAL","weight":1}]}}`,
	}, []string{`{`, `null`, `{"type":"forward"}`, `{"type":"redirect"}`, `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"mail","servicePort":80,"weight":1}]}}`}},
}

// serviceWithNLB returns a Service of the attacker with an NLB.
func (g *grammar) serviceWithNLB() cluster.Object {
	s := g.service().(*corev1.Service)
	name := s.Name
	s.Annotations = map[string]string{serviceAnnotationPrefix + "aws-load-balancer-nlb-target-type": pick(g, "ip", "ip", "instance")}
	rows := settings.ServiceAnnotations.Rows()
	for range pick(g, 0, 1, 2, 3) {
		r := rows[g.IntN(len(rows))]
		c := choiceFor(r)
		value := pick(g, c.validValues...)
		if g.chance(30) {
			value = pick(g, c.invalidValues...)
		}
		s.Annotations[serviceKey(g, r.Key)] = value
	}
	if g.chance(40) {
		s.Annotations[serviceAnnotationPrefix+"aws-load-balancer-scheme"] = pick(g, "internal", "internet-facing")
	}
	s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = corev1.ServiceTypeLoadBalancer, "", "10.96.7.1"
	class := pick(g, services.DefaultClass, services.DefaultClass, services.DefaultClass, "other/class")
	if g.chance(85) {
		s.Spec.LoadBalancerClass = &class
	}
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].NodePort = 31000 + int32(name[1]-'0') + int32(10*i)
	}
	if g.chance(20) { // the same port twice
		s.Spec.Ports[0].Name = "http"
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "twin", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolUDP, NodePort: 31031})
	}
	if g.chance(20) {
		s.Spec.LoadBalancerSourceRanges = []string{pick(g, "10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32")}
	}
	if g.chance(15) {
		s.Finalizers = []string{naming.ServiceFinalizer}
	}
	if g.chance(10) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "evil.example.com"}}
	}
	return s
}

func serviceKey(g *grammar, key string) string {
	head, _, open := strings.Cut(key, "<")
	if open {
		key = head + pick(g, "TCP-80", "TLS-80", "UDP-80", "80", "x")
	}
	if strings.HasPrefix(key, "fulcrum.dev/") {
		return key
	}
	return serviceAnnotationPrefix + key
}

// recordExposedPorts records the ports that a Service of the attacker opens to clients. It opens them in the security groups
// of its targets, which the victims' nodes and pods also have.
func (a *attackerRights) recordExposedPorts(s *corev1.Service) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	for _, p := range s.Spec.Ports {
		a.exposedPorts[p.NodePort] = true
		if p.TargetPort.Type == intstr.String {
			a.exposedPorts[8080] = true
		}
		a.exposedPorts[p.TargetPort.IntVal] = true
	}
	for _, key := range []string{"aws-load-balancer-healthcheck-port"} {
		for _, port := range victimPorts {
			if s.Annotations[serviceAnnotationPrefix+key] == fmt.Sprint(port) {
				a.exposedPorts[port] = true
			}
		}
	}
}

// hasExposed reports whether the attacker has opened a port of its targets to a source that is an address range, or with
// UDP.
func (a *attackerRights) hasExposed(protocol, source string, port int32) bool {
	return a.exposedPorts[port] && (strings.Contains(source, "/") || protocol == "udp")
}

// disableDeletionProtectionOfServices disables deletion protection in the annotations of the attacker's Services, including
// Services whose deletion waits for that.
func (w *testCluster) disableDeletionProtectionOfServices() {
	for _, o := range w.Store.All(cluster.KindService) {
		if o.GetNamespace() != attackerNamespace {
			continue
		}
		svc := o.DeepCopyObject().(*corev1.Service)
		key := serviceAnnotationPrefix + "aws-load-balancer-attributes"
		if _, there := svc.Annotations[key]; !there {
			continue
		}
		svc.Annotations[key] = deletionProtectionAttribute + "=false"
		if _, err := w.Store.Update(svc, cluster.MainPart); err != nil {
			w.rec.Fatal(err)
		}
	}
}

// writtenServiceAnnotations returns the annotations that the grammar writes into 20,000 Services.
func writtenServiceAnnotations(g *grammar) []string {
	var out []string
	for range 20000 {
		for key := range g.serviceWithNLB().GetAnnotations() {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
