{{/*
The names are those that the chart aws-load-balancer-controller gives, whatever this chart is called, so that
an upgrade of its release changes objects in place. They are part of the compatibility contract.
*/}}

{{- define "fulcrum.name" -}}
{{- default "aws-load-balancer-controller" .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fulcrum.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default "aws-load-balancer-controller" .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The beginning of the names of webhook objects. It does not contain the release. */}}
{{- define "fulcrum.prefix" -}}
{{- default "aws-load-balancer" .Values.nameOverride | trunc 42 | trimSuffix "-" -}}
{{- end -}}

{{- define "fulcrum.container" -}}aws-load-balancer-controller{{- end -}}

{{- define "fulcrum.webhookService" -}}{{ include "fulcrum.prefix" . }}-webhook-service{{- end -}}

{{- define "fulcrum.tlsSecret" -}}{{ include "fulcrum.prefix" . }}-tls{{- end -}}

{{- define "fulcrum.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fulcrum.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fulcrum.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fulcrum.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "fulcrum.labels" -}}
{{- if eq (default "helm" .Values.creator) "helm" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ end -}}
{{ include "fulcrum.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A number or text of a value as a flag shows it: no exponent in large whole numbers. */}}
{{- define "fulcrum.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ printf "%.0f" . }}{{- else -}}{{ toString . }}{{- end -}}
{{- end -}}

{{/*
key=value pairs, sorted, with commas between them; a pair that contains one is quoted as in CSV. The flag does not read a
single pair as CSV, unless its value contains an equals sign.
*/}}
{{- define "fulcrum.pairs" -}}
{{- $pairs := list -}}
{{- $map := . -}}
{{- range $key := keys . | sortAlpha -}}
{{- $value := get $map $key -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $pair := printf "%s=%s" $key (include "fulcrum.text" $value) -}}
{{- if and (or (gt (len $map) 1) (contains "=" (include "fulcrum.text" $value))) (or (contains "," $pair) (contains "\"" $pair)) -}}
{{- $pair = printf "\"%s\"" (replace "\"" "\"\"" $pair) -}}
{{- end -}}
{{- $pairs = append $pairs $pair -}}
{{- end -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/* The arguments of the controller, as a YAML list. files/flags.yaml is the table. */}}
{{- define "fulcrum.args" -}}
{{- $root := . -}}
{{- $args := list -}}
{{- range fromYamlArray (.Files.Get "files/flags.yaml") -}}
{{- $row := . -}}
{{- $value := $root.Values -}}
{{- range splitList "." .value -}}
{{- $value = get (default dict $value) . -}}
{{- end -}}
{{- $kind := default "text" .kind -}}
{{- if and (eq $kind "onoff") (kindIs "bool" $value) -}}
{{- $value = ternary "on" "off" $value -}}
{{- end -}}
{{- if eq $kind "bool" -}}
{{- if kindIs "bool" $value -}}
{{- $args = append $args (printf "--%s=%t" .flag $value) -}}
{{- end -}}
{{- else if $value -}}
{{- $text := "" -}}
{{- if kindIs "map" $value -}}
{{- $text = include "fulcrum.pairs" $value -}}
{{- else if kindIs "slice" $value -}}
{{- $text = join "," $value -}}
{{- else -}}
{{- $text = tpl (include "fulcrum.text" $value) $root -}}
{{- end -}}
{{- if and $text (ne $text (default "" .except)) -}}
{{- $args = append $args (printf "--%s=%s" .flag $text) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .Values.nameOverride -}}
{{- $args = append $args (printf "--webhook-name-prefix=%s" (include "fulcrum.prefix" .)) -}}
{{- end -}}
{{- with .Values.extraArgs -}}
{{- if kindIs "map" . -}}
{{- $map := . -}}
{{- range keys . | sortAlpha -}}
{{- $args = append $args (printf "--%s=%s" . (include "fulcrum.text" (get $map .))) -}}
{{- end -}}
{{- else -}}
{{- $args = concat $args . -}}
{{- end -}}
{{- end -}}
{{- toYaml $args -}}
{{- end -}}

{{/* The port of an address such as :8080 or [::1]:8080; nothing for 0, which switches it off. */}}
{{- define "fulcrum.port" -}}
{{- $address := toString . -}}
{{- if ne $address "0" -}}{{ regexFind "[0-9]+$" $address }}{{- end -}}
{{- end -}}

{{- define "fulcrum.metricsPort" -}}
{{- include "fulcrum.port" (default ":8080" .Values.metricsBindAddr) -}}
{{- end -}}

{{/* "true" if a feature gate is on, given as a boolean or as any text that the flag takes. */}}
{{- define "fulcrum.gate" -}}
{{- $value := get (default dict .root.Values.controllerConfig.featureGates) .gate -}}
{{- if has (toString $value | lower) (list "true" "t" "1") -}}true{{- end -}}
{{- end -}}

{{/*
Where the certificate of the webhooks comes from, as YAML:
  mode: cert-manager  cert-manager makes it
        given         it is in the values webhookTLS
        kept          the Secret that exists goes on being used
        own           the controller makes and replaces it; nothing is mounted
  render: whether the Secret is an object of this release
  ca, cert, key: in base64
*/}}
{{- define "fulcrum.certificate" -}}
{{- $tls := .Values.webhookTLS -}}
{{- if .Values.enableCertManager -}}
mode: cert-manager
{{- else if and $tls.caCert $tls.cert $tls.key -}}
mode: given
render: true
ca: {{ b64enc $tls.caCert }}
cert: {{ b64enc $tls.cert }}
key: {{ b64enc $tls.key }}
{{- else -}}
{{- $found := dict -}}
{{- if .Values.keepTLSSecret -}}
{{- $found = lookup "v1" "Secret" .Release.Namespace (include "fulcrum.tlsSecret" .) | default dict -}}
{{- end -}}
{{- $data := get $found "data" | default dict -}}
{{- $meta := get $found "metadata" | default dict -}}
{{- $by := get (get $meta "labels" | default dict) "app.kubernetes.io/managed-by" -}}
{{- if and (ne $by "fulcrum") (get $data "ca.crt") (get $data "tls.crt") (get $data "tls.key") -}}
mode: kept
render: {{ eq (get (get $meta "annotations" | default dict) "meta.helm.sh/release-name") .Release.Name }}
ca: {{ get $data "ca.crt" }}
cert: {{ get $data "tls.crt" }}
key: {{ get $data "tls.key" }}
{{- else -}}
mode: own
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "fulcrum.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else if .Values.configureDefaultAffinity -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        labelSelector:
          matchExpressions:
            - key: app.kubernetes.io/name
              operator: In
              values:
                - {{ include "fulcrum.name" . }}
        topologyKey: kubernetes.io/hostname
{{- end -}}
{{- end -}}
