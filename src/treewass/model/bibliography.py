"""The papers behind the methods, as BibTeX, by the names that `Method.citation` gives them."""

from __future__ import annotations

from collections.abc import Iterable

from treewass.model.methods import Method

__all__ = ["REFERENCES", "bibtex"]

_ICML = "Proceedings of the International Conference on Machine Learning"
_NEURIPS = "Advances in Neural Information Processing Systems"


def _entry(kind: str, key: str, **fields: str) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}}}\n"


REFERENCES: dict[str, str] = {
    "Takezawa et al. 2021": _entry(
        "inproceedings",
        "takezawa2021supervised",
        author="Takezawa, Yuki and Sato, Ryoma and Yamada, Makoto",
        title="Supervised Tree-{W}asserstein Distance",
        booktitle=_ICML,
        year="2021",
    ),
    "Indyk & Thaper 2003": _entry(
        "inproceedings",
        "indyk2003fast",
        author="Indyk, Piotr and Thaper, Nitin",
        title="Fast Image Retrieval via Embeddings",
        booktitle="International Workshop on Statistical and Computational Theories of Vision",
        year="2003",
    ),
    "Backurs et al. 2020": _entry(
        "inproceedings",
        "backurs2020scalable",
        author="Backurs, Arturs and Dong, Yihe and Indyk, Piotr and Razenshteyn, Ilya and Wagner, Tal",
        title="Scalable Nearest Neighbor Search for Optimal Transport",
        booktitle=_ICML,
        year="2020",
    ),
    "Le et al. 2019": _entry(
        "inproceedings",
        "le2019tree",
        author="Le, Tam and Yamada, Makoto and Fukumizu, Kenji and Cuturi, Marco",
        title="Tree-Sliced Variants of {W}asserstein Distances",
        booktitle=_NEURIPS,
        year="2019",
    ),
    "Yamada et al. 2022": _entry(
        "article",
        "yamada2022approximating",
        author="Yamada, Makoto and Takezawa, Yuki and Sato, Ryoma and Bao, Han and Kozareva, Zornitsa and Ravi, Sujith",
        title="Approximating 1-{W}asserstein Distance with Trees",
        journal="Transactions on Machine Learning Research",
        year="2022",
    ),
    "Chen et al. 2024": _entry(
        "inproceedings",
        "chen2024learning",
        author="Chen, Samantha and Tabaghi, Puoya and Wang, Yusu",
        title="Learning Ultrametric Trees for Optimal Transport Regression",
        booktitle="Proceedings of the AAAI Conference on Artificial Intelligence",
        year="2024",
    ),
    "Düsterwald et al. 2025": _entry(
        "inproceedings",
        "duesterwald2025fast",
        author='D{\\"u}sterwald, Kira M. and Hromadka, Samo and Yamada, Makoto',
        title="Fast unsupervised ground metric learning with tree-{W}asserstein distance",
        booktitle="International Conference on Learning Representations",
        year="2025",
    ),
    "Kusner et al. 2015": _entry(
        "inproceedings",
        "kusner2015from",
        author="Kusner, Matt and Sun, Yu and Kolkin, Nicholas and Weinberger, Kilian",
        title="From Word Embeddings To Document Distances",
        booktitle=_ICML,
        year="2015",
    ),
    "Huang et al. 2016": _entry(
        "inproceedings",
        "huang2016supervised",
        author="Huang, Gao and Guo, Chuan and Kusner, Matt J. and Sun, Yu and Sha, Fei and Weinberger, Kilian Q.",
        title="Supervised Word Mover's Distance",
        booktitle=_NEURIPS,
        year="2016",
    ),
    "Cuturi 2013": _entry(
        "inproceedings",
        "cuturi2013sinkhorn",
        author="Cuturi, Marco",
        title="Sinkhorn Distances: Lightspeed Computation of Optimal Transport",
        booktitle=_NEURIPS,
        year="2013",
    ),
    "Atasu & Mittelholzer 2019": _entry(
        "inproceedings",
        "atasu2019linear",
        author="Atasu, Kubilay and Mittelholzer, Thomas",
        title="Linear-Complexity Data-Parallel Earth Mover's Distance Approximations",
        booktitle=_ICML,
        year="2019",
    ),
    "Spärck Jones 1972": _entry(
        "article",
        "sparckjones1972statistical",
        author='Sp{\\"a}rck Jones, Karen',
        title="A Statistical Interpretation of Term Specificity and Its Application in Retrieval",
        journal="Journal of Documentation",
        volume="28",
        number="1",
        pages="11--21",
        year="1972",
    ),
    "scikit-learn": _entry(
        "article",
        "pedregosa2011scikit",
        author="Pedregosa, Fabian and others",
        title="Scikit-learn: Machine Learning in {P}ython",
        journal="Journal of Machine Learning Research",
        volume="12",
        pages="2825--2830",
        year="2011",
    ),
    "this library": _entry("misc", "treewass", author="{The treewass developers}", title="treewass"),
}


def bibtex(methods: Iterable[Method]) -> str:
    """Write the references of methods as BibTeX, that of this library first.

    Examples
    --------
    >>> from treewass.model.methods import METHODS
    >>> [line for line in bibtex([METHODS["wmd"], METHODS["bow"]]).splitlines() if line.startswith("@")]
    ['@misc{treewass,', '@inproceedings{kusner2015from,']
    """
    named = [name for method in methods for name in method.citation.split("; ") if name in REFERENCES]
    return "\n".join(REFERENCES[name] for name in dict.fromkeys(["this library", *named]))
