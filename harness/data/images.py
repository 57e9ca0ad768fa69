"""Labelled images: a folder or a zip with a sub-folder for each class.

    cat/1.png  dog/1.png                     a sub-folder a class
    pets/cat/1.png  pets/dog/1.png           the same below a folder common to all
    train/cat/1.png  test/cat/2.png  …       splits, whose images are pooled: Folklore draws splits of its own

Read are .png, .jpg, .jpeg and .bmp; other files and hidden ones are passed over. Images become RGB without transparency,
or grey where all of them are grey to the pixel. Nothing is unpacked to disk.
"""

import io
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from folklore.harness.data.examples import Examples, split_examples
from folklore.harness.errors import UserError, one_line
from folklore.harness.input_files import (
    LARGEST_DATASET,
    MOST_FILES,
    Parts,
    below,
    open_regular,
    read_regular,
    require_shallow,
    size_of,
    too_many_files,
)

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")
FORMATS = ("PNG", "JPEG", "BMP")
SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing"}
# Bytes of a file once decompressed, and of an image once decoded.
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Tree:
    """What a folder or a zip holds, without what is hidden. `read` raises OSError, and ValueError for a file of more than
    MOST_BYTES or, in a folder, for what is no regular file."""

    files: list[Parts]
    folders: list[Parts]
    read: Callable[[Parts], bytes]


def read_images(path: Path) -> Examples:
    """Features float32 [N, C, H, W] with C of 3 or 1; classes are numbered by their names in order.

    Raises UserError where nothing is there, where files do not lie in folders of classes, and for an image that is broken,
    too large or of another size than the first.
    """
    subject = f"dataset images:{path}"
    if not path.exists():
        raise UserError(f"{subject}: no such file or folder; give a folder or a .zip with a sub-folder for each class")
    with _folder(path, subject) if path.is_dir() else _archive(path, subject) as tree:
        images, labels = _labelled(tree, subject)
        features = _pixels(tree, images, subject)
    return split_examples(f"images:{path}", features, labels)


