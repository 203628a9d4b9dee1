import { ApiError, type Machine, type Screen } from '@computer/sdk'
import { WebSocket } from 'ws'
import { ControlStatus } from './control-status.ts'
import { endedCode } from './page.ts'

/** Close codes of the gateway after which there is nothing more to see. */
const endings: Readonly<Record<number, string>> = {
  4401: 'The API key was revoked or has expired.',
  4403: 'The API key may not see the machine any more.',
  4404: 'The machine was deleted.',
}
const failed = 1011
/** Close codes that the page receives when a relay ends without a reason of its own: the page connects again. */
export const interruptions: ReadonlySet<number> = new Set([1005, failed])
/** The gateway's close code of a session that somebody has closed. */
const sessionClosed = 4410

/**
 * Relays one RFB connection between the page and the machine as binary frames. Text frames are JSON:
 * the page asks for control (`take`) or gives it back (`give`), and is told who has it; it tells where its pointer
 * is (`point`), and is told where those of others are.
 */
export async function relay(
  machine: Machine,
  client: WebSocket,
  { canControl }: { readonly canControl: boolean },
): Promise<void> {
  const early: Buffer[] = []
  let screen: Screen | undefined
  client.on('error', () => client.terminate())
  try {
    const session = canControl ? await machine.input.session() : undefined
    const control = new ControlStatus(session?.id ?? null)
    const tell = () => client.send(JSON.stringify(control.status))
    client.on('message', (bytes: Buffer, isBinary) => {
      if (!isBinary) {
        const request = readRequest(bytes)
        if (request.type === 'point') screen?.point(request.at ?? null)
        else void obey(machine, control, request).finally(tell)
      } else if (screen) screen.send(new Uint8Array(bytes))
      else early.push(bytes)
    })
    screen = await machine.screen({
      viewOnly: !canControl,
      onMessage(message) {
        if (message.type === 'tick') return
        if (message.type === 'pointers') return client.send(JSON.stringify(message))
        control.observe(message)
        tell()
      },
    })
    client.once('close', () => screen!.close())
    screen.onclose = ({ code }) => {
      // The page connects again, then with a new session.
      if (code === sessionClosed) void machine.input.close().catch(() => {})
      const ending = endings[code]
      if (ending) client.close(endedCode, ending)
      else client.close()
    }
    screen.onmessage = ({ data }) => client.send(data)
    for (const bytes of early) screen.send(new Uint8Array(bytes))
    if (client.readyState !== WebSocket.OPEN) screen.close()
  } catch (error) {
    // Close frames hold little more.
    client.close(failed, error instanceof Error ? error.message.slice(0, 100) : '')
  }
}

type Request = { readonly type?: unknown; readonly at?: Parameters<Screen['point']>[0] }

/** A request without a type asks for nothing. */
function readRequest(bytes: Buffer): Request {
  try {
    return (JSON.parse(bytes.toString()) ?? {}) as Request
  } catch {
    return {}
  }
}

/** Never rejects. */
async function obey(machine: Machine, control: ControlStatus, { type }: Request): Promise<void> {
  try {
    if (type === 'take') await machine.input.acquire({ force: true })
    if (type !== 'give') return
    control.giveBack()
    await machine.input.release()
  } catch (error) {
    control.fail(error instanceof ApiError ? `Failed: ${error.message}.` : 'Failed.')
  }
}
