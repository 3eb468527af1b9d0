package takeover

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// binding is a recorded TargetGroupBinding. Its key in the record is the key of its target group.
type binding struct {
	Spec       elbv2.TargetGroupBindingSpec
	Labels     map[string]string
	Finalizers []string

	namespace string
}

// object has the recorded fields of an Ingress, Service, Gateway or route.
type object struct {
	Finalizers []string        `json:"finalizers"`
	Status     json.RawMessage `json:"status"`
}

// setBindingNamespaces sets the namespaces of TargetGroupBindings. The namespace is the first part of the ID of the target
// group, or in stacks of Gateways the namespace of the backend in this ID.
func (l *caseRecord) setBindingNamespaces() {
	for key, bound := range l.Bindings {
		stack, id := parseResourceKey(key)
		bound.namespace, _, _ = strings.Cut(id, "/")
		if stack.Kind == model.ALBGateway || stack.Kind == model.NLBGateway {
			_, backend, _ := strings.Cut(strings.Split(id, ":")[2], "-")
			bound.namespace = strings.TrimSuffix(backend, "-"+bound.Spec.ServiceRef.Name)
		}
		l.Bindings[key] = bound
	}
}

// servicePort returns the port of a Service to which a TargetGroupBinding refers.
func (b *builder) servicePort(bound binding) corev1.ServicePort {
	b.t.Helper()
	ref := bound.Spec.ServiceRef
	for _, p := range b.service(bound.namespace, ref.Name).Spec.Ports {
		if ref.Port.Type == intstr.Int && p.Port == ref.Port.IntVal || ref.Port.Type == intstr.String && p.Name == ref.Port.StrVal {
			return p
		}
	}
	b.t.Fatalf("Service %s/%s has no port %s", bound.namespace, ref.Name, ref.Port.String())
	return corev1.ServicePort{}
}

// createBinding creates a recorded TargetGroupBinding with IDs instead of names, and with a checkpoint. The ports have the
// order of aws-load-balancer-controller: traffic port, then health check port.
func (b *builder) createBinding(key string, bound binding) {
	b.t.Helper()
	arn := b.id("tg:" + key)
	out, err := b.elb.DescribeTargetGroups(b.ctx(), &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
	group := must(b.t, out, err).TargetGroups[0]
	port := b.servicePort(bound)
	traffic := port.TargetPort
	if *bound.Spec.TargetType == elbv2.TargetTypeInstance {
		traffic = intstr.FromInt32(port.NodePort)
	}
	spec := *bound.Spec.DeepCopy()
	spec.TargetGroupARN, spec.VpcID = arn, b.id(spec.VpcID)
	if n := spec.Networking; n != nil {
		for i := range n.Ingress {
			for j := range n.Ingress[i].Ports {
				p := &n.Ingress[i].Ports[j]
				switch {
				case p.Port.StrVal != "nodeport":
				case j == 0:
					p.Port = &traffic
				default: // the health check port
					p.Port = new(intstr.FromInt32(b.service(bound.namespace, bound.Spec.ServiceRef.Name).Spec.HealthCheckNodePort))
				}
				b.recordNodeRules(n.Ingress[i].From, strings.ToLower(string(*p.Protocol)), b.portNumber(*p.Port, bound))
			}
			for _, from := range n.Ingress[i].From {
				if from.SecurityGroup != nil {
					from.SecurityGroup.GroupID = b.id(from.SecurityGroup.GroupID)
				}
			}
		}
		slices.SortStableFunc(n.Ingress, func(x, y elbv2.NetworkingIngressRule) int {
			// UDP is before the TCP health checks on the same port.
			return cmp.Or(compareToFirst(*x.Ports[0].Port, traffic)-compareToFirst(*y.Ports[0].Port, traffic), cmp.Compare(*y.Ports[0].Protocol, *x.Ports[0].Protocol))
		})
	}
	stored := &elbv2.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: bound.namespace, Name: aws.ToString(group.TargetGroupName), Labels: bound.Labels, Finalizers: bound.Finalizers,
			Annotations: map[string]string{
				"elbv2.k8s.aws/checkpoint":           b.checkpoint(bound, spec),
				"elbv2.k8s.aws/checkpoint-timestamp": fmt.Sprint(time.Now().Unix()),
			},
		},
		Spec: spec, Status: elbv2.TargetGroupBindingStatus{ObservedGeneration: aws.Int64(1)},
	}
	if b.variations.lacksCheckpoints {
		stored.Annotations = nil
	}
	must(b.t, 0, b.site.Objects.Put(stored))
}

// recordNodeRules stores which peers of a TargetGroupBinding may reach a port of the nodes, for allowNodePorts. The
// peers are the backend security group or CIDRs.
func (b *builder) recordNodeRules(peers []elbv2.NetworkingPeer, protocol string, port int32) {
	for _, from := range peers {
		if from.SecurityGroup != nil {
			b.extendRange(protocol, port)
		} else {
			b.cidrPermissions = append(b.cidrPermissions, b.permission(protocol, port, port, from.IPBlock.CIDR, "elbv2.k8s.aws/targetGroupBinding=shared"))
		}
	}
}

