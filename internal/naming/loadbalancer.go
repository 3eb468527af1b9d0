package naming

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// stackName returns the generated name of a resource of an Ingress stack: ingressGroupName for an IngressGroup,
// namespacedName for a single Ingress.
func stackName(id model.StackID, hashed ...string) string {
	if id.Namespace == "" {
		return ingressGroupName(id.Name, hashed...)
	}
	return namespacedName(id.Namespace, id.Name, hashed...)
}

// IngressLoadBalancerName returns the generated name of the load balancer of an Ingress stack. The name depends on the
// scheme, so that a load balancer with another scheme can exist beside the current one.
func IngressLoadBalancerName(cluster string, id model.StackID, scheme model.Scheme) string {
	return stackName(id, cluster, id.String(), string(scheme))
}

// LoadBalancerNameWithUID returns the generated name of the load balancer of a Service or a Gateway. The name depends on the
// UID of the object, so that the load balancer of an object that is created again gets another name.
func LoadBalancerNameWithUID(cluster string, id model.StackID, uid string, scheme model.Scheme) string {
	return namespacedName(id.Namespace, id.Name, cluster, uid, string(scheme))
}

// FrontendNLBName returns the generated name of the frontend NLB of the ALB with the name alb.
func FrontendNLBName(alb string) string {
	if len(alb) > 28 {
		alb = alb[:28]
	}
	return alb + "-nlb"
}

// LoadBalancerNameFault returns the reason why AWS refuses a name for a load balancer; "" if AWS accepts it.
func LoadBalancerNameFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > 32:
		return "it is longer than 32 characters"
	case strings.HasPrefix(name, "internal-"):
		return "it begins with internal-"
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return "it begins or ends with a hyphen"
	}
	if letters := strings.ReplaceAll(name, "-", ""); sanitize(letters, len(letters)) != letters {
		return "it has a character other than letters, digits and hyphens"
	}
	return ""
}
