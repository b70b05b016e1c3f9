"""Attempts to reach the network and sockets, and to write outside the folder.

`secret_reading` replaces the all-caps names and inserts the snippets into notebooks.
"""

ESCAPES = {
    "uses-the-network": """
        # Tries to reach the network over TCP, UDP, and DNS, and a cloud's metadata server.
        import socket, urllib.request
        for host in ("127.0.0.1", "localhost", "::1", "10.0.2.2", "host.docker.internal"):
            def tcp():
                with socket.create_connection((host, PORT), timeout=1) as link:
                    link.sendall(b"corpus")
                    return link.recv(1000)
            attempt(host, tcp)
        def udp():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
                link.settimeout(1)
                link.sendto(b"corpus", ("127.0.0.1", PORT))
                return link.recv(1000)
        attempt("udp", udp)
        for url in ("http://127.0.0.1:PORT/", "http://169.254.169.254/latest/meta-data/"):
            attempt(url, lambda: urllib.request.urlopen(url, timeout=1).read())
        print("names", end=" ")
        try:
            tell("REACHED", socket.gethostbyname("example.org"))
        except OSError as error:
            print(type(error).__name__)
    """,
    "uses-sockets": """
        # Connects to every socket in the file system, and to abstract sockets.
        import os, socket, stat
        names = [line.split()[-1] for line in open("/proc/net/unix") if "/" in line or "@" in line]
        for place in (".", "/tmp", "/run", "/var/run", os.path.expanduser("~")):
            for top, _, files in os.walk(place):
                names += [os.path.join(top, name) for name in files]
        for name in names:
            def speak():
                if not name.startswith("@") and not stat.S_ISSOCK(os.stat(name).st_mode):
                    return "no socket"
                with socket.socket(socket.AF_UNIX) as link:
                    link.settimeout(0.2)
                    link.connect(name.replace("@", chr(0)))
                    link.sendall(b"\\0" * 64)
                    return link.recv(100)
            attempt(name, speak)
    """,
    "writes-gradebook": """
        # Gives every student points, and then destroys the gradebook.
        import os, sqlite3
        def update():
            book = sqlite3.connect(GRADEBOOK, timeout=1)
            tables = book.execute("select name from sqlite_master where type='table'").fetchall()
            for (table,) in tables:
                for column in ("auto_score", "manual_score", "extra_credit", "max_score"):
                    try:
                        book.execute(f"update {table} set {column} = 462")
                    except sqlite3.Error:
                        pass
            book.commit()
            return "WRITTEN"
        attempt("update", update)
        attempt("append", lambda: open(GRADEBOOK, "ab").write(b"x"))
        attempt("rename", os.rename, GRADEBOOK, GRADEBOOK + ".old")
        attempt("remove", os.remove, GRADEBOOK)
    """,
    "touches-others": """
        # Changes and removes the files of others.
        import os, pathlib, shutil
        for place in (SUBMISSIONS, COURSE):
            attempt("new", lambda: pathlib.Path(place, "STRAY").write_text("x"))
            for path in pathlib.Path(place).rglob("*"):
                if path.is_file() and not path.is_symlink():
                    attempt("append " + str(path), lambda: path.open("ab").write(b" "))
                    attempt("mode " + str(path), path.chmod, 0o777)
            attempt("tree", shutil.rmtree, place)
        for path in (FILE, OTHER):
            attempt("write", lambda: pathlib.Path(path).write_text("changed"))
            attempt("remove", os.remove, path)
    """,
    "leaves-files": """
        # Leaves files wherever it can, and changes files that Python loads when it starts.
        import pathlib, site, sys
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "~", "/etc", sys.prefix):
            path = pathlib.Path(place).expanduser() / "STRAY"
            attempt(place, path.write_text, "x")
        import jaxbits, numpy
        for module in (jaxbits, numpy):
            attempt(module.__name__, lambda: open(module.__file__, "a").write("\\n"))
        for place in site.getsitepackages():
            attempt(place, lambda: pathlib.Path(place, "STRAY.pth").write_text("import os"))
    """,
}
