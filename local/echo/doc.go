// Package echo implements the server that runs in pods of a local world. It responds to each request with its identity and
// the request. It does not use Kubernetes; its identity is configured.
//
// # Answers
//
// The response to an HTTP request of any method is a JSON [Answer] with status 200, or the status of Config.Status. Some
// paths change the response:
//
//	/fail           the status is 500
//	/status/NNN     the status is NNN (200 to 599)
//	/delay/D        the response is sent after the Go duration D (at most a minute)
//	/size/N         the body is N bytes of text (at most 64 MiB)
//	/ws             a WebSocket, which sends the Answer and then returns each message
//
// A gRPC call of any method returns the request message, and the Answer as JSON in the header "fulcrum-echo". There are
// three exceptions: grpc.health.v1.Health/Check returns SERVING, a method with the name Fail returns the status INTERNAL,
// and /AWS.ALB/healthcheck returns UNIMPLEMENTED, as load balancers expect.
//
// The reply to a datagram is an Answer, with the first 4 KiB of the datagram as its Body.
//
// # Protocols
//
// A port accepts only its configured protocol: a plain HTTP port accepts neither TLS nor HTTP/2 in clear text. TCP
// and UDP ports with the same number are independent.
package echo
