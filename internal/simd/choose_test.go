package simd

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// answer is the environment variable that makes TestOverride, in another process,
// print which sets were chosen.
const answer = "NEXTBATCH_SIMD_TEST_ANSWER"

// TestOverride runs this test again with each set forced, and with one that does
// not exist.
func TestOverride(t *testing.T) {
	if os.Getenv(answer) != "" {
		t.Logf("chose %s and %s, error %v", For[float32]().Name(), For[float64]().Name(), OverrideError())
		return
	}
	sets := Available[float32]()
	best := sets[len(sets)-1].Name()
	for _, s := range sets {
		checkOverride(t, s.Name(), "chose "+s.Name()+" and "+s.Name()+", error <nil>")
	}
	checkOverride(t, "", "chose "+best+" and "+best+", error <nil>")
	checkOverride(t, "mmx", "chose "+best+" and "+best+", error NEXTBATCH_SIMD=mmx: there is no such set on this machine")
}

func checkOverride(t *testing.T, name, want string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOverride$", "-test.v")
	cmd.Env = append(os.Environ(), Override+"="+name, answer+"=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this test runs under an emulator, and the system cannot start its program again")
	}
	if err != nil {
		t.Fatalf("%s=%s: %v\n%s", Override, name, err, out)
	}
	if !strings.Contains(string(out), want) {
		t.Errorf("%s=%s: want %q in\n%s", Override, name, want, out)
	}
}
