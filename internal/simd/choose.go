package simd

import (
	"fmt"
	"os"
)

// Override is the environment variable that forces a set by name.
const Override = "NEXTBATCH_SIMD"

var (
	available32, available64          = sets()
	active32, active64, overrideError = choose(os.Getenv(Override))

	// Their names: a package that needs no more does not compile the sets.
	active, available = active32.name, names(available32)
)

func names(sets []*Set[float32]) (names []string) {
	for _, s := range sets {
		names = append(names, s.name)
	}
	return names
}

// OverrideError reports that NEXTBATCH_SIMD names a set that this build does not
// have on this CPU, so that the best set is in use instead. A program should report
// it before it prints results; a library caller may ignore it.
func OverrideError() error { return overrideError }

// choose returns the named sets, or the best ones if name is empty or unknown.
func choose(name string) (*Set[float32], *Set[float64], error) {
	for i, s := range available32 {
		if s.name == name {
			return s, available64[i], nil
		}
	}
	last := len(available32) - 1
	var err error
	if name != "" {
		err = fmt.Errorf("%s=%s: there is no such set on this machine; choose one of %v", Override, name, names(available32))
	}
	return available32[last], available64[last], err
}
