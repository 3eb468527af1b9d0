// Package listeners resolves the listeners of load balancers, and plans their settings, certificates and default actions.
// Package rules plans the listener rules.
package listeners
