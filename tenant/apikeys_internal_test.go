package tenant

import (
	"net/http"
	"testing"
)

// TestAPIKeys_SumsThatCollide: two keys whose hashes have one sum stay two. Nobody knows such keys, so each is put
// under the other's sum by hand.
func TestAPIKeys_SumsThatCollide(t *testing.T) {
	hashes := map[string][32]byte{"a": HashAPIKey("a"), "b": HashAPIKey("b")}
	k, err := NewAPIKeys(APIKeysConfig{Keys: map[[32]byte]Tenant{hashes["a"]: {ID: "a"}, hashes["b"]: {ID: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := hashes["a"], hashes["b"]
	both := append(k.keys[k.sum(&b)], k.keys[k.sum(&a)]...)
	k.keys[k.sum(&a)], k.keys[k.sum(&b)] = both, append([]apiKey(nil), both...)
	want := func(key, id string) {
		t.Helper()
		got, err := k.Resolve(&http.Request{Header: http.Header{"X-Api-Key": {key}}})
		if got.ID != id || (err == nil) != (id != "") {
			t.Errorf("%s is %q, %v; want %q", key, got.ID, err, id)
		}
	}
	want("a", "a")
	want("b", "b")
	if err := k.Set(a, Tenant{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	want("a", "c")
	if n := len(k.keys[k.sum(&a)]); n != 2 {
		t.Errorf("%d keys under the sum after one was set again, want 2", n)
	}
	k.Remove(a)
	want("a", "")
	want("b", "b")
	if n := len(k.keys[k.sum(&a)]); n != 1 {
		t.Errorf("%d keys under the sum after one was removed, want the other one", n)
	}
	k.Remove(b)
	if _, ok := k.keys[k.sum(&b)]; !ok {
		t.Error("the key that only collides was removed too")
	}
}
