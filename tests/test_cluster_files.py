"""Deployment files (Dockerfile, Compose, KubeRay): names, ports and versions match the code."""

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
# Read by uvicorn, Python and Ray.
NON_HEADLIGHT_VARIABLES = {"FORWARDED_ALLOW_IPS", "PYTHONPATH", "RAY_USAGE_STATS_ENABLED"}
SERVICES: dict[str, Any] = COMPOSE["services"]
PAGES = ("page-1", "page-2")


def kubernetes_object(kind: str, name: str) -> dict[str, Any]:
    (match,) = [manifest for manifest in KUBERAY if (manifest["kind"], manifest["metadata"]["name"]) == (kind, name)]
    return dict(match)


def containers(workload: dict[str, Any]) -> list[dict[str, Any]]:
    return list(workload["template"]["spec"]["containers"])


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}


RAY = kubernetes_object("RayService", "headlight")["spec"]
HEAD, *WORKERS = [RAY["rayClusterConfig"]["headGroupSpec"], *RAY["rayClusterConfig"]["workerGroupSpecs"]]
KUBE_PAGE = containers(kubernetes_object("Deployment", "headlight-page")["spec"])[0]


@pytest.mark.parametrize(
    "variables",
    [
        *(SERVICES[name]["environment"] for name in (*PAGES, "ray")),
        environment(KUBE_PAGE),
        *(environment(each) for group in (HEAD, *WORKERS) for each in containers(group)),
    ],
)
def test_environment_variables_are_known_settings(variables: dict[str, str]) -> None:
    assert set(variables) - NON_HEADLIGHT_VARIABLES <= {setting.name for setting in SETTINGS}
    assert all(isinstance(value, str) for value in variables.values())
    settings = read_settings(variables)
    assert settings.models == ()  # each process has its own disk: a model that one downloads is missing on the others


@pytest.mark.parametrize("variables", [*(SERVICES[name]["environment"] for name in PAGES), environment(KUBE_PAGE)])
def test_page_uses_cluster_and_shared_cache(variables: dict[str, str]) -> None:
    settings = read_settings(variables)
    assert (settings.backend, settings.metrics_port, settings.log) == ("ray", 9090, "json")
    assert settings.metrics_host == "0.0.0.0"  # noqa: S104 - the balancer and the probes are other machines
    host, port = re.fullmatch(r"http://([a-z-]+):(\d+)", settings.ray_address).groups()  # type: ignore[union-attr]
    cache = re.fullmatch(r"redis://([a-z-]+):6379/0", settings.cache_url)[1]  # type: ignore[index]
    if variables is SERVICES["page-1"]["environment"]:
        assert {host, cache} <= set(SERVICES)
    if variables == environment(KUBE_PAGE):
        assert host == "headlight-serve-svc"  # the name that KubeRay gives the service of a RayService
        assert kubernetes_object("Service", cache)
    assert int(port) == serve_command.PORT


