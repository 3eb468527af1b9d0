// Package echo is the program that runs in every pod of the local world: a server that
// answers each request with its identity and the request. It does not use Kubernetes;
// its identity is configured.
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
// Datagrams are answered with one that has the Answer, and the first 4 KiB of
// what was asked as its body.
//
// # Protocols
//
// A port has its configured protocol and no other, like a program of that kind: a plain
// HTTP port does not accept TLS, an HTTP port does not accept HTTP/2 in clear text.
// Connections and datagrams of one number are two ports.
package echo
