// Package e2e runs scripts against complete local worlds: Kubernetes, AWS and the controller, with requests through load
// balancers. It contains only tests. Each script has its own local world; commands_test.go lists the commands of scripts.
package e2e
