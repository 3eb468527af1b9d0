package e2e

import (
	"context"
	"flag"
	"fmt"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fulcrum-lb/fulcrum/local/await"
)

// cmdGRPC calls a method with a gRPC client: `grpc [-until RE] NS/INGRESS|gateway:NS/NAME HOST METHOD`.
func cmdGRPC(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	f := flag.NewFlagSet("grpc", flag.ContinueOnError)
	until := f.String("until", "", "wait until the output matches this regular expression")
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
			return fmt.Errorf("the response does not match %q:\n%s", *until, text)
		}
		return nil
	}
	var err error
	if *until != "" {
		err = await.Success(s.ctx, defaultWaitLimit, once)
	} else {
		err = once(s.ctx)
	}
	fmt.Fprint(ts.Stdout(), text)
	checkOutcome(ts, neg, err)
}

// callGRPC calls a gRPC method through the load balancer with the DNS name to. It returns the status, the pod that responded
// and the message of the status as text. A status other than OK is not an error.
func (s *scriptCluster) callGRPC(ctx context.Context, to, host, method string) (string, error) {
	st, a, err := s.CallGRPC(ctx, to, host, method)
	if err != nil {
		return "", err
	}
	text := st.Code().String()
	if a != nil {
		text += fmt.Sprintf(" pod=%s app=%s host=%s path=%s", a.Pod, a.App, a.Host, a.Path)
	}
	return text + "\n" + st.Message() + "\n", nil
}
