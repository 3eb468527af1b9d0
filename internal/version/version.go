// Package version reports which build of Fulcrum a program is.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// What tools/build.sh and releases have the linker write. Other builds know their commit from the toolchain, unless it was
// told not to write it (-buildvcs=false).
var (
	gitVersion = ""
	gitCommit  = ""
	buildDate  = ""
)

// Build is what is known of a program.
type Build struct {
	// Version is the version of a release, or the commit as "git describe" names it; "development" if it is not known.
	Version string
	// Commit and Date, which is when the commit was made, are "unknown" if they are.
	Commit, Date string
}

// Current returns the build of the program that runs.
func Current() Build {
	b := Build{gitVersion, gitCommit, buildDate}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fillFromBuildInfo(info)
	}
	return Build{cmp.Or(b.Version, "development"), cmp.Or(b.Commit, "unknown"), cmp.Or(b.Date, "unknown")}
}

// fillFromBuildInfo adds what the toolchain has written.
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

// Text returns what a program prints of itself.
func (b Build) Text(program string) string {
	return fmt.Sprintf("%s %s\ncommit %s\nbuilt %s\n", program, b.Version, b.Commit, b.Date)
}
