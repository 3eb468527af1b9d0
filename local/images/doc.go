// Package images implements the programs of the container images that the conformance suite of the Gateway API deploys:
// echo-basic with its variants for HTTP, gRPC, TCP and UDP, and CoreDNS. They give the same responses on the same ports, as
// far as the suite depends on them. Pods with any other image run the server of package echo.
package images
