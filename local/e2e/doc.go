// Package e2e runs scripts against whole local worlds: Kubernetes, an AWS and
// the controller, with requests that really go through load balancers. It has
// tests only. Each script has a world of its own; commands.go lists what a
// script can say.
package e2e
