package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/compare"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// The exit codes of compare are those of the command diff. It is not a difference if a resource only changes its state at
// another time than in AWS.
const (
	exitSame      = 0
	exitDifferent = 1
	exitFailed    = 2
)

// runCompare runs "fulcrum-aws compare" and returns its exit code. It writes results to out, and errors to messages.
func runCompare(ctx context.Context, args []string, out, messages io.Writer) int {
	different, err := compareFiles(ctx, args, out, messages)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitSame
	case err != nil:
		fmt.Fprintln(messages, "fulcrum-aws compare:", err)
		return exitFailed
	case different:
		return exitDifferent
	}
	return exitSame
}

// compareFiles compares recordings with the emulator, prints the results to out, and reports whether there are differences.
func compareFiles(ctx context.Context, args []string, out, usage io.Writer) (different bool, err error) {
	flags := flag.NewFlagSet("fulcrum-aws compare", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Usage = func() {
		fmt.Fprintln(usage, "Usage: fulcrum-aws compare [-output text|json] RECORDING...\n\nExit codes: 0 no differences, 1 differences, 2 comparison failed")
		flags.PrintDefaults()
	}
	format := flags.String("output", "text", "text or json")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() == 0 {
		return false, errors.New("no recording given; name a file recording.json that \"make acceptance\" has written")
	}
	if *format != "text" && *format != "json" {
		return false, fmt.Errorf("--output must be text or json, not %q", *format)
	}
	for _, file := range flags.Args() {
		result, err := compareFile(ctx, file)
		if err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
		if *format == "json" {
			err = json.NewEncoder(out).Encode(map[string]any{"file": file, "calls": result.Calls, "skipped": result.Skipped, "differences": result.Differences})
		} else {
			_, err = fmt.Fprintf(out, "%s: %s", file, result.Text())
		}
		if err != nil {
			return false, err
		}
		if n, _ := result.Count(); n > 0 {
			different = true
		}
	}
	return different, nil
}

// compareFile compares the recording in a file with the emulator.
func compareFile(ctx context.Context, file string) (*compare.Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := recording.Read(f)
	if err != nil {
		return nil, err
	}
	return compare.Run(ctx, r)
}
