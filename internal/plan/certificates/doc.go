// Package certificates chooses the certificates of listeners, and requests, imports, validates and deletes those that the stack
// manages.
package certificates
