package middleware

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tenantgate/tenantgate/quota"
	"github.com/tenantgate/tenantgate/tenant"
)

// RateHeaders is a set of styles in which an answer says what is left of the tenant's limits.
type RateHeaders uint8

// The styles.
const (
	// XRateLimit is X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset: the burst, what is left of it, and
	// when it will be full, in Unix seconds.
	XRateLimit RateHeaders = 1 << iota
	// Draft11 is RateLimit-Policy and RateLimit, as draft-ietf-httpapi-ratelimit-headers-11 has them. Other drafts name
	// the parameters otherwise.
	Draft11
	// NoRateHeaders is none of them.
	NoRateHeaders
)

// setRateHeaders says what d leaves: of the tenant's bucket, and of its tightest calendar quota. refusal is what the
// answer says besides, for whichever reason; nil: no refusal.
func (g *Gate) setRateHeaders(h http.Header, d *quota.Decision, refusal *tenant.Refusal, now time.Time) {
	fields := fieldWriter{text: make([]byte, 0, 192)}
	if g.cfg.RateHeaders&XRateLimit != 0 && d.Limit > 0 {
		fields.end("X-Ratelimit-Limit", strconv.AppendInt(fields.text, int64(d.Limit), 10))
		fields.end("X-Ratelimit-Remaining", strconv.AppendInt(fields.text, int64(d.Remaining), 10))
		if d.Reset != quota.Never {
			full := now.Add(d.Reset + time.Second - 1) // the first whole second when it is full
			fields.end("X-Ratelimit-Reset", strconv.AppendInt(fields.text, full.Unix(), 10))
		}
	}
	if g.cfg.RateHeaders&Draft11 != 0 && (d.Limit > 0 || d.QuotaPolicy != "") {
		fields.end("Ratelimit-Policy", appendPolicy(fields.text, d, now))
		fields.end("Ratelimit", appendLeft(fields.text, d, refusal))
	}
	fields.set(h)
}

// fieldWriter collects header fields in one text, so that setting them all allocates twice.
type fieldWriter struct {
	text  []byte
	keys  [5]string // canonical
	ends  [5]int    // of the values in text
	count int
}

// end notes that text goes on to the end of the value of a field.
func (f *fieldWriter) end(key string, text []byte) {
	f.text = text
	f.keys[f.count], f.ends[f.count] = key, len(text)
	f.count++
}

func (f *fieldWriter) set(h http.Header) {
	if f.count == 0 {
		return
	}
	text, start, values := string(f.text), 0, make([]string, f.count)
	for i := range f.count {
		values[i] = text[start:f.ends[i]]
		h[f.keys[i]] = values[i : i+1 : i+1] // no room to append into the next one
		start = f.ends[i]
	}
}

// appendPolicy appends RateLimit-Policy. Names of tiers and windows are texts that need no escape in a structured field.
func appendPolicy(list []byte, d *quota.Decision, now time.Time) []byte {
	if d.Limit > 0 {
		list = appendItem(list, d.Tier, 'q', int64(d.Limit))
		if d.Rate > 0 {
			list = appendParameter(list, 'w', refillSeconds(d))
		}
	}
	if d.QuotaPolicy != "" {
		if d.Limit > 0 {
			list = append(list, ", "...)
		}
		list = appendItem(list, d.QuotaPolicy, 'q', d.QuotaLimit)
		list = appendParameter(list, 'w', windowSeconds(d.QuotaPolicy, now.Add(d.QuotaReset)))
	}
	return list
}

// appendLeft appends RateLimit. A t that is later than Retry-After is left out: the client is told to come back before.
func appendLeft(list []byte, d *quota.Decision, refusal *tenant.Refusal) []byte {
	latest := int64(math.MaxInt64)
	if refusal != nil {
		if retry := retrySeconds(refusal); retry > 0 {
			latest = retry
		}
	}
	if d.Limit > 0 {
		list = appendItem(list, d.Tier, 'r', int64(d.Remaining))
		if next := d.Next(); next > 0 && next != quota.Never && ceilSeconds(next) <= latest {
			list = appendParameter(list, 't', ceilSeconds(next))
		}
	}
	if d.QuotaPolicy != "" {
		if d.Limit > 0 {
			list = append(list, ", "...)
		}
		list = appendItem(list, d.QuotaPolicy, 'r', d.QuotaRemaining)
		if ends := ceilSeconds(d.QuotaReset); ends <= latest {
			list = appendParameter(list, 't', ends)
		}
	}
	return list
}

func appendItem(list []byte, name string, key byte, value int64) []byte {
	list = append(list, '"')
	list = append(list, name...)
	list = append(list, '"')
	return appendParameter(list, key, value)
}

func appendParameter(list []byte, key byte, value int64) []byte {
	return strconv.AppendInt(append(list, ';', key, '='), value, 10)
}

// refillSeconds is how long an empty bucket takes to fill, rounded up.
func refillSeconds(d *quota.Decision) int64 {
	const most = 999_999_999_999_999 // the largest integer of a structured field (RFC 9651)
	seconds := float64(d.Limit) / d.Rate
	if seconds >= most {
		return most
	}
	whole := int64(seconds)
	if float64(whole) < seconds {
		whole++
	}
	return max(whole, 1)
}

// windowSeconds is the length of the calendar window of that name which ends at end, by a clock that may be another than
// the one that counts: only months differ in length, and two weeks before its end is surely in the month.
func windowSeconds(name string, end time.Time) int64 {
	for w := range quota.Window(quota.Windows) {
		if w.String() == name {
			start, end := w.Bounds(end.Add(-14 * 24 * time.Hour))
			return int64(end.Sub(start) / time.Second)
		}
	}
	return 1
}
