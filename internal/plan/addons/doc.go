// Package addons ties the load balancer of a stack to other services: web ACLs and protection by Shield.
package addons
