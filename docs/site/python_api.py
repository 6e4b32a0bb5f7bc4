"""Prints the interface of the Python package as Markdown: a JSON object of pages by module.

It reads the source and imports nothing of it, so that neither NumPy nor PyTorch has to be there.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
PUBLIC = re.compile(r"[a-z]\w*$")


class Package:
    """The modules of a folder, parsed when they are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trees: dict[str, ast.Module] = {}

    def tree(self, module: str) -> ast.Module:
        if module not in self.trees:
            text = (self.folder / f"{module}.py").read_text(encoding="utf-8")
            self.trees[module] = ast.parse(text)
        return self.trees[module]

    def find(self, module: str, name: str) -> tuple[str, Definition | None]:
        """Follow imports within the package to the definition of a name."""
        for node in ast.walk(self.tree(module)):
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                if any((a.asname or a.name) == name for a in node.names):
                    return self.find(node.module, name)
        for node in self.tree(module).body:
            if isinstance(node, Definition) and node.name == name and not overload(node):
                return module, node
        return module, None

    def names(self, module: str, listed: str = "__all__") -> list[str]:
        for node in self.tree(module).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == listed:
                return list(ast.literal_eval(node.value))
        raise SystemExit(f"{module} has no {listed}")


def overload(node: Definition) -> bool:
    return "overload" in decorators(node)


def decorators(node: Definition) -> list[str]:
    return [ast.unparse(d) for d in node.decorator_list]


def signature(head: str, node: ast.FunctionDef | ast.AsyncFunctionDef, *, bound: bool = False, result: bool = True) -> str:
    """The call as one would write it, with a line per argument where it is long. A bound method lacks its first argument."""
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(listed) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [argument(a, d) for a, d in zip(listed, defaults)]
    if bound and "staticmethod" not in decorators(node):
        parts = parts[1:]
    if arguments.vararg:
        parts.append("*" + argument(arguments.vararg, None))
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [argument(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        parts.append("**" + argument(arguments.kwarg, None))
    returns = f" -> {ast.unparse(node.returns)}" if result and node.returns else ""
    line = f"{head}({', '.join(parts)}){returns}"
    if len(line) <= 88:
        return line
    return head + "(\n" + "".join(f"    {p},\n" for p in parts) + f"){returns}"


def argument(a: ast.arg, default: ast.expr | None) -> str:
    text = a.arg + (f": {ast.unparse(a.annotation)}" if a.annotation else "")
    if default is not None:
        text += (" = " if a.annotation else "=") + ast.unparse(default)
    return text


def code(language: str, text: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````\n\n"


def docstring(node: Definition | ast.Module) -> str:
    """A docstring in numpydoc's form as Markdown."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    parts = SECTION.split(text)
    out = examples(parts[0])
    for title, body in zip(parts[1::2], parts[2::2]):
        out += f"**{title}**\n\n"
        out += examples(body) if title in ("Examples", "Notes", "See Also", "References") else entries(body)
    return out


def entries(body: str) -> str:
    """Arguments, attributes, results and exceptions: a name and a type, and below it a text."""
    found: list[tuple[str, list[str]]] = []
    for line in body.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            name, _, of = line.partition(" : ")
            found.append((f"``{name}``" + (f" *{plain(of)}*" if of else ""), []))
        else:
            found[-1][1].append(line.strip())
    out = ""
    for head, text in found:
        below = "\n    ".join(text).rstrip()
        out += head + (f"\n:   {below}" if below else "") + "\n\n"
    return out


def plain(text: str) -> str:
    return re.sub(r"([\\*_\[\]<>{}|])", r"\\\1", text)


def examples(text: str) -> str:
    """A text in which lines after >>> are code."""
    out, block = "", []
    for line in [*text.strip("\n").split("\n"), ""]:
        if line.startswith(">>>") or block and line.strip():
            block.append(line)
            continue
        if block:
            out += code("python", "\n".join(block))
            block = []
        out += line + "\n"
    return out.strip("\n") + "\n\n"


def kind(package: Package, module: str, name: str) -> int:
    """Functions come first, then classes, then exceptions."""
    _, node = package.find(module, name)
    if not isinstance(node, ast.ClassDef):
        return 0
    return 2 if name.endswith(("Error", "Warning")) else 1


def show(package: Package, module: str, name: str) -> str:
    where, node = package.find(module, name)
    if node is None:
        return value(package, where, name)
    if isinstance(node, ast.ClassDef):
        return show_class(package, where, node)
    return f"## {name} {{#{name}}}\n\n" + code("python", signature(f"def {name}", node)) + docstring(node)


def value(package: Package, module: str, name: str) -> str:
    for node in package.tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return f"## {name} {{#{name}}}\n\n" + code("python", ast.unparse(node))
    raise SystemExit(f"{module} does not define {name}")


def show_class(package: Package, module: str, node: ast.ClassDef) -> str:
    bases = [ast.unparse(b) for b in node.bases]
    head = f"class {node.name}" + (f"({', '.join(bases)})" if bases else "")
    out = f"## {node.name} {{#{node.name}}}\n\n"
    methods = members(package, module, node)
    if "__init__" in methods and not any("Error" in b or "Exception" in b for b in bases):
        head = signature(f"class {node.name}", methods["__init__"], bound=True, result=False)
    out += code("python", head) + docstring(node)
    for name, method in methods.items():
        if not PUBLIC.match(name):
            continue
        out += f"### {node.name}.{name} {{#{node.name}.{name}}}\n\n"
        kinds = decorators(method)
        if "property" in kinds:
            result = f": {ast.unparse(method.returns)}" if method.returns else ""
            out += code("python", f"{name}{result}  # property")
        else:
            marks = "".join(f"@{k}\n" for k in kinds if k in ("classmethod", "staticmethod"))
            out += code("python", marks + signature(f"def {name}", method, bound=True))
        out += docstring(method)
    return out


def members(package: Package, module: str, node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The methods of a class, with those that it has from private classes of the package."""
    found: dict[str, ast.FunctionDef] = {}
    for base in node.bases:
        name = ast.unparse(base)
        where, definition = package.find(module, name)
        if name.startswith("_") and isinstance(definition, ast.ClassDef):
            found |= members(package, where, definition)
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and not overload(child):
            found[child.name] = child
    return found


def main(folder: str) -> None:
    package = Package(Path(folder))
    pages = {}
    for module in ["__init__", *package.names("__init__", "_MODULES")]:
        title = f"nextbatch.{module}".removesuffix(".__init__")
        text = f"# {title}\n\n" + docstring(package.tree(module))
        for name in sorted(package.names(module), key=lambda name: (kind(package, module, name), name.lower())):
            text += show(package, module, name)
        pages[title] = text
    json.dump(pages, sys.stdout)


main(sys.argv[1])
