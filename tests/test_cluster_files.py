"""The files that start several machines: what they name is there, in our settings, commands, ports and packages."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from headlight.viz import serve_command
from headlight.viz.settings import SETTINGS, Settings, read_settings

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "cluster"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
CADDYFILE = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
KUBERAY = list(yaml.safe_load_all((FOLDER / "kuberay.yaml").read_text(encoding="utf-8")))
OTHERS = {"FORWARDED_ALLOW_IPS", "PYTHONPATH", "RAY_USAGE_STATS_ENABLED"}  # of uvicorn, Python and Ray
SERVICES: dict[str, Any] = COMPOSE["services"]
PAGES = ("page-1", "page-2")


def of_kind(kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in KUBERAY if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return dict(found)


def containers(found: dict[str, Any]) -> list[dict[str, Any]]:
    return list(found["template"]["spec"]["containers"])


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}


RAY = of_kind("RayService", "headlight")["spec"]
HEAD, *WORKERS = [RAY["rayClusterConfig"]["headGroupSpec"], *RAY["rayClusterConfig"]["workerGroupSpecs"]]
KUBE_PAGE = containers(of_kind("Deployment", "headlight-page")["spec"])[0]


@pytest.mark.parametrize(
    "variables",
    [
        *(SERVICES[name]["environment"] for name in (*PAGES, "ray")),
        environment(KUBE_PAGE),
        *(environment(each) for group in (HEAD, *WORKERS) for each in containers(group)),
    ],
)
def test_each_variable_is_one_that_somebody_reads(variables: dict[str, str]) -> None:
    assert set(variables) - OTHERS <= {setting.name for setting in SETTINGS}
    assert all(isinstance(value, str) for value in variables.values())
    settings = read_settings(variables)
    assert settings.models == ()  # what one process fetches, no other finds


@pytest.mark.parametrize("variables", [*(SERVICES[name]["environment"] for name in PAGES), environment(KUBE_PAGE)])
def test_pages_ask_the_cluster_and_share_answers(variables: dict[str, str]) -> None:
    settings = read_settings(variables)
    assert (settings.backend, settings.metrics_port, settings.log) == ("ray", 9090, "json")
    host, port = re.fullmatch(r"http://([a-z-]+):(\d+)", settings.ray_address).groups()  # type: ignore[union-attr]
    cache = re.fullmatch(r"redis://([a-z-]+):6379/0", settings.cache_url)[1]  # type: ignore[index]
    if variables is SERVICES["page-1"]["environment"]:
        assert {host, cache} <= set(SERVICES)
    if variables == environment(KUBE_PAGE):
        assert host == "headlight-serve-svc"  # as KubeRay calls the service of a RayService
        assert of_kind("Service", cache)
    assert int(port) == serve_command.PORT


def test_the_image_serves_where_the_balancer_and_the_probes_ask() -> None:
    assert "EXPOSE 7860" in DOCKERFILE
    assert "HEADLIGHT_PORT=7860" in DOCKERFILE
    upstreams = re.search(r"reverse_proxy (.*) \{", CADDYFILE)
    assert upstreams is not None
    assert upstreams[1].split() == [f"{name}:7860" for name in PAGES]
    assert "lb_policy cookie" in CADDYFILE  # sticky
    assert re.search(r"health_port (\d+)", CADDYFILE)[1] == SERVICES["page-1"]["environment"]["HEADLIGHT_METRICS_PORT"]  # type: ignore[index]
    assert "health_uri /ready" in CADDYFILE
    assert CADDYFILE.count("{") == CADDYFILE.count("}")
    ports = {each["name"]: each["containerPort"] for each in KUBE_PAGE["ports"]}
    assert ports == {"page": 7860, "metrics": 9090}
    assert KUBE_PAGE["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "metrics"}
    assert KUBE_PAGE["livenessProbe"]["httpGet"] == {"path": "/health", "port": "metrics"}
    service = of_kind("Service", "headlight-page")["spec"]
    assert service["sessionAffinity"] == "ClientIP"
    assert service["ports"] == [{"port": 80, "targetPort": "page"}]


def test_every_file_and_service_that_is_named_is_there() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        for volume in service.get("volumes", ()):
            assert (FOLDER / volume.partition(":")[0]).exists()
        if "build" in service:
            assert (FOLDER / service["build"]["context"]).resolve() == ROOT
            assert all(f'ARG {argument}=""' in DOCKERFILE for argument in service["build"]["args"])
            assert name in (*PAGES, "ray")
    copied = [word for line in re.findall(r"^COPY (.*)$", DOCKERFILE, flags=re.MULTILINE) for word in line.split()[:-1]]
    assert all((ROOT / word).exists() for word in copied if not word.startswith("--"))
    images = {each["image"] for group in (HEAD, *WORKERS) for each in containers(group)} | {KUBE_PAGE["image"]}
    assert images == {f"{SERVICES['ray']['image']}:latest"}


def test_the_command_of_the_machines_is_ours() -> None:
    *python, name = SERVICES["ray"]["command"][:4]
    assert (python, name) == (["python", "-m", "headlight"], "serve")
    parser = argparse.ArgumentParser()
    serve_command.add(parser)
    given = parser.parse_args(SERVICES["ray"]["command"][4:])
    assert (given.cluster, given.host, given.port) == (True, "0.0.0.0", serve_command.PORT)  # noqa: S104
    assert serve_command.parse_replicas(given.replicas) == (1, 4)


def test_the_image_of_a_cluster_has_the_packages_that_are_tested() -> None:
    def pins(path: Path) -> dict[str, str]:
        lines = (line.partition("#")[0].partition(";")[0].strip() for line in path.read_text().splitlines())
        found = dict(line.split("==") for line in lines if "==" in line)
        return {re.sub(r"\[.*\]", "", name): version for name, version in found.items()}

    tested, installed = pins(ROOT / "requirements-dev.txt"), pins(FOLDER / "requirements.txt")
    assert installed.items() <= tested.items()
    assert set(installed) == {"ray", "valkey", "prometheus-client"}
    assert RAY["rayClusterConfig"]["rayVersion"] == installed["ray"]


@pytest.mark.slow
def test_ray_takes_the_application_as_the_manifest_describes_it() -> None:
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, so its own check of the manifest is left out")
    check = """
