package jwttest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenantgate/tenantgate/internal/sentinel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sentinel.Watch(m)) }
