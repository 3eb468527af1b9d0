// Package listeners determines what listeners are to be, and makes them fit: settings, certificates and default actions.
// Their rules are the work of package rules.
package listeners
