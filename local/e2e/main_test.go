package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// worldPool contains the local worlds that the tests of this package share.
var worldPool worldtest.Pool

// maxWorlds is the maximum number of tests that run in parallel by default. Each local world needs more than one gigabyte of
// memory.
const maxWorlds = 8

// TestMain runs more tests in parallel than there are processors, because tests mostly wait for health checks. It does not
// do so if the flag -parallel is set.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set(strconv.Itoa(min(4*runtime.GOMAXPROCS(0), maxWorlds))); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if err := worldPool.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close the worlds:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
