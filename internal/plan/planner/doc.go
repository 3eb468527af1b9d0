// Package planner makes the plan of a stack with the packages for its listeners, rules, target groups and other resources.
// It decides which existing resources are kept or deleted, and orders the steps.
//
// Make works in two parts. The first part, resolve, makes all choices, with pure functions over facts. It chooses which
// existing load balancers and target groups are kept and which are replaced, and subnets, addresses, security groups and
// certificates. It also decides what is held, the weights of target groups, the priorities of rules, and which changes wait.
// It returns a resolution: the state that AWS must have, with the questions and findings of the choices. The second part,
// diff, compares the resolution with the observed state, and adds steps in the order of their dependencies. Describe and
// Choose make only the choices and add no steps. The status and the commands fulcrum tree and fulcrum explain use their
// results.
//
// All these packages work on one draft.Draft. Their constructors take the other values that they need. The load balancer of
// a stack and its frontend NLB go through the same functions, each with its own resolved.LoadBalancer.
//
// If a fact is missing, such as the health of a target group, the plan has a question for it. The engine observes again with
// the question, and makes the plan again.
//
// A stack without members is deleted in this order: load balancer, bindings, target groups, security groups, finalizers. The
// resources are found by their tags in AWS. Deletion protection is disabled only if a member disables it, never if a user
// has only enabled it in AWS.
//
// A Service that changes to another stack, because it starts or stops sharing a load balancer, is a member of both stacks
// during the move. In the new stack (model.MoveIn) its status is not written until listeners and healthy targets exist
// (plan.Plan.MembersWithRetainedStatus). The old stack (model.MoveOut) retains its resources until the status of the Service
// has shown the new load balancer for the duration of --replacement-deletion-delay. The managed fields of the Service
// contain the time of this status.
package planner
