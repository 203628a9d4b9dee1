import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { channels } from '@computer/contract'
import { WebSocket } from 'ws'
import type { ApiClient } from '../../e2e/harness/api.ts'
import { eventually } from '../../e2e/harness/polling.ts'
import { withPort } from '../baseline-port.ts'
import { installPackages, withDesktop } from '../desktop.ts'
import { polling } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A key sent to a terminal until its echo is back. Both sides run `cat`, so the pty itself echoes. The
 * baseline is shellinabox in the same machine, because Debian has no ttyd.
 */
export const bench: Bench = {
  name: 's17-keystroke',
  title: 'keystroke echo',
  run: (context) =>
    withDesktop(context, 's17', async (desktop) => {
      const { api, incus, plan, say } = context
      say('installing shellinabox')
      await installPackages(desktop.runAsRoot, 'shellinabox')
      await desktop.runAsRoot('shellinaboxd', ...options)
      await eventually(
        'shellinabox listens',
        async () => {
          const listening = await desktop.runAsRoot('ss', '-Hltn', 'sport', '=', `:${port}`)
          return listening !== ''
        },
        polling,
      )
      return withPort(incus, desktop.instance, port, async (hostPort) => {
        await using stack = new AsyncDisposableStack()
        const shellInABox = stack.use(await openShellInABox(hostPort))
        const terminal = stack.use(await openTerminal(api, desktop.id))
        const sides = {
          baseline: (round: number) => echo(shellInABox, keyOf(round)),
          ours: (round: number) => echo(terminal, keyOf(round)),
        }
        const rounds = await runRounds(sides, plan.fast, say)
        const row = {
          id: 'S17',
          ours: 'keystroke echo',
          baseline: 'shellinabox',
          target: { ratio: 0.7, p50Ms: 2 },
        }
        return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
      })
    }),
}

const program = 'cat'
const port = 4201
const service = `/:agent:agent:/home/agent:${program}`
const options = ['-t', '-b', '-p', String(port), '--localhost-only', '-s', service]

type Terminal = {
  send(key: string): void
  /** Called with new output. */
  onShown: (text: string) => void
}

async function echo(terminal: Terminal, key: string): Promise<Sample> {
  const shown = Promise.withResolvers<string>()
  terminal.onShown = shown.resolve
  const timer = setTimeout(() => shown.reject(new Error('no echo within 10 s')), 10_000)
  const { ms, result } = await time(() => {
    terminal.send(key)
    return shown.promise
  }).finally(() => clearTimeout(timer))
  return {
    ms,
    wrong: result === key ? undefined : `the echo of ${key} is ${JSON.stringify(result)}`,
  }
}

/** Consecutive keys are always different. */
function keyOf(round: number): string {
  return String.fromCharCode(97 + ((round * 7) % 26))
}

async function openTerminal(api: ApiClient, machineId: string): Promise<Terminal & Disposable> {
  const body = { command: [program] }
  const { id } = await api.ok<{ id: string }>('POST', `/v1/machines/${machineId}/terminals`, body)
  const { gateway_url } = await api.ok<{ gateway_url: string }>('GET', '/v1/auth/me')
  const path = channels.terminal.path
    .replace('{machine_id}', machineId)
    .replace('{terminal_id}', id)
  const headers = { authorization: `Bearer ${api.key}` }
  const socket = new WebSocket(`${gateway_url}${path}`, { headers, perMessageDeflate: false })
  await once(socket, 'open')
  const terminal = {
    send: (key: string) => socket.send(key, { binary: true }),
    onShown: (_text: string) => {},
    [Symbol.dispose]: () => socket.terminate(),
  }
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) terminal.onShown(data.toString('utf8'))
  })
  return terminal
}

/** Works as its page does: one request waits for output, and each key is a request of its own. */
async function openShellInABox(port: number): Promise<Terminal & Disposable> {
  const agent = new Agent({ keepAlive: true })
  const url = `http://127.0.0.1:${port}/`
  const post = (fields: Record<string, string>) => {
    const body = new URLSearchParams({ width: '80', height: '24', rooturl: url, ...fields })
    return postForm(url, agent, body.toString())
  }
  const { session } = JSON.parse(await post({})) as { session: string }
  const terminal = {
    send: (key: string) => {
      const keys = Buffer.from(key).toString('hex').toUpperCase()
      post({ session, keys }).catch(() => {})
    },
    onShown: (_text: string) => {},
    [Symbol.dispose]: () => agent.destroy(),
  }
  const poll = async () => {
    for (;;) {
      const { data } = JSON.parse(await post({ session })) as { data?: string }
      if (data) terminal.onShown(data)
    }
  }
  // Polling fails when the connection is closed, which ends it.
  poll().catch(() => {})
  return terminal
}

function postForm(url: string, agent: Agent, body: string): Promise<string> {
  const headers = {
    'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  }
  return new Promise((resolve, reject) => {
    const out = request(url, { method: 'POST', headers, agent }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('error', reject).on('end', () => resolve(text))
    })
    out.setNoDelay(true)
    out.on('error', reject)
    out.end(body)
  })
}
