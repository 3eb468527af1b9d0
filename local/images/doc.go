// Package images implements the programs of the container images that the conformance suite of Gateway API deploys, with the
// same responses on the same ports: echo-basic in its variants for HTTP, gRPC, TCP and UDP, and CoreDNS with the features
// that the suite configures. Pods with any other image run the server of package echo.
package images
