#include "controller/desired.h"

/*
 * The cloud's admission webhooks read these at the start of a pod. `iamRole: auto` names no role:
 * whoever provisions one annotates the ServiceAccount, and that annotation is not ours to remove.
 */
static void identity(const struct wa_credentials *from, struct json *object)
{
	struct json *metadata = json_get_mutable(object, "metadata");

	if (!str_empty(from->iam_role) && !str_eq(from->iam_role, "auto"))
		json_set_str(json_object_at(metadata, "annotations"), "eks.amazonaws.com/role-arn",
			     from->iam_role);
	if (!str_empty(from->gcp_service_account))
		json_set_str(json_object_at(metadata, "annotations"),
			     "iam.gke.io/gcp-service-account", from->gcp_service_account);
	if (!str_empty(from->azure_client_id))
		json_set_str(json_object_at(metadata, "annotations"),
			     "azure.workload.identity/client-id", from->azure_client_id);
}

struct json *desired_service_account(const struct desired_input *in)
{
	cleanup(freep) char *name = desired_name(in->app);
	struct json *object = desired_object(in, "v1", "ServiceAccount", name);

	identity(&desired_store(in)->credentials, object);
	json_set_bool(object, "automountServiceAccountToken", false);
	return object;
}
