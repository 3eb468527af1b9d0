// Package cli is the command line of fulcrum: the controller itself, and commands that show what
// it would do. It parses flags, connects to Kubernetes and AWS, and prints. All decisions are made in other packages.
package cli
