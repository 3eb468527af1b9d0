// Package ingress is the dialect of Ingress objects: it says which Ingresses belong to which
// stack, translates a stack's members into the model with findings for what is wrong, and reports
// status and events back. It reads only through a cluster.View and knows no client.
//
// One bad member never stops the others. Each annotation is read by itself; a fault in a rule
// holds that rule, a fault in a member's own settings holds its rules, and only where a guess
// could replace the load balancer or admit clients that no member asks for is the whole stack held.
package ingress
