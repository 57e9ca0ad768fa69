"""Labelled images: a folder or a zip with a sub-folder for each class.

    cat/1.png  dog/1.png                     a sub-folder a class
    pets/cat/1.png  pets/dog/1.png           the same below a folder common to all
    train/cat/1.png  test/cat/2.png  …       splits, which are taken as they are; what is not given is drawn from train

Other files and hidden ones are passed over, and counted. Images stand upright as their EXIF data say, and become RGB without
transparency, or grey where all of them are grey to the pixel. An image that lies in two splits, to the pixel, is moved to the
training split where splits are drawn, and refused where they are given. Nothing is unpacked to disk.
"""

import io
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from ....errors import UserError, one_line
from ....input_files import (
    LARGEST_DATASET,
    MOST_FILES,
    below,
    open_regular,
    read_regular,
    require_shallow,
    size_of,
    too_many_files,
)
from ....input_files import Parts as FileParts
from .base import Split
from .contents import Contents, chosen, is_hidden
from .examples import Examples, Parts, drawn_parts, split_examples, without_copies

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF", "TIFF")
SPLITS: dict[str, Split] = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}  # fmt: skip
# Bytes of a file once decompressed, and of an image once decoded.
MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class Tree:
    """The contents of a folder or a zip; hidden folders are left out. `read` raises OSError, and ValueError for a file of
    more than MOST_BYTES or, in a folder, for one that is not a regular file."""

    files: list[FileParts]
    folders: list[FileParts]
    read: Callable[[FileParts], bytes]


def read_images(path: Path) -> Examples:
    """Features float32 [N, C, H, W] with C of 3 or 1; classes are numbered by their names in order.

    Raises UserError where nothing is there, where files do not lie in folders of classes, and for an image that is broken,
    too large or of another size than the first.
    """
    subject = f"dataset images:{path}"
    if not path.exists():
        raise UserError(f"{subject}: no such file or folder; give a folder or a .zip with a sub-folder for each class")
    with _folder(path, subject) if path.is_dir() else _archive(path, subject) as tree:
        images, passed = chosen(tree.files, SUFFIXES)
        start, splits = _start(images)
        classes = _classes(tree, images, start, splits, subject)
        features = _pixels(tree, images, subject)
    labels = np.array([classes[parts[start]] for parts in images], dtype=np.int64)
    if splits is None:
        parts, moved = without_copies(features, drawn_parts(len(images)))
    else:
        _require_no_copies(images, features, splits, subject)
        parts, moved = _given_parts(splits), 0
    counts = np.bincount(labels, minlength=len(classes)).tolist()
    contents = Contents(
        len(images),
        passed,
        dict(zip(classes, counts, strict=True)),
        {split: len(parts[split]) for split in get_args(Split)},
        sorted(set(splits or ())),
        moved,
    )
    # Where nothing was given or moved, splits are drawn as they always were, and hashes are as before.
    return split_examples(f"images:{path}", features, labels, parts if splits or moved else None, str(contents))


