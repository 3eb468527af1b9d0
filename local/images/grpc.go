package images

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"sigs.k8s.io/gateway-api-conformance-images/echo-basic/grpcechoserver"
)

// grpcEcho implements the gRPC service of the image echo-basic.
type grpcEcho struct {
	grpcechoserver.UnimplementedGrpcEchoServer
	pod *grpcechoserver.Context
}

func startEchoGRPC(p *Program, cfg Config) error {
	plain, err := cfg.port("HTTP_PORT", 3000)
	if err != nil {
		return err
	}
	secure, err := cfg.port("HTTPS_PORT", 8443)
	if err != nil {
		return err
	}
	pod := cfg.podContext()
	echo := &grpcEcho{pod: &grpcechoserver.Context{
		Namespace: pod.Namespace, Ingress: pod.Ingress, ServiceName: pod.Service, Pod: pod.Pod,
	}}
	if err := echo.serve(p, cfg, plain); err != nil {
		return err
	}
	cert, key, ok, err := cfg.readKeyPair("TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY")
	if !ok || err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	return echo.serve(p, cfg, secure, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
}

func (e *grpcEcho) serve(p *Program, cfg Config, port int, opts ...grpc.ServerOption) error {
	var l net.Listener
	l, err := cfg.listen(port)
	if err != nil {
		return err
	}
	srv := grpc.NewServer(opts...)
	grpcechoserver.RegisterGrpcEchoServer(srv, e)
	reflection.Register(srv)
	p.shutdowns = append(p.shutdowns, func(ctx context.Context) {
		stop := context.AfterFunc(ctx, srv.Stop)
		defer stop()
		srv.GracefulStop()
	})
	p.wg.Go(func() { srv.Serve(l) })
	return nil
}

func (e *grpcEcho) Echo(ctx context.Context, _ *grpcechoserver.EchoRequest) (*grpcechoserver.EchoResponse, error) {
	return e.response(ctx)
}

func (e *grpcEcho) EchoTwo(ctx context.Context, _ *grpcechoserver.EchoRequest) (*grpcechoserver.EchoResponse, error) {
	return e.response(ctx)
}

func (e *grpcEcho) response(ctx context.Context) (*grpcechoserver.EchoResponse, error) {
	a := &grpcechoserver.Assertions{Context: e.pod}
	a.FullyQualifiedMethod, _ = grpc.Method(ctx)
	md, _ := metadata.FromIncomingContext(ctx)
	for name, values := range md {
		for _, v := range values {
			a.Headers = append(a.Headers, &grpcechoserver.Header{Key: name, Value: v})
			if name == ":authority" {
				a.Authority = v
			}
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			a.TlsAssertions = describeGRPCTLS(info.State)
		}
	}
	return &grpcechoserver.EchoResponse{Assertions: a}, nil
}

func describeGRPCTLS(s tls.ConnectionState) *grpcechoserver.TLSAssertions {
	a := &grpcechoserver.TLSAssertions{
		Version: versionName(s.Version), NegotiatedProtocol: s.NegotiatedProtocol,
		ServerName: s.ServerName, CipherSuite: tls.CipherSuiteName(s.CipherSuite),
	}
	for _, c := range s.PeerCertificates {
		a.PeerCertificates = append(a.PeerCertificates, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return a
}
