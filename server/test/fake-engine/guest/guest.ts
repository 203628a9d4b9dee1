import {
  GuestClipboardQuery,
  GuestDeleteQuery,
  GuestExec,
  GuestFence,
  GuestIdentity,
  GuestInput,
  GuestListQuery,
  GuestMove,
  GuestReadQuery,
  GuestSecrets,
  guestRoutes,
  guestStreams,
  GuestPortQuery,
  GuestOpenTerminal,
  GuestScreenshotQuery,
  GuestLogQuery,
  GuestProcessInput,
  GuestProcessQuery,
  GuestProcessSignal,
  GuestStartProcess,
  GuestTerminalId,
  GuestTerminalSize,
  GuestWriteQuery,
  type GuestHealth,
} from '@computer/contract'
import type { ServerHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { Gate, type Hold } from '../faults.ts'
import { FakeDesktop } from './desktop.ts'
import type { FakeDisk } from './disk.ts'
import { runCommand } from './exec.ts'
import { json, parse, parseJson, serve, type GuestHandlers } from './http.ts'
import { hostKeyOf, hostnameOf, machineOf, takeIdentity } from './identity.ts'
import { drawScreen } from './image.ts'
import { FakePorts } from './ports.ts'
import { FakeProcesses } from './processes.ts'
import { FakeSecrets } from './secrets.ts'
import { FakeScreens } from './screen.ts'
import { FakeTerminals } from './terminals.ts'

export type FakeGuestOptions = {
  readonly bootId: string
  readonly disk: FakeDisk
  readonly memoryMb: number
  readonly desktopUp: boolean
  powerOff(): void
  reboot(): void
}

/** One boot of a fake machine: the agent and what it governs. The disk outlives it. */
export class FakeGuest {
  readonly bootId: string
  readonly disk: FakeDisk
  readonly desktop: FakeDesktop
  readonly screens: FakeScreens
  readonly terminals = new FakeTerminals(() => this.#host())
  readonly ports = new FakePorts()
  readonly processes = new FakeProcesses(() => this.#host())
  readonly secrets = new FakeSecrets()
  /** How often the disk was flushed. */
  flushes = 0
  readonly #options: FakeGuestOptions
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #handlers: GuestHandlers
  #flushGate: Gate | null = null
  #frozen: Gate | null = null

  constructor(options: FakeGuestOptions) {
    this.bootId = options.bootId
    this.disk = options.disk
    this.desktop = new FakeDesktop({ up: options.desktopUp })
    this.screens = new FakeScreens(this.desktop)
    this.#options = options
    this.#handlers = this.#routes()
  }

  /** A new connection to the agent. */
  accept(): Duplex {
    const { caller, session } = serve(this.#handlers, () => this.#frozen?.pass())
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    return caller
  }

  /** Connections open to the agent. */
  get connections(): number {
    return this.#sessions.size
  }

  /** Breaks every connection, as a restart of the agent's bridge would. */
  dropConnections(): void {
    for (const session of this.#sessions) session.destroy()
  }

  /** The agent alone starts again: it has forgotten the fence. */
  restartAgent(): void {
    this.dropConnections()
    this.desktop.forgetFence()
  }

  get hostname(): string {
    return hostnameOf(this.disk)
  }

  /** Which machine the disk takes itself for; null before it was told. */
  get machine(): string | null {
    return machineOf(this.disk)
  }

  /** Stands for all that tells one host from another. Made anew on a disk of another machine. */
  get hostKey(): string | null {
    return hostKeyOf(this.disk)
  }

  /** Flushes that come from now on wait until it is released. */
  holdFlush(): Hold {
    const gate = new Gate(() => {
      if (this.#flushGate === gate) this.#flushGate = null
    })
    this.#flushGate = gate
    return gate
  }

  /** What comes from now on is not answered before the thaw. */
  freeze(): void {
    this.#frozen ??= new Gate()
  }

  thaw(): void {
    this.#frozen?.release()
    this.#frozen = null
  }

  shutDown(): void {
    this.desktop.shutDown()
    this.dropConnections()
  }

  #routes(): GuestHandlers {
    const { desktop, disk } = this
    return {
      [keyOf(guestRoutes.health)]: () => {
        const health: GuestHealth = { version: 'fake', boot_id: this.bootId, fence: desktop.fence }
        return json(health)
      },
      [keyOf(guestRoutes.identity)]: ({ body }) => {
        takeIdentity(disk, parseJson(GuestIdentity, body))
        this.secrets.letUsersIn()
        return json({})
      },
      [keyOf(guestRoutes.fence)]: async ({ body }) =>
        json({ fence: await desktop.setFence(parseJson(GuestFence, body)) }),
      [keyOf(guestRoutes.display)]: () => json(desktop.display),
      [keyOf(guestRoutes.screenshot)]: ({ query }) => {
        const { format } = parse(GuestScreenshotQuery, query)
        const { width, height } = desktop.display
        const body = drawScreen(format, desktop.screen())
        const type = { 'content-type': `image/${format}` }
        return { headers: { ...type, 'x-display-width': width, 'x-display-height': height }, body }
      },
      [keyOf(guestRoutes.input)]: async ({ body }) =>
        json(await desktop.input(parseJson(GuestInput, body))),
      [keyOf(guestRoutes.readClipboard)]: ({ query }) =>
        json({ text: desktop.readClipboard(parse(GuestClipboardQuery, query).selection) }),
      [keyOf(guestRoutes.exec)]: async ({ body, signal }) =>
        json(await runCommand(this.#host(), parseJson(GuestExec, body), signal)),
      [keyOf(guestRoutes.listFiles)]: ({ query }) =>
        json(disk.listPage(parse(GuestListQuery, query))),
      [keyOf(guestRoutes.readFile)]: ({ query }) => {
        const { path, offset, length } = parse(GuestReadQuery, query)
        const file = disk.read(path)
        const end = length === undefined ? file.bytes.length : offset + length
        const headers = {
          'content-type': 'application/octet-stream',
          'x-file-size': file.bytes.length,
          'x-file-path': encodeURIComponent(file.path),
        }
        return { headers, body: file.bytes.subarray(offset, end) }
      },
      [keyOf(guestRoutes.writeFile)]: ({ query, body }) => {
        const { path, append, create_parents, mode } = parse(GuestWriteQuery, query)
        const options = {
          append: append === 'true',
          createParents: create_parents === 'true',
          mode,
        }
        return json(disk.write(path, body, options))
      },
      [keyOf(guestRoutes.deleteFile)]: ({ query }) => {
        const { path, recursive } = parse(GuestDeleteQuery, query)
        disk.take(path, { recursive: recursive === 'true' })
        return json({})
      },
      [keyOf(guestRoutes.moveFile)]: ({ body }) => {
        const { from, to, overwrite } = parseJson(GuestMove, body)
        return json(disk.move(from, to, { overwrite }))
      },
      [keyOf(guestRoutes.usage)]: () =>
        json({
          cpu_percent: 1,
          memory_used_mb: Math.round(this.#options.memoryMb / 10),
          disk_used_bytes: disk.usedBytes(),
          processes: 40,
        }),
      [keyOf(guestRoutes.flush)]: async () => {
        await this.#flushGate?.pass()
        this.flushes += 1
        return json({})
      },
      [keyOf(guestStreams.port)]: {
        admit: (query) => this.ports.connect(Number(parse(GuestPortQuery, query).port)),
      },
      [keyOf(guestStreams.screen)]: { admit: () => (stream) => this.screens.open(stream) },
      [keyOf(guestRoutes.setSecrets)]: ({ body }) =>
        json(this.secrets.take(parseJson(GuestSecrets, body))),
      [keyOf(guestRoutes.readSecrets)]: () => json(this.secrets.state),
      ...this.#terminalRoutes(),
      ...this.#processRoutes(),
    }
  }

  #terminalRoutes(): GuestHandlers {
    const { terminals } = this
    return {
      [keyOf(guestRoutes.openTerminal)]: ({ body }) =>
        json(terminals.open(parseJson(GuestOpenTerminal, body))),
      [keyOf(guestRoutes.listTerminals)]: () => json({ data: terminals.list() }),
      [keyOf(guestRoutes.readTerminal)]: ({ query }) =>
        json(terminals.find(parse(GuestTerminalId, query).id).info),
      [keyOf(guestRoutes.resizeTerminal)]: ({ body }) =>
        json(terminals.resize(parseJson(GuestTerminalSize, body))),
      [keyOf(guestRoutes.killTerminal)]: ({ body }) => {
        terminals.kill(parseJson(GuestTerminalId, body).id)
        return json({})
      },
      [keyOf(guestStreams.terminal)]: {
        admit: (query) => terminals.find(parse(GuestTerminalId, query).id).reserve(),
      },
    }
  }

  #processRoutes(): GuestHandlers {
    const { processes } = this
    return {
      [keyOf(guestRoutes.startProcess)]: ({ body }) =>
        json(processes.start(parseJson(GuestStartProcess, body))),
      [keyOf(guestRoutes.listProcesses)]: () => json({ data: processes.list() }),
      [keyOf(guestRoutes.readProcess)]: async ({ query }) => {
        const { id, wait } = parse(GuestProcessQuery, query)
        return json(await processes.find(id).wait(wait))
      },
      [keyOf(guestRoutes.readProcessLog)]: async ({ query }) => {
        const { id, ...request } = parse(GuestLogQuery, query)
        return json(await processes.find(id).readLog(request))
      },
      [keyOf(guestRoutes.writeProcessInput)]: ({ body }) => {
        const { id, content, eof } = parseJson(GuestProcessInput, body)
        processes.find(id).write(Buffer.from(content, 'base64'), eof)
        return json({})
      },
      [keyOf(guestRoutes.signalProcess)]: ({ body }) => {
        const { id, signal } = parseJson(GuestProcessSignal, body)
        processes.find(id).signal(signal)
        return json({})
      },
    }
  }

  #host() {
    const { disk, hostname } = this
    const { powerOff, reboot, memoryMb } = this.#options
    const secrets = this.secrets.environment
    return { disk, hostname, memoryMb, secrets, powerOff, reboot }
  }
}

function keyOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`
}
