// Package e2e runs scripts against complete local worlds: Kubernetes, AWS and the controller, with requests through load
// balancers. It contains only tests. Each script uses a local world that no other test uses at the same time;
// commands_test.go lists the commands of scripts.
package e2e
