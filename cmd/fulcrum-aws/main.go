// Command fulcrum-aws serves the AWS emulator: the AWS APIs, the instance metadata service, and the admin API below
// /_fulcrum/, all on one address. The initial state is that of a new account with a default VPC.
//
// "fulcrum-aws compare RECORDING" replays recorded calls to AWS (see "make acceptance") against a new emulator and
// lists the responses that differ.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "compare" {
		os.Exit(runCompare(ctx, os.Args[2:], os.Stdout, os.Stderr))
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fulcrum-aws:", err)
		os.Exit(1)
	}
}

// run parses the flags and serves an emulator until ctx ends.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fulcrum-aws", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:4566", "address to listen on")
	account := flags.String("account", store.DefaultAccount, "default account, for access keys without an account")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "seed for generated identifiers and the order of lists; the current time if not set")
	state := flags.String("state", "", "file with an exported state to start from")
	clock := flags.String("clock", "real", "real, manual (changed only by POST /_fulcrum/clock), or a factor such as 60 (a minute per second)")
	partition := flags.String("partition", "aws", "AWS partition: "+partitionNames())
	printVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *printVersion {
		fmt.Print(version.Current().Text("fulcrum-aws"))
		return nil
	}
	if _, ok := store.AWSPartitionByName(*partition); !ok {
		return fmt.Errorf("--partition must be %s, not %q", partitionNames(), *partition)
	}
	options := emulator.Options{Seed: *seed, Account: *account, Partition: *partition}
	switch factor, err := strconv.ParseFloat(*clock, 64); {
	case *clock == "real":
	case *clock == "manual":
		options.Clock = store.NewManualClock(time.Now())
	case err == nil && factor > 0:
		options.Clock = store.NewScaledClock(factor)
	default:
		return fmt.Errorf("--clock must be real, manual or a positive factor, not %q", *clock)
	}
	em := emulator.New(options)
	if *state != "" {
		if err := restoreState(em, *state); err != nil {
			return err
		}
	}
	return serve(ctx, em, *listen)
}

// restoreState sets the state of the emulator to the exported state in a file.
func restoreState(em *emulator.Emulator, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	em.Store().Lock()
	defer em.Store().Unlock()
	return em.Store().Restore(text)
}

// serve serves the emulator on an address until ctx ends.
func serve(ctx context.Context, em *emulator.Emulator, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: em.Handler(), ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("fulcrum-aws: AWS at http://%s, admin at http://%s/_fulcrum/\n", listener.Addr(), listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	shutdownContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return server.Shutdown(shutdownContext)
}

// partitionNames returns the names of the AWS partitions that the emulator supports, as a text such as "a, b or c".
func partitionNames() string {
	var names []string
	for _, p := range store.AWSPartitions {
		names = append(names, p.Name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
