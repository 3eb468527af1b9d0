// Package echo implements the server that runs in every pod of a local world. It responds to each request with its identity
// and the request. It does not use Kubernetes; its identity is configured.
//
// # Answers
//
// HTTP requests get a JSON [Answer], whatever the method. Some paths do more:
//
//	/fail           500
//	/status/NNN     that status
//	/delay/D        waits D (a Go duration, at most a minute) before it answers
//	/size/N         N bytes of text instead of JSON (at most 64 MiB)
//	/ws             a WebSocket: first the Answer, then every message back
//
// gRPC calls of any method get the request message back, and the Answer as
// JSON in the header metadata "fulcrum-echo". The method grpc.health.v1.
// Health/Check answers SERVING. A method called Fail answers INTERNAL.
//
// Each datagram gets an Answer, with the first 4 KiB of the datagram as its body.
//
// # Protocols
//
// A port accepts only its configured protocol: a plain HTTP port accepts neither TLS nor HTTP/2 in clear text. TCP
// and UDP ports with the same number are independent.
package echo
