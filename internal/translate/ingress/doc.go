// Package ingress is the frontend for Ingresses: it finds the Ingresses of a stack, translates them into the model with
// findings, and returns patches for status and events. It reads only through a cluster.View and has no client.
//
// A member with a fault does not affect other members. Each annotation is parsed separately. A fault in a rule holds only
// that rule, and a fault in the settings of a member holds only the rules of that member. The whole stack is held only if
// a wrong value could replace the load balancer or admit clients that no member admits.
package ingress
