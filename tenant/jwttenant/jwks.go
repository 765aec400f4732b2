package jwttenant

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// JWKS are the keys that an issuer publishes at url, as a JWK Set (RFC 7517): https, or http on the loopback. They are
// fetched when [New] returns and again and again from then on, in the background, until [Resolver.Close].
//
// A token whose kid is known never waits for that, whatever the issuer does: not while it is down, nor while others bring
// tokens with made-up IDs. New works while the issuer is down. Until the first keys are there its tokens are refused with
// [tenant.ErrUnavailable], and so is a token with an unknown kid as long as the kid may be that of a new key; the error
// has a method RetryAfter() time.Duration.
//
// An unknown kid that a fetch has shown not to be there, after it was first asked for, is refused with [tenant.ErrInvalid]
// until the next fetch. So an issuer should publish a key before it signs with it: where it does not, or where a cache
// shows the key late, clients may be told that their tokens are bad, for as long as Cooldown.
//
// A key counts if it is a public key for one of the issuer's algorithms, and for exactly one: one for RS256 and PS256
// both has to say which by alg. RSA keys have 2048 bits or more; use, if there is one, is "sig"; key_ops, if there are
// some, include "verify". Keys that do not count are skipped, and the others count. A key that is no longer published
// stops counting at the next fetch, and so do the tokens that were remembered for it. A document that is no JWK Set
// changes nothing; one without a key that counts leaves none.
//
// A token without kid is for the keys without kid, or for the only key where there is but one. An issuer that rotates
// without a new kid is found out at the next refresh only, and until then its tokens are refused as forged. A key with the
// member issuer signs for that issuer only, where {tenantid} stands for one part of a path: Microsoft publishes such.
func JWKS(url string, cfg JWKSConfig) KeySource {
	return KeySource{open: func(use keyUse, found findings) keySet {
		u, err := parseURL(url)
		if err != nil {
			found.add("%w", err)
		}
		return openKeys(use, cfg, keyDocument{u}, found)
	}}
}

// JWKSConfig configures [JWKS] and [Discovery]. The zero value is good for production. Negative values are errors, but for
// MaxWait, and so are times of more than a year, for Timeout and MaxWait of more than a minute.
type JWKSConfig struct {
	// Refresh is the time between two fetches where the issuer does not say how long its keys stay (Cache-Control:
	// max-age): up to a tenth less, so that replicas do not come in step. 0: 15 minutes, or MaxRefresh where that is less.
	Refresh time.Duration
	// MaxRefresh bounds the time between two fetches, whatever the issuer says: while it is up, a key that it takes back
	// goes on working for at most that long, and Timeout. 0: 1 hour, or Refresh where that is more.
	MaxRefresh time.Duration
	// Cooldown is the least time between two fetches that unknown key IDs cause, and the time between two others where the
	// issuer wants its keys not to be kept at all (no-cache, no-store, max-age=0). 0: 30 seconds, or Refresh where that is
	// less.
	Cooldown time.Duration
	// MaxStale is how long keys count after they were fetched, if they cannot be fetched again. Then all tokens of the
	// issuer are refused with [tenant.ErrUnavailable], remembered ones too. At least MaxRefresh and Timeout together.
	// 0: 24 hours, or twice MaxRefresh and Timeout together where that is more.
	MaxStale time.Duration
	// MaxWait is how long requests wait for keys: all that come before the first fetch has ended, however many, and of
	// those with unknown key IDs the one that caused a fetch. None waits twice. 0: 1 second. Negative: none waits.
	MaxWait time.Duration
	// Timeout bounds the time for one fetch, with [Discovery] for both documents. 0: 5 seconds.
	Timeout time.Duration
	// MaxBytes bounds the size of one document, decompressed; a longer one is not read to its end. 0: 1 MiB. More than
	// 64 MiB is an error.
	MaxBytes int64
	// Transport makes the requests, and must heed their contexts; for an issuer with a private certificate authority, say.
	// Nil: one of its own, which is like http.DefaultTransport when New is called, and is closed with the resolver.
	Transport http.RoundTripper
	// Logger gets a line when fetching begins to fail, when it works again, when the keys that are skipped are others than
	// before, and when no key is left. Nil: slog.Default().
	Logger *slog.Logger
}

const (
	defaultRefresh, defaultMaxRefresh = 15 * time.Minute, time.Hour
	defaultCooldown, defaultMaxStale  = 30 * time.Second, 24 * time.Hour
	defaultMaxWait, defaultTimeout    = time.Second, 5 * time.Second
	defaultMaxBytes, mostMaxBytes     = 1 << 20, 64 << 20
)

// withDefaults returns cfg with all that is unset set.
func (cfg JWKSConfig) withDefaults(found findings) JWKSConfig {
	before := len(*found.errs)
	const year = 365 * 24 * time.Hour
	within(found, "Refresh", cfg.Refresh, year)
	within(found, "MaxRefresh", cfg.MaxRefresh, year)
	within(found, "Cooldown", cfg.Cooldown, year)
	within(found, "MaxStale", cfg.MaxStale, year)
	within(found, "Timeout", cfg.Timeout, time.Minute)
	within(found, "MaxWait", max(cfg.MaxWait, 0), time.Minute)
	within(found, "MaxBytes", cfg.MaxBytes, mostMaxBytes)
	if len(*found.errs) > before {
		return cfg // how the settings compare means nothing
	}
	cfg.MaxRefresh = cmp.Or(cfg.MaxRefresh, max(defaultMaxRefresh, cfg.Refresh))
	cfg.Refresh = cmp.Or(cfg.Refresh, min(defaultRefresh, cfg.MaxRefresh))
	cfg.Cooldown = cmp.Or(cfg.Cooldown, min(defaultCooldown, cfg.Refresh))
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	cfg.MaxStale = cmp.Or(cfg.MaxStale, max(defaultMaxStale, 2*(cfg.MaxRefresh+cfg.Timeout)))
	cfg.MaxWait = cmp.Or(cfg.MaxWait, defaultMaxWait)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, defaultMaxBytes)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Refresh > cfg.MaxRefresh || cfg.Refresh < cfg.Cooldown {
		found.add("Refresh is %v, want %v (Cooldown) to %v (MaxRefresh)", cfg.Refresh, cfg.Cooldown, cfg.MaxRefresh)
	}
	if least := cfg.MaxRefresh + cfg.Timeout; cfg.MaxStale < least {
		found.add("MaxStale is %v, want %v (MaxRefresh and Timeout) or more", cfg.MaxStale, least)
	}
	return cfg
}

// openKeys returns the keys that from has.
func openKeys(use keyUse, cfg JWKSConfig, from source, found findings) keySet {
	if use.algorithms[0].symmetric() {
		found.add("published keys for an HMAC algorithm")
	}
	if cfg = cfg.withDefaults(found.under("JWKSConfig.")); len(*found.errs) > 0 {
		return nil // New is about to fail
	}
	return newRemoteKeys(use, cfg, from)
}

// source is where a JWK Set comes from.
type source interface {
	// fetch returns the document, and how long it stays as it is; less than 0: nobody says.
	fetch(context.Context, *fetcher) (document []byte, fresh time.Duration, err error)
	// String names the source in errors and log lines.
	String() string
}

// keyDocument is the source of [JWKS].
type keyDocument struct{ url *url.URL }

func (d keyDocument) String() string { return where(d.url) }

func (d keyDocument) fetch(ctx context.Context, f *fetcher) ([]byte, time.Duration, error) {
	return f.get(ctx, d.url)
}
