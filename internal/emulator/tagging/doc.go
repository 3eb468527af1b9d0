// Package tagging has the operation GetResources of the Resource Groups Tagging API, which
// lists resources of all services by tags. Each service is a store.TagSource.
package tagging
