package main

import (
	"strings"
	"testing"
)

// A proof that could not fail would prove nothing: one unit too many or too few in a log is found.
func TestCheckUsage_FindsOneUnit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := &phase{name: "test"}
	var err error
	if p.fleet, err = startFleet(ctx, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if p.load, err = newLoad(workload{tenants: 3, perSecond: 1000}, p.secret); err != nil {
		t.Fatal(err)
	}
	for i := range replicas {
		p.targets[i].Store(&p.replicas[i].Tenants)
	}
	p.run(ctx, []request{{0, routes[0]}, {1, routes[1]}, {2, routes[2]}, {0, routes[0]}})
	first, second := p.tenants[0].ID, p.tenants[1].ID

	for _, tt := range []struct {
		name  string
		add   map[string]int
		doubt doubt
		want  []string // a part of each violation
	}{
		{"as it is", nil, doubt{}, nil},
		{"served and not charged", map[string]int{first: 1}, doubt{}, []string{"used 2, served 3", "used 7, served 8"}},
		{"charged and not served", map[string]int{first: -1}, doubt{}, []string{"used 2, served 1", "used 7, served 6"}},
		{"another was charged", map[string]int{first: 1, second: -1}, doubt{}, []string{first, second}},
		{"in flight", map[string]int{first: -1}, doubt{inFlight: map[string]int{first: 1}}, nil},
		{"another was in flight", map[string]int{first: -1}, doubt{inFlight: map[string]int{second: 1}}, []string{first}},
		{"a call in doubt", map[string]int{first: -1}, doubt{calls: 1}, nil},
		{"two units of one in doubt", map[string]int{first: -1, second: -1}, doubt{calls: 1}, []string{"used 7, served 5"}},
		{"a refund that was lost", map[string]int{second: -2}, doubt{refunds: 2}, nil},
		{"in doubt and not charged", map[string]int{first: 1}, doubt{calls: 5}, []string{first, "used 7, served 8"}},
		{"a stranger was served", map[string]int{"stranger": 1}, doubt{}, []string{"used 7, served 8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served := map[string]int{first: 2, second: 2, p.tenants[2].ID: 3}
			r := &result{doubt: tt.doubt, units: 7}
			for id, n := range tt.add {
				served[id] += n
				r.units += n
			}
			if err := p.checkUsage(ctx, r, served); err != nil {
				t.Fatal(err)
			}
			if len(r.violations) != len(tt.want) {
				t.Fatalf("got violations %q, want %d", r.violations, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(r.violations[i], want) {
					t.Errorf("violation %d: got %q, want one with %q", i, r.violations[i], want)
				}
			}
		})
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
