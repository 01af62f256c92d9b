"""The frequency of CPUs that are to keep it, from files such as a kernel with a driver for it has."""

from pathlib import Path

from longlook.lab.linux import cpufreq


def cpu(place: Path, number: int, governor: str, khz: int | None) -> None:
    folder = place / f"cpu{number}" / "cpufreq"
    folder.mkdir(parents=True)
    (folder / "scaling_governor").write_text(governor + "\n")
    if khz is not None:
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")


def test_the_slowest_cpu_of_those_that_keep_their_frequency_counts(tmp_path: Path) -> None:
    assert cpufreq.steady_mhz(tmp_path) == 0.0  # a virtual machine
    assert cpufreq.governors(tmp_path) == set()
    cpu(tmp_path, 0, "schedutil", 800_000)  # idle, which says nothing
    assert cpufreq.steady_mhz(tmp_path) == 0.0
    cpu(tmp_path, 1, "performance", 3_400_000)
    cpu(tmp_path, 2, "performance", 2_900_000)
    cpu(tmp_path, 3, "performance", None)  # switched off
    assert cpufreq.steady_mhz(tmp_path) == 2900.0
    assert cpufreq.governors(tmp_path) == {"schedutil", "performance"}
