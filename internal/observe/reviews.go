// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rke-lm/rke-lm/internal/kube"
	"github.com/rke-lm/rke-lm/transform/leadermigration"
	"github.com/rke-lm/rke-lm/transform/live/check"
	"github.com/rke-lm/rke-lm/transform/live/observed"
)

var errNoVersion = errors.New("the response is not a version of Kubernetes")

// readReviews asks the authorizer what the identities of the managers may do with their leases. A create has no name yet.
func (o *Observer) readReviews(ctx context.Context, out *observed.Observation) error {
	out.Reviews = check.Questions(out.Managers)
	return kube.ForEach(len(out.Reviews), func(i int) error {
		asked := &out.Reviews[i]
		about := &authorizationv1.ResourceAttributes{Namespace: managersNamespace, Group: "coordination.k8s.io", Resource: "leases", Verb: asked.Verb, Name: asked.Lease}
		if asked.Verb == "create" {
			about.Name = ""
		}
		review := authorizationv1.SubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
			Spec:     authorizationv1.SubjectAccessReviewSpec{User: asked.User, Groups: leadermigration.Groups(asked.User), ResourceAttributes: about},
		}
		var said authorizationv1.SubjectAccessReview
		r := kube.Request{What: "create subjectaccessreviews.authorization.k8s.io", Method: http.MethodPost, Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", Body: review}
		err := o.Get(ctx, r, "SubjectAccessReview", &said)
		asked.Allowed = said.Status.Allowed
		return err
	})
}
