// Package images has the programs of the container images that the conformance suite
// of Gateway API deploys, with the same answers on the same ports: echo-basic in its
// forms for HTTP, gRPC, TCP and UDP, and CoreDNS as far as its configuration there goes.
// Pods of any other image run the server of package echo.
package images
