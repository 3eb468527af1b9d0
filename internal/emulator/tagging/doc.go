// Package tagging is the Resource Groups Tagging API: it finds resources of all
// services by tags. The resources come from the services, each a store.TagSource.
package tagging
