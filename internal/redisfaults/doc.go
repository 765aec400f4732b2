// Package redisfaults has tests of package redisquota behind a network that fails: toxiproxy stands between a replica and
// a Redis server, and delays, drops and cuts what they say to each other. It is a module of its own because of what
// toxiproxy depends on.
package redisfaults
