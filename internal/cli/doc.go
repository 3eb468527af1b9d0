// Package cli is the command line of fulcrum. It runs the controller, and the commands that show what the controller plans.
// It parses flags, connects to Kubernetes and AWS, and prints. Other packages make all decisions.
package cli
