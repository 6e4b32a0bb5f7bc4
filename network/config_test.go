package network

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

func TestPresetsAreThePapers(t *testing.T) {
	t.Parallel()
	relu, silu := ReLUPreset(), SiLUPreset()
	want := Config{
		Architecture: Architecture{Hidden: []int{512, 512}, Outputs: 1, Activation: ReLU, SigmaW: 0.2, SigmaB: new(0.2)},
		Training:     Training{Epochs: 256, Batch: 256, Rate: 0.375, Beta1: new(0.9), Beta2: new(0.999), Eps: 1e-8},
	}
	if !reflect.DeepEqual(relu, want) {
		t.Errorf("%+v", relu)
	}
	want.Architecture.Activation, want.Architecture.SigmaW, want.Architecture.SigmaB = SiLU, 0.5, new(1.0)
	want.Training.Rate = 0.15
	if !reflect.DeepEqual(silu, want) {
		t.Errorf("%+v", silu)
	}
}

func TestDefaultsKeepWhatIsGiven(t *testing.T) {
	t.Parallel()
	c := Config{Architecture: Architecture{Hidden: []int{}, Activation: GELU, SigmaB: new(0.0)},
		Training: Training{Epochs: 3}}.WithDefaults()
	if len(c.Architecture.Hidden) != 0 || *c.Architecture.SigmaB != 0 || c.Architecture.SigmaW != 0.5 ||
		c.Training.Epochs != 3 || c.Training.Rate != 0.15 {
		t.Errorf("%+v", c)
	}
	if err := (Config{}).Check(); err != nil {
		t.Error(err)
	}
}

func TestConfigAsJSON(t *testing.T) {
	t.Parallel()
	want := SiLUPreset()
	want.Training.Schedule, want.Seed = WarmUp, math.MaxUint64
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Config
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s became %+v (%v)", text, got, err)
	}
}

func TestWork(t *testing.T) {
	t.Parallel()
	// One training of 10-512-512-1 on 4352 rows: 17 steps an epoch.
	forward := 2.0 * (10*512 + 512*512 + 512)
	backward := 2.0 * (10*512 + 2*512*512 + 2*512)
	want := 256 * ((forward+backward)*4352 + forward*1024)
	if got := ReLUPreset().Work(10, 4352+100, 1024); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if perStep := (forward + backward) * 256 / 1e9; math.Abs(perStep-0.41) > 0.005 {
		t.Errorf("%v GFLOP a step", perStep)
	}
}
