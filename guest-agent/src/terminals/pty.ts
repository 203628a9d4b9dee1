import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, closeSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import type { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { ReadStream } from 'node:tty'
import { noteInherited, withoutInherited } from '../descriptors.ts'
import { resetOomScore } from '../exec/oom-score.ts'

export type PtyCommand = {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly cols: number
  readonly rows: number
  /** Whose the terminal's device is. */
  readonly owner: { readonly uid: number; readonly gid: number }
}

export type PtyEvents = {
  readonly onData: (bytes: Buffer) => void
  /** What was written has room again. */
  readonly onDrain: () => void
  /** After the last byte; nothing follows. */
  readonly onExit: (exitCode: number) => void
}

/**
 * A pty and the command on it. With the process that leads a session the kernel throws away what the
 * terminal still holds, so the command does not lead: a shell does, reports how the command ended and
 * stays until everything was read.
 */
export class Pty {
  /** The id of the session, which is its leader's. */
  readonly sessionId: number
  readonly #fd: number
  readonly #socket: ReadStream
  readonly #leader: ChildProcess
  readonly #events: PtyEvents
  #exitCode: number | undefined
  #abandoned = false

  constructor(command: PtyCommand, events: PtyEvents) {
    const { cols, rows, owner } = command
    const native = loadNative()
    const { master, slave, pty: device } = native.open(cols, rows)
    const [forgetMaster, forgetSlave] = [noteInherited(master), noteInherited(slave)]
    this.#fd = master
    this.#socket = new ReadStream(master)
    this.#socket.on('error', () => {})
    this.#socket.once('close', forgetMaster)
    this.#events = events
    try {
      chownSync(device, owner.uid, ttyGroup)
      this.#leader = startLeader({ device, slave }, command)
    } catch (error) {
      this.#socket.destroy()
      throw error
    } finally {
      closeSync(slave)
      forgetSlave()
    }
    this.sessionId = this.#leader.pid!
    this.#listen()
  }

  /** False: wait for `onDrain`. */
  write(bytes: Buffer): boolean {
    return this.#socket.destroyed || this.#socket.write(bytes)
  }

  /** What runs inside comes to a stop once the kernel's few kilobytes are full. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  resize(cols: number, rows: number): void {
    if (!this.#socket.destroyed) loadNative().resize(this.#fd, cols, rows)
  }

  /** Whatever it still holds is not waited for any more. */
  abandon(): void {
    this.#abandoned = true
    this.#socket.resume()
  }

  #listen(): void {
    this.#socket.on('data', (bytes: Buffer) => this.#events.onData(bytes))
    this.#socket.on('drain', () => this.#events.onDrain())
    const report = this.#leader.stdio[3] as Duplex
    report.on('error', () => {})
    report.once('data', (line: Buffer) => void this.#end(Number(line.toString())))
    this.#leader.once('exit', (code, signal) => {
      void this.#end(code ?? 128 + constants.signals[signal!])
    })
  }

  async #end(exitCode: number): Promise<void> {
    if (this.#exitCode !== undefined) return
    this.#exitCode = exitCode
    await this.#drained()
    this.#socket.destroy()
    this.#leader.stdio[3]?.destroy()
    this.#events.onExit(exitCode)
  }

  /**
   * Until a read finds nothing. To be told by the event loop of what there is may take the kernel any
   * time; a read has all that was written before it. What is left behind in the background and goes
   * on writing is not waited for.
   */
  async #drained(): Promise<void> {
    for (let drainedBytes = 0; drainedBytes < kernelBytes && !this.#socket.destroyed;) {
      if (!this.#abandoned && this.#socket.isPaused()) await this.#resumed()
      else if (!this.#abandoned && this.#socket.readableLength > 0) await turn()
      else {
        const bytes = readNow(this.#fd)
        if (!bytes) return
        this.#events.onData(bytes)
        drainedBytes += bytes.length
      }
    }
  }

  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('resume', resolve)
      this.#socket.once('close', resolve)
    })
  }
}

/** Undefined where there is nothing to read, now or ever again. */
function readNow(fd: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(readBytes)
  try {
    const length = readSync(fd, bytes)
    return length > 0 ? bytes.subarray(0, length) : undefined
  } catch {
    return undefined
  }
}

const readBytes = 64 * 1024
/** More than a terminal ever holds. */
const kernelBytes = 256 * 1024

/** The group that Debian gives terminals to. */
const ttyGroup = 5

/**
 * The first terminal that the leader of a session opens becomes the session's. The signals of a
 * terminal reach the leader too and are for the command: a trap, unlike ignoring, is not inherited.
 */
const leaderScript = `
trap : HUP INT QUIT
: <"$1"
shift
"$@" 3<&-
echo $? >&3
read -r end <&3
`

function startLeader(
  { device, slave }: { readonly device: string; readonly slave: number },
  { argv, cwd, environment: env }: PtyCommand,
): ChildProcess {
  const args = ['-c', leaderScript, 'sh', device, ...argv]
  const stdio = withoutInherited([slave, slave, slave, 'pipe'])
  const leader = spawn('/bin/sh', args, { cwd, env, stdio, detached: true })
  leader.on('error', () => {})
  if (leader.pid === undefined) throw new Error('the machine has no room for another process')
  resetOomScore(leader)
  return leader
}

type Native = {
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

let loaded: Native | undefined

/** The native part alone of the pty library: the rest of it loses what a paused terminal holds. */
function loadNative(): Native {
  const load = createRequire(import.meta.url)
  return (loaded ??= load(`@lydell/node-pty-linux-${process.arch}/pty.node`) as Native)
}
