// Package cli is the command line of fulcrum: it runs the controller, and commands that show the plans of the controller.
// It parses flags, connects to Kubernetes and AWS, and prints. All decisions are made in other packages.
package cli
