package provider

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// form is what a setting must look like. A wrong one would be no error, but a service that refuses everybody; or, where
// two settings are mixed up, one that accepts the wrong tokens.
type form struct {
	pattern *regexp.Regexp
	want    string
}

var (
	hostName = form{
		regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`),
		"a host name in lower case, without https:// and path",
	}
	origin = form{
		regexp.MustCompile(`^https?://[a-z0-9.-]+(:[0-9]+)?$`),
		"an origin such as https://app.example.com, without a path",
	}
	guid = form{
		regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`),
		"a GUID in lower case",
	}
)

// check returns an error that names the setting, unless value has the form. It does not repeat the value: what was put in
// the wrong place may be a secret.
func (f form) check(setting, value string) error {
	if f.pattern.MatchString(value) {
		return nil
	}
	return fmt.Errorf("%s is not %s", setting, f.want)
}

// checkAll checks each of values, of which there must be one.
func (f form) checkAll(setting string, values []string) error {
	if len(values) == 0 {
		return fmt.Errorf("%s is empty", setting)
	}
	var errs []error
	for n, value := range values {
		errs = append(errs, f.check(fmt.Sprintf("%s[%d]", setting, n), value))
	}
	return errors.Join(errs...)
}

// wrong returns errs for [jwttenant.Issuer.Err], nil if there are none: in one line, since [jwttenant.New] begins each line
// with the issuer that it is about.
func wrong(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return errors.New("provider: " + strings.ReplaceAll(err.Error(), "\n", "; "))
}
