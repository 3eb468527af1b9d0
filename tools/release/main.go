// Command release creates the files of a release: programs for all platforms, the container image as an OCI image layout,
// the chart, manifests, completion scripts, SBOMs (lists of the modules in the programs), checksums, provenance and a list
// of changes. "release image" creates only the image and its SBOMs. The command needs no container engine, no registry and
// no network. The files depend only on the source, the flags and the version of Go. They do not contain the current time, or
// paths and accounts of the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// settings contains the values of the flags of "release image".
type settings struct {
	release   release
	source    string // folder of the Go module
	program   string // path of the program's package in the module
	outputDir string
	platforms []v1.Platform
}

// release contains the version of a release and the commit of its source.
type release struct {
	version, commit string
	date            time.Time // time of the commit, and of all files in the image and the archives
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "image" {
		return makeImage(ctx, args[1:], stdout)
	}
	return makeRelease(ctx, args, stdout)
}

// makeImage implements the command "release image". It prints the digest of the image.
func makeImage(ctx context.Context, args []string, stdout io.Writer) error {
	s, err := parseFlags(args)
	if err != nil {
		return err
	}
	programs, err := buildAll(ctx, s)
	if err != nil {
		return err
	}
	digest, err := writeImage(s.outputDir, s.release, programs)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", digest)
	return nil
}

// buildAll compiles the program for each platform in the settings, and creates the SBOMs.
func buildAll(ctx context.Context, s settings) ([]program, error) {
	work, err := os.MkdirTemp("", "fulcrum-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	var programs []program
	for _, p := range s.platforms {
		file := filepath.Join(work, p.OS+"-"+p.Architecture)
		if err := buildProgram(ctx, s, p, file); err != nil {
			return nil, err
		}
		b, err := readProgram(p, file, s.release)
		if err != nil {
			return nil, err
		}
		programs = append(programs, b)
	}
	return programs, nil
}

// linkerValuePattern matches versions and commits that can be used in a linker flag without quotes.
var linkerValuePattern = regexp.MustCompile(`^[A-Za-z0-9._+-]+$`)

func parseFlags(args []string) (settings, error) {
	var s settings
	var platforms, date string
	f := flag.NewFlagSet("image", flag.ContinueOnError)
	f.StringVar(&s.source, "source", ".", "folder of the module")
	f.StringVar(&s.program, "program", "./cmd/fulcrum", "package of the program")
	f.StringVar(&s.outputDir, "out", "", "new folder for the image layout and the SBOMs (required)")
	f.StringVar(&s.release.version, "version", "development", "version that the program prints")
	f.StringVar(&s.release.commit, "commit", "unknown", "commit that the program prints")
	f.StringVar(&date, "date", "1970-01-01T00:00:00Z", "time of the commit (RFC 3339), used for all times in the image")
	f.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms as OS/ARCHITECTURE, separated by commas")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.outputDir == "" {
		return s, errors.New("--out is empty; name a folder that does not exist yet")
	}
	if _, err := os.Stat(s.outputDir); err == nil {
		return s, fmt.Errorf("--out %q exists; name a folder that does not exist yet", s.outputDir)
	}
	for _, v := range [][2]string{{"--version", s.release.version}, {"--commit", s.release.commit}} {
		if !linkerValuePattern.MatchString(v[1]) {
			return s, fmt.Errorf("%s %q has characters other than letters, digits and ._+-; use a version such as git describe prints", v[0], v[1])
		}
	}
	var err error
	if s.release.date, err = time.Parse(time.RFC3339, date); err != nil {
		return s, fmt.Errorf("--date %q is not an RFC 3339 time, such as 2026-01-31T12:00:00Z", date)
	}
	s.release.date = s.release.date.UTC()
	for _, text := range strings.Split(platforms, ",") {
		p, err := v1.ParsePlatform(text)
		if err != nil || p.OS == "" || p.Architecture == "" {
			return s, fmt.Errorf("--platforms has %q, which is not OS/ARCHITECTURE such as linux/arm64", text)
		}
		s.platforms = append(s.platforms, *p)
	}
	return s, nil
}
