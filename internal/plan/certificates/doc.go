// Package certificates chooses the certificates of listeners, and plans to request, import, validate and delete the
// certificates that a stack manages.
package certificates
