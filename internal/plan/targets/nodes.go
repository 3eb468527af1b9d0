package targets

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// computeTypeLabel is the label with the compute type of a node, such as "fargate".
const computeTypeLabel = "eks.amazonaws.com/compute-type"

// resolveNodes sets the nodes and the node port in r. The nodes are those that can forward requests to the node port of the
// Service. It sets the nodes even if there is no node port, because registered targets are then retained and need their
// security group rules.
func resolveNodes(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service, port corev1.ServicePort, o Options, r *Resolution) {
	fault := func(f finding.Finding) {
		f.Object, f.Severity = BindingRef(b), finding.Error
		r.Faulty = true
		r.Findings.Add(f)
	}
	if t := svc.Spec.Type; t != corev1.ServiceTypeNodePort && t != corev1.ServiceTypeLoadBalancer {
		fault(finding.Finding{
			Field: "spec.serviceRef", Reason: finding.BackendTypeUnsupported,
			Message: fmt.Sprintf("Service %s/%s is of type %s, which has no node ports", svc.Namespace, svc.Name, t),
			Fix:     "set the type of the Service to NodePort, or use target type ip",
		})
	} else if port.NodePort == 0 {
		fault(finding.Finding{
			Field: "spec.serviceRef.port", Reason: finding.BackendTypeUnsupported,
			Message: fmt.Sprintf("port %d of Service %s/%s has no node port", port.Port, svc.Namespace, svc.Name),
			Fix:     "set allocateLoadBalancerNodePorts of the Service to true, or use target type ip",
		})
	}
	selector, err := nodeSelector(b.Spec.NodeSelector)
	if err != nil {
		fault(finding.Finding{
			Field: "spec.nodeSelector", Reason: finding.AnnotationInvalid,
			Message: err.Error(), Fix: "correct the selector",
		})
		selector, _ = nodeSelector(nil)
	}
	nodes := o.NodeCache.listNodes(v)
	if len(nodes) == 0 {
		r.setSourceMissing(b, "no nodes found in the cluster; registered instances stay registered", "check that the API server returns the nodes; AWS deregisters terminated instances")
		return
	}
	set := o.NodeCache.nodeSetFor(b.Spec.NodeSelector, selector, nodes)
	r.Findings.Add(set.findings...)
	chosen := set.readyNodes
	if chosen.Len() == 0 && o.FailOpen {
		chosen = set.unknownNodes
	}
	r.Nodes, r.NodePort = chosen, port.NodePort
	if !r.Faulty && !o.UseEndpointsObjects {
		// Instance targets do not depend on pods. Events of EndpointSlices trigger runs only while the Service has no
		// endpoints, so that the finding about it can be removed.
		unsubscribed := v.Unsubscribed()
		q := cluster.EndpointSlicesOf(svc.Namespace, svc.Name)
		if r.NoEndpointsReason = noEndpointsReason(svc, port, cluster.List[*discoveryv1.EndpointSlice](unsubscribed, q), podReader(unsubscribed, b.Namespace)); r.NoEndpointsReason != nil {
			v.SubscribeList(q)
		}
	}
}

// nodeStatus returns the instance ID and the Ready status of a node that may be registered, or a finding about a node that
// is not an EC2 instance. All results are empty for a node that the selector does not select, that is about to be removed,
// or whose Ready status is neither True nor Unknown.
func nodeStatus(selector labels.Selector, n *corev1.Node) (id string, status corev1.ConditionStatus, f *finding.Finding) {
	if !selector.Matches(labels.Set(n.Labels)) || hasRemovalTaint(n) {
		return "", "", nil
	}
	status = nodeReadyStatus(n)
	if status != corev1.ConditionTrue && status != corev1.ConditionUnknown {
		return "", "", nil
	}
	id, ok := InstanceID(n)
	if !ok {
		return "", "", &finding.Finding{
			Object: finding.Ref{Kind: cluster.KindNode, Name: n.Name}, Field: "spec.providerID",
			Reason: finding.NodeUnusable, Severity: finding.Warning,
			Message: fmt.Sprintf("node %s with provider ID %q is not an EC2 instance and is not registered", n.Name, n.Spec.ProviderID),
			Fix:     "add the label node.kubernetes.io/exclude-from-external-load-balancers to the node if this is intended",
		}
	}
	return id, status, nil
}

// nodeSelector returns a selector for nodes that match s, the nodeSelector of a binding. A nil s matches all nodes. The
// result excludes Fargate nodes, nodes with the master role, and nodes whose labels exclude them from load balancers.
func nodeSelector(s *metav1.LabelSelector) (labels.Selector, error) {
	all := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "node-role.kubernetes.io/master", Operator: metav1.LabelSelectorOpDoesNotExist},
		{Key: "node.kubernetes.io/exclude-from-external-load-balancers", Operator: metav1.LabelSelectorOpDoesNotExist},
		{Key: "alpha.service-controller.kubernetes.io/exclude-balancer", Operator: metav1.LabelSelectorOpDoesNotExist},
		{Key: computeTypeLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"fargate"}},
	}}
	if s != nil {
		all.MatchLabels = s.MatchLabels
		all.MatchExpressions = append(all.MatchExpressions, s.MatchExpressions...)
	}
	return metav1.LabelSelectorAsSelector(all)
}

// hasRemovalTaint reports whether a node has a taint by which Cluster Autoscaler or Karpenter announces its removal.
func hasRemovalTaint(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == "ToBeDeletedByClusterAutoscaler" || t.Key == "karpenter.sh/disrupted" && t.Effect == corev1.TaintEffectNoSchedule
	})
}

// nodeReadyStatus returns the status of the Ready condition, "" if the node has none.
func nodeReadyStatus(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// InstanceID returns the EC2 instance ID in the provider ID of a node. It returns false if the node is not an EC2 instance,
// such as a hybrid or Fargate node.
func InstanceID(n *corev1.Node) (string, bool) {
	id := n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]
	return id, strings.HasPrefix(id, "i-") && !strings.HasPrefix(n.Spec.ProviderID, "eks-hybrid://")
}
