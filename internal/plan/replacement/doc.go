// Package replacement plans the replacement of load balancers whose scheme or type has to change, because AWS cannot change
// it in place.
//
// The new load balancer is created in addition to the existing load balancer, which is then called the previous load
// balancer. The previous load balancer is kept until clients have resolved the DNS name of the new load balancer. Until
// then, it is not changed, except that rules of leaving members are deleted. If a stack has several load balancers, the load
// balancer with the desired scheme and type is kept, and all others are previous load balancers. Therefore an edit during a
// replacement needs no special case. AWS admits a target group on only one load balancer, so that the new load balancer gets
// new target groups. plan.ShownLoadBalancer returns the load balancer whose name the status shows, and two tags in AWS
// (naming.SuccessorTag and naming.ReplacedTag) record the progress. If the replacement is not possible, the existing load
// balancer is retained, as if its scheme were desired. docs/replacement.md describes all steps.
package replacement
