package middleware_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenantgate/tenantgate/fairslots"
	"github.com/tenantgate/tenantgate/middleware"
)

func TestNew_NamesEveryWrongField(t *testing.T) {
	_, err := middleware.New(middleware.Config{
		Resolver: resolverFunc(nil), Slots: (*fairslots.Pool)(nil), RateHeaders: 1 << 7, RetrySpread: -time.Second,
		CapacityStatus: 200, ClosingStatus: 600, Name: "a\xff",
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Resolver", "Slots", "RateHeaders", "RetrySpread", "CapacityStatus", "ClosingStatus", "Name"} {
		if !strings.Contains(err.Error(), "middleware: "+field+" ") {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func TestNew_RefusesContradictions(t *testing.T) {
	for name, cfg := range map[string]middleware.Config{
		"none and some":  {RateHeaders: middleware.NoRateHeaders | middleware.Draft11},
		"spread too far": {RetrySpread: 2 * time.Hour},
	} {
		if _, err := middleware.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := middleware.New(middleware.Config{RateHeaders: middleware.XRateLimit | middleware.Draft11}); err != nil {
		t.Error(err)
	}
}
