import {
  encodeControl,
  encodeFrame,
  frameKind,
  FrameReader,
  TerminalToGuest,
  type GuestOpenTerminal,
  type GuestTerminalSize,
  type Terminal,
} from '@computer/contract'
import type { Duplex } from 'node:stream'
import type { CommandHost } from './commands.ts'
import { home } from './disk.ts'
import { runCommand } from './exec.ts'
import { GuestFault } from './fault.ts'

const replayBytes = 256 * 1024

/** The terminals of one boot. A line that is typed is run and what it prints is shown. */
export class FakeTerminals {
  readonly #terminals = new Map<string, FakeTerminal>()
  readonly #host: () => CommandHost

  constructor(host: () => CommandHost) {
    this.#host = host
  }

  open(request: GuestOpenTerminal): Terminal {
    const known = this.#terminals.get(request.id)
    if (known) return known.info
    const terminal = new FakeTerminal(this.#host, request)
    this.#terminals.set(request.id, terminal)
    return terminal.info
  }

  list(): Terminal[] {
    return [...this.#terminals.values()]
      .filter(({ hasExited }) => !hasExited)
      .map(({ info }) => info)
      .toReversed()
  }

  find(id: string): FakeTerminal {
    const terminal = this.#terminals.get(id)
    if (!terminal) throw new GuestFault('not_found', `there is no terminal ${id}`)
    return terminal
  }

  resize({ id, ...size }: GuestTerminalSize): Terminal {
    const terminal = this.find(id)
    terminal.resize(size)
    return terminal.info
  }

  kill(id: string): void {
    this.find(id).exit(129)
    this.#terminals.delete(id)
  }
}

class FakeTerminal {
  readonly #host: () => CommandHost
  readonly #user: GuestOpenTerminal['user']
  #info: Terminal
  #kept = Buffer.alloc(0)
  #line = ''
  #stream: Duplex | null = null
  #exitCode: number | null = null

  constructor(host: () => CommandHost, request: GuestOpenTerminal) {
    const { id, user, cols, rows, cwd = home } = request
    this.#host = host
    this.#user = user
    const created_at = new Date().toISOString()
    const command = request.command ?? ['/bin/bash', '-l']
    this.#info = { id, command, user, cwd, cols, rows, created_at, attached: false }
    if (request.command) void this.#run(request.command).then((exitCode) => this.exit(exitCode))
  }

  get info(): Terminal {
    return { ...this.#info, attached: this.#stream !== null }
  }

  get hasExited(): boolean {
    return this.#exitCode !== null
  }

  /** Throws unless it is free; what is answered is then given the stream. */
  reserve(): (stream: Duplex) => void {
    if (this.#stream) throw new GuestFault('conflict', 'the terminal has a client already')
    return (stream) => this.#attach(stream)
  }

  resize(size: { readonly cols: number; readonly rows: number }): void {
    this.#info = { ...this.#info, ...size }
  }

  /** False once its client takes no more. */
  get isRoomy(): boolean {
    return !this.#stream?.writableNeedDrain
  }

  /** What a program inside prints. */
  print(bytes: Buffer | string): void {
    const chunk = Buffer.from(bytes)
    this.#kept = Buffer.concat([this.#kept, chunk]).subarray(-replayBytes)
    this.#stream?.write(encodeFrame(frameKind.payload, chunk))
  }

  exit(exitCode: number): void {
    if (this.#exitCode !== null) return
    this.#exitCode = exitCode
    this.#stream?.end(encodeControl({ type: 'exit', exit_code: exitCode }))
  }

  #attach(stream: Duplex): void {
    this.#stream = stream
    stream.once('close', () => (this.#stream = null))
    stream.write(encodeControl({ type: 'attached' }))
    if (this.#kept.length > 0) stream.write(encodeFrame(frameKind.payload, this.#kept))
    const reader = new FrameReader()
    stream.on('data', (chunk: Buffer) => {
      for (const { kind, payload } of reader.push(chunk)) {
        if (kind === frameKind.payload) this.#type(payload)
        else this.resize(TerminalToGuest.parse(JSON.parse(payload.toString())))
      }
    })
    if (this.#exitCode !== null) {
      stream.end(encodeControl({ type: 'exit', exit_code: this.#exitCode }))
    }
  }

  /** Echoed as it comes, bytes that are no text too. */
  #type(bytes: Buffer): void {
    this.print(bytes)
    const [line = '', ...rest] = (this.#line + bytes.toString()).split('\r')
    if (rest.length === 0) {
      this.#line = line
      return
    }
    this.#line = rest.join('\r')
    const exit = /^exit ?(\d*)$/.exec(line)
    if (exit) this.exit(Number(exit[1]))
    else if (line === 'stty size') this.print(`\n${this.#info.rows} ${this.#info.cols}\r\n`)
    else void this.#run(['sh', '-c', line])
  }

  async #run(command: string[]): Promise<number> {
    const { cwd } = this.#info
    const request = { command, user: this.#user, cwd, timeout_ms: 60_000 }
    const { signal } = new AbortController()
    const result = await runCommand(this.#host(), request, signal)
    this.print((result.stdout + result.stderr).replaceAll('\n', '\r\n'))
    return result.exit_code
  }
}
