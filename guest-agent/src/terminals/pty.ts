import { spawn, type ChildProcess } from 'node:child_process'
import { chownSync, closeSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ReadStream } from 'node:tty'
import { hideFromChildren, maskHidden } from '../system/descriptors.ts'
import { exitCodeOf } from '../exec/exit.ts'
import { resetOomScore } from '../exec/oom-score.ts'

export type PtyCommand = {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly cols: number
  readonly rows: number
  /** Becomes the owner of the terminal's device. */
  readonly owner: { readonly uid: number; readonly gid: number }
}

type PtyEvents = {
  readonly onData: (bytes: Buffer) => void
  /** After `write` returned false: it accepts more again. */
  readonly onDrain: () => void
  /** After the last byte; nothing follows. */
  readonly onExit: (exitCode: number) => void
}

/**
 * A pty and the command on it. When the leader of a session exits, the kernel discards what the
 * terminal still holds. So the leader is a shell, which reports the command's exit code and stays
 * until all output was read.
 */
export class Pty {
  /** The process id of the session's leader. */
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
    const [unhideMaster, unhideSlave] = [hideFromChildren(master), hideFromChildren(slave)]
    this.#fd = master
    this.#socket = new ReadStream(master)
    this.#socket.on('error', () => {})
    this.#socket.once('close', unhideMaster)
    this.#events = events
    try {
      chownSync(device, owner.uid, ttyGroup)
      this.#leader = startLeader({ device, slave }, command)
    } catch (error) {
      this.#socket.destroy()
      throw error
    } finally {
      closeSync(slave)
      unhideSlave()
    }
    this.sessionId = this.#leader.pid!
    this.#listen()
  }

  /** Returns false if the caller should wait for `onDrain`. */
  write(bytes: Buffer): boolean {
    return this.#socket.destroyed || this.#socket.write(bytes)
  }

  /** Stops reading, which blocks the command's writes once the kernel's small buffer is full. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  resize(cols: number, rows: number): void {
    if (!this.#socket.destroyed) loadNative().resize(this.#fd, cols, rows)
  }

  /** Makes the exit no longer wait for unread output. */
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
      void this.#end(exitCodeOf(code, signal))
    })
  }

  async #end(exitCode: number): Promise<void> {
    if (this.#exitCode !== undefined) return
    this.#exitCode = exitCode
    await this.#drain()
    this.#socket.destroy()
    this.#leader.stdio[3]?.destroy()
    this.#events.onExit(exitCode)
  }

  /**
   * Reads until nothing is left. The event loop may report data late, but a direct read returns
   * everything written before it. The byte limit ends it when a background process keeps writing.
   */
  async #drain(): Promise<void> {
    for (let drainedBytes = 0; drainedBytes < kernelBytes && !this.#socket.destroyed;) {
      if (!this.#abandoned && this.#socket.isPaused()) await this.#resumed()
      else if (!this.#abandoned && this.#socket.readableLength > 0) await nextTurn()
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

/** Undefined if there is nothing to read. */
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
/** More than the kernel's buffer of a terminal holds. */
const kernelBytes = 256 * 1024

/** Debian's group `tty`. */
const ttyGroup = 5

/**
 * The first terminal that a session's leader opens becomes its controlling terminal. The terminal's
 * signals reach the leader too but are meant for the command: the leader traps them, because a
 * trap, unlike an ignored signal, is not inherited.
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
  const stdio = maskHidden([slave, slave, slave, 'pipe'])
  const leader = spawn('/bin/sh', args, { cwd, env, stdio, detached: true })
  leader.on('error', () => {})
  if (leader.pid === undefined) throw new Error('could not start a shell for the terminal')
  resetOomScore(leader)
  return leader
}

type Native = {
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(fd: number, cols: number, rows: number): void
}

let loaded: Native | undefined

/** The native part of the pty library alone: the rest of it loses data of a paused terminal. */
function loadNative(): Native {
  const load = createRequire(import.meta.url)
  return (loaded ??= load(`@lydell/node-pty-linux-${process.arch}/pty.node`) as Native)
}
