"""Does what a cluster would do with objects of Kubernetes: lays out volumes and runs the containers' commands as processes.

Usage: pods.py FILE.yaml FOLDER PROGRAM; claims are folders in FOLDER.
"""

import base64
import os
import re
import socket
import subprocess
import sys

import yaml


def main(path, folder, program):
    objects = list(yaml.safe_load_all(open(path)))
    named = {(it["kind"], it["metadata"]["name"]): it for it in objects}
    assert len(named) == len(objects), "two objects have the same name"
    ports = {name: free_port() for kind, name in named if kind == "Service"}
    pods = []
    for job in (it for it in objects if it["kind"] == "Job"):
        spec = job["spec"]
        assert spec.get("completionMode") == "Indexed" or "completions" not in spec
        for index in range(spec.get("completions", 1)):
            pods.append((f"{job['metadata']['name']}-{index}", start(job, index, named, ports, folder, program)))
    failed = [name for name, pod in pods if pod.wait() != 0]
    assert not failed, f"failed: {failed}"


def start(job, index, named, ports, folder, program):
    name = f"{job['metadata']['name']}-{index}"
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {volume["name"]: lay_out(volume, named, folder, name) for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
    assert len(mounts) == len(volumes), "a volume is not mounted"
    annotations = {"metadata.annotations['batch.kubernetes.io/job-completion-index']": str(index)}
    env = {it["name"]: annotations[it["valueFrom"]["fieldRef"]["fieldPath"]] for it in container.get("env", [])}

    def word(text):
        # As Kubernetes does: $(NAME), and $$ for a dollar.
        text = re.sub(r"\$\((\w+)\)|\$\$", lambda m: env[m[1]] if m[1] else "$", text)
        for mount, place in mounts.items():
            if text == mount or text.startswith(mount + "/"):
                return place + text[len(mount) :]
        for service, port in ports.items():
            inner = named["Service", service]["spec"]["ports"][0]["port"]
            if text in (f"{service}:{inner}", f"0.0.0.0:{inner}"):
                return f"127.0.0.1:{port}"
        return text

    command = [word(text) for text in container["command"]]
    assert command[0] == "/hansa"
    return subprocess.Popen([program, *command[1:]], cwd="/", stdin=subprocess.DEVNULL)


def lay_out(volume, named, folder, pod):
    if "persistentVolumeClaim" in volume:
        place = os.path.join(folder, volume["persistentVolumeClaim"]["claimName"])
        os.makedirs(place, exist_ok=True)
        return place
    place = os.path.join(folder, "pods", pod, volume["name"])
    if "secret" in volume:
        content = named["Secret", volume["secret"]["secretName"]]["stringData"]
        files = {name: text.encode() for name, text in content.items()}
    else:
        it = named["ConfigMap", volume["configMap"]["name"]]
        data = {key: text.encode() for key, text in it.get("data", {}).items()}
        data |= {key: base64.b64decode(text) for key, text in it.get("binaryData", {}).items()}
        files = {item["path"]: data[item["key"]] for item in volume["configMap"]["items"]}
    for path, content in files.items():
        whole = os.path.join(place, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as file:
            file.write(content)
    return place


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


main(*sys.argv[1:])
