"""Installs PyTorch for CPUs alone into the environment of the Python that runs this, from its wheel on PyPI.

That wheel is made for CUDA, and wants libraries of CUDA's of several gigabytes, and a library of its own of half of one, as
soon as it is loaded. Its part for CPUs calls none of them. So the large libraries are replaced by small ones that have the
names which are looked for and end the process if anything is called. 540 MB are loaded, 560 MB stay. Wants a C compiler and
`nm`. Does nothing that is done already. On other systems than Linux on x86_64 pip installs the wheel as it is.

    target/python-package/bin/python python/tests/torch_for_cpu.py
"""

import glob
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

VERSION = "2.13.0"
WHEELS = [f"torch=={VERSION}", "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cupti==13.0.85"]
# What its Python sources import.
BESIDE = ["filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions"]
LEFT_OUT = ("torch/include/", "torch/bin/protoc", "torch/lib/libtorch_cuda", "torch/lib/libtorch_nvshmem")
OF_CUDA = ("libcudart.so.13", "libcupti.so.13")
# Called at load time: one gives the place for a function, one makes a default argument, of which the class is looked up.
AT_LOAD = {
    "_ZN4c10d15get_gil_checkerEv": "void *{name}(void) {{ static void *place; return &place; }}",
    "_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb": """
        extern void *_ZTIN4c10d16ProcessGroupNCCL7OptionsE[];
        static void nothing(void) {{}}
        static void *table[] = {{ 0, _ZTIN4c10d16ProcessGroupNCCL7OptionsE, nothing, nothing, nothing, nothing }};
        void {name}(void **self) {{ self[0] = &table[2]; }}
    """,
}
# Replaced whole: nothing calls them but through what is replaced itself.
NAMED_ONLY = ["libcufile.so.0", "libnccl.so.2"]


def main() -> None:
    home = sysconfig.get_path("purelib")
    mark = os.path.join(home, "torch", "complete")
    if os.path.exists(mark) and open(mark).read() == VERSION:
        return
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        # Elsewhere the wheels of PyPI are for CPUs.
        subprocess.run([*pip, "install", f"torch=={VERSION}"], check=True)
        return
    subprocess.run([*pip, "install", *BESIDE], check=True)
    with tempfile.TemporaryDirectory(dir=home) as wheels:
        subprocess.run([*pip, "download", "--no-deps", "--only-binary=:all:", "--dest", wheels, *WHEELS], check=True)
        for wheel in glob.glob(os.path.join(wheels, "*.whl")):
            unpack(wheel, home)
    lib = os.path.join(home, "torch", "lib")
    stand_in(lib, "libtorch_cuda.so", unresolved(lib))
    stand_in(lib, "libcudnn.so.9", wanted_of(lib, "libcudnn.so.9"), version="libcudnn.so.9")
    for name in NAMED_ONLY:
        stand_in(lib, name, [])
    # That it loads is the proof; a symbol that is missing is named by the loader.
    subprocess.run([sys.executable, "-c", "import torch; assert not torch.cuda.is_available()"], check=True)
    with open(mark, "w") as file:
        file.write(VERSION)


def unpack(wheel: str, home: str) -> None:
    with zipfile.ZipFile(wheel) as parts:
        for name in parts.namelist():
            if name.startswith("torch") and not name.startswith(LEFT_OUT) and ".dist-info/" not in name:
                parts.extract(name, home)
            elif name.startswith("nvidia/") and name.endswith(OF_CUDA):
                parts.extract(name, home)


def symbols(library: str, which: str) -> list[str]:
    out = subprocess.run(["nm", "-D", which, library], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in out.splitlines()]


def unresolved(lib: str) -> list[str]:
    """What libtorch_python.so wants and none of the libraries kept has."""
    kept = ["libc10.so", "libc10_cuda.so", "libshm.so", "libtorch_cpu.so", "libtorch_python.so"]
    known = {s.partition("@")[0] for name in kept for s in symbols(os.path.join(lib, name), "--defined-only")}
    wanted = {s for s in symbols(os.path.join(lib, "libtorch_python.so"), "--undefined-only") if "@" not in s}
    ours = ("cuFile", "nccl", "_ZN2at", "_ZNK2at", "_ZN3sdp", "_ZN4c10d", "_ZNK4c10d", "_ZN5torch", "_ZNK5torch", "_ZTI", "_ZTV")
    return sorted(s for s in wanted - known if s.startswith(ours))


def wanted_of(lib: str, library: str) -> list[str]:
    """What libtorch_python.so wants of one library, which marks its names with a version."""
    wanted = symbols(os.path.join(lib, "libtorch_python.so"), "--undefined-only")
    return sorted(s.partition("@")[0] for s in wanted if s.endswith("@" + library))


def stand_in(lib: str, library: str, names: list[str], version: str | None = None) -> None:
    """A library of that name with these names, of which none can be called."""
    # Classes are looked up by the names in their type information, at load time.
    source = "#include <stdio.h>\n#include <stdlib.h>\nextern void *_ZTVN10__cxxabiv117__class_type_infoE[];\n"
    for name in names:
        if name.startswith("_ZTI"):
            parts = f'{{ &_ZTVN10__cxxabiv117__class_type_infoE[2], "{name[4:]}" }}'
            source += f"struct {{ void *table; const char *name; }} {name} = {parts};\n"
        elif name.startswith("_ZTV"):
            source += f"void *{name}[64];\n"
        elif name in AT_LOAD:
            source += AT_LOAD[name].format(name=name) + "\n"
        else:
            said = f"{name}: this PyTorch is for CPUs alone"
            source += f'void {name}(void) {{ fputs("{said}\\n", stderr); abort(); }}\n'
    target = os.path.join(lib, library)
    options = ["-shared", "-fPIC", "-x", "c", "-", f"-Wl,-soname,{library}", "-o", target]
    with tempfile.NamedTemporaryFile("w", suffix=".map") as script:
        if version is not None:
            script.write(f"{version} {{ global: *; }};\n")
            script.flush()
            options.append(f"-Wl,--version-script={script.name}")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-w", *options], input=source, text=True, check=True)


if __name__ == "__main__":
    main()
