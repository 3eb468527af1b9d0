package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/fulcrum-lb/fulcrum/local/echo"
)

// CallGRPC calls a gRPC method of a host with an empty message, over TLS, through the load balancer with the DNS name to. It
// returns the gRPC status, and the answer of the pod, which is nil if no pod responded. A failed call is a status and not an
// error.
func (s *Scenario) CallGRPC(ctx context.Context, to, host, method string) (*status.Status, *echo.Response, error) {
	dial := s.World.Dialer(to)
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(host, "443"),
		grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(s.World.RootCAs(), host)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }),
	)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	var header metadata.MD
	st := status.Convert(conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header)))
	values := header.Get(echo.MetadataKey)
	if len(values) == 0 {
		return st, nil, nil
	}
	var a echo.Response
	if err := json.Unmarshal([]byte(values[0]), &a); err != nil {
		return nil, nil, fmt.Errorf("header %s of the response: %w", echo.MetadataKey, err)
	}
	return st, &a, nil
}
