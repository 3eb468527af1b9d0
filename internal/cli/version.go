package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Build information. Releases set these by the linker; other builds know their commit from the
// toolchain.
var (
	gitVersion = ""
	gitCommit  = ""
	buildDate  = ""
)

// build is what is known of this binary.
type build struct{ version, commit, date string }

func thisBuild() build {
	b := build{gitVersion, gitCommit, buildDate}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			if b.commit == "" {
				b.commit = s.Value
			}
		case "vcs.time":
			if b.date == "" {
				b.date = s.Value
			}
		}
	}
	return build{cmp.Or(b.version, "development"), cmp.Or(b.commit, "unknown"), cmp.Or(b.date, "unknown")}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArguments,
		Run: func(cmd *cobra.Command, _ []string) {
			b := thisBuild()
			fmt.Fprintf(cmd.OutOrStdout(), "fulcrum %s\ncommit %s\nbuilt %s\n", b.version, b.commit, b.date)
		},
	}
}
