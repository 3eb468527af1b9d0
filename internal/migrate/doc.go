// Package migrate translates Ingresses to objects of the Gateway API that answer requests in the same way.
//
// It does not parse annotations again. It translates the desired state that the frontend of Ingresses makes of them: there
// the precedence of class, Service and Ingress is resolved, and invalid settings are left out. Each listener rule becomes
// a rule of an HTTPRoute; package match orders them. Afterwards package check compares the desired state of the objects
// with that of the Ingresses.
package migrate
