package main

import (
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/tenantgate/tenantgate/quota/redisquota"
)

// replicas is how many processes are said to share the limits. One of them is measured.
const replicas = 4

func openOurs(addr string, l limit) (decide, func() error, error) { return openShared(addr, l, false) }

func openLeased(addr string, l limit) (decide, func() error, error) { return openShared(addr, l, true) }

func openShared(addr string, l limit, leases bool) (decide, func() error, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	store, err := redisquota.New(client, redisquota.Config{
		Replicas: replicas,
		Leases:   leases,
		Logger:   slog.New(slog.DiscardHandler), // that the server is down is meant
	})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	d, closeLimiter, err := limitWith(store, l)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close(), client.Close())
	}
	closeAll := func() error {
		closeLimiter()
		return errors.Join(store.Close(), client.Close())
	}
	return d, closeAll, nil
}
