import type { Terminal as TerminalInfo } from '@computer/contract'
import { encodeControl, encodeFrame, FrameReader } from '@computer/contract/guest-frames'
import { frameKind, limitsToGuest, TerminalToGuest } from '@computer/contract/guest-streams'
import type { Duplex } from 'node:stream'
import { TailBuffer } from '../exec/tail-buffer.ts'
import { AgentError } from '../errors.ts'
import { Pty, type PtyCommand } from './pty.ts'
import { endSession } from './posix-session.ts'

const replayBytes = 256 * 1024
/** The limit for a frame from a client. */
const hangupGraceMs = 2_000

type TerminalStart = Omit<TerminalInfo, 'created_at' | 'attached'> & {
  readonly pty: PtyCommand
}

/**
 * A terminal and its client, of which it has at most one. A slow client holds the pty back; without
 * a client the pty is still read, and the end of its output is kept to replay to the next client.
 */
export class Terminal {
  readonly #start: TerminalStart
  readonly #pty: Pty
  readonly #createdAt = new Date().toISOString()
  readonly #replay = new TailBuffer(replayBytes)
  readonly #onExit: () => void
  #size: { cols: number; rows: number }
  /** `pending` between `reserve` and `attach`. */
  #client: Duplex | 'pending' | undefined
  #exitCode: number | undefined

  constructor(start: TerminalStart, onExit: () => void) {
    this.#start = start
    this.#size = { cols: start.cols, rows: start.rows }
    this.#onExit = onExit
    this.#pty = new Pty(start.pty, {
      onData: (bytes) => {
        this.#replay.push(bytes)
        this.#send(encodeFrame(frameKind.payload, bytes))
      },
      onDrain: () => this.#stream?.resume(),
      onExit: (exitCode) => this.#exit(exitCode),
    })
  }

  get id(): TerminalInfo['id'] {
    return this.#start.id
  }

  get sessionId(): number {
    return this.#pty.sessionId
  }

  get hasExited(): boolean {
    return this.#exitCode !== undefined
  }

  get info(): TerminalInfo {
    const { id, command, user, cwd } = this.#start
    const attached = this.#client !== undefined
    return { id, command, user, cwd, ...this.#size, created_at: this.#createdAt, attached }
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#pty.resize(cols, rows)
  }

  /** Reserves the terminal for the stream that is passed to `attach` next. */
  reserve(): void {
    if (this.#stream?.destroyed) this.#client = undefined
    if (this.#client !== undefined) {
      throw new AgentError(
        'conflict',
        `terminal ${this.id} has a client already; disconnect it first`,
      )
    }
    this.#client = 'pending'
  }

  /** Replays the kept output and continues live, without a gap or a repeat. */
  attach(stream: Duplex): void {
    this.#client = stream
    stream.once('close', () => this.#detach(stream))
    if (stream.destroyed) return this.#detach(stream)
    this.#readFrames(stream)
    stream.on('drain', () => this.#pty.resume())
    this.#send(encodeControl({ type: 'attached' }))
    const kept = this.#replay.bytes()
    if (kept.length > 0) this.#send(encodeFrame(frameKind.payload, kept))
    if (this.#exitCode !== undefined) this.#sendExit(this.#exitCode)
  }

  /** Resolves when no process of its session runs any more. */
  async kill(): Promise<void> {
    this.#pty.abandon()
    await endSession(this.#pty.sessionId, hangupGraceMs)
  }

  get #stream(): Duplex | undefined {
    return typeof this.#client === 'object' ? this.#client : undefined
  }

  #readFrames(stream: Duplex): void {
    const reader = new FrameReader(limitsToGuest)
    stream.on('data', (chunk: Buffer) => {
      try {
        for (const { kind, payload } of reader.push(chunk)) {
          if (kind === frameKind.payload) {
            if (!this.#pty.write(payload)) stream.pause()
          } else {
            const { cols, rows } = TerminalToGuest.parse(JSON.parse(payload.toString('utf8')))
            this.resize(cols, rows)
          }
        }
      } catch {
        // A protocol error: the rest of the stream cannot be trusted.
        stream.destroy()
      }
    })
    stream.once('end', () => stream.end())
  }

  #send(frame: Buffer): void {
    const stream = this.#stream
    if (!stream || stream.destroyed || stream.writableEnded) return
    if (!stream.write(frame)) this.#pty.pause()
  }

  #detach(stream: Duplex): void {
    if (this.#client !== stream) return
    this.#client = undefined
    this.#pty.resume()
  }

  #exit(exitCode: number): void {
    this.#exitCode = exitCode
    this.#sendExit(exitCode)
    this.#onExit()
  }

  #sendExit(exitCode: number): void {
    const stream = this.#stream
    if (!stream || stream.destroyed || stream.writableEnded) return
    stream.end(encodeControl({ type: 'exit', exit_code: exitCode }))
  }
}
