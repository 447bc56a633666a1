// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestFormsOfAReference(t *testing.T) {
	for chart, want := range map[string]Reference{
		"web-app":                                                         {Name: "web-app"},
		"mirror/web-app":                                                  {Name: "web-app"},
		"https://c.example.com/web-app":                                   {Name: "web-app"},
		"oci://r.example.com/charts/web-app":                              {Name: "web-app"},
		"oci://r.example.com:5000/charts/web-app:1.2.3":                   {Name: "web-app", Version: "1.2.3"},
		"oci://r.example.com/charts/web-app@sha256:ab":                    {Name: "web-app", Version: "sha256:ab"},
		"oci://r.example.com/charts/web-app:1.2.3@sha256:ab":              {Name: "web-app", Version: "1.2.3"},
		"https://c.example.com/web-app-1.2.3.tgz":                         {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://c.example.com/web-app-v1.2.3-rc.1.tgz":                   {Name: "web-app", Version: "v1.2.3-rc.1", Archive: true},
		"https://c.example.com/web-app-1.2.3%2Bours.tgz":                  {Name: "web-app", Version: "1.2.3+ours", Archive: true},
		"https://c.example.com/web-app-1.2.3.tar.gz?token=a/b#c":          {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://c.example.com/web-app.tgz":                               {Name: "web-app", Archive: true},
		"https://%{KUBERNETES_API}%/static/charts/web-app-1.2.3.tgz":      {Name: "web-app", Version: "1.2.3", Archive: true},
		"https://%{KUBERNETES_API}%/static/charts/web-app-proxy-1.02.tgz": {Name: "web-app-proxy-1.02", Archive: true},
	} {
		assert.Equal(t, ParseReference(chart), want, chart)
	}
}
