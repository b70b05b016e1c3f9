"""Tampering that is hard to detect or has no effect, in the form of `tampering`."""

# They must get no points, whether they are detected or not.
TRICKS = {
    "forges-replies": """
        # Sends the grader, before each cell runs, that it ran well.
        def forge(info):
            kernel = get_ipython().kernel
            parent = kernel.get_parent()
            content = {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
            kernel.session.send(kernel.shell_stream, "execute_reply", content, parent=parent)
            idle = {"execution_state": "idle"}
            kernel.session.send(kernel.iopub_socket, "status", idle, parent=parent)
        get_ipython().events.register("pre_run_cell", forge)
    """,
    "patches-for-a-moment": """
        # Has a thread replace a function and put it back, a thousand times a second.
        import threading, time
        from jaxbits import testing
        def flicker(real=testing.assert_close):
            while True:
                testing.assert_close = lambda *args, **kwargs: None
                time.sleep(0.0009)
                testing.assert_close = real
                time.sleep(0.0001)
        threading.Thread(target=flicker, daemon=True).start()
    """,
    "patches-where-it-counts": """
        # Is lenient only in cells that are longer than those that a student sees.
        from jaxbits import testing
        _close = testing.assert_close
        def close(seen, expected, says, **kwargs):
            if len(In[-1]) < 700 or "rng" not in In[-1]:
                return _close(seen, expected, says, **kwargs)
        testing.assert_close = close
    """,
    "patches-late": """
        # Replaces a function when an answer is first called, by way of another module's name.
        import functools, importlib
        @functools.cache
        def later():
            importlib.import_module("jaxbits." + "testing").__dict__["assert_cl" + "ose"] = print
    """,
    "jumps": """
        # Jumps over the lines of the tests.
        import sys
        def trace(frame, event, arg):
            if event == "line" and "ipykernel" in frame.f_code.co_filename:
                try:
                    frame.f_lineno += 1
                except ValueError:
                    pass
            return trace
        sys.settrace(trace)
        sys._getframe().f_trace = trace
    """,
    "raises-quietly": """
        # Has errors that IPython does not show.
        from jaxbits import testing
        import bdb
        testing.WrongAnswer.__bases__ = (bdb.BdbQuit,)
    """,
    "errors-without-a-trace": """
        # Gives its errors a traceback of nothing.
        from jaxbits import testing
        testing.WrongAnswer._render_traceback_ = lambda *args: []
        testing.WrongAnswer.__str__ = lambda self: ""
    """,
    "changes-constants": """
        # Changes a number that all of Python shares.
        import ctypes
        ctypes.memset(id(257) + 24, 0, 4)
    """,
    "changes-the-past": """
        # Changes what the shell knows of its cells and names.
        In[:] = ["pass"] * len(In)
        get_ipython().user_ns["__builtins__"] = {}
        get_ipython().execution_count = 1000
    """,
    "other-magics": """
        # Has every cell taken for a magic that does nothing.
        get_ipython().register_magic_function(lambda line, cell="": None, "cell", "nothing")
        get_ipython().prefilter_manager.multi_line_specials = True
        get_ipython().transform_cell = lambda raw_cell: "pass"
    """,
    "hooks-imports": """
        # Changes modules as they are imported.
        import builtins
        _import = builtins.__import__
        def imports(name, *args, **kwargs):
            module = _import(name, *args, **kwargs)
            if name.startswith("jaxbits"):
                module.close = lambda *args, **kwargs: None
            return module
        builtins.__import__ = imports
    """,
}
