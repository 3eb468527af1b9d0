// Package version has the version, the commit and the date of the running program.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// The linker sets these variables in builds by tools/build.sh and in releases (-ldflags=-X). In other builds, the commit and
// its date come from the Go toolchain, unless the build flag -buildvcs=false is set.
var (
	gitVersion = ""
	gitCommit  = ""
	buildDate  = ""
)

// Build describes the build of a program.
type Build struct {
	// Version is the version of a release, or the result of "git describe" for other commits; "development" if it is not
	// known.
	Version string
	// Commit is the hash of the commit, and Date is the time of the commit. Each is "unknown" if it is not known.
	Commit, Date string
}

// Current returns the build of the running program.
func Current() Build {
	b := Build{gitVersion, gitCommit, buildDate}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fillFromBuildInfo(info)
	}
	return Build{cmp.Or(b.Version, "development"), cmp.Or(b.Commit, "unknown"), cmp.Or(b.Date, "unknown")}
}

// fillFromBuildInfo sets an empty Commit and an empty Date to the values that the Go toolchain has stored in the program.
func (b *Build) fillFromBuildInfo(info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		}
	}
}

// Text returns the text that a program prints for --version. program is its name.
func (b Build) Text(program string) string {
	return fmt.Sprintf("%s %s\ncommit %s\nbuilt %s\n", program, b.Version, b.Commit, b.Date)
}
