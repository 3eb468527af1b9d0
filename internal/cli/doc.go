// Package cli is the command line of fulcrum: the controller itself, and commands that show what
// it would do. It parses, connects and prints; what is decided is decided elsewhere.
package cli
