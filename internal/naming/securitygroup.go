package naming

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Descriptions of security groups that the controller creates. They are not compared with the descriptions of existing
// security groups, because AWS cannot change a description.
const (
	ManagedSecurityGroupDescription = "[k8s] Managed SecurityGroup for LoadBalancer"
	BackendSecurityGroupDescription = "[k8s] Shared Backend SecurityGroup for LoadBalancer"
)

// IngressSecurityGroupName returns the generated name of the managed security group of an Ingress stack.
func IngressSecurityGroupName(cluster string, id model.StackID) string {
	return stackName(id, cluster, id.String())
}

// SecurityGroupNameWithUID returns the generated name of the managed security group of a Service or a Gateway. uid is
// the UID of that object.
func SecurityGroupNameWithUID(cluster string, id model.StackID, uid string) string {
	return namespacedName(id.Namespace, id.Name, cluster, id.Name, id.Namespace, uid)
}

// BackendSecurityGroupName returns the generated name of the shared backend security group of a cluster, at most 255
// characters.
func BackendSecurityGroupName(cluster string) string {
	return "k8s-traffic-" + sanitize(cluster, 232) + "-" + hexHash(cluster)[:10]
}
