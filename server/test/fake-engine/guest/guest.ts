import {
  GuestBriefQuery,
  GuestClipboardQuery,
  GuestFence,
  GuestIdentity,
  GuestInput,
  GuestPortQuery,
  guestRoutes,
  GuestScreenQuery,
  GuestScreenshotQuery,
  GuestScreenWaitQuery,
  GuestSecrets,
  guestStreams,
  type GuestBrief,
  type GuestHealth,
} from '@computer/contract'
import type { ServerHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { FakeDesktop } from '../desktop/desktop.ts'
import { drawScreen, showPart } from '../desktop/image.ts'
import { FakeScreens } from '../desktop/screen.ts'
import type { FakeDisk } from '../disk.ts'
import { Gate, type Hold } from '../faults.ts'
import { deliver, forward } from '../machine/agent-calls.ts'
import { startAgent, type MachineAgent } from '../machine/agent.ts'
import { json, parse, parseJson, serve, type GuestHandlers } from './http.ts'
import { FakePorts } from './ports.ts'
import { FakeSecrets } from './secrets.ts'

export type FakeGuestOptions = {
  readonly bootId: string
  readonly desktopUp: boolean
  /** The disk of the machine, created when it is first needed. */
  readonly disk: () => FakeDisk
}

/**
 * One boot of a fake machine. It answers the calls that every machine gets (health, identity, fence,
 * secrets, flush) and those for the desktop and ports from memory. The first other call (exec, files,
 * terminals, processes, usage) starts the real agent on the machine's disk, which answers such calls
 * until the machine stops.
 */
export class FakeGuest {
  readonly bootId: string
  readonly desktop: FakeDesktop
  readonly screens: FakeScreens
  readonly ports = new FakePorts()
  readonly secrets = new FakeSecrets()
  /** What a brief tells, which a test changes; the files are told with `since_ms` alone. */
  brief: Omit<GuestBrief, 'now_ms'> = {
    windows: [],
    clipboard_mark: 'none',
    files: [],
    has_more_files: false,
  }
  /** How often the disk was flushed. */
  flushes = 0
  readonly #options: FakeGuestOptions
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #handlers: GuestHandlers
  #identity: GuestIdentity | null = null
  #agent: Promise<MachineAgent> | null = null
  #flushGate: Gate | null = null
  #frozen: Gate | null = null

  constructor(options: FakeGuestOptions) {
    this.bootId = options.bootId
    this.desktop = new FakeDesktop({ up: options.desktopUp })
    this.screens = new FakeScreens(this.desktop)
    this.#options = options
    this.#handlers = this.#routes()
  }

  get disk(): FakeDisk {
    return this.#options.disk()
  }

  /** A new connection to the agent. */
  async accept(): Promise<Duplex> {
    const { caller, session } = await serve(this.#handlers, {
      waitUntilAwake: () => this.#frozen?.pass(),
      forward: async (stream, headers) => forward(await this.#startAgent(), stream, headers),
    })
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    return caller
  }

  /** Connections open to the agent. */
  get connections(): number {
    return this.#sessions.size
  }

  /** Breaks every connection, as a restart of the engine's bridge to the agent does. */
  dropConnections(): void {
    for (const session of this.#sessions) session.destroy()
  }

  /** Restarts the agent of the desktop, which loses its fence. */
  restartAgent(): void {
    this.dropConnections()
    this.desktop.forgetFence()
  }

  /** Flushes that arrive from now on wait until the hold is released. */
  holdFlush(): Hold {
    const gate = new Gate(() => {
      if (this.#flushGate === gate) this.#flushGate = null
    })
    this.#flushGate = gate
    return gate
  }

  /** Requests that arrive from now on are answered after the thaw. */
  freeze(): void {
    this.#frozen ??= new Gate()
  }

  thaw(): void {
    this.#frozen?.release()
    this.#frozen = null
  }

  /** Resolves when no process of the machine is left. */
  async shutDown(): Promise<void> {
    this.desktop.shutDown()
    this.dropConnections()
    const agent = await this.#agent?.catch(() => null)
    await agent?.kill()
  }

  #startAgent(): Promise<MachineAgent> {
    return (this.#agent ??= this.#bootAgent())
  }

  async #bootAgent(): Promise<MachineAgent> {
    const agent = await startAgent(this.disk.rootPath)
    await deliver(agent, guestRoutes.setSecrets, this.secrets.held)
    if (this.#identity) await deliver(agent, guestRoutes.identity, this.#identity)
    return agent
  }

  #routes(): GuestHandlers {
    const { desktop } = this
    return {
      [keyOf(guestRoutes.health)]: () => {
        const health: GuestHealth = { version: 'fake', boot_id: this.bootId, fence: desktop.fence }
        return json(health)
      },
      [keyOf(guestRoutes.identity)]: async ({ body }) => {
        this.#identity = parseJson(GuestIdentity, body)
        this.secrets.releaseBoot()
        if (this.#agent) await deliver(await this.#agent, guestRoutes.identity, this.#identity)
        return json({})
      },
      [keyOf(guestRoutes.fence)]: async ({ body }) =>
        json({ fence: await desktop.setFence(parseJson(GuestFence, body)) }),
      [keyOf(guestRoutes.display)]: () => json(desktop.display),
      [keyOf(guestRoutes.screenshot)]: ({ query }) => {
        const request = parse(GuestScreenshotQuery, query)
        desktop.requireSight(request.viewer)
        const { format, settle_ms: settleMs } = request
        const { display } = desktop
        const screen = showPart(desktop.screen(), request)
        const headers = {
          'content-type': `image/${format}`,
          'x-screenshot-id': desktop.screenId,
          'x-image-width': screen.width,
          'x-image-height': screen.height,
          'x-display-width': display.width,
          'x-display-height': display.height,
          ...(settleMs && { 'x-settled': String(desktop.moving === null) }),
          ...(settleMs && desktop.moving && { 'x-changing': desktop.moving.join() }),
        }
        return { headers, body: drawScreen(format, screen) }
      },
      [keyOf(guestRoutes.waitForScreen)]: async ({ query }) => {
        const { since, timeout_ms: timeoutMs, viewer } = parse(GuestScreenWaitQuery, query)
        const endMs = Date.now() + timeoutMs
        desktop.requireSight(viewer)
        while (!desktop.hasChangedSince(since) && Date.now() < endMs) {
          await sleep(10)
          desktop.requireSight(viewer)
        }
        const { width, height } = desktop.display
        const changed = desktop.hasChangedSince(since)
        return json({ changed, changing: changed ? { x: 0, y: 0, width, height } : null })
      },
      [keyOf(guestRoutes.input)]: async ({ body }) =>
        json(await desktop.input(parseJson(GuestInput, body))),
      [keyOf(guestRoutes.readClipboard)]: ({ query }) => {
        const { selection, viewer } = parse(GuestClipboardQuery, query)
        desktop.requireSight(viewer)
        return json({ text: desktop.readClipboard(selection) })
      },
      [keyOf(guestRoutes.brief)]: ({ query }) => {
        const { since_ms: sinceMs } = parse(GuestBriefQuery, query)
        const { files, ...rest } = this.brief
        const found = sinceMs === undefined ? [] : files
        return json({ ...rest, files: found, now_ms: Date.now() })
      },
      [keyOf(guestRoutes.flush)]: async () => {
        await this.#flushGate?.pass()
        this.flushes += 1
        return json({})
      },
      [keyOf(guestStreams.port)]: {
        admit: (query) => this.ports.connect(Number(parse(GuestPortQuery, query).port)),
      },
      [keyOf(guestStreams.screen)]: {
        admit: (query) => {
          desktop.requireSight(parse(GuestScreenQuery, query).viewer)
          return (stream) => this.screens.open(stream)
        },
      },
      [keyOf(guestRoutes.setSecrets)]: async ({ body }) => {
        const secrets = parseJson(GuestSecrets, body)
        const state = this.secrets.take(secrets)
        if (this.#agent) await deliver(await this.#agent, guestRoutes.setSecrets, secrets)
        return json(state)
      },
      [keyOf(guestRoutes.readSecrets)]: () => json(this.secrets.state),
    }
  }
}

function keyOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`
}
