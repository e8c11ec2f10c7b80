# Reads a CustomResourceDefinition as JSON; writes one line `PATH<tab>VALUE` per value that an accepted sample must hold: every
# choice, every bound of a number, and for every optional string the empty one. `PATH<tab>*` asks for any value.
def values($path; $optional):
	(.enum // [] | .[] | "\($path)\t\(.)"),
	(.minimum, .maximum | numbers | "\($path)\t\(.)"),
	(if .pattern or (.["x-kubernetes-validations"] and .type == "string") then "\($path)\t*" else empty end),
	(if .type == "string" and $optional then "\($path)\t" else empty end),
	(.required // []) as $required
	| ((.properties // {}) | to_entries[] | select($path != "" or .key == "spec") | .key as $key
		| .value | values("\($path).\($key)" | ltrimstr("."); [$key] - $required != [])),
	(.items | objects | values($path + "[]"; false)),
	(.additionalProperties | objects | values($path + ".*"; false));

.spec.versions[] | .schema.openAPIV3Schema | values(""; false)
