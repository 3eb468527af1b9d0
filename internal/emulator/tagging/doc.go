// Package tagging implements the operation GetResources of the Resource Groups Tagging API, which lists resources of all
// services by tags. Each service implements store.TagSource.
package tagging
