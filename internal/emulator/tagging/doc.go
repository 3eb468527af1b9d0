// Package tagging is the Resource Groups Tagging API: it finds resources of
// all services by tags. What there is to find comes from the services, each a
// world.TagSource.
package tagging
