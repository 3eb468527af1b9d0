// Package migrate turns Ingresses into objects of the Gateway API that answer alike.
//
// It does not read annotations again: what is translated is the desired state that the frontend of Ingresses makes of them,
// with the precedence of class, Service and Ingress resolved, and with what the controller refuses refused. From each
// listener rule comes a rule of an HTTPRoute (package match has how they are ordered), and what the objects make is
// compared with it afterwards.
package migrate