import json, sys
from importlib import import_module
from ray.serve.schema import ServeDeploySchema
values = json.load(sys.stdin)
found = ServeDeploySchema.model_validate(values)
(application,) = found.applications
module, name = application.import_path.split(":")
made = getattr(import_module(module), name)
assert [each.name for each in application.deployments] == [made._bound_deployment.name]
assert found.http_options.port == 8000
print("taken")
"""
    values = yaml.safe_load(RAY["serveConfigV2"])
    own = {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", check],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **own},
        cwd=ROOT,
    )
    assert done.stdout.splitlines()[-1:] == ["taken"], done.stderr[-2000:]
    assert values["http_options"]["port"] == serve_command.PORT
    (answers,) = values["applications"][0]["deployments"]
    cores = sum(group["maxReplicas"] * 4 for group in RAY["rayClusterConfig"]["workerGroupSpecs"])
    assert answers["autoscaling_config"]["max_replicas"] <= cores  # one core each


def test_compose_itself_reads_its_file_where_it_is_installed() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the containers are Linux's")
    plugin = ["docker", "compose"]
    if shutil.which("docker") is None or subprocess.run([*plugin, "version"], capture_output=True).returncode:
        plugin = ["docker-compose"]
        if shutil.which(plugin[0]) is None:
            pytest.skip("Docker Compose is not installed, so its own check of compose.yaml is left out")
    command = [*plugin, "--file", str(FOLDER / "compose.yaml"), "config", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    services = json.loads(done.stdout)["services"]
    assert set(services) == set(SERVICES)
    assert services["page-2"]["environment"] == SERVICES["page-2"]["environment"]


# What KubeRay 1.6 takes of a RayService, its cluster and its groups; anything else it would drop without a word.
KUBERAY_FIELDS = {
    "service": {"serveConfigV2", "rayClusterConfig", "serveService", "upgradeStrategy", "excludeHeadPodFromServeSvc"},
    "cluster": {
        "rayVersion", "headGroupSpec", "workerGroupSpecs", "enableInTreeAutoscaling", "autoscalerOptions",
        "authOptions", "headServiceAnnotations", "gcsFaultToleranceOptions", "upgradeStrategy", "managedBy", "suspend",
    },
    "head": {"rayStartParams", "template", "serviceType", "headService", "enableIngress", "resources", "labels"},
    "worker": {
        "groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds", "rayStartParams",
        "template", "scaleStrategy", "suspend", "resources", "labels",
    },
}  # fmt: skip


def test_kuberay_knows_every_field_of_the_manifest() -> None:
    given = {"service": [RAY], "cluster": [RAY["rayClusterConfig"]], "head": [HEAD], "worker": WORKERS}
    for part, found in given.items():
        assert all(set(each) <= KUBERAY_FIELDS[part] for each in found)
    assert RAY["rayClusterConfig"]["authOptions"] in ({"mode": "token"}, {"mode": "disabled"})
    for group in (HEAD, *WORKERS):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())  # numbers are refused


def test_kubernetes_own_schemas_fit_all_but_the_service_of_ray() -> None:
    checked = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": group["template"]["spec"]}
        for group in (HEAD, *WORKERS)
    ]
    others = [each for each in KUBERAY if each["kind"] != "RayService"]
    assert len(pods) + len(others) == 6
    for each in (*pods, *others):
        checked.validate(each, "1.33", strict=True)


def test_rays_autoscaler_reads_from_the_manifest_how_many_machines_there_may_be() -> None:
    pytest.importorskip("ray", reason="Ray is not installed, so its autoscaler does not read the manifest")
    check = """
import json, sys
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr as derive
given = {"metadata": {"namespace": "default", "name": "headlight"}, "spec": json.load(sys.stdin)}
print(json.dumps(derive(given)["available_node_types"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", check],
        input=json.dumps(RAY["rayClusterConfig"]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["headgroup"]["resources"]["CPU"] == 0  # no replica takes the head's place
    assert (found["answers"]["min_workers"], found["answers"]["max_workers"]) == (1, 8)
    assert found["answers"]["resources"]["CPU"] == 4


@pytest.mark.parametrize("text", ["", "0", "4-1", "1-2-3", "many", "1-", "-2", "²"])
def test_replicas_that_cannot_be_are_refused_in_words(text: str) -> None:
    with pytest.raises(Exception, match="--replicas is"):
        serve_command.parse_replicas(text)
    assert serve_command.parse_replicas("2") == (2, 2)


def test_a_page_with_a_cluster_waits_for_more_at_once_than_one_that_computes() -> None:
    found = read_settings(SERVICES["page-1"]["environment"])
    assert found.concurrency > Settings().concurrency
