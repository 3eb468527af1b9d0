package takeover

import (
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
)

// binding is a TargetGroupBinding; its key is that of the target group.
type binding struct {
	Spec       elbv2.TargetGroupBindingSpec
	Labels     map[string]string
	Finalizers []string

	namespace string
}

type object struct {
	Finalizers []string                   `json:"finalizers"`
	Status     networkingv1.IngressStatus `json:"status"`
}

// placed gives the bindings their namespace, which is the first part of the target group's id.
func (l *left) placed() {
	for key, bound := range l.Bindings {
		_, id := split(key)
		bound.namespace, _, _ = strings.Cut(id, "/")
		l.Bindings[key] = bound
	}
}

// servicePort is the port of the Service that a binding refers to.
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

// binding makes a TargetGroupBinding with ids for names, the ports in the order in which they are
// made (that of the traffic first, then that of the health check), and the checkpoint.
func (b *builder) binding(key string, bound binding) {
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
			for _, from := range n.Ingress[i].From {
				from.SecurityGroup.GroupID = b.id(from.SecurityGroup.GroupID)
			}
			p := &n.Ingress[i].Ports[0]
			if p.Port.StrVal == "nodeport" {
				p.Port = &traffic
			}
			b.want("tcp", b.portNumber(*p.Port, bound))
		}
		slices.SortStableFunc(n.Ingress, func(x, y elbv2.NetworkingIngressRule) int {
			return rank(*x.Ports[0].Port, traffic) - rank(*y.Ports[0].Port, traffic)
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
	if b.odd.stale {
		stored.Annotations = nil
	}
	must(b.t, 0, b.rig.Store.Put(stored))
}

func rank(p, first intstr.IntOrString) int {
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

// checkpoint is a hash of the endpoints with their ages, and one of the spec, written here a second
// time so that it cannot share a mistake with the product.
func (b *builder) checkpoint(bound binding, spec elbv2.TargetGroupBindingSpec) string {
	b.t.Helper()
	var all []string
	for _, e := range b.endpoints(bound) {
		all = append(all, fmt.Sprintf("%s:%d:%d", e.id, e.port, e.born))
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

// object gives an Ingress its finalizers and its status. Its load balancer is found by the rules
// of the group; of several addresses, the first is that of the application load balancer.
func (b *builder) object(key string, o object) {
	b.t.Helper()
	_, path, _ := strings.Cut(key, " ")
	ns, name, _ := strings.Cut(path, "/")
	obj, err := b.rig.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: ns, Name: name})
	stored, ok := must(b.t, obj, err).(*networkingv1.Ingress)
	if !ok {
		b.t.Fatalf("there is no Ingress %s", path)
	}
	stored = stored.DeepCopy()
	stored.Finalizers, stored.Status = o.Finalizers, o.Status
	stack := path
	for _, f := range o.Finalizers {
		if group, ok := strings.CutPrefix(f, "group.ingress.k8s.aws/"); ok {
			stack = group
		}
	}
	for i := range stored.Status.LoadBalancer.Ingress {
		to := &stored.Status.LoadBalancer.Ingress[i]
		if to.Hostname == "<dns>" {
			to.Hostname = b.dns[stack+":"+[]string{"LoadBalancer", "FrontendNlb"}[i]]
		}
	}
	must(b.t, 0, b.rig.Store.Put(stored))
}
