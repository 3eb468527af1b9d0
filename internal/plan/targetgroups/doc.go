// Package targetgroups matches existing target groups with desired ones, and plans to create, change and delete target
// groups and their bindings.
package targetgroups
