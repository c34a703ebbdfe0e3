"""The project by stdlib `ast`: modules, classes, functions, imports, compile entries.

Modules are parsed on demand, when an import or a region needs them; nothing is ever imported.
"""

from .modules import Assigned, ClassInfo, FunctionInfo, Imported, ModuleInfo, index_module
from .project import Project

__all__ = [
    "Assigned",
    "ClassInfo",
    "FunctionInfo",
    "Imported",
    "ModuleInfo",
    "Project",
    "index_module",
]
