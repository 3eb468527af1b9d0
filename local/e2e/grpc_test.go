package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/echo"
)

// cmdGRPC: `grpc [-until RE] NS/INGRESS|gateway:NS/NAME HOST METHOD` calls a method as gRPC's
// own client does.
func cmdGRPC(ts *testscript.TestScript, neg bool, args []string) {
	s := of(ts)
	f := flag.NewFlagSet("grpc", flag.ContinueOnError)
	until := f.String("until", "", "regular expression that the output must match at last")
	if err := f.Parse(args); err != nil || f.NArg() != 3 {
		ts.Fatalf("usage: grpc [-until RE] NS/INGRESS|gateway:NS/NAME HOST METHOD")
	}
	pattern := regexp.MustCompile("(?m)" + *until)
	var text string
	once := func(ctx context.Context) error {
		to, err := s.hostname(ctx, f.Arg(0))
		if err != nil {
			return err
		}
		if text, err = s.callGRPC(ctx, to, f.Arg(1), f.Arg(2)); err != nil {
			return err
		}
		if !pattern.MatchString(text) {
			return fmt.Errorf("answer does not match %q:\n%s", *until, text)
		}
		return nil
	}
	var err error
	if *until != "" {
		err = await.True(s.ctx, defaultLimit, once)
	} else {
		err = once(s.ctx)
	}
	fmt.Fprint(ts.Stdout(), text)
	outcome(ts, neg, err)
}

// callGRPC calls a method with an empty message. A status that is not OK is no
// error.
func (s *stage) callGRPC(ctx context.Context, to, host, method string) (string, error) {
	dial := s.World.Dialer(to)
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(host, "443"),
		grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(s.World.RootCAs(), host)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }),
	)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	var header metadata.MD
	err = conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header))
	st := status.Convert(err)
	text := st.Code().String()
	if values := header.Get(echo.MetadataKey); len(values) > 0 {
		var a echo.Answer
		if err := json.Unmarshal([]byte(values[0]), &a); err != nil {
			return "", fmt.Errorf("the answer's header %s: %w", echo.MetadataKey, err)
		}
		text += fmt.Sprintf(" pod=%s app=%s host=%s path=%s", a.Pod, a.App, a.Host, a.Path)
	}
	return text + "\n" + st.Message() + "\n", nil
}
