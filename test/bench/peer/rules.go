package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type validator struct {
	decoder admission.Decoder
}

type faults []metav1.StatusCause

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: fmt.Sprintf(format, args...)})
}

var (
	hostname    = regexp.MustCompile(`^(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$`)
	image       = regexp.MustCompile(`^[a-z0-9][a-z0-9.:/_-]*:v([0-9]+)\.([0-9]+)\.([0-9]+)(-[a-z0-9]+)?$`)
	bucketName  = regexp.MustCompile(`^(s3|gs|az)://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?$`)
	role        = regexp.MustCompile(`^(auto|arn:aws[a-z-]*:iam::[0-9]{12}:role/[!-~]+)$`)
	region      = regexp.MustCompile(`^[A-Za-z0-9-]*$`)
	envName     = regexp.MustCompile(`^(RUST_LOG|(CELLD|OTEL)_[A-Z0-9_]+)$`)
	owned       = map[string]bool{"CELLD_BUCKET": true, "CELLD_ADVERTISE": true, "CELLD_PEERS": true, "CELLD_DATA_DIR": true}
	minorAtMost = "6"
)

func versionOf(s string) []string {
	return image.FindStringSubmatch(s)
}

func bounded(f *faults, field string, v *int32, max int32) {
	if v != nil && (*v < 1 || *v > max) {
		f.add(field, "%d is out of range; write a number from 1 to %d", *v, max)
	}
}

func names(f *faults, s *Spec) {
	for i, h := range s.Hostnames {
		if !hostname.MatchString(h) {
			f.add(fmt.Sprintf("spec.hostnames[%d]", i), "%q cannot be routed; write a lower-case DNS name such as chat.example.com "+
				"or *.example.com, without scheme, port or final dot, no IP address", h)
		}
	}
	if s.AppVersion == "" || len(s.AppVersion) > 128 {
		f.add("spec.appVersion", "is missing; write the version of the app, or auto")
	}
	if versionOf(s.Celld.Image) == nil {
		f.add("spec.celld.image", "%q has no version; write an image with a tag such as v0.6.2", s.Celld.Image)
	}
}

func sizes(f *faults, s *Spec) {
	bounded(f, "spec.replicas", s.Replicas, 1000)
	bounded(f, "spec.resources.cpuMillis", s.Resources.CPUMillis, 1000000)
	bounded(f, "spec.resources.memoryGi", s.Resources.MemoryGi, 65536)
	bounded(f, "spec.resources.ephemeralStorageGi", s.Resources.EphemeralStorageGi, 65536)
	if s.Durability == "fleet" && s.Replicas != nil && *s.Replicas < 3 {
		f.add("spec.replicas", "is %d, and durability fleet keeps each write on three members; write 3 or more", *s.Replicas)
	}
}

func bucket(f *faults, s *Spec) {
	if s.Bucket == nil {
		return
	}
	if !bucketName.MatchString(s.Bucket.Name) {
		f.add("spec.bucket.name", "%q is no bucket; write s3://BUCKET/PREFIX", s.Bucket.Name)
	}
	if s.Bucket.CredentialsFrom.IAMRole != "" && !role.MatchString(s.Bucket.CredentialsFrom.IAMRole) {
		f.add("spec.bucket.credentialsFrom.iamRole", "%q is no role", s.Bucket.CredentialsFrom.IAMRole)
	}
	if !region.MatchString(s.Bucket.Region) {
		f.add("spec.bucket.region", "%q is no region", s.Bucket.Region)
	}
}

func environment(f *faults, s *Spec) {
	seen := map[string]bool{}
	for i, e := range s.Env {
		at := fmt.Sprintf("spec.env[%d].name", i)
		switch {
		case !envName.MatchString(e.Name) || len(e.Name) > 128:
			f.add(at, "%q is no setting of celld", e.Name)
		case owned[e.Name]:
			f.add(at, "the operator sets %s itself", e.Name)
		case seen[e.Name]:
			f.add(at, "%s is there twice; leave one out", e.Name)
		}
		seen[e.Name] = true
		if (e.Value == "") == (e.SecretKeyRef == nil) || len(e.Value) > 32768 {
			f.add(fmt.Sprintf("spec.env[%d]", i), "%s has no value or two", e.Name)
		}
	}
}

func keys(f *faults, at string, m map[string]string) {
	for k := range m {
		if strings.HasPrefix(k, "celld-operator.io/") || len(validation.IsQualifiedName(k)) > 0 {
			f.add(fmt.Sprintf("%s[%s]", at, k), "%q is no key", k)
		}
	}
}

func change(f *faults, s, old *Spec, running []string) {
	if s.Bucket != nil && old.Bucket != nil && s.Bucket.Name != old.Bucket.Name {
		f.add("spec.bucket.name", "the fleet's cells live in %q and do not move; write that, or create another WorkerApp",
			old.Bucket.Name)
	}
	to := versionOf(s.Celld.Image)
	for _, from := range append([]string{old.Celld.Image}, running...) {
		if !strings.Contains(from, ":") {
			from = "celld:" + from
		}
		v := versionOf(from)
		if v != nil && to != nil && (v[2] != to[2] || v[2] > minorAtMost) && s.Celld.UpdateStrategy != "Recreate" {
			f.add("spec.celld.image", "celld %s.%s to %s.%s needs updateStrategy Recreate", v[1], v[2], to[1], to[2])
		}
	}
}

func judge(app, old *WorkerApp) faults {
	var f faults
	if old != nil && equality.Semantic.DeepEqual(app.Spec, old.Spec) {
		return nil
	}
	names(&f, &app.Spec)
	sizes(&f, &app.Spec)
	environment(&f, &app.Spec)
	keys(&f, "spec.podAnnotations", app.Spec.PodAnnotations)
	keys(&f, "spec.podLabels", app.Spec.PodLabels)
	if old == nil || app.Spec.Bucket == nil || old.Spec.Bucket == nil || app.Spec.Bucket.Name == old.Spec.Bucket.Name {
		bucket(&f, &app.Spec)
	}
	if old != nil {
		change(&f, &app.Spec, &old.Spec, old.Status.CelldVersions)
	}
	return f
}

func (v *validator) Handle(_ context.Context, req admission.Request) admission.Response {
	app, old := &WorkerApp{}, (*WorkerApp)(nil)
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	if err := v.decoder.Decode(req, app); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation == admissionv1.Update {
		old = &WorkerApp{}
		if err := v.decoder.DecodeRaw(req.OldObject, old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	f := judge(app, old)
	if len(f) == 0 {
		return admission.Allowed("")
	}
	lines := make([]string, len(f))
	for i, c := range f {
		lines[i] = c.Field + ": " + c.Message
	}
	r := admission.Denied(strings.Join(lines, "\n"))
	r.Result.Status, r.Result.Code, r.Result.Reason = metav1.StatusFailure, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	r.Result.Details = &metav1.StatusDetails{Name: req.Name, Group: req.Kind.Group, Kind: req.Kind.Kind, Causes: f}
	return r
}
