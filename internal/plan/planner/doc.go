// Package planner makes the plan of a stack from the plans of its parts. It decides which live resources are kept or deleted,
// and orders the steps.
//
// Make has two halves. resolve makes all choices, with pure functions over facts: which live load balancers and target
// groups are kept and which are replaced, subnets, addresses and security groups, certificates, what is held, weights
// of target groups, priorities of rules, and what waits. It returns a resolution: what AWS is to have, and the
// questions and findings on the way. diff compares the resolution with the live state and adds steps in the order of
// their dependencies; it makes no choice. Describe and Choose resolve and make no steps; the status and the commands
// tree and explain read them.
//
// The parts share a draft.Draft, and name in their constructors what else they read. The load balancer of a stack and
// its frontend NLB go through the same functions, each with its own resolved.LoadBalancer.
//
// If a fact is missing, such as the health of a target group, the plan has a question for it. The engine observes again
// with the question, and makes the plan again.
//
// Deletion is a plan towards an empty stack, in this order: load balancer, bindings, target groups, security groups,
// finalizers. It needs only the tags in AWS. A deletion protection that a person has enabled in AWS is never disabled.
//
// A Service that changes to another stack, because it starts or stops to share a load balancer, is a member of both
// stacks during the move. In the new stack (model.MoveIn) its status is not written until listeners and healthy targets
// exist (plan.Plan.MembersWithKeptStatus). The old stack (model.MoveOut) serves it until its status has shown the new load
// balancer for the time of --replacement-deletion-delay, according to the managed fields of the status.
package planner
