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

// worldPool is the pool of local worlds for all tests.
var worldPool worldtest.Pool

// maxWorlds limits the memory of local worlds, each of which needs almost a gigabyte.
const maxWorlds = 6

// TestMain runs more local worlds in parallel than there are processors, unless -parallel is set, because tests
// mostly wait for health checks.
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
