import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The X server of the machine image, in a chroot instead of a machine. */
export type TestDisplay = AsyncDisposable & {
  readonly xSocketPath: string
  readonly rfbSocketPath: string
  /** Like a crash and a restart by its unit. */
  restart(): Promise<void>
}

export async function startDisplay(size = '1280x800'): Promise<TestDisplay> {
  const root = await mkdtemp(join(tmpdir(), 'computer-display-'))
  await unpack(root).catch(async (error: unknown) => {
    await rm(root, { recursive: true, force: true })
    throw error
  })
  const xSocketPath = join(root, 'tmp/.X11-unix/X0')
  const rfbSocketPath = join(root, 'run/rfb.sock')
  let server = await startServer(root, size)
  return {
    xSocketPath,
    rfbSocketPath,
    async restart() {
      await server.kill()
      server = await startServer(root, size)
    },
    async [Symbol.asyncDispose]() {
      await server.kill()
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function startServer(root: string, size: string): Promise<{ kill: () => Promise<void> }> {
  await rm(join(root, 'tmp'), { recursive: true, force: true })
  await mkdir(join(root, 'tmp/.X11-unix'), { recursive: true, mode: 0o777 })
  const options =
    `-geometry ${size} -depth 24 -rfbport -1 -rfbunixpath /run/rfb.sock -SecurityTypes None ` +
    // Abstract sockets are shared with the whole host, where other tests may run.
    '-AlwaysShared -AcceptSetDesktopSize=1 -nolisten tcp -nolisten local -noreset -s 0'
  const command = ['chroot', root, '/usr/bin/Xtigervnc', ':0', ...options.split(' ')] as const
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  // It listens for viewers a moment later than for programs.
  for (const path of ['tmp/.X11-unix/X0', 'run/rfb.sock'])
    while (!(await accepts(join(root, path)))) {
      if (child.exitCode !== null) throw new Error(`the X server ended: ${complaint}`)
      await pause(20)
    }
  return {
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Unpacks the files of the built image that the X server needs. */
async function unpack(root: string): Promise<void> {
  const build = fileURLToPath(new URL('../../image/build.sh', import.meta.url))
  const hash = execFileSync('bash', [build, '--hash'], { encoding: 'utf8' }).trim()
  const images = process.env['COMPUTER_IMAGE_CACHE'] ?? '/var/lib/computer/images'
  const archive = join(images, hash, 'rootfs.tar.zst')
  const wanted = [...paths, ...libraries.map((name) => `./usr/lib/*-linux-gnu/lib${name}.so*`)]
  await run('tar', ['--zstd', '-xf', archive, '-C', root, '--wildcards', ...wanted])
  await mkdir(join(root, 'dev'))
  await mkdir(join(root, 'run'), { recursive: true })
  await run('mknod', [join(root, 'dev/null'), 'c', '1', '3'])
  await run('mknod', [join(root, 'dev/urandom'), 'c', '1', '9'])
}

const paths = [
  './bin',
  './lib',
  './lib64',
  './usr/lib64',
  './usr/lib/*-linux-gnu/ld-linux*',
  './usr/bin/Xtigervnc',
  './usr/bin/xkbcomp',
  './usr/bin/sh',
  './usr/bin/dash',
  './usr/share/X11/xkb',
  './var/lib/xkb',
]
const libraries = (
  'GL GLX GLdispatch X11 Xau Xdmcp Xfont2 audit brotlicommon brotlidec bsd bz2 c cap cap-ng ffi ' +
  'fontenc freetype gcc_s gcrypt gmp gnutls gpg-error hogweed idn2 jpeg lz4 lzma m md nettle ' +
  'p11-kit pam pcre2-8 pixman-1 png16 selinux stdc++ systemd tasn1 unistring unwind xcb ' +
  'xkbfile z zstd'
).split(' ')
