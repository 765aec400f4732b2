package jwttenant_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
)

func TestResolve_IssuerTemplate(t *testing.T) {
	issuer := hmacIssuer()
	issuer.Issuer, issuer.IssuerValues = "https://login.example.com/{tid}/v2.0", []string{"dir-1", "dir-2"}
	issuer.AnyTenant = true
	r := newResolver(t, issuer)
	from := func(iss string, tid any) string { return token(claims{"iss": iss, "tid": tid}) }
	checkTokens(t, r, []tokenCase{
		{"the first directory", from("https://login.example.com/dir-1/v2.0", "dir-1"), nil},
		{"the second", from("https://login.example.com/dir-2/v2.0", "dir-2"), nil},
		{"one that is not listed", from("https://login.example.com/dir-3/v2.0", "dir-3"), tenant.ErrInvalid},
		{"iss and claim disagree", from("https://login.example.com/dir-1/v2.0", "dir-2"), tenant.ErrInvalid},
		{"no claim", from("https://login.example.com/dir-1/v2.0", absent), tenant.ErrInvalid},
		{"a claim that is no text", from("https://login.example.com/dir-1/v2.0", []string{"dir-1"}), tenant.ErrInvalid},
		{"the template itself", from("https://login.example.com/{tid}/v2.0", "{tid}"), tenant.ErrInvalid},
		{"the template's empty value", from("https://login.example.com//v2.0", ""), tenant.ErrInvalid},
		{"more behind it", from("https://login.example.com/dir-1/v2.0/", "dir-1"), tenant.ErrInvalid},
		{"another path", from("https://login.example.com/dir-1/x/v2.0", "dir-1/x"), tenant.ErrInvalid},
	})
}

func TestResolve_DirectoryThatIsTheTenant(t *testing.T) {
	issuer := hmacIssuer()
	issuer.Issuer, issuer.IssuerValues = "https://login.example.com/{tid}/v2.0", []string{"dir-1", "dir-2"}
	issuer.TenantClaim = []string{"tid"}
	got := checkAnswer(t, newResolver(t, issuer),
		request(token(claims{"iss": "https://login.example.com/dir-2/v2.0", "tid": "dir-2"})), nil)
	if got.ID != "dir-2" {
		t.Errorf("tenant %q, want dir-2", got.ID)
	}
}

func TestResolve_AudienceClaimCountsOnlyWithoutAud(t *testing.T) {
	issuer := hmacIssuer()
	issuer.AudienceClaim = "client_id"
	with := func(aud, clientID any) string { return token(claims{"aud": aud, "client_id": clientID}) }
	checkTokens(t, newResolver(t, issuer), []tokenCase{
		{"the claim", with(absent, audience), nil},
		{"another application's", with(absent, "other"), tenant.ErrInvalid},
		{"neither", with(absent, absent), tenant.ErrInvalid},
		{"aud alone", with(audience, absent), nil},
		{"both", with(audience, audience), nil},
		{"aud of another service", with("other", audience), tenant.ErrInvalid},
		{"aud null", with(nil, audience), tenant.ErrInvalid},
		{"aud an empty list", with([]string{}, audience), tenant.ErrInvalid},
	})
	checkAnswer(t, newResolver(t, hmacIssuer()), request(with(absent, audience)), tenant.ErrInvalid)
}

func TestResolve_RequiredClaims(t *testing.T) {
	issuer := hmacIssuer()
	issuer.RequiredClaims = map[string][]string{"use": {"access", "api"}, "azp": nil, "state": {"", "active"}}
	with := func(changes claims) string { return token(claims{"use": "access", "azp": "web"}.with(changes)) }
	checkTokens(t, newResolver(t, issuer), []tokenCase{
		{"all there", with(nil), nil},
		{"another of the values", with(claims{"use": "api"}), nil},
		{"none of the values", with(claims{"use": "id"}), tenant.ErrInvalid},
		{"missing", with(claims{"use": absent}), tenant.ErrInvalid},
		{"a list", with(claims{"use": []string{"access"}}), tenant.ErrInvalid},
		{"in another case", with(claims{"use": "Access"}), tenant.ErrInvalid},
		{"any text is missing", with(claims{"azp": absent}), tenant.ErrInvalid},
		{"any text is empty", with(claims{"azp": ""}), tenant.ErrInvalid},
		{"any text is null", with(claims{"azp": nil}), tenant.ErrInvalid},
		{"any text is a number", with(claims{"azp": 1}), tenant.ErrInvalid},
		{"what may be missing is there", with(claims{"state": "active"}), nil},
		{"what may be missing is another", with(claims{"state": "pending"}), tenant.ErrInvalid},
		{"what may be missing is null", with(claims{"state": nil}), tenant.ErrInvalid},
	})
}
