// Package tagging implements the operation GetResources of the Resource Groups Tagging API. The operation lists resources of
// all AWS services by their tags. Each service implements store.TagSource.
package tagging
