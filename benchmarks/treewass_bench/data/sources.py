"""Where each text set can be had publicly, and the command that turns it into the benchmarks' format."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["SOURCES", "Source", "sources_table"]

_COMMAND = "python -m treewass_bench data"


@dataclass(frozen=True, slots=True)
class Source:
    """A public source of something in the folder.

    Parameters
    ----------
    name : str
        The set, or the file of the folder.
    what : str
        What it is.
    where : str
        Where to fetch it.
    terms : str
        Licence or terms, as far as they are stated there.
    files : str
        The file or folder to expect.
    command : str
        What turns it into the folder's format, once the folder is named by TREEWASS_DATA or ``--data``.
    """

    name: str
    what: str
    where: str
    terms: str
    files: str
    command: str

    def to_dict(self) -> dict[str, str]:
        """Give the fields by name."""
        return asdict(self)


SOURCES: tuple[Source, ...] = (
    Source(
        "the paper's six",
        "the word mover papers' files: words, counts, vectors (word2vec, Google News) and splits of the paper",
        "the Dropbox link in the README of mkusner/wmd or gaohuang/S-WMD on GitHub",
        "none stated; those of each set below",
        "twitter-, amazon-, classic- and bbcsport-emd_tr_te_split.mat, ohsumed-emd_tr_te_ix.mat, r8-emd_tr_te3.mat",
        f"{_COMMAND} mat *.mat",
    ),
    Source(
        "twitter",
        "tweets by sentiment, texts",
        "mkusner/wmd on GitHub",
        "none stated",
        "all_twitter_by_line.txt",
        f"{_COMMAND} texts twitter all_twitter_by_line.txt",
    ),
    Source(
        "amazon",
        "reviews by product, texts (Blitzer, Dredze and Pereira, 2007)",
        "lorenzoritter/domainadaption on GitHub",
        "none stated",
        "sorted_data_acl/books/positive.review and so on",
        f"{_COMMAND} texts amazon sorted_data_acl --format reviews --encoding latin-1",
    ),
    Source(
        "classic",
        "abstracts by collection (CACM, CISI, CRAN, MED), texts",
        "on GitHub: kavinsan/Information-Retrieval-Project, Shakiba-Alipour/Information-Retrieval-on-CISI, "
        "Chetan-Prasad/IR-Lucene_Cran, konstantinoskostis/SimpleMedicalSearchEngine",
        "none stated; made for research in retrieval",
        "cacm.all, CISI.ALL, cran.all.1400 and med.all in one folder",
        f"{_COMMAND} texts classic FOLDER --format smart --encoding latin-1",
    ),
    Source(
        "bbcsport",
        "sport news by sport, texts",
        "jbesomi/texthero on GitHub, folder dataset",
        "texts © BBC, for non-commercial research",
        "bbcsport.csv",
        f"{_COMMAND} texts bbcsport bbcsport.csv --text texts --label labels",
    ),
    Source(
        "ohsumed",
        "medical abstracts by disease, texts (Moschitti's distribution, C01 to C10)",
        "walterwang/ohsumed-classification on GitHub",
        "for research; the abstracts are MEDLINE's",
        "ohsumed-first-20000-docs with the folders training and test",
        f"{_COMMAND} texts ohsumed ohsumed-first-20000-docs/training --test ohsumed-first-20000-docs/test "
        "--classes C01,C02,C03,C04,C05,C06,C07,C08,C09,C10",
    ),
    Source(
        "reuters",
        "news by subject, the eight largest with one label (R8), texts",
        "yao8839836/text_gcn on GitHub, folder data/R8",
        "Reuters-21578, for research",
        "train.txt and test.txt",
        f"{_COMMAND} texts reuters train.txt --test test.txt",
    ),
    Source(
        "20news",
        "20 newsgroups by date, not in the paper, texts",
        "scikit-learn fetches it (from figshare)",
        "none stated",
        "nothing to fetch by hand",
        f"{_COMMAND} 20news",
    ),
    Source(
        "stop_words.txt",
        "the words that the cleaning of texts leaves out; sets made from .mat files need none",
        "mkusner/wmd on GitHub",
        "none stated",
        "stop_words.txt",
        "cp stop_words.txt FOLDER",
    ),
    Source(
        "word_vectors.npz",
        "word vectors of the paper: word2vec, Google News, 300 dimensions; .mat files bring their own",
        "code.google.com/archive/p/word2vec",
        "Apache 2.0 (the word2vec project)",
        "GoogleNews-vectors-negative300.bin.gz",
        f"{_COMMAND} vectors GoogleNews-vectors-negative300.bin.gz",
    ),
    Source(
        "word_vectors.npz",
        "other word vectors: GloVe 6B, 50 to 300 dimensions",
        "nlp.stanford.edu/projects/glove",
        "PDDL 1.0",
        "glove.6B.100d.txt",
        f"{_COMMAND} vectors glove.6B.100d.txt",
    ),
)
"""Two ways to each set of the paper: the word mover papers' files, or texts."""


def sources_table() -> Table:
    """Lay the sources out for people.

    Returns
    -------
    rich.table.Table
        A line a source and field, so that commands can be copied whole.
    """
    from rich.table import Table

    table = Table(title="Public sources of the text sets", show_lines=False, expand=False)
    table.add_column("set or file", no_wrap=True)
    table.add_column("")
    table.add_column("", overflow="fold")
    for source in SOURCES:
        name = source.name
        for field in ("what", "where", "terms", "files", "command"):
            table.add_row(name, field, getattr(source, field), end_section=field == "command")
            name = ""
    return table
