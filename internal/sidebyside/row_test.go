package sidebyside_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/internal/sidebyside"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 9, 1, 2}, 3},
	} {
		if got := sidebyside.Median(c.of); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

// TestRow_RatioIsThatOfRounds: between the rounds the machine became ten times slower.
func TestRow_RatioIsThatOfRounds(t *testing.T) {
	ours := sidebyside.Row{{Nanos: 1}, {Nanos: 1}, {Nanos: 10}}
	theirs := sidebyside.Row{{Nanos: 2}, {Nanos: 20}, {Nanos: 20}}
	if got := theirs.To(ours); got != 2 {
		t.Errorf("the ratio is %v, want 2", got)
	}
}
