package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// WorkerApp as kubebuilder would have it.
type WorkerApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

type Spec struct {
	Hostnames               []string          `json:"hostnames,omitempty"`
	AppVersion              string            `json:"appVersion"`
	DeploymentPolicy        string            `json:"deploymentPolicy,omitempty"`
	DeployTrackingSecretRef string            `json:"deployTrackingSecretRef,omitempty"`
	Celld                   Celld             `json:"celld"`
	Replicas                *int32            `json:"replicas,omitempty"`
	Bucket                  *Bucket           `json:"bucket,omitempty"`
	StoreRef                *Name             `json:"storeRef,omitempty"`
	Resources               Resources         `json:"resources,omitempty"`
	Storage                 *Storage          `json:"storage,omitempty"`
	Durability              string            `json:"durability,omitempty"`
	Scheduling              Scheduling        `json:"scheduling,omitempty"`
	Service                 Service           `json:"service,omitempty"`
	Vars                    *SecretRef        `json:"vars,omitempty"`
	Env                     []Env             `json:"env,omitempty"`
	PodLabels               map[string]string `json:"podLabels,omitempty"`
	PodAnnotations          map[string]string `json:"podAnnotations,omitempty"`
	Websockets              bool              `json:"websockets,omitempty"`
	TrustForwardedHeaders   bool              `json:"trustForwardedHeaders,omitempty"`
	ClusterDomain           string            `json:"clusterDomain,omitempty"`
}

type Celld struct {
	Image            string `json:"image"`
	Version          string `json:"version,omitempty"`
	UpdateStrategy   string `json:"updateStrategy,omitempty"`
	ImagePullPolicy  string `json:"imagePullPolicy,omitempty"`
	ImagePullSecrets []Name `json:"imagePullSecrets,omitempty"`
}

type Name struct {
	Name string `json:"name"`
}

type Bucket struct {
	Name            string      `json:"name"`
	Endpoint        string      `json:"endpoint,omitempty"`
	AllowHTTP       bool        `json:"allowHTTP,omitempty"`
	Region          string      `json:"region,omitempty"`
	StorageAccount  string      `json:"storageAccount,omitempty"`
	CredentialsFrom Credentials `json:"credentialsFrom,omitempty"`
}

type Credentials struct {
	IAMRole           string `json:"iamRole,omitempty"`
	SecretRef         string `json:"secretRef,omitempty"`
	AzureClientID     string `json:"azureClientID,omitempty"`
	GCPServiceAccount string `json:"gcpServiceAccount,omitempty"`
}

type Resources struct {
	CPUMillis          *int32 `json:"cpuMillis,omitempty"`
	MemoryGi           *int32 `json:"memoryGi,omitempty"`
	EphemeralStorageGi *int32 `json:"ephemeralStorageGi,omitempty"`
	MaxResidentCells   *int32 `json:"maxResidentCells,omitempty"`
	IdleEvictSeconds   *int32 `json:"idleEvictSeconds,omitempty"`
}

type Storage struct {
	SizeGi           *int32 `json:"sizeGi,omitempty"`
	StorageClassName string `json:"storageClassName,omitempty"`
}

type Scheduling struct {
	NodeSelector      map[string]string `json:"nodeSelector,omitempty"`
	SpreadAcrossZones bool              `json:"spreadAcrossZones,omitempty"`
	PriorityClassName string            `json:"priorityClassName,omitempty"`
}

type Service struct {
	Type        string            `json:"type,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type SecretRef struct {
	SecretRef string `json:"secretRef,omitempty"`
}

type Env struct {
	Name         string `json:"name"`
	Value        string `json:"value,omitempty"`
	SecretKeyRef *struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"secretKeyRef,omitempty"`
}

type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	CelldVersions      []string           `json:"celldVersions,omitempty"`
	URL                string             `json:"url,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Fleet              struct {
		Replicas int32 `json:"replicas"`
		Ready    int32 `json:"ready"`
		Updated  int32 `json:"updated"`
	} `json:"fleet,omitempty"`
}

// DeepCopyObject makes it a runtime.Object; nothing here copies one.
func (w *WorkerApp) DeepCopyObject() runtime.Object {
	c := *w
	return &c
}
