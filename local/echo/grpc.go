package echo

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// MetadataKey is the key of the gRPC header metadata that contains an Answer as JSON.
const MetadataKey = "fulcrum-echo"

// healthMethod is the default method of gRPC health checks by load balancers. They expect the status UNIMPLEMENTED, which a
// server without this method returns.
const healthMethod = "/AWS.ALB/healthcheck"

// newGRPCServer returns a server with the gRPC health service; handleGRPC handles all other methods.
func (s *Server) newGRPCServer() *grpc.Server {
	srv := grpc.NewServer(
		grpc.ForceServerCodecV2(rawCodec{proto: encoding.GetCodecV2("proto")}),
		grpc.UnknownServiceHandler(s.handleGRPC),
	)
	healthpb.RegisterHealthServer(srv, health.NewServer())
	return srv
}

func (s *Server) handleGRPC(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	method, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(ctx)
	a := Response{
		Identity: s.cfg.Identity(),
		Protocol: "gRPC",
		Method:   http.MethodPost,
		Path:     method,
		Headers:  http.Header(md),
	}
	if h := md.Get(":authority"); len(h) > 0 {
		a.Host = h[0]
	}
	if p, ok := peer.FromContext(ctx); ok {
		a.Client = p.Addr.String()
	}
	b, err := json.Marshal(a)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := stream.SetHeader(metadata.Pairs(MetadataKey, string(b))); err != nil {
		return err
	}
	if method == healthMethod {
		return status.Error(codes.Unimplemented, "no service has this method")
	}
	if path.Base(method) == "Fail" {
		return status.Error(codes.Internal, "the method Fail always fails")
	}
	for {
		var message rawMessage
		if err := stream.RecvMsg(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
	}
}

// rawMessage contains the bytes of a message that is not decoded.
type rawMessage []byte

// rawCodec copies the bytes of a rawMessage unchanged, and encodes all other messages as protobuf.
type rawCodec struct{ proto encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(*rawMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(*r)}, nil
	}
	return c.proto.Marshal(v)
}

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*rawMessage); ok {
		*r = data.Materialize()
		return nil
	}
	return c.proto.Unmarshal(data, v)
}

func (c rawCodec) Name() string { return "proto" }