def test_ports_match_load_balancer_and_probes() -> None:
    assert "EXPOSE 7860" in DOCKERFILE
    assert "HEADLIGHT_PORT=7860" in DOCKERFILE
    upstreams = re.search(r"reverse_proxy (.*) \{", CADDYFILE)
    assert upstreams is not None
    assert upstreams[1].split() == [f"{name}:7860" for name in PAGES]
    assert "lb_policy cookie" in CADDYFILE  # requests of one visitor go to one page process
    assert re.search(r"health_port (\d+)", CADDYFILE)[1] == SERVICES["page-1"]["environment"]["HEADLIGHT_METRICS_PORT"]  # type: ignore[index]
    assert "health_uri /ready" in CADDYFILE
    assert CADDYFILE.count("{") == CADDYFILE.count("}")
    ports = {each["name"]: each["containerPort"] for each in KUBE_PAGE["ports"]}
    assert ports == {"page": 7860, "metrics": 9090}
    assert KUBE_PAGE["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "metrics"}
    assert KUBE_PAGE["livenessProbe"]["httpGet"] == {"path": "/health", "port": "metrics"}
    service = kubernetes_object("Service", "headlight-page")["spec"]
    assert service["sessionAffinity"] == "ClientIP"
    assert service["ports"] == [{"port": 80, "targetPort": "page"}]


def test_referenced_files_and_services_exist() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        for volume in service.get("volumes", ()):
            assert (FOLDER / volume.partition(":")[0]).exists()
        if "build" in service:
            assert (FOLDER / service["build"]["context"]).resolve() == ROOT
            assert all(f'ARG {argument}=""' in DOCKERFILE for argument in service["build"]["args"])
            assert name in (*PAGES, "ray")
    copy_sources = [
        source for line in re.findall(r"^COPY (.*)$", DOCKERFILE, flags=re.MULTILINE) for source in line.split()[:-1]
    ]
    assert all((ROOT / source).exists() for source in copy_sources if not source.startswith("--"))
    images = {each["image"] for group in (HEAD, *WORKERS) for each in containers(group)} | {KUBE_PAGE["image"]}
    assert images == {f"{SERVICES['ray']['image']}:latest"}


def test_ray_container_runs_serve_command() -> None:
    *python, name = SERVICES["ray"]["command"][:4]
    assert (python, name) == (["python", "-m", "headlight"], "serve")
    parser = argparse.ArgumentParser()
    serve_command.add(parser)
    arguments = parser.parse_args(SERVICES["ray"]["command"][4:])
    assert (arguments.cluster, arguments.host, arguments.port) == (True, "0.0.0.0", serve_command.PORT)  # noqa: S104
    assert serve_command.parse_replicas(arguments.replicas) == (1, 4)


def test_image_package_versions_match_tested_versions() -> None:
    def pins(path: Path) -> dict[str, str]:
        lines = (line.partition("#")[0].partition(";")[0].strip() for line in path.read_text().splitlines())
        versions = dict(line.split("==") for line in lines if "==" in line)
        return {re.sub(r"\[.*\]", "", name): version for name, version in versions.items()}

    tested, installed = pins(ROOT / "requirements-dev.txt"), pins(FOLDER / "requirements.txt")
    assert installed.items() <= tested.items()
    assert set(installed) == {"ray", "valkey", "prometheus-client"}
    assert RAY["rayClusterConfig"]["rayVersion"] == installed["ray"]


@pytest.mark.slow
def test_ray_serve_accepts_application_config() -> None:
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, which validates the manifest")
    check = """
import json, sys
from importlib import import_module
from ray.serve.schema import ServeDeploySchema
values = json.load(sys.stdin)
config = ServeDeploySchema.model_validate(values)
(application,) = config.applications
module, name = application.import_path.split(":")
deployment = getattr(import_module(module), name)
assert [each.name for each in application.deployments] == [deployment._bound_deployment.name]
assert config.http_options.port == 8000
print("accepted")
"""
    values = yaml.safe_load(RAY["serveConfigV2"])
    variables = {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.run(
        [sys.executable, "-c", check],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        cwd=ROOT,
    )
    assert process.stdout.splitlines()[-1:] == ["accepted"], process.stderr[-2000:]
    assert values["http_options"]["port"] == serve_command.PORT
    (deployment,) = values["applications"][0]["deployments"]
    cores = sum(group["maxReplicas"] * 4 for group in RAY["rayClusterConfig"]["workerGroupSpecs"])
    assert deployment["autoscaling_config"]["max_replicas"] <= cores  # one core each


def test_docker_compose_accepts_compose_file() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the containers need Linux")
    plugin = ["docker", "compose"]
    if shutil.which("docker") is None or subprocess.run([*plugin, "version"], capture_output=True).returncode:
        plugin = ["docker-compose"]
        if shutil.which(plugin[0]) is None:
            pytest.skip("Docker Compose is not installed, which validates compose.yaml")
    command = [*plugin, "--file", str(FOLDER / "compose.yaml"), "config", "--format", "json"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    services = json.loads(process.stdout)["services"]
    assert set(services) == set(SERVICES)
    assert services["page-2"]["environment"] == SERVICES["page-2"]["environment"]


# The fields of KubeRay 1.6 for a RayService, its cluster and its groups; it ignores unknown fields silently.
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


def test_kuberay_manifest_has_only_known_fields() -> None:
    sections = {"service": [RAY], "cluster": [RAY["rayClusterConfig"]], "head": [HEAD], "worker": WORKERS}
    for part, section in sections.items():
        assert all(set(each) <= KUBERAY_FIELDS[part] for each in section)
    assert RAY["rayClusterConfig"]["authOptions"] in ({"mode": "token"}, {"mode": "disabled"})
    for group in (HEAD, *WORKERS):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())  # KubeRay rejects numbers


def test_manifests_match_kubernetes_schemas() -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": group["template"]["spec"]}
        for group in (HEAD, *WORKERS)
    ]
    kubernetes_objects = [each for each in KUBERAY if each["kind"] != "RayService"]
    assert len(pods) + len(kubernetes_objects) == 6
    for each in (*pods, *kubernetes_objects):
        kubernetes_validate.validate(each, "1.33", strict=True)


@pytest.mark.slow
def test_ray_autoscaler_reads_worker_limits_from_manifest() -> None:
    pytest.importorskip("ray", reason="Ray is not installed, whose autoscaler reads the manifest")
    check = """
import json, sys
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr as derive
resource = {"metadata": {"namespace": "default", "name": "headlight"}, "spec": json.load(sys.stdin)}
print(json.dumps(derive(resource)["available_node_types"]))
"""
    process = subprocess.run(
        [sys.executable, "-c", check],
        input=json.dumps(RAY["rayClusterConfig"]),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    node_types = json.loads(process.stdout.splitlines()[-1])
    assert node_types["headgroup"]["resources"]["CPU"] == 0  # replicas run on workers only
    assert (node_types["answers"]["min_workers"], node_types["answers"]["max_workers"]) == (1, 8)
    assert node_types["answers"]["resources"]["CPU"] == 4


@pytest.mark.parametrize("text", ["", "0", "4-1", "1-2-3", "many", "1-", "-2", "²"])
def test_invalid_replica_counts_are_rejected(text: str) -> None:
    with pytest.raises(Exception, match="--replicas is"):
        serve_command.parse_replicas(text)
    assert serve_command.parse_replicas("2") == (2, 2)


def test_cluster_page_has_higher_concurrency_than_default() -> None:
    settings = read_settings(SERVICES["page-1"]["environment"])
    assert settings.concurrency > Settings().concurrency