@contextmanager
def _folder(path: Path, subject: str) -> Iterator[Tree]:
    try:
        files, folders = below(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{subject}: cannot be read ({one_line(error)}); give another folder") from None
    yield Tree(files, _visible(folders), lambda parts: read_regular(path.joinpath(*parts), MOST_BYTES))


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
    members: dict[FileParts, zipfile.ZipInfo] = {}
    for member in listed:
        parts = PurePosixPath(member.filename).parts
        require_shallow(parts)
        if parts in members and not member.is_dir():
            raise UserError(f"{subject}: holds '{'/'.join(parts)}' twice; remove one of them")
        members[parts] = member

    def read(parts: FileParts) -> bytes:
        _check_bytes(members[parts].file_size)
        # The size declared may be a lie: without a limit of its own a read would unpack all there is.
        with archive.open(members[parts]) as content:
            return content.read(MOST_BYTES)

    files = [parts for parts, member in members.items() if not member.is_dir()]
    folders = {parts[:length] for parts in members for length in range(1, len(parts))}
    folders |= {parts for parts, member in members.items() if member.is_dir()}
    return Tree(files, _visible(sorted(folders)), read)


def _visible(paths: list[FileParts]) -> list[FileParts]:
    return [parts for parts in paths if not is_hidden(parts)]


def _start(images: list[FileParts]) -> tuple[int, list[Split] | None]:
    """How many folders stand before that of the class, and each image's split where the last of these is one."""
    start, most = 0, min((len(parts) for parts in images), default=0) - 2
    while start < most and len({parts[start] for parts in images}) == 1 and images[0][start].lower() not in SPLITS:
        start += 1
    if start < most and {parts[start].lower() for parts in images} <= SPLITS.keys():
        splits = [SPLITS[parts[start].lower()] for parts in images]
        return start + 1, None if set(splits) == {"train"} else splits
    return start, None


def _classes(tree: Tree, images: list[FileParts], start: int, splits: list[Split] | None, subject: str) -> dict[str, int]:
    """Name -> number, in order; of given splits, those of the training split."""
    if not images:
        raise UserError(f"{subject}: holds no {', '.join(SUFFIXES)} file; give a sub-folder of images for each class")
    for parts in images:
        if len(parts) != start + 2:
            raise UserError(f"{subject}: '{'/'.join(parts)}' does not lie as class/image; give each class one folder of images")
    if splits is not None and "train" not in splits:
        raise UserError(
            f"{subject}: gives {' and '.join(sorted(set(splits)))} and no train/; add it, or take the others' folders away"
        )
    training = [parts for number, parts in enumerate(images) if splits is None or splits[number] == "train"]
    classes = {name: label for label, name in enumerate(sorted({parts[start] for parts in training}))}
    for parts in images:
        if parts[start] not in classes:
            raise UserError(
                f"{subject}: '{'/'.join(parts[: start + 1])}' is no class of train/ ({', '.join(classes)}); label its images by"
                f" these, or remove '{'/'.join(parts[:start])}', in whose place images are drawn from train/"
            )
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
    return classes


def _given_parts(splits: list[Split]) -> Parts:
    """The images of each split; splits that are not given are drawn from the training images."""
    splits_N = np.array(splits)
    parts: Parts = {split: np.flatnonzero(splits_N == split) for split in sorted(set(splits))}
    missing: list[Split] = [split for split in ("validation", "test") if split not in parts]
    training = parts["train"]
    drawn = drawn_parts(len(training), missing) if missing else {}
    return {**parts, **{split: np.sort(training[index]) for split, index in drawn.items()}}


def _require_no_copies(images: list[FileParts], features: NDArray[np.uint8], splits: list[Split], subject: str) -> None:
    first: dict[bytes, int] = {}
    for number, pixels in enumerate(features):
        other = first.setdefault(pixels.tobytes(), number)
        if splits[other] != splits[number]:
            one, two = ("/".join(images[index]) for index in (other, number))
            raise UserError(f"{subject}: '{two}' is the same image as '{one}', which is in another split; remove one of them")


def _pixels(tree: Tree, images: list[FileParts], subject: str) -> NDArray[np.uint8]:
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


def _decoded(tree: Tree, parts: FileParts, subject: str) -> NDArray[np.uint8]:
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
            if getattr(image, "n_frames", 1) > 1:
                raise ValueError("several frames; save one of them")
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB")).transpose(2, 0, 1)
    except UnidentifiedImageError:  # its message names the address of a buffer
        reason = "not an image that Pillow can read"
    except Exception as error:  # Pillow's readers and zipfile's raise whatever their parsers stumble over.
        reason = one_line(error)
    raise UserError(f"{subject}: '{'/'.join(parts)}' cannot be used ({reason}); replace, convert or remove it")


def _sized(parts: FileParts, image: NDArray[np.uint8]) -> str:
    return f"'{'/'.join(parts)}' is {image.shape[2]} x {image.shape[1]}"


def _check_bytes(count: int) -> None:
    if count > MOST_BYTES:
        raise ValueError(f"{size_of(count)} unpacked, more than {size_of(MOST_BYTES)}")
