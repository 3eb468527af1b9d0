package plan

// ALBTarget is the resource kind of an ALB that is a target of a target group.
const ALBTarget ResourceKind = "alb-target"

// RegisterALB registers a load balancer and a port as the target of a target group of type alb.
type RegisterALB struct {
	Group        Address
	LoadBalancer Address
	// ARN is set instead of LoadBalancer if the load balancer belongs to another stack and therefore has no address in this
	// plan.
	ARN  string
	Port int32
}

// DeregisterALB removes a load balancer and a port from the targets of a target group of type alb. ARN is the ARN of the
// load balancer.
type DeregisterALB struct {
	Group Address
	ARN   string
	Port  int32
}

func (RegisterALB) action()   {}
func (DeregisterALB) action() {}
