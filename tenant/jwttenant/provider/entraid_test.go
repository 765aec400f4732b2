package provider_test

import (
	"testing"

	"github.com/tenantgate/tenantgate/tenant"
	"github.com/tenantgate/tenantgate/tenant/jwttenant/provider"
)

const (
	directory      = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	otherDirectory = "fa15d692-e9c7-4460-a743-29f2956fd429"
	thirdDirectory = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
	application    = "6e74172b-be56-4843-9ff4-e66a39bb12e3"
)

// accessTokenOfEntraID is the documented example of version 2.0.
func accessTokenOfEntraID() changes {
	return documented(`{
		"aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
		"iss": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
		"iat": 1537231048,
		"nbf": 1537231048,
		"exp": 1537234948,
		"aio": "AXQAi/8IAAAAtAaZLo3ChMif6KOnttRB7eBq4/DccQzjcJGxPXY/C3jDaNGXXd6wNIIVGRghNRnwJ1lO",
		"azp": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
		"azpacr": "0",
		"name": "Abe Lincoln",
		"oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474",
		"preferred_username": "abeli@microsoft.com",
		"rh": "I",
		"scp": "access_as_user",
		"sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ",
		"tid": "72f988bf-86f1-41af-91ab-2d7cd011db47",
		"uti": "fqiBqXLPj0eQa82S-IYFAA",
		"ver": "2.0"
	}`)
}

func TestEntraID_AcceptsAccessTokensOnly(t *testing.T) {
	v := newVendor(t, "https://login.microsoftonline.com/common/discovery/v2.0/keys", rsaKey())
	v.issuerOfKey = "https://login.microsoftonline.com/{tenantid}/v2.0"
	entra := provider.EntraID{
		ClientID: application, Directories: []string{otherDirectory, directory}, Keys: v.config,
	}
	access := accessTokenOfEntraID()
	v.check(t, entra.Issuer(), access, directory, []tokenCase{
		{"an application's own", changes{"scp": nil, "roles": []string{"Orders.Read"}, "idtyp": "app"}, nil},
		{"a guest of the directory", changes{"idp": "https://sts.windows.net/" + otherDirectory + "/"}, nil},
		{"names that administrators choose", changes{"email": "abe@acme.example", "upn": "abe@acme.example"}, nil},
		{"another service", changes{"aud": "ef1da9d4-ff77-4c3e-a005-840c3f830745"}, tenant.ErrInvalid},
		{"a directory that is not listed", changes{
			"iss": "https://login.microsoftonline.com/" + thirdDirectory + "/v2.0", "tid": thirdDirectory,
		}, tenant.ErrInvalid},
		{"iss and tid disagree", changes{"tid": otherDirectory}, tenant.ErrInvalid},
		{"no tid", changes{"tid": nil}, tenant.ErrInvalid},
		{"no directory in iss", changes{"iss": "https://login.microsoftonline.com/common/v2.0"}, tenant.ErrInvalid},
		{"version 1.0", changes{"iss": "https://sts.windows.net/" + directory + "/", "ver": "1.0"}, tenant.ErrInvalid},
		{"no client", changes{"azp": nil}, tenant.ErrInvalid},
	})

	// Of the same app registration: aud, iss and tid are those of its access tokens.
	id := documented(`{
		"ver": "2.0",
		"iss": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
		"sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
		"aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
		"exp": 1536361411,
		"iat": 1536274711,
		"nbf": 1536274711,
		"name": "Abe Lincoln",
		"preferred_username": "AbeLi@microsoft.com",
		"oid": "00000000-0000-0000-66f3-3332eca7ea81",
		"tid": "72f988bf-86f1-41af-91ab-2d7cd011db47",
		"nonce": "123523",
		"aio": "Df2UVXL1ix!lMCWMSOJBcFatzcGfvFGhjKv8q5g0x732dR5MB5BisvGQO7YWByjd8iQDLq!eGbIDakyp5mnO"
	}`)
	v.checkRefused(t, entra.Issuer(), "ID token", id)

	t.Run("listed clients", func(t *testing.T) {
		entra.Clients = []string{"75dbe77f-10a3-4e59-85fd-8c127544f17c"}
		v.check(t, entra.Issuer(), access.with(changes{"azp": entra.Clients[0]}), directory, []tokenCase{
			{"another client", changes{"azp": application}, tenant.ErrInvalid},
		})
	})
}

// Some of the keys at the common address are for one directory only.
func TestEntraID_KeyOfAnotherDirectory(t *testing.T) {
	v := newVendor(t, "https://login.microsoftonline.com/common/discovery/v2.0/keys", rsaKey())
	v.issuerOfKey = "https://login.microsoftonline.com/" + otherDirectory + "/v2.0"
	issuer := provider.EntraID{ClientID: application, Directories: []string{directory}, Keys: v.config}.Issuer()
	v.checkRefused(t, issuer, "key", accessTokenOfEntraID())
}

func TestEntraID_NationalCloud(t *testing.T) {
	v := newVendor(t, "https://login.microsoftonline.us/common/discovery/v2.0/keys", rsaKey())
	issuer := provider.EntraID{
		ClientID: application, Directories: []string{directory}, Host: "login.microsoftonline.us", Keys: v.config,
	}.Issuer()
	access := accessTokenOfEntraID().with(changes{"iss": "https://login.microsoftonline.us/" + directory + "/v2.0"})
	v.check(t, issuer, access, directory, nil)
}
