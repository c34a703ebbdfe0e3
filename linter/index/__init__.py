"""The project by stdlib `ast`: modules, classes, functions, imports, compile entries.

Modules are parsed on demand, when an import or a region needs them; nothing is ever imported.
"""

from .modules import Ancestry, Assigned, ClassInfo, FunctionInfo, Imported, ModuleInfo, index_module
from .project import Project

__all__ = [
    "Ancestry",
    "Assigned",
    "ClassInfo",
    "FunctionInfo",
    "Imported",
    "ModuleInfo",
    "Project",
    "index_module",
]
