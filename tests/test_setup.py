"""`tools/setup.sh` on machines that lack one thing or another, played by stubs on a PATH of our own. No network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BORROWED = ("bash", "cat", "chmod", "cmp", "cp", "dirname", "env", "grep", "mkdir", "rm", "sed")

# `java -XshowSettings:properties -version` writes this to stderr, among much else.
JAVA = """\
#!/bin/bash
[ "$1 $2" = "-XshowSettings:properties -version" ] || exit 2
echo "Picked up JAVA_TOOL_OPTIONS: -Dnoise=1" >&2
echo "Property settings:" >&2
echo "    java.home = {home}" >&2
echo "    java.specification.version = {version}" >&2
"""
PYTHON = """\
#!/bin/bash
echo "python $*" >>"$TRACE"
case "$1" in
    --version) echo "Python {version}" ;;
    -c) exit {too_old} ;;
    -m) if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi ;;
esac
"""
UV = """\
#!/bin/bash
echo "uv $*" >>"$TRACE"
if [ "$1" = venv ]; then mkdir -p .venv/bin && cp "$STUBS/python3" .venv/bin/python; fi
"""
APT_GET = """\
#!/bin/bash
echo "apt-get $*" >>"$TRACE"
[ "$DEBIAN_FRONTEND" = noninteractive ] || [[ $* == *update* ]] || exit 9
if [[ $* == *" install "* ]]; then
    package=${!#}
    home=$JVM_ROOT/$package
    mkdir -p "$home/bin"
    echo '#!/bin/bash' >"$home/bin/java"
    echo "echo '    java.home = $home' >&2" >>"$home/bin/java"
    version=${package#openjdk-}
    echo "echo '    java.specification.version = ${version%%-*}' >&2" >>"$home/bin/java"
    chmod +x "$home/bin/java"
fi
"""
APT_CACHE = """\
#!/bin/bash
echo "$2:"
if [ "$2" = "{offered}" ]; then echo "  Candidate: 17.0.15+6-1"; else echo "  Candidate: (none)"; fi
echo "  Version table:"
for line in {{1..2000}}; do echo "     17.0.15+6-1 500: more than a pipe holds while its reader looks away"; done
"""


class Machine:
    """A copy of the script in a folder, and a PATH on which only stubs and a few harmless tools are."""

    def __init__(self, folder: Path) -> None:
        self.project, self.stubs, self.jvms = folder / "project", folder / "stubs", folder / "jvm"
        for made in (self.project / "tools", self.stubs, self.jvms):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "setup.sh", self.project / "tools")
        (self.project / "requirements.lock").write_text("locked==1\n")
        self.trace = folder / "trace"
        self.trace.touch()
        self.environment = {
            "PATH": str(self.stubs),
            "JVM_ROOT": str(self.jvms),
            "STUBS": str(self.stubs),
            "TRACE": str(self.trace),
        }
        for tool in BORROWED:
            (self.stubs / tool).symlink_to(shutil.which(tool) or f"/no/{tool}")
        self.has("id", "#!/bin/bash\necho 0\n")

    def has(self, name: str, script: str) -> None:
        """Put a program on the PATH, or with a slash in its name, into that file."""
        path = Path(name) if "/" in name else self.stubs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)

    def has_apt(self, offered: str) -> None:
        self.has("apt-get", APT_GET)
        self.has("apt-cache", APT_CACHE.format(offered=offered))

    def has_python(self, *, too_old: bool = False) -> None:
        self.has("python3", PYTHON.format(version="3.9.2" if too_old else "3.11.7", too_old=int(too_old)))

    def sets_up(self, part: str) -> subprocess.CompletedProcess[str]:
        """Run the script from a folder that is not its own."""
        command = [str(self.stubs / "bash"), str(self.project / "tools" / "setup.sh"), part]
        return subprocess.run(
            command, env=self.environment, cwd="/", capture_output=True, text=True, check=False, timeout=60
        )

    def calls(self) -> list[str]:
        return self.trace.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# ---------------------------------------------------------------------------------------------------------- Java


def test_a_good_java_home_is_used_and_apt_left_alone(machine: Machine):
    machine.has(f"{machine.project}/jdk/bin/java", JAVA.format(home="/opt/jdk-21", version=21))
    machine.environment["JAVA_HOME"] = str(machine.project / "jdk")
    machine.has("java", JAVA.format(home="/usr/jdk-17", version=17))
    machine.has_apt("openjdk-17-jre-headless")
    result = machine.sets_up("java")
    assert (result.returncode, result.stdout) == (0, "/opt/jdk-21\n")
    assert machine.calls() == []


def test_the_java_on_the_path_is_asked_for_its_home(machine: Machine):
    machine.has("java", JAVA.format(home="/usr/jdk-17", version=17))
    assert machine.sets_up("java").stdout == "/usr/jdk-17\n"


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_home_gives_way_to_the_path(machine: Machine, version: str):
    machine.has(f"{machine.project}/jdk/bin/java", JAVA.format(home="/opt/old", version=version))
    machine.environment["JAVA_HOME"] = str(machine.project / "jdk")
    machine.has("java", JAVA.format(home="/usr/jdk-17", version=17))
    assert machine.sets_up("java").stdout == "/usr/jdk-17\n"


def test_a_java_home_that_leads_nowhere_gives_way_to_the_path(machine: Machine):
    machine.environment["JAVA_HOME"] = "/gone"
    machine.has("java", JAVA.format(home="/usr/jdk-17", version=17))
    assert machine.sets_up("java").stdout == "/usr/jdk-17\n"


def test_an_installed_java_that_is_not_the_default_is_found(machine: Machine):
    machine.has("java", JAVA.format(home="/usr/jdk-11", version=11))
    machine.has(f"{machine.jvms}/java-21/bin/java", JAVA.format(home="/usr/jdk-21", version=21))
    machine.has_apt("openjdk-17-jre-headless")
    assert machine.sets_up("java").stdout == "/usr/jdk-21\n"
    assert machine.calls() == []


@pytest.mark.parametrize("package", ["openjdk-17-jre-headless", "openjdk-21-jre-headless"])
def test_without_java_what_apt_offers_is_installed(machine: Machine, package: str):
    machine.has_apt(package)
    result = machine.sets_up("java")
    assert (result.returncode, result.stdout) == (0, f"{machine.jvms / package}\n"), result.stderr
    update, install = machine.calls()
    assert update.endswith(" update")
    assert install.endswith(package)


def test_an_old_java_on_the_path_is_no_java(machine: Machine):
    machine.has("java", JAVA.format(home="/usr/jdk-11", version=11))
    machine.has_apt("openjdk-17-jre-headless")
    assert machine.sets_up("java").stdout == f"{machine.jvms / 'openjdk-17-jre-headless'}\n"


def test_a_broken_java_is_no_java(machine: Machine):
    machine.has("java", "#!/bin/bash\nexit 1\n")
    machine.has_apt("openjdk-17-jre-headless")
    assert machine.sets_up("java").stdout == f"{machine.jvms / 'openjdk-17-jre-headless'}\n"


def test_sudo_without_a_password_will_do(machine: Machine):
    machine.has("id", "#!/bin/bash\necho 1000\n")
    machine.has("sudo", '#!/bin/bash\n[ "$1" = -n ] && shift\nif [ "$1" = true ]; then exit 0; fi\nexec "$@"\n')
    machine.has("true", "#!/bin/bash\n")
    machine.has_apt("openjdk-17-jre-headless")
    assert machine.sets_up("java").returncode == 0


@pytest.mark.parametrize("sudo", ["absent", "asks for a password"])
def test_who_may_not_install_is_shown_the_command(machine: Machine, sudo: str):
    machine.has("id", "#!/bin/bash\necho 1000\n")
    if sudo != "absent":
        machine.has("sudo", "#!/bin/bash\nexit 1\n")
    machine.has_apt("openjdk-21-jre-headless")
    result = machine.sets_up("java")
    assert (result.returncode, result.stdout) == (1, "")
    assert "\n    sudo apt-get update && sudo apt-get install -y openjdk-21-jre-headless\n" in result.stderr
    assert "needs a password" in result.stderr
    assert machine.calls() == []


def test_apt_that_offers_no_java_is_told(machine: Machine):
    machine.has_apt("something-else")
    result = machine.sets_up("java")
    assert result.returncode == 1
    assert "apt offers none of: openjdk-17-jre-headless openjdk-21-jre-headless" in result.stderr


def test_an_installation_that_fails_is_told(machine: Machine):
    machine.has_apt("openjdk-17-jre-headless")
    machine.has("apt-get", '#!/bin/bash\n[[ $* == *update* ]] || { echo "E: no space left" >&2; exit 100; }\n')
    result = machine.sets_up("java")
    assert result.returncode == 1
    assert "E: no space left" in result.stderr
    assert "installing openjdk-17-jre-headless failed" in result.stderr


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        (None, "export JAVA_HOME=/path/to/a/java-17-or-newer"),
        ("dnf", "sudo dnf install -y java-21-openjdk-headless"),
        ("apk", "sudo apk add openjdk17-jre-headless"),
        ("pacman", "sudo pacman -S --noconfirm jre17-openjdk-headless"),
        ("brew", "brew install --cask temurin@17"),
    ],
)
def test_without_apt_the_one_command_is_shown(machine: Machine, manager: str | None, command: str):
    if manager:
        machine.has(manager, "#!/bin/bash\nexit 3\n")
    result = machine.sets_up("java")
    assert (result.returncode, result.stdout) == (1, "")
    assert "Spark needs Java 17 or newer" in result.stderr
    assert [line.strip() for line in result.stderr.splitlines() if line.startswith("    ")] == [command]


# ------------------------------------------------------------------------------------------------------- a browser


def test_a_browser_that_is_there_is_left_alone(machine: Machine):
    machine.has("chromium-headless-shell", "#!/bin/bash\n")
    machine.has_apt("chromium-headless-shell")
    assert machine.sets_up("browser").returncode == 0
    assert machine.calls() == []


def test_a_browser_is_installed_by_who_may(machine: Machine):
    machine.has_apt("chromium-headless-shell")
    assert machine.sets_up("browser").returncode == 0
    update, install = machine.calls()
    assert update.endswith(" update")
    assert install.endswith("install --no-install-recommends chromium-headless-shell")


@pytest.mark.parametrize("why", ["no apt", "no root", "it fails"])
def test_without_a_browser_setting_up_goes_on_and_says_so(machine: Machine, why: str):
    if why != "no apt":
        machine.has_apt("chromium-headless-shell")
    if why == "no root":
        machine.has("id", "#!/bin/bash\necho 1000\n")
    if why == "it fails":
        machine.has("apt-get", "#!/bin/bash\nexit 100\n")
    result = machine.sets_up("browser")
    assert result.returncode == 0
    assert "the tests in a browser are skipped" in result.stderr


# -------------------------------------------------------------------------------------------------------- Python


def test_with_uv_both_steps_are_uvs(machine: Machine):
    machine.has_python()
    machine.has("uv", UV)
    result = machine.sets_up("environment")
    assert result.returncode == 0, result.stderr
    assert [call for call in machine.calls() if call.startswith("uv ")] == [
        f"uv venv --quiet --python {machine.stubs / 'python3'} .venv",
        "uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements.lock",
    ]


def test_without_uv_venv_and_pip_do_it(machine: Machine):
    machine.has_python()
    result = machine.sets_up("environment")
    assert result.returncode == 0, result.stderr
    calls = machine.calls()
    assert "python -m venv .venv" in calls
    assert calls[-1].startswith("python -m pip install")
    assert calls[-1].endswith("--require-hashes -r requirements.lock")


def test_a_second_time_nothing_is_installed_until_the_lock_changes(machine: Machine):
    machine.has_python()
    machine.sets_up("environment")
    machine.trace.write_text("")
    assert machine.sets_up("environment").stderr == ""
    assert not [call for call in machine.calls() if " -m " in call]

    (machine.project / "requirements.lock").write_text("locked==2\n")
    assert machine.sets_up("environment").returncode == 0
    assert [call.split()[2] for call in machine.calls() if " -m " in call] == ["pip"]


def test_an_installation_that_broke_off_is_done_again(machine: Machine):
    machine.has_python()
    machine.has("python3", (machine.stubs / "python3").read_text() + '[ "$2" != pip ]\n')
    assert machine.sets_up("environment").returncode != 0
    (machine.project / ".venv" / "bin" / "python").unlink()
    machine.has_python()
    assert machine.sets_up("environment").returncode == 0
    assert machine.calls()[-1].startswith("python -m pip install")


def test_an_old_python_is_told_what_to_do(machine: Machine):
    machine.has_python(too_old=True)
    result = machine.sets_up("environment")
    assert result.returncode == 1
    assert "Python 3.11 or newer is needed; found Python 3.9.2." in result.stderr
    assert "PYTHON=/path/to/python3.11 make setup" in result.stderr
    assert not (machine.project / ".venv").exists()


def test_an_old_python_that_was_asked_for_is_the_one_that_is_named(machine: Machine):
    machine.has_python()
    machine.has("python3.10", PYTHON.format(version="3.10.13", too_old=1))
    machine.environment["PYTHON"] = "python3.10"
    result = machine.sets_up("environment")
    assert result.returncode == 1
    assert "Python 3.11 or newer is needed; found Python 3.10.13." in result.stderr


def test_no_python_at_all_is_told_what_to_do(machine: Machine):
    result = machine.sets_up("environment")
    assert result.returncode == 1
    assert "Python 3.11 or newer is needed; found none." in result.stderr


def test_a_newer_python_under_another_name_is_found(machine: Machine):
    machine.has_python(too_old=True)
    machine.has("python3.12", PYTHON.format(version="3.12.1", too_old=0))
    result = machine.sets_up("environment")
    assert result.returncode == 0, result.stderr
    assert "making .venv with Python 3.12.1" in result.stderr


def test_uv_is_asked_for_a_python_where_there_is_none(machine: Machine):
    machine.has("uv", UV.replace("$STUBS/python3", "$STUBS/fetched"))
    machine.has("fetched", PYTHON.format(version="3.11.9", too_old=0))
    assert machine.sets_up("environment").returncode == 0
    assert machine.calls()[0] == "uv venv --quiet --python 3.11 .venv"


def test_a_python_without_venv_is_told_the_package(machine: Machine):
    machine.has("python3", '#!/bin/bash\nif [ "$1" = -m ]; then exit 1; fi\n')
    result = machine.sets_up("environment")
    assert result.returncode == 1
    assert "sudo apt-get install python3-venv" in result.stderr


# ---------------------------------------------------------------------------------------------------------- both


def test_the_chosen_java_is_left_for_the_makefile(machine: Machine):
    machine.has_python()
    machine.has("java", JAVA.format(home="/usr/jdk-17", version=17))
    assert machine.sets_up("all").returncode == 0
    assert (machine.project / ".venv" / "java-home").read_text() == "/usr/jdk-17\n"


def test_without_java_setting_up_fails_as_a_whole(machine: Machine):
    machine.has_python()
    result = machine.sets_up("all")
    assert result.returncode == 1
    assert not (machine.project / ".venv" / "java-home").exists()


def test_a_misspelt_part_is_refused(machine: Machine):
    result = machine.sets_up("jvaa")
    assert result.returncode == 1
    assert "unknown part 'jvaa'; expected environment, java or browser" in result.stderr
