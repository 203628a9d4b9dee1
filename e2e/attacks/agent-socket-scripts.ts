/*
 * Root of a machine puts these in the place of its agent's socket. Each Python script prints `done` when its
 * trap is in place.
 */

const start = `
import ctypes, os, pwd, shutil, socket, subprocess, sys, threading, time
folder = '/run/computer'
path = folder + '/agent.sock'
libc = ctypes.CDLL(None, use_errno=True)
subprocess.run(['umount', '--lazy', folder], stderr=subprocess.DEVNULL)
subprocess.run(['umount', '--lazy', folder], stderr=subprocess.DEVNULL)
if os.path.islink(folder): os.unlink(folder)
else: shutil.rmtree(folder, ignore_errors=True)

def mount(source, target, kind, options):
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, options.encode()):
        sys.exit(f'mount: {os.strerror(ctypes.get_errno())}')

def echo(at):
    os.makedirs(os.path.dirname(at), exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(at)
    server.listen(64)
    def serve():
        while True:
            stream, _ = server.accept()
            threading.Thread(target=answer, args=(stream,), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()

def answer(stream):
    while data := stream.recv(65536): stream.sendall(data)

def leave(work):
    # A child that outlives this call.
    if os.fork() == 0:
        os.setsid()
        for stream in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), stream)
        work()
        while True: time.sleep(60)

def wait_for(condition):
    while not condition(): time.sleep(0.01)
`

/** An agent that echoes, as it should be. */
export const honest = `${start}
leave(lambda: echo(path))
wait_for(lambda: os.path.exists(path))
print('done')`

/** Arguments: the target. */
export const linkedSocket = `${start}
os.mkdir(folder)
os.symlink(sys.argv[1], path)
print('done')`

/** Arguments: the folder. */
export const linkedFolder = `${start}
os.symlink(sys.argv[1], folder)
print('done')`

export const socketOfUser = `${start}
leave(lambda: echo(path))
wait_for(lambda: os.path.exists(path))
agent = pwd.getpwnam('agent')
os.chown(path, agent.pw_uid, agent.pw_gid)
print('done')`

/** A file system whose program never answers. */
export const silentFuse = `${start}
os.mkdir(folder)
device = os.open('/dev/fuse', os.O_RDWR)
mount('none', folder, 'fuse', f'fd={device},rootmode=40000,user_id=0,group_id=0,allow_other')
leave(lambda: None)
print('done')`

export const overlay = `${start}
for name in ('lower', 'upper', 'work'): os.makedirs('/run/layers/' + name, exist_ok=True)
os.mkdir(folder)
mount('none', folder, 'overlay', 'lowerdir=/run/layers/lower,upperdir=/run/layers/upper,workdir=/run/layers/work')
leave(lambda: echo(path))
wait_for(lambda: os.path.exists(path))
print('done')`

/** Swaps an honest socket for a link and back, as fast as it can, until it is killed. Arguments: the target. */
export const swapped = `${start}
def swap():
    echo(folder + '/honest')
    os.symlink(sys.argv[1], folder + '/link')
    while True:
        for name in ('honest', 'link'):
            os.link(folder + '/' + name, folder + '/next', follow_symlinks=False)
            os.rename(folder + '/next', path)
            # A rename to another name of the same file does nothing.
            if os.path.lexists(folder + '/next'): os.unlink(folder + '/next')
os.mkdir(folder)
leave(swap)
wait_for(lambda: os.path.lexists(path))
print('done')`
