// Package assemble converts settings and backends to resources of the model: load balancers, listeners, security groups,
// target groups with their bindings, certificates and tags. All frontends use it. It does not read the cluster, and its
// input has the same form for every kind of object.
package assemble
