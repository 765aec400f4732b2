package main

import (
	"fmt"
	"strconv"
	"time"
)

// spell spells a time with the two or three digits that count.
func spell(d time.Duration) string {
	switch s := d.Seconds(); {
	case d == 0:
		return "0"
	case d < 0:
		return "-" + spell(-d)
	case s < 0.9995e-6:
		return short(s*1e9) + "ns"
	case s < 0.9995e-3:
		return short(s*1e6) + "us"
	case s < 0.9995:
		return short(s*1e3) + "ms"
	case s < 9.995:
		return fmt.Sprintf("%.2fs", s)
	case s < 99.95:
		return fmt.Sprintf("%.1fs", s)
	default:
		return fmt.Sprintf("%.0fs", s)
	}
}

func short(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", x*100) }
func count(n int) string       { return strconv.Itoa(n) }

func tenants(n int) string {
	if n == 1 {
		return "1 tenant"
	}
	return fmt.Sprintf("%d tenants", n)
}
