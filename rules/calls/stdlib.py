"""Calls of the standard library that break the graph, beyond those that torch_facts lists.

Measured on torch 2.13: a function that makes this one call is compiled, in both modes. The ids
are what Dynamo gives as the reason under `fullgraph=True`.
"""

from __future__ import annotations

from ..torch_facts import TorchFacts

_MEASURED = {
    "GB0007": (
        "os.path.abspath "
        "asyncio.new_event_loop atexit.unregister base64.b64decode binascii.hexlify "
        "bisect.bisect_left bisect.bisect_right bisect.insort_left bisect.insort_right "
        "cmath.exp cmath.phase cmath.rect codecs.encode contextvars.copy_context "
        "csv.DictReader csv.writer ctypes.POINTER decimal.getcontext faulthandler.is_enabled "
        "gc.enable gc.freeze gc.get_objects gc.get_referrers gc.isenabled glob.iglob "
        "hashlib.new hashlib.sha1 hashlib.sha512 heapq.heappushpop heapq.heapreplace hmac.new "
        "importlib.metadata.distribution importlib.resources.files inspect.getfile "
        "inspect.getsourcelines json.dump locale.setlocale logging.warn marshal.dumps "
        "multiprocessing.Lock multiprocessing.Process multiprocessing.Queue os.access "
        "os.chdir os.environ.update os.getloadavg os.getpgid os.getppid os.getuid os.kill "
        "os.mkdir os.open os.path.getmtime os.path.getsize os.path.isdir os.path.islink "
        "os.path.lexists os.path.normpath os.path.realpath os.path.relpath os.path.samefile "
        "os.popen os.putenv os.remove os.rename os.replace os.scandir os.sched_getaffinity "
        "os.strerror os.system os.times os.uname os.unsetenv pathlib.Path.cwd "
        "pathlib.Path.glob pathlib.Path.is_dir pathlib.Path.is_file pathlib.Path.iterdir "
        "pathlib.Path.mkdir pathlib.Path.open pathlib.Path.read_text pathlib.Path.resolve "
        "pathlib.Path.rglob pathlib.Path.stat pathlib.Path.touch pathlib.Path.unlink "
        "pathlib.Path.write_text pickle.dump pickle.loads queue.PriorityQueue queue.Queue "
        "random.betavariate random.expovariate random.gammavariate random.getrandbits "
        "random.lognormvariate random.normalvariate random.paretovariate random.randbytes "
        "random.setstate random.triangular random.vonmisesvariate random.weibullvariate "
        "re.finditer re.purge resource.getrusage secrets.choice select.select shutil.copy "
        "shutil.disk_usage shutil.rmtree signal.alarm signal.signal socket.getfqdn "
        "socket.gethostbyname sqlite3.connect struct.calcsize struct.iter_unpack "
        "struct.unpack_from subprocess.Popen subprocess.call subprocess.check_call "
        "subprocess.getoutput subprocess.getstatusoutput sys._current_frames sys.displayhook "
        "sys.getdefaultencoding sys.getfilesystemencoding sys.getprofile "
        "sys.getswitchinterval sys.gettrace sys.is_finalizing sys.setrecursionlimit "
        "sys.settrace tempfile.TemporaryDirectory tempfile.mkdtemp tempfile.mkstemp "
        "threading.Barrier threading.Event threading.Semaphore threading.Thread "
        "threading.Timer threading.get_native_id time.asctime time.ctime time.gmtime "
        "time.localtime time.mktime time.monotonic_ns time.process_time_ns time.thread_time "
        "traceback.extract_stack tracemalloc.start tracemalloc.stop unicodedata.category "
        "unicodedata.name urllib.request.urlopen uuid.uuid1 warnings.formatwarning "
        "warnings.resetwarnings warnings.showwarning warnings.warn_explicit weakref.proxy "
        "zlib.adler32 zlib.compress zlib.decompress"
    ),
    "GB0008": ("secrets.randbelow secrets.token_bytes secrets.token_urlsafe"),
    "GB0059": (
        "ast.parse builtins.breakpoint builtins.input configparser.ConfigParser "
        "fnmatch.filter io.open pathlib.Path.read_bytes pathlib.Path.write_bytes shelve.open "
        "statistics.mode tarfile.open tempfile.NamedTemporaryFile tempfile.TemporaryFile "
        "timeit.timeit zipfile.ZipFile"
    ),
    "GB0082": ("asyncio.sleep"),
    "GB0116": ("traceback.format_tb"),
    "GB0134": ("statistics.pstdev statistics.stdev statistics.variance"),
    "GB0142": (
        "concurrent.futures.ThreadPoolExecutor.submit queue.Queue.empty queue.Queue.get "
        "queue.Queue.put threading.Event.set threading.active_count threading.enumerate"
    ),
    "GB0147": (
        "contextvars.ContextVar datetime.date datetime.datetime mmap.mmap socket.socket "
        "struct.Struct types.ModuleType zoneinfo.ZoneInfo"
    ),
    "GB0156": (
        "argparse.ArgumentParser builtins.object.__getattribute__ bz2.compress cProfile.Profile "
        "concurrent.futures.ThreadPoolExecutor contextvars.ContextVar.get "
        "contextvars.ContextVar.set ctypes.c_float dataclasses.make_dataclass "
        "datetime.datetime.fromtimestamp datetime.datetime.isoformat "
        "datetime.datetime.strftime datetime.datetime.strptime datetime.datetime.timestamp "
        "datetime.datetime.today datetime.datetime.utcnow datetime.timedelta.total_seconds "
        "functools.cache functools.cached_property gettext.gettext gzip.open "
        "hashlib.HASH.hexdigest hashlib.HASH.update hashlib.blake2b inspect.getdoc "
        "io.BytesIO.getvalue io.StringIO.getvalue io.StringIO.write io.TextIOWrapper.close "
        "io.TextIOWrapper.flush io.TextIOWrapper.read io.TextIOWrapper.write "
        "ipaddress.ip_address json.load logging.StreamHandler lzma.compress pickle.load "
        "pprint.pprint queue.SimpleQueue random.SystemRandom shlex.split "
        "shutil.get_terminal_size ssl.create_default_context subprocess.Popen.poll "
        "sys.stderr.flush threading.Condition threading.Lock.acquire threading.Lock.locked "
        "threading.RLock types.new_class urllib.parse.quote urllib.parse.urlencode uuid.uuid3 "
        "uuid.uuid5 xml.etree.ElementTree.fromstring"
    ),
    "GB0262": ("contextlib.closing contextlib.redirect_stdout"),
    "GB0292": ("re.Match.groupdict"),
    "GB0467": ("logging.disable"),
    "GB4841": ("logging.critical logging.exception logging.log"),
    "GB7786": ("inspect.cleandoc"),
    "GB9625": ("traceback.format_exc"),
    "GB8977": ("ctypes.CDLL"),
}
_BREAKS = {name: id for id, names in _MEASURED.items() for name in names.split()}


def break_id(name: str, torch: TorchFacts) -> str:
    """Return the graph-break id of calling a builtin or standard library name, "" if none is known.

    `name` is a callee's canonical name: "time.time", "builtins.print", "pathlib.Path.read_text".
    """
    known = torch.python(name)
    if known is not None and known != "ok":
        return known
    return _BREAKS.get(name, "")


__all__ = ["break_id"]