func compareToFirst(p, first intstr.IntOrString) int {
	if p == first {
		return 0
	}
	return 1
}

func (b *builder) portNumber(p intstr.IntOrString, bound binding) int32 {
	b.t.Helper()
	if p.Type == intstr.Int {
		return p.IntVal
	}
	return b.endpoints(bound)[0].port
}

// checkpoint returns the checkpoint of a TargetGroupBinding: a hash of the endpoints with their creation times, and a
// hash of the spec. It does not call code of the controller, so it does not have the same faults.
func (b *builder) checkpoint(bound binding, spec elbv2.TargetGroupBindingSpec) string {
	b.t.Helper()
	var all []string
	for _, e := range b.endpoints(bound) {
		all = append(all, fmt.Sprintf("%s:%d:%d", e.id, e.port, e.createdMillis))
	}
	slices.Sort(all)
	text, err := json.Marshal(spec)
	must(b.t, text, err)
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return hash(strings.Join(all, ",")) + "/" + hash(string(text))
}

// setServiceStatus sets the recorded finalizers and status of a Service, with the host name of its load balancer.
func (b *builder) setServiceStatus(path string, o object) {
	b.t.Helper()
	ns, name, _ := strings.Cut(path, "/")
	svc := b.service(ns, name).DeepCopy()
	svc.Finalizers = o.Finalizers
	var status networkingv1.IngressStatus
	must(b.t, 0, json.Unmarshal(o.Status, &status))
	for _, lb := range status.LoadBalancer.Ingress {
		out := corev1.LoadBalancerIngress{Hostname: b.hostnames[path+":LoadBalancer"]}
		for _, p := range lb.Ports {
			out.Ports = append(out.Ports, corev1.PortStatus{Port: p.Port, Protocol: p.Protocol})
		}
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, out)
	}
	must(b.t, 0, b.site.Objects.Put(svc))
}

// setObjectStatus sets the recorded finalizers and status of an object. key is "KIND NAMESPACE/NAME". In the status of an
// Ingress, the first host name is that of the ALB, the second that of the frontend NLB.
func (b *builder) setObjectStatus(key string, o object) {
	b.t.Helper()
	kind, path, _ := strings.Cut(key, " ")
	switch cluster.Kind(kind) {
	case cluster.KindIngress:
	case cluster.KindService:
		b.setServiceStatus(path, o)
		return
	default:
		b.setGatewayStatus(cluster.Kind(kind), path, o)
		return
	}
	ns, name, _ := strings.Cut(path, "/")
	obj, err := b.site.Objects.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: ns, Name: name})
	stored, ok := must(b.t, obj, err).(*networkingv1.Ingress)
	if !ok {
		b.t.Fatalf("there is no Ingress %s", path)
	}
	stored = stored.DeepCopy()
	stored.Finalizers = o.Finalizers
	must(b.t, 0, json.Unmarshal(o.Status, &stored.Status))
	stack := path
	for _, f := range o.Finalizers {
		if group, ok := strings.CutPrefix(f, "group.ingress.k8s.aws/"); ok {
			stack = group
		}
	}
	for i := range stored.Status.LoadBalancer.Ingress {
		to := &stored.Status.LoadBalancer.Ingress[i]
		if to.Hostname == "<dns>" {
			to.Hostname = b.hostnames[stack+":"+[]string{"LoadBalancer", "FrontendNlb"}[i]]
		}
	}
	must(b.t, 0, b.site.Objects.Put(stored))
}

// setGatewayStatus sets the recorded finalizers and status of an object of the Gateway API.
func (b *builder) setGatewayStatus(kind cluster.Kind, path string, o object) {
	b.t.Helper()
	ns, name, _ := strings.Cut(path, "/")
	obj, err := b.site.Objects.Get(cluster.Ref{Kind: kind, Namespace: ns, Name: name})
	if must(b.t, obj, err) == nil {
		b.t.Fatalf("there is no %s %s", kind, path)
	}
	stored, _ := obj.DeepCopyObject().(cluster.Object)
	status := strings.NewReplacer("lb:"+path+":LoadBalancer", b.ids["lb:"+path+":LoadBalancer"], "<dns>", strings.ToLower(b.hostnames[path+":LoadBalancer"]), `\u003cdns\u003e`, strings.ToLower(b.hostnames[path+":LoadBalancer"])).Replace(string(o.Status))
	if status == "" {
		status = "{}"
	}
	// The records omit times, but an API server requires them.
	status = strings.ReplaceAll(status, `"observedGeneration":`, fmt.Sprintf(`"lastTransitionTime":%q,"observedGeneration":`, time.Now().UTC().Format(time.RFC3339)))
	finalizers, err := json.Marshal(o.Finalizers)
	must(b.t, finalizers, err)
	must(b.t, 0, json.Unmarshal([]byte(`{"status":null}`), stored))
	must(b.t, 0, json.Unmarshal(fmt.Appendf(nil, `{"metadata":{"finalizers":%s},"status":%s}`, finalizers, status), stored))
	must(b.t, 0, b.site.Objects.Put(stored))
}
