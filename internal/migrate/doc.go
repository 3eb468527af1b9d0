// Package migrate translates Ingresses to objects of the Gateway API that give the same answers to requests.
//
// It does not parse annotations. It starts from the desired state that the controller makes from the Ingresses. In this
// state, the precedence of class, Service and Ingress is resolved, and invalid settings are omitted. Each listener rule
// becomes a rule of an HTTPRoute; package match orders these rules. Package check then compares the desired state of the new
// objects with that of the Ingresses.
package migrate
