// Package images implements the programs of the container images that the conformance suite of the Gateway API deploys:
// echo-basic with its variants for HTTP, gRPC, TCP and UDP, and CoreDNS. The programs return the same responses on the
// same ports as the images, as far as the suite depends on the responses. Pods with any other image run the server of
// package echo.
package images
