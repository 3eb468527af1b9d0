// Package targetgroups makes target groups and their bindings, matches live ones with desired ones, and removes those that nothing
// uses any more.
package targetgroups
