"""Public schemas of files that others read: JUnit as Jenkins takes it, GitHub's workflows, GitLab's jobs.

They are not ours and not kept here: pinned packages carry them (schemas.d), which are fetched from the package registry once, into
build/peers/schemas-PINS, with what validates by them."""
import glob
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile

import environment

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas.d")
TOOLS, CARRIERS = (os.path.join(HERE, name) for name in ("requirements.txt", "schemas.txt"))
FILES = {"github": ("check_jsonschema-*.whl", "check_jsonschema/builtin_schemas/vendor/github-workflows.json"),
         "gitlab": ("check_jsonschema-*.whl", "check_jsonschema/builtin_schemas/vendor/gitlab-ci.json"),
         "junit": ("pytest-*.tar.gz", "testing/example_scripts/junit-10.xsd")}


# ---- in the environment ----

def fetch(home):
    """The schemas' files in home, taken out of the packages that carry them; what went wrong."""
    if all(os.path.exists(os.path.join(home, kind)) for kind in FILES):
        return ""
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "--no-build-isolation", "--no-binary",
             "pytest", "--disable-pip-version-check", "-d", home, "-r", CARRIERS]
    done, why = environment.fetch(words)
    if not done:
        return f"the schemas are not to be had: {why}"
    for kind, (package, name) in FILES.items():
        path = glob.glob(os.path.join(home, package))[0]
        if path.endswith(".whl"):
            with zipfile.ZipFile(path) as z:
                data = z.read(name)
        else:
            with tarfile.open(path) as t:
                data = t.extractfile(os.path.basename(path)[:-len(".tar.gz")] + "/" + name).read()
        with open(os.path.join(home, kind), "wb") as f:
            f.write(data)
    return ""


def fault_of(home, kind, path):
    """What the schema says against a file; None = nothing."""
    if kind == "junit":
        import xmlschema
        try:
            xmlschema.XMLSchema10(os.path.join(home, kind)).validate(path)
        except (xmlschema.XMLSchemaException, SyntaxError) as e:
            return str(e).strip().splitlines()[0]
        return None
    import jsonschema
    with open(os.path.join(home, kind), encoding="utf-8") as f:
        check = jsonschema.Draft7Validator(json.load(f))
    with open(path, encoding="utf-8") as f:
        fault = jsonschema.exceptions.best_match(check.iter_errors(json.load(f)))
    return f"{fault.json_path}: {fault.message[:200]}" if fault else None


def main():
    home, faults = sys.argv[1], []
    why = fetch(home)
    if why:
        print(why)
        return 2
    for pair in sys.argv[2:]:
        kind, path = pair.split("=", 1)
        fault = fault_of(home, kind, path)
        faults += [f"{path}: against the public schema for {kind}: {fault}"] if fault else []
    print("\n".join(faults))
    return 1 if faults else 0


# ---- for the tests ----

def findings(files):
    """What the schemas say against files: [(kind, path)], those of github and gitlab as JSON. None: they are not to be had,
    which with CI=true is a finding."""
    digest = hashlib.sha256()
    for path in (TOOLS, CARRIERS):
        with open(path, "rb") as f:
            digest.update(f.read())
    name = "schemas-" + digest.hexdigest()[:12]
    python, why = environment.python_of(name, ["--no-deps", "--require-hashes", "-r", TOOLS])
    if python is not None:
        words = [python, os.path.abspath(__file__), os.path.dirname(os.path.dirname(python))]
        done = subprocess.run(words + [f"{kind}={path}" for kind, path in files], capture_output=True, text=True)
        if done.returncode < 2:
            print(f"public schemas: {len(files)} files checked")
            return [line for line in done.stdout.splitlines() if line]
        why = done.stdout.strip() or done.stderr.strip()
    if environment.REQUIRED:
        return [f"public schemas: {why}"]
    print(f"public schemas: not tried: {why}")
    return None


if __name__ == "__main__":
    sys.exit(main())
