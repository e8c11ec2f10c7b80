#include "test/lib/fleet_fixture.h"

#include <stdio.h>

#include "test/lib/app_fixture.h"

struct json *fleet_fixture_version(struct json *j, int version)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", version);
	json_set_str(json_object_at(j, "metadata"), "resourceVersion", text);
	return j;
}

struct json *fleet_fixture_pod_of(const char *ns, const char *app, const char *owner,
				  const char *name, const char *ip)
{
	cleanup(freep) char *text = xasprintf(
		"{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'%s','name':'%s','uid':'"
		"uid-%s-%s',"
		"'resourceVersion':'1','labels':{'celld-operator.io/workerapp':'%s',"
		"'controller-revision-hash':'r-1'},'annotations':{'celld-operator.io/"
		"celld-version':'v0.6.2'},"
		"'ownerReferences':[{'kind':'StatefulSet','uid':'%s','controller':true}]},"
		"'spec':{'containers':[{'name':'celld','env':[{'name':'CELLD_MAX_RESIDENT_CELLS','"
		"value':'1000'}]}]},"
		"'status':{'phase':'Running','podIP':'%s','conditions':[{'type':'Ready','status':'"
		"True'}],"
		"'containerStatuses':[{'name':'celld','restartCount':0,'state':{'running':{}}}]}}",
		ns, name, ns, name, app, owner, ip);

	return app_fixture_json(text);
}

struct json *fleet_fixture_pod(const char *name, const char *ip)
{
	return fleet_fixture_pod_of("store", "shop", "s-1", name, ip);
}

struct json *fleet_fixture_sts(const char *ns, const char *app, const char *uid, int replicas,
			       int partition)
{
	cleanup(freep) char *text = xasprintf(
		"{'apiVersion':'apps/"
		"v1','kind':'StatefulSet','metadata':{'namespace':'%s','name':'%s-celld',"
		"'uid':'%s','resourceVersion':'1','generation':1,'labels':{'celld-operator.io/"
		"workerapp':'%s'}},"
		"'spec':{'replicas':%d,'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'"
		"partition':%d}}},"
		"'status':{'observedGeneration':1,'currentRevision':'r-1','updateRevision':'r-1'}}",
		ns, app, uid, app, replicas, partition);

	return app_fixture_json(text);
}

struct json *fleet_fixture_app(const char *ns, const char *app, const char *phase)
{
	cleanup(freep) char *text = xasprintf(
		"{'apiVersion':'celld-operator.io/"
		"v1alpha1','kind':'WorkerApp','metadata':{'namespace':'%s',"
		"'name':'%s','uid':'app-%s','resourceVersion':'1'},'spec':{'appVersion':'v1'},"
		"'status':{'phase':'%s'}}",
		ns, app, app, phase);

	return app_fixture_json(text);
}