@contextmanager
def _folder(path: Path, subject: str) -> Iterator[Tree]:
    try:
        files, folders = below(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{subject}: cannot be read ({one_line(error)}); give another folder") from None
    yield Tree(_visible(files), _visible(folders), lambda parts: read_regular(path.joinpath(*parts), MOST_BYTES))


@contextmanager
def _archive(path: Path, subject: str) -> Iterator[Tree]:
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(zipfile.ZipFile(opened.enter_context(open_regular(path))))
            tree = _archived(archive, subject)
        except UserError:
            raise
        except Exception as error:  # zipfile raises whatever its parser stumbles over.
            raise UserError(f"{subject}: neither a folder nor a zip that can be read ({one_line(error)})") from None
        yield tree


def _archived(archive: zipfile.ZipFile, subject: str) -> Tree:
    listed = archive.infolist()
    if len(listed) > MOST_FILES:
        raise too_many_files()
    members: dict[Parts, zipfile.ZipInfo] = {}
    for member in listed:
        parts = PurePosixPath(member.filename).parts
        require_shallow(parts)
        if parts in members and not member.is_dir():
            raise UserError(f"{subject}: holds '{'/'.join(parts)}' twice; remove one of them")
        members[parts] = member

    def read(parts: Parts) -> bytes:
        _check_bytes(members[parts].file_size)
        # The size declared may be a lie: without a limit of its own a read would unpack all there is.
        with archive.open(members[parts]) as content:
            return content.read(MOST_BYTES)

    files = [parts for parts, member in members.items() if not member.is_dir()]
    folders = {parts[:length] for parts in members for length in range(1, len(parts))}
    folders |= {parts for parts, member in members.items() if member.is_dir()}
    return Tree(_visible(files), _visible(sorted(folders)), read)


def _visible(paths: list[Parts]) -> list[Parts]:
    return [parts for parts in paths if not any(part.startswith(".") or part == "__MACOSX" for part in parts)]


def _labelled(tree: Tree, subject: str) -> tuple[list[Parts], NDArray[np.int64]]:
    """The images in order of their paths, and their classes."""
    images = sorted(parts for parts in tree.files if PurePosixPath(parts[-1]).suffix.lower() in SUFFIXES)
    if not images:
        raise UserError(f"{subject}: holds no {', '.join(SUFFIXES)} file; give a sub-folder of images for each class")
    start = _start(images)
    for parts in images:
        if len(parts) != start + 2:
            raise UserError(f"{subject}: '{'/'.join(parts)}' does not lie as class/image; give each class one folder of images")
    classes = {name: label for label, name in enumerate(sorted({parts[start] for parts in images}))}
    above = {parts[:start] for parts in images}
    for folder in tree.folders:
        if len(folder) == start + 1 and folder[:start] in above and folder[start] not in classes:
            raise UserError(
                f"{subject}: class '{'/'.join(folder)}' has no {', '.join(SUFFIXES)} file; fill or remove its folder"
            )
    if len(classes) == 1:
        raise UserError(
            f"{subject}: one class only, '{next(iter(classes))}'; give a sub-folder of images for each of two or more classes"
        )
    return images, np.array([classes[parts[start]] for parts in images], dtype=np.int64)


def _start(images: list[Parts]) -> int:
    """How many folders stand before that of the class."""
    start, most = 0, min(len(parts) for parts in images) - 2
    while start < most and len({parts[start] for parts in images}) == 1:
        start += 1
    return start + (start < most and {parts[start].lower() for parts in images} <= SPLITS)


def _pixels(tree: Tree, images: list[Parts], subject: str) -> NDArray[np.uint8]:
    """[N, C, H, W]"""
    first = _decoded(tree, images[0], subject)
    if len(images) * first.size > LARGEST_DATASET:
        finding = f"{len(images)} images of {first.shape[2]} x {first.shape[1]} pixels take {size_of(len(images) * first.size)}"
        raise UserError(f"{subject}: {finding}, more than {size_of(LARGEST_DATASET)}; give fewer or smaller ones")
    features = np.empty((len(images), *first.shape), dtype=np.uint8)
    for index, parts in enumerate(images):
        image = first if index == 0 else _decoded(tree, parts, subject)
        if image.shape != first.shape:
            finding = f"{_sized(images[0], first)}, {_sized(parts, image)} pixels"
            raise UserError(f"{subject}: {finding}; bring all images to one size")
        features[index] = image
    grey = all(np.array_equal(features[:, 0], features[:, channel]) for channel in (1, 2))
    return features[:, :1].copy() if grey else features


def _decoded(tree: Tree, parts: Parts, subject: str) -> NDArray[np.uint8]:
    """[3, H, W]"""
    try:
        content = tree.read(parts)
        # Pillow warns of a bomb before it refuses one twice as large; either is refused here, in the same line.
        with (
            warnings.catch_warnings(action="error", category=Image.DecompressionBombWarning),
            Image.open(io.BytesIO(content), formats=FORMATS) as image,
        ):
            _check_bytes(3 * image.width * image.height)
            if image.mode.startswith(("I", "F")):  # Pillow would cut their values off at 255.
                raise ValueError("more than 8 bits a channel")
            return np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    except UnidentifiedImageError:  # its message names the address of a buffer
        found = "not an image that Pillow can read"
    except Exception as error:  # Pillow's readers and zipfile's raise whatever their parsers stumble over.
        found = one_line(error)
    raise UserError(f"{subject}: '{'/'.join(parts)}' cannot be used ({found}); replace, convert or remove it")


def _rgb(content: bytes) -> NDArray[np.uint8]:
    """[3, H, W]"""
    with Image.open(io.BytesIO(content), formats=FORMATS) as image:
        _check_bytes(3 * image.width * image.height)
        if image.mode.startswith(("I", "F")):  # Pillow would cut their values off at 255.
            raise ValueError("more than 8 bits a channel")
        return np.asarray(image.convert("RGB")).transpose(2, 0, 1)


def _sized(parts: Parts, image: NDArray[np.uint8]) -> str:
    return f"'{'/'.join(parts)}' is {image.shape[2]} x {image.shape[1]}"


def _check_bytes(count: int) -> None:
    if count > MOST_BYTES:
        raise ValueError(f"{size_of(count)} unpacked, more than {size_of(MOST_BYTES)}")
