"""Provisions everything that trials need and that is made once: programs, the guest kernel, certificate and contents.

Names and versions go in; a `Program`, `Identity` or `Content` comes out, from the cache or made first. Stacks and
workloads use it to install and to prepare, `pipeline` before a run, `cli` for `longlook setup`. `install` makes one
program, `stack_versions` lists all, `kernel_program` makes the guest kernel, `make_content` what a server serves.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.provision import build_steps as build_steps
    from longlook.provision import confined as confined
    from longlook.provision import debian as debian
    from longlook.provision import decoder as decoder
    from longlook.provision import encoder as encoder
    from longlook.provision import guest_kernel as guest_kernel
    from longlook.provision import parallel as parallel
    from longlook.provision import pins as pins
    from longlook.provision import players as players
    from longlook.provision import server_configs as server_configs
    from longlook.provision import tls as tls
    from longlook.provision.build_cache import build_folder as build_folder
    from longlook.provision.build_cache import filled as filled
    from longlook.provision.build_cache import is_folder_built as is_folder_built
    from longlook.provision.build_cache import sources_digest as sources_digest
    from longlook.provision.c import c_toolchain as c_toolchain
    from longlook.provision.c import compile_c as compile_c
    from longlook.provision.c import library_of as library_of
    from longlook.provision.c import state_cmake_version as state_cmake_version
    from longlook.provision.catalogue import StackVersion as StackVersion
    from longlook.provision.catalogue import is_installed as is_installed
    from longlook.provision.catalogue import selected as selected
    from longlook.provision.catalogue import stack_versions as stack_versions
    from longlook.provision.catalogue import versions_here as versions_here
    from longlook.provision.content import PNG_OVERHEAD_BYTES as PNG_OVERHEAD_BYTES
    from longlook.provision.content import Writer as Writer
    from longlook.provision.content import make_content as make_content
    from longlook.provision.content import noise as noise
    from longlook.provision.content import png as png
    from longlook.provision.debian import SOURCES as SOURCES
    from longlook.provision.debian import building_ground as building_ground
    from longlook.provision.debian import debian_library as debian_library
    from longlook.provision.debian import fetch_libraries as fetch_libraries
    from longlook.provision.debian import listed_libraries as listed_libraries
    from longlook.provision.go import NO_PATCHES as NO_PATCHES
    from longlook.provision.go import GoAdapter as GoAdapter
    from longlook.provision.go import Patches as Patches
    from longlook.provision.go import release_of as release_of
    from longlook.provision.go import state_go_version as state_go_version
    from longlook.provision.go_main import GoMain as GoMain
    from longlook.provision.guest_kernel import kernel_program as kernel_program
    from longlook.provision.images.bounds import MOST_RESULTS_BYTES as MOST_RESULTS_BYTES
    from longlook.provision.images.resolve import image_program as image_program
    from longlook.provision.images.resolve import is_image as is_image
    from longlook.provision.images.resolve import is_image_unpacked as is_image_unpacked
    from longlook.provision.images.stack import image_client as image_client
    from longlook.provision.images.stack import image_server as image_server
    from longlook.provision.packaged import DebianAdapter as DebianAdapter
    from longlook.provision.packaged import debian_server as debian_server
    from longlook.provision.packaged import packaged_server as packaged_server
    from longlook.provision.parallel import Installed as Installed
    from longlook.provision.parallel import install_all as install_all
    from longlook.provision.progress import listening as listening
    from longlook.provision.provenance.made import all_made as all_made
    from longlook.provision.provenance.made import of_kernel as of_kernel
    from longlook.provision.provenance.made import of_part as of_part
    from longlook.provision.provenance.made import of_wheels as of_wheels
    from longlook.provision.provenance.rebuilt import Rebuilt as Rebuilt
    from longlook.provision.provenance.rebuilt import rebuild as rebuild
    from longlook.provision.provenance.videos import of_decoder as of_decoder
    from longlook.provision.provenance.videos import of_encoder as of_encoder
    from longlook.provision.provenance.videos import of_players as of_players
    from longlook.provision.python import ADAPTER as ADAPTER
    from longlook.provision.python import ENVIRONMENT as ENVIRONMENT
    from longlook.provision.python import PythonAdapter as PythonAdapter
    from longlook.provision.python import adapter_of as adapter_of
    from longlook.provision.python import compile_modules as compile_modules
    from longlook.provision.python import copy_adapter as copy_adapter
    from longlook.provision.python import python_client as python_client
    from longlook.provision.python import python_server as python_server
    from longlook.provision.python import python_version as python_version
    from longlook.provision.python import shared_digest as shared_digest
    from longlook.provision.python import unpack as unpack
    from longlook.provision.python_tree import python_sources as python_sources
    from longlook.provision.recorded import store as store
    from longlook.provision.recorded.har import LARGEST_BYTES as LARGEST_BYTES
    from longlook.provision.recorded.har import HarError as HarError
    from longlook.provision.recorded.har import PageContradiction as PageContradiction
    from longlook.provision.recorded.har import read_har as read_har
    from longlook.provision.recorded.page import RecordedPage as RecordedPage
    from longlook.provision.recorded.page import evidence_counts as evidence_counts
    from longlook.provision.registries.outdated import Standing as Standing
    from longlook.provision.registries.outdated import standings as standings
    from longlook.provision.rust import cargo_stack as cargo_stack
    from longlook.provision.server_configs import ServerConfigError as ServerConfigError
    from longlook.provision.setup import DEFAULT_PARTS as DEFAULT_PARTS
    from longlook.provision.setup import KERNEL as KERNEL
    from longlook.provision.setup import install as install
    from longlook.provision.setup import is_part_installed as is_part_installed
    from longlook.provision.setup import spelt_out as spelt_out
    from longlook.provision.shared_programs import also_shared as also_shared
    from longlook.provision.shared_programs import share_all_programs as share_all_programs
    from longlook.provision.shared_programs import share_kernel as share_kernel
    from longlook.provision.shared_programs import share_programs as share_programs
    from longlook.provision.shared_programs import take_kernel as take_kernel
    from longlook.provision.skeleton import MODELS as MODELS
    from longlook.provision.skeleton import write_skeleton as write_skeleton
    from longlook.provision.sources import git as git
    from longlook.provision.sources.git import Commit as Commit
    from longlook.provision.sources.history import History as History
    from longlook.provision.sources.history import read_history as read_history
    from longlook.provision.sources.owner import stack_at as stack_at
    from longlook.provision.sources.releases import by_age as by_age
    from longlook.provision.sources.releases import is_copied_release as is_copied_release
    from longlook.provision.sources.resolve import is_sources as is_sources
    from longlook.provision.sources.resolve import parse_program as parse_program
    from longlook.provision.sources.resolve import version_of as version_of
    from longlook.provision.tls import identity as identity
    from longlook.provision.variants import variant as variant
    from longlook.provision.video import DISTINCT_SEGMENTS as DISTINCT_SEGMENTS
    from longlook.provision.video import LADDER_BPS as LADDER_BPS
    from longlook.provision.video import MANIFEST_PATH as MANIFEST_PATH
    from longlook.provision.video import Video as Video
    from longlook.provision.video import video_content as video_content
    from longlook.provision.video_encoding import LENGTH_S as LENGTH_S
    from longlook.provision.video_encoding import SEGMENTS_S as SEGMENTS_S
    from longlook.provision.video_encoding import encoded_content as encoded_content
    from longlook.provision.video_encoding import is_encoded as is_encoded
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "build_cache": "build_folder filled is_folder_built sources_digest",
            "c": "c_toolchain compile_c library_of state_cmake_version",
            "catalogue": "StackVersion is_installed selected stack_versions versions_here",
            "content": "PNG_OVERHEAD_BYTES Writer make_content noise png",
            "debian": "SOURCES building_ground debian_library fetch_libraries listed_libraries",
            "go": "GoAdapter NO_PATCHES Patches release_of state_go_version",
            "go_main": "GoMain",
            "guest_kernel": "kernel_program",
            "images.bounds": "MOST_RESULTS_BYTES",
            "images.resolve": "image_program is_image is_image_unpacked",
            "images.stack": "image_client image_server",
            "packaged": "DebianAdapter debian_server packaged_server",
            "parallel": "Installed install_all",
            "progress": "listening",
            "provenance.made": "all_made of_kernel of_part of_wheels",
            "provenance.rebuilt": "Rebuilt rebuild",
            "provenance.videos": "of_decoder of_encoder of_players",
            "python": (
                "ADAPTER ENVIRONMENT PythonAdapter adapter_of compile_modules copy_adapter python_client "
                "python_server python_version shared_digest unpack"
            ),
            "python_tree": "python_sources",
            "recorded.har": "HarError LARGEST_BYTES PageContradiction read_har",
            "recorded.page": "RecordedPage evidence_counts",
            "registries.outdated": "Standing standings",
            "rust": "cargo_stack",
            "server_configs": "ServerConfigError",
            "setup": "DEFAULT_PARTS KERNEL install is_part_installed spelt_out",
            "shared_programs": "also_shared share_all_programs share_kernel share_programs take_kernel",
            "skeleton": "MODELS write_skeleton",
            "sources.git": "Commit",
            "sources.history": "History read_history",
            "sources.owner": "stack_at",
            "sources.releases": "by_age is_copied_release",
            "sources.resolve": "is_sources parse_program version_of",
            "tls": "identity",
            "variants": "variant",
            "video": "DISTINCT_SEGMENTS LADDER_BPS MANIFEST_PATH Video video_content",
            "video_encoding": "LENGTH_S SEGMENTS_S encoded_content is_encoded",
        },
        "build_steps confined debian decoder encoder guest_kernel parallel pins players recorded.store "
        "server_configs sources.git tls",
    )
