// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/internal/rancher/ranchertest"
	"github.com/rke-lm/rke-lm/internal/report"
	"github.com/rke-lm/rke-lm/transform/exitcode"
)

const (
	soakingMigration = `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"staging","namespace":"rke-lm"},"spec":{"selector":{}},"status":{"wave":"small",
		"conditions":[{"type":"Complete","status":"False","reason":"Progressing","message":"1 of 2 clusters are done"},{"type":"Waiting","status":"True","reason":"Soaking","message":"the wave small starts at noon"}],
		"counts":{"total":2,"waiting":1,"running":0,"done":1,"failed":0,"skipped":0},"clusters":[{"name":"fleet-default/harbour","wave":"canary","state":"done"},{"name":"c-x7k2p","wave":"small","state":"waiting"}]}}`
	newMigration = `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"later","namespace":"rke-lm"},"spec":{"selector":{}}}`
)

func TestStatusListsLeaderMigrationsAndTheirClusters(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		r.Put(t, soakingMigration)
		r.Put(t, newMigration)
		text := runAt(t, flags, "status")
		for _, line := range []string{
			`CLUSTER .* REACHED +NEXT +LEADERMIGRATION +FINDINGS`, `fleet-default/harbour .* rke-lm/staging +1 warning`, `c-x7k2p \(curlew\) .* rke-lm/staging +-`,
			`LEADERMIGRATION +CONDITION +REASON +WAVE +TOTAL`, `rke-lm/staging +Waiting +Soaking +small +2 +1 +0 +1 +0 +0`, `rke-lm/later +- +- +- +0 `,
		} {
			assert.Truef(t, regexp.MustCompile("(?m)^"+line).MatchString(text.stdout), "no line %s:\n%s%s", line, text.stdout, text.stderr)
		}
		var out report.Statuses
		assert.NilError(t, json.Unmarshal([]byte(runAt(t, flags, "status", "-o", "json").stdout), &out))
		m := out.Migrations
		assert.True(t, len(m) == 2 && m[1].Name == "rke-lm/staging" && m[1].Message == "the wave small starts at noon" && m[1].Counts.Done == 1, m)
		for _, c := range out.Clusters {
			if has := len(c.Migrations) == 1 && c.Migrations[0] == "rke-lm/staging"; has != (c.Provider != "") { // the others cannot be migrated
				t.Errorf("%+v", c)
			}
		}
	})
}

// One that cannot be decoded is shown, and hides no other one.
func TestStatusListsALeaderMigrationThatCannotBeDecoded(t *testing.T) {
	onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
		r.Put(t, soakingMigration)
		r.Put(t, `{"apiVersion":"rke-lm.io/v1alpha1","kind":"LeaderMigration","metadata":{"name":"later","namespace":"rke-lm"},"spec":{"selector":{},"timeout":"9999999h"}}`)
		out := runAt(t, flags, "status")
		for _, line := range []string{`rke-lm/staging +Waiting +Soaking +small +2 `, `rke-lm/later +Failed +InvalidSpec +- +0 `} {
			assert.Truef(t, regexp.MustCompile("(?m)^"+line).MatchString(out.stdout), "no line %s:\n%s%s", line, out.stdout, out.stderr)
		}
	})
}

// Without the permission a user is refused whether the definition is installed or not.
func TestStatusDoesNotFailWithoutLeaderMigrations(t *testing.T) {
	forbidden := ranchertest.Fault{Status: http.StatusForbidden, Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"leadermigrations.rke-lm.io is forbidden: User \"u-abcde\" cannot list resource"}`}
	for _, c := range []struct {
		installed bool
		fault     ranchertest.Fault
		notes     int
	}{{false, ranchertest.Fault{}, 0}, {false, forbidden, 0}, {true, forbidden, 1}, {true, ranchertest.Fault{Status: http.StatusTeapot}, 1}} {
		onRancher(t, func(t *testing.T, r *ranchertest.Server, flags []string) {
			if c.installed {
				r.Put(t, soakingMigration)
			}
			r.Do(func() {
				r.Fault = func(req *http.Request) ranchertest.Fault {
					if strings.HasSuffix(req.URL.Path, "/leadermigrations") {
						return c.fault
					}
					return ranchertest.Fault{}
				}
			})
			out := runAt(t, flags, "status")
			if notes := strings.Count(out.stderr, "LeaderMigrations are not shown"); out.code != exitcode.Done || notes != c.notes || strings.Contains(out.stdout, "LEADERMIGRATION") || !strings.Contains(out.stdout, "fleet-default/harbour") {
				t.Errorf("%+v: exit %d, %d notes\n%s%s", c, out.code, notes, out.stdout, out.stderr)
			}
		})
	}
}
