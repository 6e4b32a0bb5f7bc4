package trees

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// references are test errors, in deviations of the label, on small real tables: of LightGBM
// 4.7 (learning rate 0.05, at least 5 rows in a leaf, rounds by 5-fold cross-validation, then
// fitted on all rows) and of scikit-learn 1.9's ExtraTreesRegressor (300 trees, mean of two
// seeds). Row i of a table is moved to i·7919 mod rows; the first 200 train, the next 1,000
// at most are the test.
var references = []struct {
	table           string
	boosting, extra float64
}{
	{"airfoil", 0.4273, 0.4497}, {"autompg", 0.4035, 0.3732}, {"concrete", 0.4228, 0.4236}, {"energy", 0.0704, 0.0737},
	{"housing", 0.4604, 0.4018}, {"skillcraft", 0.8264, 0.7727}, {"wine", 0.6314, 0.6514}, {"yacht", 0.0953, 0.1121},
}

// TestLevelWithOthers checks that the geometric mean of the errors is at most 3 % above
// theirs.
func TestLevelWithOthers(t *testing.T) {
	ctx := context.Background()
	boosting, extra := 0.0, 0.0
	for _, r := range references {
		x, y := golden.Table(t, r.table)
		d := Data{Inputs: x, Labels: y}
		train, test := part(d, 0, 200), part(d, 200, min(1200, len(d.Labels)))
		b := rmse(predict(t, must(FitBoosting(ctx, train, BoostingConfig{}, 0))(t), test.Inputs), test.Labels)
		e := rmse(predict(t, must(FitExtraTrees(ctx, train, ExtraConfig{}, 0))(t), test.Inputs), test.Labels)
		t.Logf("%-10s boosting %.4f, LightGBM %.4f; extra trees %.4f, scikit-learn %.4f", r.table, b, r.boosting, e, r.extra)
		boosting += math.Log(b/r.boosting) / float64(len(references))
		extra += math.Log(e/r.extra) / float64(len(references))
	}
	t.Logf("ratios of geometric means: boosting %.3f, extra trees %.3f", math.Exp(boosting), math.Exp(extra))
	if limit := math.Log(1.03); boosting > limit || extra > limit {
		t.Errorf("the errors are %.3f times those of LightGBM, and %.3f times those of scikit-learn",
			math.Exp(boosting), math.Exp(extra))
	}
}

func part(d Data, from, to int) Data {
	rows := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		rows = append(rows, i*7919%len(d.Labels))
	}
	return d.Subset(rows)
}
