package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tenantgate/tenantgate/tenant"
)

// tierTable is one answer to the question which shares to configure.
type tierTable struct {
	name  string
	text  string
	tiers *tenant.Tiers
}

// parseTiers parses "NAME: free share=2 rate=5 burst=10; pro share=6 ceiling=8". The name may be left out.
func parseTiers(text string) (tierTable, error) {
	table := tierTable{}
	name, list, named := strings.Cut(text, ":")
	if named {
		table.name = strings.TrimSpace(name)
	} else {
		list = text
	}
	var tiers []tenant.Tier
	for part := range strings.SplitSeq(list, ";") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		tier, err := parseTier(words[0], words[1:])
		if err != nil {
			return table, err
		}
		tiers = append(tiers, tier)
	}
	if len(tiers) == 0 {
		return table, errors.New("no tiers")
	}
	if named && table.name == "" {
		return table, errors.New("no name before the colon")
	}
	return table, table.define(tiers)
}

func (t *tierTable) define(tiers []tenant.Tier) (err error) {
	texts := make([]string, len(tiers))
	for i, tier := range tiers {
		texts[i] = describeTier(tier)
	}
	t.text = strings.Join(texts, "; ")
	t.tiers, err = tenant.NewTiers(tiers[0].Name, tiers...)
	return err
}

// inQuotes is the name for an error, where the table has one.
func (t tierTable) inQuotes() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf(" in %q", t.name)
}

func parseTier(name string, settings []string) (tenant.Tier, error) {
	tier := tenant.Tier{Name: name, Rate: tenant.Unlimited}
	seen := map[string]bool{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		var err error
		switch key {
		case "share":
			tier.Share, err = strconv.Atoi(value)
		case "ceiling":
			tier.Ceiling, err = strconv.Atoi(value)
		case "rate":
			tier.Rate, err = strconv.ParseFloat(value, 64)
		case "burst":
			tier.Burst, err = strconv.Atoi(value)
		default:
			return tier, fmt.Errorf("tier %q: %q, want share=, ceiling=, rate= or burst= and a number", name, setting)
		}
		if err != nil {
			return tier, fmt.Errorf("tier %q: %s is %q, want a number", name, key, value)
		}
		if seen[key] {
			return tier, fmt.Errorf("tier %q: %s is there twice", name, key)
		}
		seen[key] = true
	}
	return withBurst(tier, seen["rate"], seen["burst"])
}

// withBurst gives a tier that has a rate but no burst one second of it.
func withBurst(tier tenant.Tier, rate, burst bool) (tenant.Tier, error) {
	switch {
	case burst && !rate:
		return tier, fmt.Errorf("tier %q: a burst without a rate", tier.Name)
	case rate && !burst && 0 < tier.Rate && tier.Rate <= 1e12:
		tier.Burst = int(math.Ceil(tier.Rate))
	}
	return tier, nil
}

func describeTier(t tenant.Tier) string {
	text := fmt.Sprintf("%s share=%d", t.Name, t.Share)
	if t.Ceiling > 0 {
		text += fmt.Sprintf(" ceiling=%d", t.Ceiling)
	}
	if t.Rate != tenant.Unlimited {
		text += fmt.Sprintf(" rate=%g burst=%d", t.Rate, t.Burst)
	}
	return text
}
