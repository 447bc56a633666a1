// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"net/http"

	"github.com/rke-lm/rke-lm/internal/kube"
)

// everywhere lists what lies in all namespaces, or in kube-system where no more is
// allowed. A denial is remembered until the next look at everything.
func everywhere[T, O any](ctx context.Context, o *Observer, r kube.Resource, keep func(*O, []T) []T) ([]T, error) {
	if _, alone := o.narrow.Load(r.Name); !alone {
		found, err := kube.Collect(ctx, o.Client, r, keep)
		if !kube.HasStatus(err, http.StatusForbidden) {
			return found, err
		}
		o.narrow.LoadOrStore(r.Name, false)
	}
	return kube.Collect(ctx, o.Client, r.In(managersNamespace), keep)
}

// KubeSystemAlone reports that a resource may be listed in kube-system alone, so that no
// look requests more: where the rights were reviewed a denial is tried again.
func (o *Observer) KubeSystemAlone(resource string) { o.narrow.Store(resource, true) }
