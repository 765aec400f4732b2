// Package redistest starts real Redis servers for tests: a single one, a Redis Cluster, or a master with replicas and
// sentinels. Each belongs to the test that started it: it has a free port of the loopback and a folder of its own, keeps
// nothing on disk unless it is told to, and is gone when the test is. So tests may run in parallel, and may kill, freeze
// and empty their server, without meeting another test or a Redis that the machine runs anyway.
//
//	s := redistest.Start(t, "--maxmemory", "1mb")
//	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
//	s.Kill()
//	s.Restart()
//
// [Start] and its siblings end the test where something fails; they never skip it. A program that is no test has
// [Launch].
//
// On Linux the kernel kills a server when the process that started it dies, however it dies. Elsewhere a process that is
// killed leaves its servers behind.
//
// It is not for other uses than tests and demonstrations: the servers ask for no password.
package redistest
