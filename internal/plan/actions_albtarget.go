package plan

// ALBTarget is the kind of an ALB as the target of a target group.
const ALBTarget ResourceKind = "alb-target"

// RegisterALB makes a port of a load balancer the target of a target group of type alb.
type RegisterALB struct {
	Group        Address
	LoadBalancer Address
	// ARN is the ARN of a load balancer that belongs to another stack, and therefore has no address in this plan.
	ARN  string
	Port int32
}

// DeregisterALB removes a port of a load balancer from the targets of a target group of type alb. ARN is the ARN
// of the load balancer.
type DeregisterALB struct {
	Group Address
	ARN   string
	Port  int32
}

func (RegisterALB) action() {}

func (DeregisterALB) action() {}
