// Package e2e runs scripts against whole local worlds: Kubernetes, an AWS and the
// controller, with requests that go through load balancers. It has tests only. Each
// script has a local world of its own; commands.go lists the commands of scripts.
package e2e
