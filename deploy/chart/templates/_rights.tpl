{{/* Generated from crates/bowline-manager/src/rbac/table.rs by `cargo xtask gen`. Do not edit. */}}

{{- define "bowline.rights.cluster" -}}
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - list
  - watch
  - patch
  - delete
- apiGroups:
  - ""
  resources:
  - services
  verbs:
  - list
  - watch
- apiGroups:
  - ""
  resources:
  - events
  verbs:
  - create
  - patch
- apiGroups:
  - authentication.k8s.io
  resources:
  - tokenreviews
  verbs:
  - create
- apiGroups:
  - authorization.k8s.io
  resources:
  - subjectaccessreviews
  verbs:
  - create
- apiGroups:
  - ""
  resourceNames:
  - kube-system
  resources:
  - namespaces
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - nodes/status
  verbs:
  - patch
- apiGroups:
  - ""
  resources:
  - services/status
  verbs:
  - patch
{{- end }}

{{- define "bowline.rights.lease" -}}
- apiGroups:
  - coordination.k8s.io
  resources:
  - leases
  verbs:
  - create
- apiGroups:
  - coordination.k8s.io
  resourceNames:
  - "{{ .Values.leaderElection.name }}"
  - cloud-provider-extraction-migration
  resources:
  - leases
  verbs:
  - get
  - update
  - watch
- apiGroups:
  - coordination.k8s.io
  resourceNames:
  - "{{ .Values.leaderElection.name }}-ledger"
  resources:
  - leases
  verbs:
  - get
  - update
{{- end }}

{{- define "bowline.rights.system" -}}
- apiGroups:
  - ""
  resourceNames:
  - extension-apiserver-authentication
  resources:
  - configmaps
  verbs:
  - get
{{- end }}

{{- define "bowline.rights.shadow.cluster" -}}
- apiGroups:
  - ""
  resources:
  - nodes
  verbs:
  - list
  - watch
- apiGroups:
  - ""
  resources:
  - services
  verbs:
  - list
  - watch
- apiGroups:
  - authentication.k8s.io
  resources:
  - tokenreviews
  verbs:
  - create
- apiGroups:
  - authorization.k8s.io
  resources:
  - subjectaccessreviews
  verbs:
  - create
- apiGroups:
  - ""
  resourceNames:
  - kube-system
  resources:
  - namespaces
  verbs:
  - get
{{- end }}

{{- define "bowline.rights.shadow.system" -}}
- apiGroups:
  - ""
  resourceNames:
  - extension-apiserver-authentication
  resources:
  - configmaps
  verbs:
  - get
{{- end }}

{{- define "bowline.rights.report" -}}
- apiGroups:
  - ""
  resourceNames:
  - "{{ include `bowline.report` . }}"
  resources:
  - configmaps
  verbs:
  - create
  - patch
{{- end }}
