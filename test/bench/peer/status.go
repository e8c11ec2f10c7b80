package main

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// FleetApp is a WorkerApp with all of the status that its controller keeps.
type FleetApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec        `json:"spec"`
	Status            FleetStatus `json:"status,omitempty"`
}

// DeepCopyObject copies what this controller changes; the rest of what the cache gives is only read.
func (a *FleetApp) DeepCopyObject() runtime.Object {
	c := *a
	a.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = slices.Clone(a.Status.Conditions)
	return &c
}

// FleetAppList is what a list of them is read into.
type FleetAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FleetApp `json:"items"`
}

// DeepCopyObject makes it a runtime.Object.
func (l *FleetAppList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = slices.Clone(l.Items)
	return &c
}

// FleetStatus is the status as celld-controller writes it.
type FleetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Phase              string             `json:"phase"`
	ExpectedAppVersion string             `json:"expectedAppVersion"`
	CelldVersions      []string           `json:"celldVersions"`
	Deployments        []string           `json:"deployments"`
	URL                string             `json:"url"`
	Selector           string             `json:"selector"`
	Conditions         []metav1.Condition `json:"conditions"`
	Fleet              Fleet              `json:"fleet"`
	Rollout            *Rollout           `json:"rollout,omitempty"`
}

// Fleet counts pods.
type Fleet struct {
	Replicas  int32 `json:"replicas"`
	Ready     int32 `json:"ready"`
	Restoring int32 `json:"restoring"`
	Updated   int32 `json:"updated"`
}

// Rollout is there while something is waited for.
type Rollout struct {
	Since     metav1.Time `json:"since"`
	WaitingOn string      `json:"waitingOn"`
}

// statusOf is the status alone, for server-side apply.
type statusOf struct {
	metaac.TypeMetaApplyConfiguration    `json:",inline"`
	*metaac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Status                               *FleetStatus `json:"status,omitempty"`
}

func newStatusOf(app *FleetApp, status *FleetStatus) *statusOf {
	s := &statusOf{ObjectMetaApplyConfiguration: &metaac.ObjectMetaApplyConfiguration{}, Status: status}
	s.TypeMetaApplyConfiguration.WithAPIVersion("celld-operator.io/v1alpha1").WithKind("WorkerApp")
	s.ObjectMetaApplyConfiguration.WithName(app.Name).WithNamespace(app.Namespace)
	return s
}

func (s *statusOf) IsApplyConfiguration()  {}
func (s *statusOf) GetAPIVersion() *string { return s.TypeMetaApplyConfiguration.APIVersion }
func (s *statusOf) GetKind() *string       { return s.TypeMetaApplyConfiguration.Kind }
func (s *statusOf) GetName() *string       { return s.ObjectMetaApplyConfiguration.Name }
func (s *statusOf) GetNamespace() *string  { return s.ObjectMetaApplyConfiguration.Namespace }

func readyPods(pods []corev1.Pod) (n int32) {
	for i := range pods {
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}

func (w wanted) status(sts *appsv1.StatefulSet, pods []corev1.Pod) *FleetStatus {
	const waits = "StatefulSet: change not observed yet"
	now := metav1.Now()
	s := &FleetStatus{
		ObservedGeneration: w.app.Generation, Phase: "Pending", ExpectedAppVersion: w.app.Spec.AppVersion,
		CelldVersions: []string{w.version()}, Deployments: []string{}, Selector: appLabel + "=" + w.app.Name,
		URL:     fmt.Sprintf("http://%s.%s.svc:8080/", w.name, w.app.Namespace),
		Fleet:   Fleet{Replicas: int32(len(pods)), Ready: readyPods(pods), Updated: sts.Status.UpdatedReplicas},
		Rollout: &Rollout{Since: now, WaitingOn: waits},
	}
	for _, c := range []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Pending", Message: waits},
		{Type: "SpecValid", Status: metav1.ConditionTrue, Reason: "Validated"},
		{Type: "Available", Status: metav1.ConditionFalse, Reason: "Pending", Message: "no pod is Ready"},
		{Type: "Progressing", Status: metav1.ConditionTrue, Reason: "Pending", Message: waits},
		{Type: "Degraded", Status: metav1.ConditionFalse, Reason: "Pending"},
		{Type: "FleetStateReady", Status: metav1.ConditionUnknown, Reason: "Unavailable", Message: "no pod was asked yet"},
		{Type: "BucketExclusive", Status: metav1.ConditionTrue, Reason: "Exclusive"},
		{Type: "BucketCredentialsReady", Status: metav1.ConditionTrue, Reason: "Configured"},
		{Type: "MeshPolicyReady", Status: metav1.ConditionFalse, Reason: "IstioUnavailable",
			Message: "the cluster has no AuthorizationPolicy of Istio v1; NetworkPolicy alone guards the internal port"},
	} {
		c.ObservedGeneration, c.LastTransitionTime = w.app.Generation, now
		s.Conditions = append(s.Conditions, c)
	}
	return s
}
